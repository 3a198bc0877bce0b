// Draws made lanes and tracks as the page does, and plainly: each span and value looked at, each column a rectangle. Gives how far the two are apart.

/** A row without anything that makes it fast. */
class PlainRow extends Row {
  first(time) {
    return Math.max(0, this.from.filter((from) => from <= time).length - 1);
  }

  until(at, to, time) {
    let next = at + 1;
    while (next < to && this.from[next] <= time) next++;
    return next;
  }

  longestOf(from, to) {
    const positions = Array.from({ length: to - from }, (_, index) => from + index);
    return this.ids[positions.reduce((best, at) => (this.lengths[at] > this.lengths[best] ? at : best))];
  }
}

class PlainSteps extends Steps {
  range(from, to) {
    const values = Array.from(this.value.subarray(from, to));
    return [Math.min(...values), Math.max(...values)];
  }
}

/** Rectangles instead of an image. */
class PlainPen extends CanvasPen {
  exact = true;
  later = [];

  strip(x, y, width, height, colours) {
    return { put: (column, hue, opacity) => this.later.push([x + column, y, 1, height, colours[hue], opacity]) };
  }

  graph(x, ...rest) {
    const graph = new Graph(this, x, ...rest);
    graph.cover = (column, from, to, opacity) => this.later.push([x + column, from, 1, to - from, graph.colour, opacity]);
    return graph;
  }

  lay() {
    // Not by `rect`, whose edges are those of pixels: columns end within them.
    for (const [x, y, width, height, fillStyle, globalAlpha] of this.later) {
      Object.assign(this.context, { fillStyle, globalAlpha });
      this.context.fillRect(x, y, width, height);
    }
    this.later = [];
  }
}

/** Numbers below 1, the same each time. */
function chance(seed) {
  let state = seed;
  return () => (state = (state * 16807) % 2147483647) / 2147483647;
}

const END = 2 ** 20;

/** So many spans, one of them long, and a value that changes as often. The first begins at once, the last in the last nanosecond. */
function made(seed, count) {
  const next = chance(seed);
  const [long, more] = [Math.floor(count / 3), Math.floor(count / 20)];
  const room = END / (count + more);
  const spans = { from: [], to: [], core: [], thread: [], ready: [], woken: [] };
  for (let id = 0; id < count; id++) {
    const turn = id + (id > long ? more : 0);
    // None begins where a pixel does: it may be in either.
    const from = id === count - 1 ? END - 1 : Math.floor(turn * room + (id && next() * 0.4 * room)) | (id ? 1 : 0);
    const end = Math.floor((turn + 1 + (id === long ? more : 0)) * room);
    spans.from.push(from);
    spans.to.push(Math.max(from + 1, Math.floor(from + (id === long || next() < 0.2 ? 1 : next()) * (end - from))));
    spans.core.push(0);
    spans.thread.push(Math.floor(next() * 8));
    spans.ready.push(next() < 0.01 ? 8 * room : 0);
  }
  const value = Float64Array.from(spans.from, () => 5 + next() ** 4 * 10);
  const at = value.map((_, id) => (id === count - 1 ? END - 1 : Math.floor((id * END) / count) | (id ? 1 : 0)));
  return { spans, ids: Uint32Array.from(spans.from.keys()), at, value };
}

/** Many short spans, then one that begins within the first half of a pixel of LATE and fills what is seen. The value is always the same. */
function late() {
  const from = [...Array.from({ length: 3998 }, (_, id) => 99 * id), 399_800, 999_999];
  const to = from.map((time) => (time === 399_800 ? 999_000 : time + 50));
  const none = from.map(() => 0);
  const spans = { from, to, core: none, thread: none, ready: none, woken: none };
  return { spans, ids: Uint32Array.from(from.keys()), at: Float64Array.of(0), value: Float64Array.of(5) };
}

/** A part of the time, of which the part that is nearest to its beginning begins after it. */
const LATE = { from: 399_600, to: 999_400, mode: "cores" };

function picture(pen, RowKind, StepsKind, { spans, ids, at, value }, view) {
  const run = { spans, end: END, threads: spans.core.map((_, id) => ({ name: `${id}` })), cores: [{ name: "0" }], moments: [], marks: [], most: { W: 16 } };
  const row = new RowKind(spans, ids, Uint8Array.from(spans.thread), view.mode === "threads" ? spans.ready : null);
  const looked = row.ids.filter((id) => spans.thread[id] < 2);
  run.wanted = () => new RowKind(spans, looked, row.hues, row.ready);
  const items = [
    { kind: "lane", run, lane: 0, row, name: "", height: 20, y: 24 },
    { kind: "track", run, track: { steps: new StepsKind(at, value), unit: "W", colour: 3 }, name: "", height: 38, y: 50 },
  ];
  pen.begin(612, 100);
  draw(pen, { items }, { wanted: null, selected: null, margin: 100, top: 0, ...view }, 612, 100);
  return pen.context.getImageData(100, 20, 512, 80).data;
}

/** The largest difference of two pictures, and its mean. */
function apart(one, other) {
  const differences = Array.from(one, (part, at) => Math.abs(part - other[at]));
  return { most: Math.max(...new Set(differences)), mean: differences.reduce((sum, one) => sum + one, 0) / one.length };
}

/** How far a pen's pictures of some spans are from plain ones, in each of some views. */
function comparedOf(exact, data, views) {
  const fast = Object.assign(new CanvasPen(document.createElement("canvas")), { exact });
  const plain = new PlainPen(document.createElement("canvas"));
  const count = data.ids.length;
  return views.map((view) => ({ count, view, ...apart(picture(fast, Row, Steps, data, view), picture(plain, PlainRow, PlainSteps, data, view)) }));
}

/** The same of so many spans. */
function compared(exact, counts, views) {
  return counts.flatMap((count, seed) => comparedOf(exact, made(seed + 1, count), views));
}
