// A timeline: a figure with runs that a reader looks into.

/** Not higher than this for fingers: a canvas takes memory. */
const TALLEST = 2500;
/** A frame looks for threads in no more spans than this, but in one lane at least: the next frame has the others. */
const SOUGHT = 2 ** 16;
/** How many times more dots than pixels paper has, as far as a reader sees. */
const FINER = 2;

/** What is known of a run, ready to be drawn and asked. */
class Run {
  static async read(data) {
    const run = Object.assign(new Run(), data);
    run.spans = await spansOf(data.spans);
    run.judged = await judgedOf(data.judged, data.threads.length);
    run.tracks = await Promise.all(data.tracks.map(stepsOf));
    run.programs = [...new Set(run.threads.map((thread) => thread.program))];
    const { thread, core, ready } = run.spans;
    const hues = (key, colours) => new Uint8Array(run.spans.count).map((_, id) => colours[key[id]]);
    run.byCore = rows(run.spans, core, run.cores.length, hues(thread, run.threads.map(({ group }) => run.colourOf(group))), null);
    run.byThread = rows(run.spans, thread, run.threads.length, hues(core, run.cores.map(({ colour }) => colour)), ready);
    run.order = run.threads.map((_, thread) => thread).filter((thread) => run.byThread[thread].ids.length > 0);
    const places = new Map(run.programs.map((program, place) => [program, place]));
    run.order.sort((a, b) => places.get(run.threads[a].program) - places.get(run.threads[b].program) || a - b);
    return run;
  }

  /** The colour of a group. */
  colourOf(group) {
    return this.colours[group % this.colours.length];
  }

  /** `ferret/rank`, or the name alone if that is the program's. */
  nameOf(thread) {
    const { program, name } = this.threads[thread];
    return program === name || this.programs.length === 1 ? name : `${program}/${name}`;
  }

  /** What was thought of a thread at a time; null if nothing is known. */
  judgedAt(thread, time) {
    const judged = this.judged[thread];
    return judged[search(0, judged.length, (index) => judged[index].at > time) - 1] ?? null;
  }

  /** The span that the thread that woke this one's was in; null if none is known. */
  waker(id) {
    if (this.spans.woken[id] < 2) return null;
    const row = this.byThread[this.spans.woken[id] - 2];
    const woken = this.spans.from[id] - this.spans.ready[id];
    const other = row.ids[row.first(woken)];
    return other !== undefined && this.spans.from[other] <= woken && woken <= this.spans.to[other] ? other : null;
  }

  /** Of a lane what the threads that are looked for have; undefined where they have nothing, and until it has been looked for. */
  wanted({ lane, row }, mode) {
    if (mode === "cores") return this.found[lane];
    return this.sought[lane] ? row : undefined;
  }

  /** Looks for threads; for their spans on a core, `look` does. Returns how many there are. */
  want(is) {
    this.sought = this.threads.map((_, thread) => is(this.nameOf(thread)));
    /** By core. */
    this.found = [];
    return this.sought.filter(Boolean).length;
  }

  look(core) {
    this.found[core] = this.byCore[core].only((id) => this.sought[this.spans.thread[id]]);
  }
}

/** The figure. */
class Timeline {
  static async begin(figure) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const runs = [];
    for (const run of data.runs) runs.push(await Run.read(run));
    const most = {};
    for (const run of runs) {
      for (const track of run.tracks) most[track.unit] = Math.max(most[track.unit] ?? 0, track.steps.most);
      run.most = most;
    }
    return new Timeline(figure, runs, data.end);
  }

  constructor(figure, runs, end) {
    this.figure = figure;
    this.runs = runs;
    this.end = Math.max(1, end);
    this.view = { from: 0, to: this.end, mode: "cores", top: 0, margin: 96, wanted: null, selected: null };
    this.build();
    new Controls(this);
    this.arrange();
    new ResizeObserver(() => this.arrange()).observe(figure);
    this.count();
    this.follow();
    matchMedia("screen and (prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    figure.dataset.ready = "";
  }

  build() {
    this.canvas = Object.assign(document.createElement("canvas"), { tabIndex: 0 });
    this.pen = new CanvasPen(this.canvas);
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", `${this.figure.dataset.label} Keys: arrows move, plus and minus zoom, question mark tells all.`);
    this.legend = Object.assign(document.createElement("div"), { className: "legend" });
    this.details = Object.assign(document.createElement("div"), { className: "details" });
    this.details.setAttribute("aria-live", "polite");
    this.hint = Object.assign(document.createElement("div"), { className: "hint", hidden: true });
    const stage = Object.assign(document.createElement("div"), { className: "stage" });
    this.more = new More(this);
    stage.append(this.canvas, this.hint, ...this.more.parts);
    this.figure.append(this.legend, stage, this.details);
  }

  /** Puts everything where it belongs, after the mode or the width has changed. */
  arrange() {
    this.width = Math.max(200, this.figure.clientWidth);
    this.view.margin = this.width < 560 ? 70 : 116;
    this.layout = layout(this.runs, this.view.mode);
    // Fingers that move up and down scroll the page, so that they see all lanes only if the page has them.
    const most = matchMedia("(pointer: coarse)").matches ? TALLEST : Math.max(280, Math.round(window.innerHeight * 0.75));
    this.height = this.printed ? this.layout.height : Math.min(this.layout.height, most);
    this.canvas.style.height = `${this.height}px`;
    this.show(this.view);
    this.name();
  }

  /** Names colours. */
  name() {
    const { mode } = this.view;
    const [run] = this.runs;
    const entries =
      mode === "threads"
        ? [...new Map(run.cores.map((core) => [core.colour, core.kind])), ["waits", "ready, without a core"]]
        : run.colours.map((colour, index) => [colour, run.groups.filter((_, group) => group % run.colours.length === index)])
            .filter(([, names]) => names.length > 0)
            .map(([colour, names]) => [colour, names.slice(0, 3).join(", ") + (names.length > 3 ? `, and ${names.length - 3} more` : "")]);
    this.legend.replaceChildren(
      ...entries.map(([colour, text]) => {
        const entry = document.createElement("span");
        entry.className = colour === "waits" ? "waits" : `t${colour}`;
        entry.append(Object.assign(document.createElement("b"), { textContent: text }));
        return entry;
      }),
    );
  }

  /** Shows a part of the time, within bounds. */
  show(change) {
    const view = Object.assign(this.view, change);
    const least = Math.min(this.end, 50);
    const length = Math.min(this.end, Math.max(least, view.to - view.from));
    view.from = Math.min(Math.max(0, view.from), this.end - length);
    view.to = view.from + length;
    view.top = Math.min(Math.max(0, view.top), this.layout.height - this.height);
    this.more.show();
    this.redraw();
  }

  /** Zooms by a factor around a moment. */
  zoom(factor, around = (this.view.from + this.view.to) / 2) {
    const { from, to } = this.view;
    this.show({ from: around - (around - from) * factor, to: around + (to - around) * factor });
  }

  /** Moves by a share of what is seen. */
  pan(share) {
    const by = share * (this.view.to - this.view.from);
    this.show({ from: this.view.from + by, to: this.view.to + by });
  }

  /**
   * Counts the screen's pixels that the canvas covers, now and whenever that changes. Where a page's pixel is 1.25 of the screen's, their
   * number depends on where the canvas begins; a canvas with one more or less is stretched, and all of it blurred.
   */
  count() {
    const counted = new ResizeObserver(([{ devicePixelContentBoxSize }]) => {
      const [{ inlineSize, blockSize }] = devicePixelContentBoxSize;
      this.pixels = [inlineSize, blockSize];
      this.redraw();
    });
    // Not every browser does that.
    if ("devicePixelContentBoxSize" in ResizeObserverEntry.prototype) counted.observe(this.canvas, { box: "device-pixel-content-box" });
  }

  /** Draws anew when the page's pixels become other ones: by a zoom that leaves the width, or on another screen. */
  follow() {
    const changed = () => {
      this.redraw();
      this.follow();
    };
    matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`).addEventListener("change", changed, { once: true });
  }

  redraw() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => this.paint());
  }

  /** Draws now. */
  paint() {
    cancelAnimationFrame(this.drawing);
    this.drawing = null;
    const { pen } = this;
    const ratio = this.printed ? Math.min(FINER, LONGEST / Math.max(this.width, this.height)) : undefined;
    const [width, height] = pen.begin(this.width, this.height, this.pixels, ratio);
    const looked = this.look(this.view, height, this.printed ? Infinity : SOUGHT);
    draw(pen, this.layout, this.view, width, height);
    // There may be more to look through.
    if (looked) this.redraw();
    // For those who hold the drawing against what it should be.
    Object.assign(this.figure.dataset, { from: this.view.from, to: this.view.to, mode: this.view.mode, drawn: pen.count, looked });
  }

  /** Looks through cores in view for threads that are looked for: no more spans than `most`, but one core at least. Returns how many spans. */
  look(view, height, most) {
    let looked = 0;
    if (!view.wanted || view.mode !== "cores") return looked;
    for (const item of this.layout.items) {
      if (item.kind !== "lane" || !isSeen(item, view, height) || item.run.found[item.lane]) continue;
      const count = item.row.ids.length;
      if (looked && looked + count > most) break;
      item.run.look(item.lane);
      looked += count;
    }
    return looked;
  }

  /** Draws what goes to paper, which does not scroll: all lanes, at once. */
  print() {
    this.printed = true;
    this.arrange();
    this.paint();
    this.canvas.classList.toggle("sheet", this.height < 1.8 * this.width);
  }

  /** Draws for the screen again. */
  unprint() {
    this.printed = false;
    this.arrange();
  }

  /** The lane and the time at a point of the canvas. */
  at(x, y) {
    const { from, to, margin, top } = this.view;
    const time = from + ((x - margin) / (this.width - margin)) * (to - from);
    const item = this.layout.items.find((item) => y + top >= item.y && y + top < item.y + item.height + GAP);
    return { time, item: y > AXIS ? item : undefined, inside: x >= margin };
  }

  /** The span at a point; the nearest within three pixels; null if there is none. */
  spanAt(x, y) {
    const { time, item, inside } = this.at(x, y);
    if (item?.kind !== "lane" || !inside || !item.row.ids.length) return null;
    const near = (3 * (this.view.to - this.view.from)) / (this.width - this.view.margin);
    const { ids, spans } = item.row;
    const position = item.row.first(time);
    const off = (id) => Math.max(0, spans.from[id] - time, time - spans.to[id]);
    const candidates = [ids[position], ids[position + 1]].filter((id) => id !== undefined && off(id) <= near);
    candidates.sort((a, b) => off(a) - off(b));
    return candidates.length ? { run: item.run, id: candidates[0] } : null;
  }

  /** Selects a span, and brings it into view. */
  select(selected) {
    this.view.selected = selected;
    describe(this, selected);
    if (!selected) return this.redraw();
    const { spans } = selected.run;
    const { from, to } = this.view;
    const [begin, end] = [spans.from[selected.id], spans.to[selected.id]];
    const change = end < from || begin > to ? { from: begin - (to - from) / 2, to: begin + (to - from) / 2 } : {};
    const item = this.itemOf(selected);
    if (item && (item.y - this.view.top < AXIS || item.y + item.height - this.view.top > this.height)) {
      change.top = item.y - this.height / 2;
    }
    this.show(change);
  }

  itemOf({ run, id }) {
    const lane = this.view.mode === "cores" ? run.spans.core[id] : run.spans.thread[id];
    return this.layout.items.find((item) => item.kind === "lane" && item.run === run && item.lane === lane);
  }

  /** Where a span's left end is on the canvas, if it is in view. */
  placeOf({ run, id }) {
    const { from, to, margin, top } = this.view;
    const item = this.itemOf({ run, id });
    if (!item || run.spans.to[id] < from || run.spans.from[id] > to) return null;
    const x = margin + ((Math.max(from, run.spans.from[id]) - from) / (to - from)) * (this.width - margin);
    return { x, y: item.y - top + item.height - 10 };
  }

  /** The span before or after the selected one in its lane. */
  step(by) {
    const { selected } = this.view;
    if (!selected) return this.selectFirst();
    const { row } = this.itemOf(selected);
    const next = row.ids[row.ids.indexOf(selected.id) + by];
    if (next !== undefined) this.select({ run: selected.run, id: next });
  }

  /** The span of the lane above or below at the same time. */
  climb(by) {
    const { selected } = this.view;
    if (!selected) return this.selectFirst();
    const lanes = this.layout.items.filter((item) => item.kind === "lane" && item.row.ids.length);
    const item = lanes[lanes.indexOf(this.itemOf(selected)) + by];
    if (item) this.select({ run: item.run, id: item.row.ids[item.row.first(selected.run.spans.from[selected.id])] });
  }

  selectFirst() {
    const item = this.layout.items.find((item) => item.kind === "lane" && item.row.ids.length);
    if (item) this.select({ run: item.run, id: item.row.ids[item.row.first(this.view.from)] });
  }

  /** Threads whose names hold a text come to the fore. Returns how many there are. */
  find(text) {
    const wanted = text.trim().toLowerCase();
    const want = (run) => run.want((name) => name.toLowerCase().includes(wanted));
    // An empty text is in all names, but nothing is looked for.
    const found = wanted ? this.runs.reduce((sum, run) => sum + want(run), 0) : 0;
    this.show({ wanted: wanted || null });
    return found;
  }

  /** Cores, or threads. */
  change(mode) {
    this.view.mode = mode;
    this.view.top = 0;
    this.arrange();
  }

  /** All of it as a drawing. */
  svg() {
    const [width, height] = [1000, this.layout.height];
    const pen = new SvgPen(width, height);
    const view = { ...this.view, top: 0, margin: 116 };
    this.look(view, height, Infinity);
    draw(pen, this.layout, view, width, height);
    return pen.document();
  }
}
