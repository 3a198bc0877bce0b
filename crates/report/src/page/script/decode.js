// What a page brings with it: columns of unsigned LEB128 numbers, deflated, as base64. page/timeline/columns.rs writes them.

/** The bytes of such a text. */
async function inflate(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads columns, one after the other. */
class Columns {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  next() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  /** A column of so many numbers. */
  numbers(count, Type = Float64Array) {
    const column = new Type(count);
    for (let row = 0; row < count; row++) column[row] = this.next();
    return column;
  }

  /** A column of numbers that never fall, written as differences. */
  rising(count) {
    const column = this.numbers(count);
    for (let row = 1; row < count; row++) column[row] += column[row - 1];
    return column;
  }
}

/** Which thread had which core from when to when. All times are in nanoseconds. */
async function spansOf({ count, columns }) {
  const read = new Columns(await inflate(columns));
  const from = read.rising(count);
  const to = read.numbers(count);
  for (let row = 0; row < count; row++) to[row] += from[row];
  return {
    count,
    from,
    to,
    core: read.numbers(count, Uint16Array),
    thread: read.numbers(count, Uint32Array),
    /** How long the thread was ready before. */
    ready: read.numbers(count),
    /** 0: it was not woken. 1: not by a thread. Else the thread and 2. */
    woken: read.numbers(count, Uint32Array),
    /** Why it left the core, a position in the list of reasons. */
    why: read.numbers(count, Uint32Array),
  };
}

/** A value from each time on until its next. */
async function stepsOf({ name, unit, scale, count, columns }) {
  const read = new Columns(await inflate(columns));
  const at = read.rising(count);
  const value = read.numbers(count).map((number) => number * scale);
  return { name, unit, steps: new Steps(at, value) };
}
