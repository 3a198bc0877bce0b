// What a page brings with it: columns of unsigned LEB128 numbers, deflated, as base64. page/timeline/columns.rs writes them.

/** The bytes of such a text. */
async function inflate(text) {
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  // `Uint8Array.from` would make a list of letters first, of a million spans some ten millions.
  for (let at = 0; at < letters.length; at++) packed[at] = letters.charCodeAt(at);
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

/** What the policy thought of a thread, and where it kept it, in words. */
const LABELS = ["", "big", "little", "critical"];
const KEPT = ["", "kept to big cores", "kept to little cores", "kept to some cores"];

/** What was thought of each of so many threads: lists of moments. */
async function judgedOf({ count, columns }, threads) {
  const read = new Columns(await inflate(columns));
  const at = read.rising(count);
  const thread = read.numbers(count, Uint32Array);
  const [label, speedup, kept] = [0, 1, 2].map(() => read.numbers(count, Uint32Array));
  const judged = Array.from({ length: threads }, () => []);
  for (let row = 0; row < count; row++) {
    judged[thread[row]].push({ at: at[row], label: label[row], speedup: speedup[row], kept: kept[row] });
  }
  return judged;
}

/** What was thought at such a moment, as a text: of many moments a reader asks for few. */
function thoughtOf({ label, speedup, kept }) {
  const faster = speedup ? `predicted ${(speedup / 100).toFixed(2)} times as fast on a big core` : "";
  return [LABELS[label], faster, KEPT[kept]].filter(Boolean).join(", ");
}
