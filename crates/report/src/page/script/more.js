// Lanes that a timeline has no room for: how many there are, and a bar that scrolls to them.

/** A bar beside the canvas, and a line below. */
class More {
  constructor(timeline) {
    this.timeline = timeline;
    this.thumb = Object.assign(document.createElement("i"), { className: "thumb" });
    this.bar = Object.assign(document.createElement("div"), { className: "bar", hidden: true });
    this.bar.append(this.thumb);
    this.line = Object.assign(document.createElement("button"), { type: "button", className: "more", hidden: true });
    this.line.addEventListener("click", () => this.page());
    this.bar.addEventListener("pointerdown", (event) => this.grab(event));
    this.bar.addEventListener("pointermove", (event) => this.bar.hasPointerCapture(event.pointerId) && this.drag(event));
    this.parts = [this.bar, this.line];
  }

  /** A view further down; from the end, the first one. */
  page() {
    const { timeline } = this;
    const { top } = timeline.view;
    const last = timeline.layout.height - timeline.height;
    timeline.show({ top: top < last ? top + 0.8 * (timeline.height - AXIS) : 0 });
  }

  grab(event) {
    this.bar.setPointerCapture(event.pointerId);
    this.drag(event);
  }

  /** The thumb's middle goes where the pointer is. */
  drag(event) {
    const { layout, height } = this.timeline;
    const box = this.bar.getBoundingClientRect();
    this.timeline.show({ top: ((event.clientY - box.top) / box.height) * layout.height - height / 2 });
    event.preventDefault();
  }

  /** Says what is out of view now. */
  show() {
    const { layout, height, view } = this.timeline;
    this.bar.hidden = this.line.hidden = layout.height <= height;
    // Beside what scrolls, which the axis does not.
    this.bar.style.height = `${height - AXIS}px`;
    this.thumb.style.top = `${(100 * view.top) / layout.height}%`;
    this.thumb.style.height = `${(100 * height) / layout.height}%`;
    const rows = layout.items.filter((item) => item.kind !== "title");
    const below = rows.filter((item) => item.y + item.height / 2 > view.top + height).length;
    this.line.textContent = below ? `↓ scroll for ${below} more ${below === 1 ? "lane" : "lanes"} (PgDn)` : "↑ back to the first lanes";
  }
}
