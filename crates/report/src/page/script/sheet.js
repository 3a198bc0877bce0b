// What is drawn column by column, for all lanes and tracks in one image: rectangles of their own, or an image for each, would take longer than a frame.

/** The thickness of a line over time. */
const STROKE = 1.3;

/** An image of which each part goes somewhere on a canvas. It is kept from frame to frame. */
class Sheet {
  constructor(context) {
    this.context = context;
    this.own = document.createElement("canvas").getContext("2d");
    this.image = null;
    this.parts = [];
    this.rows = 0;
  }

  /** Room for so many pixels of the image, which are drawn at a place on the canvas, as large as said there. */
  take(columns, rows, place) {
    if (columns !== this.image?.width || this.rows + rows > this.image.height) this.grow(columns, rows);
    const part = { sheet: this, columns, rows, first: this.rows * columns, row: this.rows, place, used: false };
    this.parts.push(part);
    this.rows += rows;
    return part;
  }

  /** Makes room for more. */
  grow(columns, rows) {
    const { image } = this;
    if (columns !== image?.width) this.lay();
    this.image = new ImageData(columns, 2 * Math.max(32, this.rows + rows));
    // What waits to be drawn is in rows of the same length.
    if (this.rows) this.image.data.set(image.data.subarray(0, 4 * columns * this.rows));
    // Red, green, blue and opacity as one number, red in the lowest bits, as on all machines that browsers are for.
    this.words = new Uint32Array(this.image.data.buffer);
    Object.assign(this.own.canvas, { width: columns, height: this.image.height });
  }

  /** Draws all parts that have something on them. */
  lay() {
    const parts = this.parts.filter(({ used }) => used);
    if (parts.length) {
      const { width } = this.image;
      this.own.putImageData(this.image, 0, 0, 0, 0, width, this.rows);
      this.context.globalAlpha = 1;
      this.context.imageSmoothingEnabled = false;
      for (const { row, rows, place } of parts) this.context.drawImage(this.own.canvas, 0, row, width, rows, ...place);
      this.words.fill(0, 0, this.rows * width);
    }
    this.parts = [];
    this.rows = 0;
  }
}

/** The columns of a lane: a row of the image, drawn as high as the lane is. */
class Strip {
  constructor(pen, x, y, width, height, colours) {
    const columns = Math.ceil(width / pen.pixel);
    this.pen = pen;
    const top = pen.whole(y);
    this.part = pen.sheet.take(columns, 1, [x, top, columns * pen.pixel, pen.whole(y + height) - top]);
    this.colours = colours.map(word);
  }

  /** Gives a column one of the colours. */
  put(column, hue, opacity) {
    const { part } = this;
    if (column >= part.columns) return;
    part.used = true;
    this.pen.count++;
    part.sheet.words[part.first + column] = this.colours[hue] | (Math.round(255 * opacity) << 24);
  }
}

/** A value over time: a line, and columns for which there are several values. */
class Graph {
  constructor(pen, x, y, width, height, colour) {
    Object.assign(this, { pen, colour, path: new Path2D(), before: null });
    const columns = Math.ceil(width / pen.pixel);
    // Pixels of the image are those of the canvas, wherever the graph is.
    this.top = Math.floor(y / pen.pixel) * pen.pixel;
    const rows = Math.ceil(height / pen.pixel) + 1;
    this.part = pen.sheet.take(columns, rows, [x, this.top, columns * pen.pixel, rows * pen.pixel]);
    this.word = word(colour);
  }

  /** A level from one place to another. */
  level(from, to, y) {
    if (!this.drawn) this.path.moveTo(from, this.before ?? y);
    this.path.lineTo(from, y);
    this.path.lineTo(to, y);
    [this.drawn, this.before] = [true, y];
  }

  /** A column's range, and its mean, which the line comes to from where it was. */
  range(column, high, low, mean) {
    const before = this.before ?? mean;
    [this.drawn, this.before] = [false, mean];
    if (column >= this.part.columns) return;
    this.part.used = true;
    this.pen.count++;
    this.cover(column, high, low, 0.3);
    this.cover(column, Math.min(before, mean) - STROKE / 2, Math.max(before, mean) + STROKE / 2, 1);
  }

  /** Covers a part of a column, over what is there: pixels at its ends as far as it reaches into them. */
  cover(column, from, to, opacity) {
    const { part, top, pen, word } = this;
    const { words } = part.sheet;
    const begin = Math.max(0, (from - top) / pen.pixel);
    const end = Math.min(part.rows, (to - top) / pen.pixel);
    for (let row = Math.floor(begin); row < end; row++) {
      const at = part.first + row * part.columns + column;
      const own = opacity * (Math.min(end, row + 1) - Math.max(begin, row));
      const below = (words[at] >>> 24) / 255;
      words[at] = word | (Math.round(255 * (own + below * (1 - own))) << 24);
    }
  }

  /** Draws the line, where it is not in columns. */
  end() {
    const { context } = this.pen;
    Object.assign(context, { globalAlpha: 1, strokeStyle: this.colour, lineWidth: STROKE });
    context.stroke(this.path);
  }
}

/** A colour such as #0072b2 as a number, without opacity. */
function word(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return red | (green << 8) | (blue << 16);
}
