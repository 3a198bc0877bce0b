// Two that draw: one on the screen, one into a file.

const FONT = "11px ui-sans-serif, system-ui, sans-serif";

/** Draws on a canvas. */
class CanvasPen {
  constructor(canvas) {
    this.context = canvas.getContext("2d");
    this.sheet = new Sheet(this.context);
    /** Whether a pixel's ends are where they are, or within half a pixel of it, which is faster. */
    this.exact = false;
  }

  /**
   * Begins a drawing, on nothing. `pixels`: how many of the screen's the canvas covers, if that is known. Returns the drawing's
   * width and height, which are those that were wanted but for a part of a pixel.
   */
  begin(width, height, pixels, ratio = window.devicePixelRatio || 1) {
    const { canvas } = this.context;
    const wanted = [width * ratio, height * ratio];
    // What is known may be of before the window changed.
    const known = pixels?.every((count, at) => Math.abs(count - wanted[at]) < 2);
    [canvas.width, canvas.height] = known ? pixels : wanted.map(Math.round);
    this.context.scale(ratio, ratio);
    this.ratio = ratio;
    this.context.font = FONT;
    this.context.textBaseline = "middle";
    /** The smallest width that is told from none. */
    this.pixel = 1 / ratio;
    this.count = 0;
    return [canvas.width / ratio, canvas.height / ratio];
  }

  /** The place nearest to one where a pixel begins: edges and letters elsewhere are blurred. */
  whole(place) {
    return Math.round(place * this.ratio) / this.ratio;
  }

  /** Its upper and lower edge are those of pixels. To the sides it is as wide as the time that it stands for. */
  rect(x, y, width, height, colour, opacity = 1) {
    this.count++;
    this.context.globalAlpha = opacity;
    this.context.fillStyle = colour;
    const top = this.whole(y);
    this.context.fillRect(x, top, width, Math.max(this.pixel, this.whole(y + height) - top));
  }

  /** Room for columns that are a pixel wide, each of one of some colours. They are there when `lay` is called. */
  strip(x, y, width, height, colours) {
    return new Strip(this, x, y, width, height, colours);
  }

  /** Room for a value over time. Its columns are there when `lay` is called, too. */
  graph(x, y, width, height, colour) {
    return new Graph(this, x, y, width, height, colour);
  }

  /** Draws what has been put into columns. */
  lay() {
    this.sheet.lay();
  }

  frame(x, y, width, height, colour) {
    this.context.globalAlpha = 1;
    this.context.strokeStyle = colour;
    this.context.lineWidth = 2;
    const top = this.whole(y);
    this.context.strokeRect(x, top, width, this.whole(y + height) - top);
  }

  /** A line through points: x, y, x, y, ... */
  line(points, colour, width = 1) {
    this.count++;
    this.context.globalAlpha = 1;
    this.context.strokeStyle = colour;
    this.context.lineWidth = width;
    this.context.beginPath();
    for (let at = 0; at < points.length; at += 2) this.context.lineTo(points[at], points[at + 1]);
    this.context.stroke();
  }

  /** A text, cut off where there is no room for it. */
  text(text, x, y, colour, { align = "left", bold = false, room = Infinity } = {}) {
    this.context.globalAlpha = 1;
    this.context.fillStyle = colour;
    this.context.font = bold ? `600 ${FONT}` : FONT;
    this.context.textAlign = align;
    this.context.fillText(this.fitting(text, room, bold), this.whole(x), this.whole(y));
  }

  fitting(text, room, bold) {
    if (room === Infinity || wide(this.context, text, bold) <= room) return text;
    const letters = Array.from(text);
    const cut = (length) => `${letters.slice(0, length).join("")}…`;
    const length = search(0, letters.length, (length) => this.context.measureText(cut(length)).width > room);
    return length > 1 ? cut(length - 1) : "";
  }

  /** What is drawn until `end` shows only here. */
  clip(x, y, width, height) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
  }

  end() {
    this.context.restore();
  }
}

const WIDTHS = { true: new Map(), false: new Map() };

/** How wide a text is, bold or not. The same few names are asked for in each frame. */
function wide(context, text, bold) {
  const widths = WIDTHS[bold];
  if (!widths.has(text)) widths.set(text, context.measureText(text).width);
  return widths.get(text);
}

/** Draws an SVG. */
class SvgPen {
  constructor(width, height) {
    this.size = [width, height];
    this.parts = [];
    this.clips = 0;
    this.pixel = 0.5;
    this.exact = true;
    this.count = 0;
    this.measure = document.createElement("canvas").getContext("2d");
    this.measure.font = FONT;
  }

  /** A drawing without pixels has its edges where they are. */
  whole(place) {
    return place;
  }

  rect(x, y, width, height, colour, opacity = 1) {
    const faint = opacity < 1 ? ` fill-opacity="${short(opacity)}"` : "";
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${colour}"${faint}/>`);
  }

  /** The same as on a canvas, as rectangles. */
  strip(x, y, width, height, colours) {
    const put = (column, hue, opacity) => this.rect(x + column * this.pixel, y, this.pixel, height, colours[hue], opacity);
    return { put };
  }

  graph(x, y, width, height, colour) {
    const points = [];
    const range = (column, high, low, mean) => {
      const left = x + column * this.pixel;
      this.rect(left, high, this.pixel, low - high, colour, 0.3);
      points.push(left, mean, left + this.pixel, mean);
    };
    const level = (from, to, y) => points.push(from, y, to, y);
    const end = () => points.length && this.line(points, colour, STROKE);
    return { range, level, end };
  }

  lay() {}

  frame(x, y, width, height, colour) {
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="none" stroke="${colour}" stroke-width="2"/>`);
  }

  line(points, colour, width = 1) {
    this.parts.push(`<polyline points="${points.map(short).join(" ")}" fill="none" stroke="${colour}" stroke-width="${width}"/>`);
  }

  text(text, x, y, colour, { align = "left", bold = false, room = Infinity } = {}) {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const weight = bold ? ` font-weight="600"` : "";
    const fitting = CanvasPen.prototype.fitting.call({ context: this.measure }, text, room, false);
    this.parts.push(`<text x="${short(x)}" y="${short(y + 4)}" fill="${colour}" text-anchor="${anchor}"${weight}>${escaped(fitting)}</text>`);
  }

  clip(x, y, width, height) {
    this.clips++;
    this.parts.push(
      `<clipPath id="c${this.clips}"><rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"/></clipPath><g clip-path="url(#c${this.clips})">`,
    );
  }

  end() {
    this.parts.push("</g>");
  }

  /** The document. */
  document() {
    const [width, height] = this.size;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">${this.parts.join("\n")}</svg>`;
  }
}

/** A number with two decimals at most. */
function short(number) {
  return Math.round(number * 100) / 100;
}

function escaped(text) {
  // A document has no control characters.
  return text.replace(/[\u0000-\u001f]/g, " ").replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
