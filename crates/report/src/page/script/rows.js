// Lanes that are drawn fast, however many spans they have: what is narrower than a pixel is looked up by blocks.

/** The first position from `low` on, and before `high`, where `is` holds; it holds from some position on. */
function search(low, high, is) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (is(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A block of a level is so many of the level below. */
const FAN = 8;

/** On the average, a part of the time has so many spans, or values. */
const PART = 4;

/** Times that never fall, and where in them a time is. */
class Times {
  constructor(at) {
    this.at = at;
    // Of equal parts of the time, so many that some PART are in each, the position of the first time in it or later.
    const parts = Math.ceil(at.length / PART);
    this.begin = at[0];
    this.parts = parts / (at.at(-1) - at[0] + 1);
    this.starts = new Uint32Array(parts + 1).fill(at.length);
    for (let position = at.length - 1; position >= 0; position--) this.starts[Math.floor((at[position] - this.begin) * this.parts)] = position;
    for (let part = parts - 1; part >= 0; part--) this.starts[part] = Math.min(this.starts[part], this.starts[part + 1]);
  }

  /** The position of the first that is after a time. */
  after(time) {
    const { at, starts } = this;
    const part = Math.floor((time - this.begin) * this.parts);
    if (!(part >= 0)) return 0;
    if (part >= starts.length - 1) return at.length;
    let [low, high] = [starts[part], starts[part + 1]];
    // As `search`, without a call for each position.
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (at[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Some of the spans, in order of time. */
class Row {
  /** `hues`: which colour each span has. `ready`: how long each was waited for, if that is drawn; else null. */
  constructor(spans, ids, hues, ready) {
    Object.assign(this, { spans, ids, hues, ready });
    // Beside each other in memory: of a million spans all over it, most of the time would go into waiting for it.
    this.from = new Float64Array(ids.length);
    this.lengths = new Float64Array(ids.length);
    this.busy = new Float64Array(ids.length + 1);
    for (let at = 0; at < ids.length; at++) {
      this.from[at] = spans.from[ids[at]];
      this.lengths[at] = spans.to[ids[at]] - spans.from[ids[at]];
      this.busy[at + 1] = this.busy[at] + this.lengths[at];
    }
    this.times = new Times(this.from);
    /** How long spans are; then the longest of each block of FAN, with its position, then of FAN such blocks, and so on. */
    this.levels = [{ lengths: this.lengths, positions: null }];
    for (let below = this.levels[0]; below.lengths.length > FAN; below = this.levels.at(-1)) {
      const count = Math.ceil(below.lengths.length / FAN);
      const level = { lengths: new Float64Array(count), positions: new Uint32Array(count) };
      for (let block = 0; block < count; block++) {
        const position = this.longer(below, block * FAN, Math.min(below.lengths.length, (block + 1) * FAN), -1);
        level.positions[block] = position;
        level.lengths[block] = this.lengths[position];
      }
      this.levels.push(level);
    }
    this.afar = spansFromAfar(this, hues, ready);
  }

  length(at) {
    return this.lengths[at];
  }

  /** The position of the last span that begins no later than this, or 0. */
  first(time) {
    return Math.max(0, this.times.after(time) - 1);
  }

  /** From a position on, and before another, the next one whose span begins after a time: mostly it is near. */
  until(at, to, time) {
    const { from } = this;
    const near = Math.min(to, at + FAN);
    for (let next = at + 1; next < near; next++) if (from[next] > time) return next;
    return Math.min(to, Math.max(near, this.times.after(time)));
  }

  /** The position of the longest span in some blocks of a level, or of another if that is longer; of equal ones the first. */
  longer({ lengths, positions }, from, to, other) {
    if (from >= to) return other;
    let found = from;
    for (let at = from + 1; at < to; at++) if (lengths[at] > lengths[found]) found = at;
    const position = positions ? positions[found] : found;
    if (other < 0) return position;
    const more = this.lengths[position] - this.lengths[other];
    return more > 0 || (more === 0 && position < other) ? position : other;
  }

  /** The longest of the spans from a position until before another. */
  longestOf(from, to) {
    let best = from;
    for (const level of this.levels) {
      const [inner, outer] = [Math.ceil(from / FAN), Math.floor(to / FAN)];
      // Until there is a whole block of the next level in between.
      if (inner >= outer || level === this.levels.at(-1)) {
        best = this.longer(level, from, to, best);
        break;
      }
      best = this.longer(level, from, inner * FAN, best);
      best = this.longer(level, outer * FAN, to, best);
      [from, to] = [inner, outer];
    }
    return this.ids[best];
  }

  /** The spans for which something holds. */
  only(is) {
    return new Row(this.spans, this.ids.filter(is), this.hues, this.ready);
  }
}

/** The spans by core, or by thread: a row for each of so many. */
function rows(spans, key, count, hues, ready) {
  const sizes = new Uint32Array(count);
  for (let id = 0; id < spans.count; id++) sizes[key[id]]++;
  const ids = Array.from(sizes, (size) => new Uint32Array(size));
  const filled = new Uint32Array(count);
  for (let id = 0; id < spans.count; id++) ids[key[id]][filled[key[id]]++] = id;
  return ids.map((list) => new Row(spans, list, hues, ready));
}

/** A value over time. */
class Steps {
  constructor(at, value) {
    this.at = at;
    this.value = value;
    this.times = new Times(at);
    /** The lowest and the highest value of each, then of each block of FAN, then of FAN such blocks, and so on. */
    this.levels = [{ low: value, high: value }];
    for (let below = this.levels[0]; below.low.length > FAN; below = this.levels.at(-1)) {
      const count = Math.ceil(below.low.length / FAN);
      const level = { low: new Float64Array(count).fill(Infinity), high: new Float64Array(count).fill(-Infinity) };
      for (let index = 0; index < below.low.length; index++) {
        const block = Math.floor(index / FAN);
        level.low[block] = Math.min(level.low[block], below.low[index]);
        level.high[block] = Math.max(level.high[block], below.high[index]);
      }
      this.levels.push(level);
    }
    this.most = this.levels.at(-1).high.reduce((most, high) => Math.max(most, high), 0);
    /** What the value has come to, over time, at each position. */
    this.area = new Float64Array(at.length);
    for (let index = 1; index < at.length; index++) this.area[index] = this.area[index - 1] + value[index - 1] * (at[index] - at[index - 1]);
    this.afar = stepsFromAfar(this);
    /** The same at the beginning of each part of the time. */
    const { starts, begin, parts } = this.times;
    this.areas = Float64Array.from(starts, (start, part) => this.until(begin + part / parts, Math.max(0, start - 1)));
  }

  /** What the value has come to by a time, at which it is the one at a position. */
  until(time, position) {
    return position < 0 ? 0 : this.area[position] + this.value[position] * (time - this.at[position]);
  }

  /** The position of the value at a time; -1 before the first. */
  position(time) {
    return this.times.after(time) - 1;
  }

  /** The lowest and the highest value from a position until before another. */
  range(from, to) {
    let [low, high] = [Infinity, -Infinity];
    for (const level of this.levels) {
      const [inner, outer] = [Math.ceil(from / FAN), Math.floor(to / FAN)];
      const last = inner >= outer || level === this.levels.at(-1);
      // Until there is a whole block of the next level in between, what is on either side of it.
      for (let index = from; index < to; index++) {
        if (index === inner * FAN && !last) index = outer * FAN;
        if (index >= to) break;
        low = Math.min(low, level.low[index]);
        high = Math.max(high, level.high[index]);
      }
      if (last) break;
      [from, to] = [inner, outer];
    }
    return [low, high];
  }
}
