// Two that draw: one on the screen, one into a file.

const FONT = "11px ui-sans-serif, system-ui, sans-serif";

/** Draws on a canvas. */
class CanvasPen {
  constructor(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    this.context = canvas.getContext("2d");
    this.context.scale(ratio, ratio);
    this.context.font = FONT;
    this.context.textBaseline = "middle";
    /** The smallest width that is told from none. */
    this.pixel = 1 / ratio;
    this.count = 0;
  }

  rect(x, y, width, height, colour, opacity = 1) {
    this.count++;
    this.context.globalAlpha = opacity;
    this.context.fillStyle = colour;
    this.context.fillRect(x, y, width, height);
  }

  /** Columns that are a pixel wide, all of them drawn at once: one by one they would take longer than a frame. */
  strip(x, y, width, height) {
    return new Strip(this, x, y, width, height);
  }

  frame(x, y, width, height, colour) {
    this.context.globalAlpha = 1;
    this.context.strokeStyle = colour;
    this.context.lineWidth = 2;
    this.context.strokeRect(x, y, width, height);
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
    this.context.fillText(this.fitting(text, room), x, y);
  }

  fitting(text, room) {
    if (room === Infinity || this.context.measureText(text).width <= room) return text;
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

/** Columns side by side on a canvas: an image that is one pixel high, drawn as high as they are. */
class Strip {
  constructor(pen, x, y, width, height) {
    Object.assign(this, { pen, x, y, height, columns: Math.ceil(width / pen.pixel), image: null });
  }

  put(column, colour, opacity) {
    if (column >= this.columns) return;
    this.image ??= new ImageData(this.columns, 1);
    this.pen.count++;
    const [red, green, blue] = bytes(colour);
    const { data } = this.image;
    data[4 * column] = red;
    data[4 * column + 1] = green;
    data[4 * column + 2] = blue;
    data[4 * column + 3] = Math.round(255 * opacity);
  }

  end() {
    if (!this.image) return;
    const { context, pixel } = this.pen;
    const small = Object.assign(document.createElement("canvas"), { width: this.columns, height: 1 });
    small.getContext("2d").putImageData(this.image, 0, 0);
    context.globalAlpha = 1;
    context.imageSmoothingEnabled = false;
    context.drawImage(small, this.x, this.y, this.columns * pixel, this.height);
  }
}

const BYTES = new Map();

/** Red, green and blue of a colour such as #0072b2. */
function bytes(colour) {
  if (!BYTES.has(colour)) BYTES.set(colour, [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)));
  return BYTES.get(colour);
}

/** Draws an SVG. */
class SvgPen {
  constructor(width, height) {
    this.size = [width, height];
    this.parts = [];
    this.clips = 0;
    this.pixel = 0.5;
    this.count = 0;
    this.measure = document.createElement("canvas").getContext("2d");
    this.measure.font = FONT;
  }

  rect(x, y, width, height, colour, opacity = 1) {
    const faint = opacity < 1 ? ` fill-opacity="${short(opacity)}"` : "";
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${colour}"${faint}/>`);
  }

  /** The same as on a canvas, as rectangles. */
  strip(x, y, width, height) {
    const put = (column, colour, opacity) => this.rect(x + column * this.pixel, y, this.pixel, height, colour, opacity);
    return { put, end() {} };
  }

  frame(x, y, width, height, colour) {
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="none" stroke="${colour}" stroke-width="2"/>`);
  }

  line(points, colour, width = 1) {
    this.parts.push(`<polyline points="${points.map(short).join(" ")}" fill="none" stroke="${colour}" stroke-width="${width}"/>`);
  }

  text(text, x, y, colour, { align = "left", bold = false, room = Infinity } = {}) {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const weight = bold ? ` font-weight="600"` : "";
    const fitting = CanvasPen.prototype.fitting.call({ context: this.measure }, text, room);
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
