// How a reader moves in a timeline: pointer, fingers, keys, buttons.

const HELP = [
  ["← →  a d", "move"],
  ["+ −  w s", "zoom; so does the wheel with Ctrl, and a double click"],
  ["0", "all of it"],
  ["t", "cores or threads"],
  ["/", "find threads"],
  [". ,", "the next or previous slice of a lane"],
  ["↑ ↓", "the lane above or below"],
  ["PgUp PgDn", "lanes that are out of view; so does the wheel, a drag, the bar at the right"],
  ["f", "fill the view with the selected slice"],
  ["Esc", "nothing selected"],
];

/** What a reader learns who comes by key. */
const INVITATION = "Keys: arrows move, + and − zoom, . selects a slice, ? shows all keys";

/** Hears what a reader does. */
class Controls {
  constructor(timeline) {
    this.timeline = timeline;
    this.canvas = timeline.canvas;
    this.fingers = new Map();
    this.toolbar();
    const hear = (name, act) => this.canvas.addEventListener(name, act.bind(this), { passive: false });
    hear("wheel", this.wheel);
    hear("pointerdown", this.down);
    hear("pointermove", this.move);
    hear("pointerup", this.up);
    hear("pointercancel", this.up);
    hear("lostpointercapture", this.up);
    hear("pointerleave", () => this.tell(null));
    hear("dblclick", (event) => timeline.zoom(0.5, timeline.at(event.offsetX, event.offsetY).time));
    hear("keydown", this.key);
    hear("focus", this.invite);
    hear("blur", () => this.tell(null));
  }

  toolbar() {
    const { timeline } = this;
    const bar = Object.assign(document.createElement("div"), { className: "toolbar" });
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", `Timeline: ${timeline.figure.dataset.label}`);
    const button = (text, label, act) => {
      const made = Object.assign(document.createElement("button"), { type: "button", textContent: text, title: label });
      made.setAttribute("aria-label", label);
      made.addEventListener("click", act);
      bar.append(made);
      return made;
    };
    this.mode = button("Threads", "Show threads instead of cores", () => this.toggle());
    button("−", "Zoom out", () => timeline.zoom(2));
    button("+", "Zoom in", () => timeline.zoom(0.5));
    button("All", "Show all of it", () => timeline.show({ from: 0, to: timeline.end }));
    this.search = Object.assign(document.createElement("input"), { type: "search", placeholder: "Find threads" });
    this.search.setAttribute("aria-label", "Find threads by name");
    this.found = Object.assign(document.createElement("span"), { className: "soft" });
    this.found.setAttribute("aria-live", "polite");
    this.search.addEventListener("input", () => this.find());
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") this.canvas.focus();
    });
    bar.append(this.search, this.found);
    const name = timeline.figure.id;
    button("SVG", "Save as SVG", () => save(`${name}.svg`, svgBlob(timeline.svg())));
    button("PNG", "Save as PNG", () => savePng(`${name}.png`, timeline.svg()));
    this.help = Object.assign(document.createElement("dl"), { className: "keys", hidden: true });
    for (const [keys, what] of HELP) {
      this.help.append(Object.assign(document.createElement("dt"), { textContent: keys }), Object.assign(document.createElement("dd"), { textContent: what }));
    }
    const toggle = button("?", "Keys", () => this.explain());
    toggle.setAttribute("aria-expanded", "false");
    this.question = toggle;
    timeline.figure.prepend(bar, this.help);
  }

  explain() {
    this.help.hidden = !this.help.hidden;
    this.question.setAttribute("aria-expanded", String(!this.help.hidden));
  }

  toggle() {
    const threads = this.timeline.view.mode === "cores";
    this.timeline.change(threads ? "threads" : "cores");
    this.mode.textContent = threads ? "Cores" : "Threads";
    this.mode.title = threads ? "Show cores instead of threads" : "Show threads instead of cores";
    this.mode.setAttribute("aria-label", this.mode.title);
  }

  find() {
    const found = this.timeline.find(this.search.value);
    this.found.textContent = this.search.value.trim() ? `${found} found` : "";
  }

  wheel(event) {
    const { timeline } = this;
    const { view } = timeline;
    if (event.ctrlKey || event.metaKey) {
      timeline.zoom(Math.exp(event.deltaY * 0.003), timeline.at(event.offsetX, event.offsetY).time);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      timeline.pan(((event.shiftKey && event.deltaY) || event.deltaX) / timeline.width);
    } else {
      // The page scrolls where the timeline cannot.
      const before = view.top;
      timeline.show({ top: before + event.deltaY });
      if (view.top === before) return;
    }
    event.preventDefault();
  }

  down(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.dragged = 0;
    this.range = event.offsetY < AXIS ? event.offsetX : null;
  }

  move(event) {
    const finger = this.fingers.get(event.pointerId);
    if (!finger) return this.tell(event);
    const { timeline } = this;
    const { view } = timeline;
    const nanoseconds = (view.to - view.from) / (timeline.width - view.margin);
    const [dx, dy] = [event.offsetX - finger.x, event.offsetY - finger.y];
    const others = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, other]) => other);
    this.dragged += Math.abs(dx) + Math.abs(dy);
    if (others.length) {
      const [other] = others;
      const [before, now] = [Math.abs(finger.x - other.x), Math.abs(event.offsetX - other.x)];
      if (before > 10 && now > 10) timeline.zoom(before / now, timeline.at((event.offsetX + other.x) / 2, 0).time);
    } else if (this.range === null) {
      timeline.show({ from: view.from - dx * nanoseconds, to: view.to - dx * nanoseconds, top: view.top - dy });
    }
    Object.assign(finger, { x: event.offsetX, y: event.offsetY });
  }

  up(event) {
    const { timeline } = this;
    if (!this.fingers.delete(event.pointerId)) return;
    if (this.range !== null && Math.abs(event.offsetX - this.range) > 5) {
      const { from, to } = timeline.view;
      // A pointer that leaves the canvas chooses up to its edge.
      const ends = [this.range, event.offsetX].map((x) => Math.min(to, Math.max(from, timeline.at(x, 0).time))).sort((a, b) => a - b);
      if (ends[0] < ends[1]) timeline.show({ from: ends[0], to: ends[1] });
    } else if (this.dragged < 5 && event.type === "pointerup") {
      timeline.select(timeline.spanAt(event.offsetX, event.offsetY));
    }
    this.range = null;
  }

  /** Scrolls by a share of what is seen. Whether there was anything to scroll. */
  scroll(share) {
    const { timeline } = this;
    const { top } = timeline.view;
    timeline.show({ top: top + share * (timeline.height - AXIS) });
    return timeline.view.top !== top;
  }

  /** Says what the pointer is at. */
  tell(event) {
    const span = event && this.timeline.spanAt(event.offsetX, event.offsetY);
    const text = span ? hint(span.run, span.id) : event && this.track(event);
    this.say(text, event?.offsetX, event?.offsetY);
  }

  /** Says what can be done to a reader who came by key: a pointer finds out by itself. */
  invite() {
    if (this.canvas.matches(":focus-visible")) this.say(INVITATION, this.timeline.view.margin, AXIS);
  }

  /** Says what is selected, where it is: a reader without a pointer has no other way to point at it. */
  tellSelected() {
    const { timeline } = this;
    const { selected } = timeline.view;
    const place = selected && timeline.placeOf(selected);
    this.say(place && hint(selected.run, selected.id), place?.x, place?.y);
  }

  /** Shows a text below a point of the canvas, or none. */
  say(text, x, y) {
    const { timeline } = this;
    const { hint: box } = timeline;
    box.hidden = !text;
    if (!text) return;
    box.textContent = text;
    const left = Math.min(x + 12, timeline.width - box.offsetWidth - 4);
    box.style.transform = `translate(${Math.max(0, left)}px, ${y + 16}px)`;
  }

  /** What a track says at the pointer. */
  track(event) {
    const { time, item, inside } = this.timeline.at(event.offsetX, event.offsetY);
    // A run that is over has no power and no clock any more.
    if (item?.kind !== "track" || !inside || time > item.run.end) return null;
    const { steps, unit, name } = item.track;
    const position = steps.position(time);
    return position < 0 ? null : `${name}: ${Number(steps.value[position].toPrecision(4))} ${unit} at ${moment(time, (this.timeline.view.to - this.timeline.view.from) / 1000)}`;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { timeline } = this;
    const { view } = timeline;
    const fill = () => {
      if (!view.selected) return;
      const { run, id } = view.selected;
      const length = run.spans.to[id] - run.spans.from[id];
      timeline.show({ from: run.spans.from[id] - length / 2, to: run.spans.to[id] + length / 2 });
    };
    const acts = {
      ArrowLeft: () => timeline.pan(-0.2),
      a: () => timeline.pan(-0.2),
      ArrowRight: () => timeline.pan(0.2),
      d: () => timeline.pan(0.2),
      "+": () => timeline.zoom(0.5),
      "=": () => timeline.zoom(0.5),
      w: () => timeline.zoom(0.5),
      "-": () => timeline.zoom(2),
      s: () => timeline.zoom(2),
      0: () => timeline.show({ from: 0, to: timeline.end }),
      Home: () => timeline.show({ from: 0, to: timeline.end }),
      t: () => this.toggle(),
      "/": () => this.search.focus(),
      ".": () => timeline.step(1),
      ",": () => timeline.step(-1),
      ArrowUp: () => timeline.climb(-1),
      ArrowDown: () => timeline.climb(1),
      f: fill,
      PageDown: () => this.scroll(0.8),
      PageUp: () => this.scroll(-0.8),
      Escape: () => timeline.select(null),
      "?": () => this.explain(),
    };
    const act = acts[event.key];
    if (!act) return;
    // The page scrolls where the timeline cannot.
    if (act() === false) return;
    if (document.activeElement === this.canvas) this.tellSelected();
    event.preventDefault();
  }
}
