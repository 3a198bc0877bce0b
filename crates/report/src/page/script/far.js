// Lanes and tracks seen from afar: what a pixel stands for is read from a few parts of the time that are beside each other in memory. Spans and values
// one by one are all over it, and waiting for them would take longer than a frame.

/** Equal parts of the time; at each level they are twice as long as at the one below. */
class Parts {
  /** `lowest`: what is known of the parts that `times` have. `halved` makes a level from the one below, with so many parts. */
  constructor(times, lowest, halved) {
    this.times = times;
    this.levels = [lowest];
    for (let count = times.starts.length - 1; count > 1; count = Math.ceil(count / 2)) this.levels.push(halved(this.levels.at(-1), Math.ceil(count / 2)));
  }

  /** What columns of so much time each, from a time on, are looked up by: parts no longer than a column; null if all are longer. */
  scale(from, pixel) {
    const { times, levels } = this;
    const depth = Math.min(levels.length - 1, Math.floor(Math.log2(pixel * times.parts)));
    if (!(depth >= 0)) return null;
    const size = 2 ** depth;
    const most = times.starts.length - 1;
    const [first, step, count] = [((from - times.begin) * times.parts) / size, (pixel * times.parts) / size, Math.ceil(most / size)];
    return {
      level: levels[depth],
      /** How much time some parts are, or the column that they are all there is in. */
      time: (begin, end) => (begin > 0 && end < count ? ((end - begin) * size) / times.parts : pixel),
      /** The part that is nearest to the beginning of a column. */
      part: (column) => Math.max(0, Math.min(count, Math.round(first + column * step))),
      /** Of a part the first at the lowest level. */
      lowest: (part) => Math.min(most, part * size),
    };
  }
}

/** Of each part of the time how busy a row is in it, with the spans that begin there, how long the longest of them is, and its hue. */
function spansFromAfar({ times, ids, lengths }, hues, ready) {
  const count = times.starts.length - 1;
  const made = (size) => ({
    busy: new Float32Array(size),
    longest: new Float32Array(size),
    /** How far something reaches out of the part: a span, or the time for which it was waited for. */
    reach: ready ? new Float32Array(size) : null,
    hue: new Uint8Array(size),
  });
  const lowest = made(count);
  for (let part = 0; part < count; part++) {
    for (let at = times.starts[part]; at < times.starts[part + 1]; at++) {
      lowest.busy[part] += lengths[at];
      if (ready) lowest.reach[part] = Math.max(lowest.reach[part], ready[ids[at]]);
      if (at > times.starts[part] && lengths[at] <= lowest.longest[part]) continue;
      lowest.longest[part] = lengths[at];
      lowest.hue[part] = hues[ids[at]];
    }
  }
  return new Parts(times, lowest, (below, size) => {
    const level = made(size);
    for (let part = 0; part < below.busy.length; part++) {
      const half = part >>> 1;
      level.busy[half] += below.busy[part];
      if (ready) level.reach[half] = Math.max(level.reach[half], below.reach[part]);
      if (part % 2 && below.longest[part] <= level.longest[half]) continue;
      level.longest[half] = below.longest[part];
      level.hue[half] = below.hue[part];
    }
    return level;
  });
}

/** Of each part of the time the lowest and the highest value in it. */
function stepsFromAfar({ times, value }) {
  const count = times.starts.length - 1;
  const made = (size) => ({ low: new Float32Array(size).fill(Infinity), high: new Float32Array(size).fill(-Infinity) });
  const put = (level, part, low, high) => {
    level.low[part] = Math.min(level.low[part], low);
    level.high[part] = Math.max(level.high[part], high);
  };
  const lowest = made(count);
  for (let part = 0; part < count; part++) {
    // The value from before is that of the part's beginning.
    for (let at = Math.max(0, times.starts[part] - 1); at < times.starts[part + 1]; at++) put(lowest, part, value[at], value[at]);
  }
  return new Parts(times, lowest, (below, size) => {
    const level = made(size);
    for (let part = 0; part < below.low.length; part++) put(level, part >>> 1, below.low[part], below.high[part]);
    return level;
  });
}
