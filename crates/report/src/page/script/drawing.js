// Draws runs, one below the other, on one axis of time: what each core did, or each thread, then power and frequencies.

const TITLE = 22;
const GAP = 3;
const AXIS = 20;
const TRACK = 38;
const BIG = 20;
const LITTLE = 12;
const THREAD = 14;

/** How many colours lanes have. */
const COLOURS = 8;

/** What of a drawing goes where: titles, lanes, tracks, each with its `y` and `height`. */
function layout(runs, mode) {
  const items = [];
  let y = AXIS + 4;
  const put = (item) => {
    items.push({ ...item, y });
    y += item.height + GAP;
  };
  for (const run of runs) {
    if (run.title) put({ kind: "title", run, text: run.title, height: TITLE });
    if (mode === "cores") {
      run.cores.forEach((core, lane) => {
        put({ kind: "lane", run, lane, row: run.byCore[lane], name: core.name, bold: core.big, height: core.big ? BIG : LITTLE });
      });
    } else {
      let program;
      for (const lane of run.order) {
        const thread = run.threads[lane];
        if (thread.program !== program && run.programs.length > 1) {
          put({ kind: "title", run, text: thread.program, height: TITLE - 4 });
        }
        program = thread.program;
        put({ kind: "lane", run, lane, row: run.byThread[lane], name: thread.name, height: THREAD });
      }
    }
    for (const track of run.tracks) put({ kind: "track", run, track, name: track.name, height: TRACK });
    y += 6;
  }
  return { items, height: y };
}

/** Whether something of an item is in view. */
function isSeen(item, view, height) {
  const y = item.y - view.top;
  return y + item.height >= AXIS && y <= height;
}

/** How light a colour such as #0072b2 is, from 0 to 1 (WCAG's relative luminance). */
function lightness(colour) {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Of some colours, the one that stands out most on another. */
function legible(colours, behind) {
  const contrast = (colour) => {
    const [dark, light] = [lightness(colour), lightness(behind)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  return colours.reduce((best, colour) => (contrast(colour) > contrast(best) ? colour : best));
}

/** The colours of the page as it looks now. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const colours = Array.from({ length: COLOURS }, (_, index) => of(`c${index}`));
  return {
    of: colours,
    /** What text has on each. */
    on: new Map(colours.map((colour) => [colour, legible([of("paper"), of("ink")], colour)])),
    ink: of("ink"),
    soft: of("soft"),
    line: of("line"),
    paper: of("paper"),
    idle: of("idle"),
    waits: of("bad"),
  };
}

/**
 * Draws. `view`: `from` and `to` in ns, `mode`, `top` (how far it is scrolled), `margin` (the width of names), `wanted` (the
 * threads that others step back for, or null), `selected` (a run and one of its spans, or null).
 */
function draw(pen, { items }, view, width, height) {
  const colours = palette();
  const margin = pen.whole(view.margin);
  const box = { x: margin, width: width - margin, scale: (width - margin) / (view.to - view.from) };
  pen.rect(0, 0, width, height, colours.paper);
  pen.clip(0, AXIS, width, height - AXIS);
  for (const item of items) {
    if (!isSeen(item, view, height)) continue;
    const y = item.y - view.top;
    if (item.kind === "title") {
      pen.text(item.text, 0, y + item.height / 2, colours.ink, { bold: true, room: width });
      continue;
    }
    const middle = y + item.height / 2;
    pen.rect(box.x, y, box.width, item.height, colours.idle);
    if (item.kind === "track") {
      drawTrack(pen, item, y, box, view, colours);
      continue;
    }
    pen.text(item.name, box.x - 8, middle, item.bold ? colours.ink : colours.soft, { align: "right", bold: item.bold, room: box.x - 8 });
    drawRow(pen, item, item.row, y, box, view.wanted ? { ...view, names: false } : view, colours, view.wanted ? 0.18 : 1);
  }
  pen.lay();
  if (view.wanted) drawWanted(pen, items, box, view, height, colours);
  drawMoments(pen, items, box, view, colours);
  drawMarks(pen, items, box, view, colours);
  if (view.selected) drawSelected(pen, items, box, view, colours);
  pen.end();
  drawAxis(pen, box, view, width, height, colours);
}

/** The threads that others have stepped back for. */
function drawWanted(pen, items, box, view, height, colours) {
  for (const item of items) {
    if (item.kind !== "lane" || !isSeen(item, view, height)) continue;
    const row = item.run.wanted(item, view.mode);
    if (row) drawRow(pen, item, row, item.y - view.top, box, view, colours, 1);
  }
  pen.lay();
}

/** What is narrower than a pixel is drawn as the longest span there, as strong as the pixel is busy. */
function drawRow(pen, item, row, y, box, view, colours, strength) {
  const strip = pen.strip(box.x, y, box.width, item.height, colours.of);
  const put = (column, hue, busy) => strip.put(column, hue, Math.max(0.25, Math.min(1, busy)) * strength);
  const spans = (from, to) => drawSpans(pen, item, row, from, to, y, box, view, colours, strength, put);
  const pixel = pen.pixel / box.scale;
  const first = row.first(view.from);
  const afar = pen.exact ? null : row.afar.scale(view.from, pixel);
  if (!afar) return spans(first, row.ids.length);
  const { longest, reach, busy, hue } = afar.level;
  const start = (part) => row.times.starts[afar.lowest(part)];
  let part = afar.part(0);
  // What reaches into the drawing, and what begins in it but before the part that is nearest to its beginning.
  spans(first, start(part));
  const columns = Math.ceil(box.width / pen.pixel);
  for (let column = 0; column < columns; column++) {
    const [begin, end] = [part, afar.part(column + 1)];
    let [sum, best, far] = [0, begin, 0];
    for (; part < end; part++) {
      sum += busy[part];
      if (longest[part] > longest[best]) best = part;
      if (reach && reach[part] > far) far = reach[part];
    }
    if (!sum && !far) continue;
    if (longest[best] < pixel && far < 1 / box.scale) put(column, hue[best], sum / afar.time(begin, end));
    else spans(start(begin), start(end));
  }
  // What is waited for in the drawing and begins after it.
  spans(start(part), row.ids.length);
}

/** Some of a row's spans, one by one where they are as wide as a pixel. `put` draws the others. */
function drawSpans(pen, item, row, from, to, y, box, view, colours, strength, put) {
  const { spans, ids, hues, ready } = row;
  const end = box.x + box.width;
  for (let at = from; at < to; ) {
    const id = ids[at];
    const left = box.x + (row.from[at] - view.from) * box.scale;
    const waited = ready ? ready[id] * box.scale : 0;
    if (waited >= 1 && left > box.x) {
      const [from, to] = [Math.max(box.x, left - waited), Math.min(end, left)];
      if (to > from) pen.rect(from, y + item.height * 0.35, to - from, item.height * 0.3, colours.waits, strength);
    }
    if (left >= end) break;
    const right = Math.min(end, box.x + (row.from[at] + row.lengths[at] - view.from) * box.scale);
    if (right <= box.x) {
      at++;
    } else if (right - left >= pen.pixel) {
      const from = Math.max(box.x, left);
      const colour = colours.of[hues[id]];
      pen.rect(from, y, right - from, item.height, colour, strength);
      if (right - from > 46 && item.height >= 12 && view.names !== false) {
        const name = view.mode === "cores" ? item.run.threads[spans.thread[id]].name : item.run.cores[spans.core[id]].name;
        pen.text(name, from + 4, y + item.height / 2, colours.on.get(colour), { room: right - from - 8 });
      }
      at++;
    } else {
      const column = Math.max(0, Math.floor((left - box.x) / pen.pixel));
      let next = row.until(at, to, view.from + ((column + 1) * pen.pixel) / box.scale);
      // The last may reach far beyond the pixel: its turn comes.
      if (next - 1 > at && row.length(next - 1) * box.scale >= pen.pixel) next--;
      put(column, hues[row.longestOf(at, next)], ((row.busy[next] - row.busy[at]) * box.scale) / pen.pixel);
      at = next;
    }
  }
}

function drawTrack(pen, item, y, box, view, colours) {
  const { steps, unit } = item.track;
  const most = item.run.most[item.track.unit] || 1;
  const level = (value) => y + item.height - 1 - (value / most) * (item.height - 4);
  pen.text(item.name, box.x - 8, y + item.height / 2 - 6, colours.soft, { align: "right", room: box.x - 8 });
  pen.text(`to ${Number(most.toPrecision(3))} ${unit}`, box.x - 8, y + item.height / 2 + 7, colours.soft, { align: "right", room: box.x - 8 });
  // No program's colour, and no policy's: its name says what it is.
  const graph = pen.graph(box.x, y, box.width, item.height, colours.soft);
  const end = Math.min(view.to, item.run.end);
  // A pixel for which there are several values shows their range, and the line its mean.
  const range = (column, low, high, mean) => graph.range(column, level(high), Math.max(level(high) + 0.5, level(low)), level(mean));
  const time = pen.pixel / box.scale;
  const afar = pen.exact ? null : steps.afar.scale(view.from, time);
  let [from, last] = [Math.max(view.from, steps.at[0]), -1];
  if (afar) {
    const columns = Math.ceil(box.width / pen.pixel);
    for (let [column, part] = [0, afar.part(0)]; column < columns; column++) {
      const [begin, after] = [part, afar.part(column + 1)];
      let [low, high] = [Infinity, -Infinity];
      for (; part < after; part++) {
        low = Math.min(low, afar.level.low[part]);
        high = Math.max(high, afar.level.high[part]);
      }
      if (begin === after) continue;
      const [first, next] = [afar.lowest(begin), afar.lowest(after)];
      range(column, low, high, ((steps.areas[next] - steps.areas[first]) * steps.times.parts) / (next - first));
      last = column;
    }
    // After the last value there is no other.
    from = Math.max(from, steps.at.at(-1), view.from + (last + 1) * time);
  }
  for (let next = steps.position(from) + 1; from < end; ) {
    const column = Math.max(last + 1, Math.floor(((from - view.from) * box.scale) / pen.pixel));
    const pixel = Math.min(end, view.from + (column + 1) * time);
    if (next < steps.at.length && steps.at[next] < pixel) {
      // Times are whole nanoseconds: none is between this one and the pixel's end.
      const after = Math.max(next + 1, steps.times.after(Math.ceil(pixel) - 1));
      const mean = (steps.until(pixel, after - 1) - steps.until(from, next - 1)) / (pixel - from);
      range(column, ...steps.range(next - 1, after), mean);
      [from, next, last] = [pixel, after, column];
    } else {
      const until = Math.min(end, steps.at[next] ?? end);
      graph.level(box.x + (from - view.from) * box.scale, box.x + (until - view.from) * box.scale, level(steps.value[next - 1]));
      from = until;
      if (from === steps.at[next]) next++;
    }
  }
  graph.end();
}

/** Moments that matter to a core: a tick each, a pixel's worth together. */
function drawMoments(pen, items, box, view, colours) {
  for (const item of items) {
    if (item.kind !== "lane" || view.mode !== "cores") continue;
    let last = -Infinity;
    for (const at of item.run.moments[item.lane] ?? []) {
      const x = box.x + (at - view.from) * box.scale;
      if (x < box.x || x > box.x + box.width || x - last < 1) continue;
      pen.rect(x, item.y - view.top, 1, 5, colours.ink);
      last = x;
    }
  }
}

/** What happened to a whole run, such as another policy: a line each, with a word. */
function drawMarks(pen, items, box, view, colours) {
  for (const run of new Set(items.map((item) => item.run))) {
    const own = items.filter((item) => item.run === run && item.kind !== "title");
    if (!own.length) continue;
    const [top, last] = [own[0].y - view.top, own[own.length - 1]];
    for (const [at, text] of run.marks) {
      const x = box.x + (at - view.from) * box.scale;
      if (x < box.x || x > box.x + box.width) continue;
      pen.rect(x - 0.75, top, 1.5, last.y + last.height - own[0].y, colours.ink);
      const wide = Math.min(8 + 6.5 * text.length, 160);
      const left = x + wide > box.x + box.width ? x - wide : x;
      pen.rect(left, top, wide, 15, colours.ink);
      pen.text(text, left + 4, top + 8, colours.paper, { room: wide - 8 });
    }
  }
}

/** The selected span, and an arrow from the thread that woke it. */
function drawSelected(pen, items, box, view, colours) {
  const { run, id } = view.selected;
  const { spans } = run;
  const of = (span) => items.find((item) => item.kind === "lane" && item.run === run && item.lane === (view.mode === "cores" ? spans.core[span] : spans.thread[span]));
  const x = (time) => box.x + (time - view.from) * box.scale;
  const item = of(id);
  if (!item) return;
  const y = item.y - view.top;
  const [left, right] = [Math.max(box.x, x(spans.from[id])), Math.min(box.x + box.width, x(spans.to[id]))];
  if (right >= box.x && left <= box.x + box.width) pen.frame(left - 1, y - 1, Math.max(3, right - left + 2), item.height + 2, colours.ink);
  const waker = run.waker(id);
  const other = waker === null ? null : of(waker);
  if (!other || left <= box.x) return;
  const woken = Math.max(box.x, x(spans.from[id] - spans.ready[id]));
  const [from, to] = [other.y - view.top + other.height / 2, y + item.height / 2];
  pen.line([woken, from, woken, to, left, to], colours.ink, 1.5);
  pen.rect(woken - 2.5, from - 2.5, 5, 5, colours.ink);
}

function drawAxis(pen, box, view, width, height, colours) {
  pen.rect(0, 0, width, AXIS, colours.paper);
  const step = round(view.to - view.from, box.width / 100);
  const first = Math.ceil(view.from / step);
  for (let tick = 0; tick < 100 && (first + tick) * step <= view.to; tick++) {
    const at = (first + tick) * step;
    const x = box.x + (at - view.from) * box.scale;
    pen.rect(x, AXIS - 4, 1, 4, colours.soft);
    pen.rect(x, AXIS, 1, height - AXIS, colours.line, 0.5);
    const align = x > width - 40 ? "right" : x < box.x + 20 ? "left" : "center";
    pen.text(at === 0 ? "0" : moment(at, step), x, 8, colours.soft, { align });
  }
}
