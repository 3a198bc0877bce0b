// Lanes that are drawn fast, however many spans they have: what is narrower than a pixel is looked up by blocks.

const BLOCK = 64;

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
const FAN = 4;

/** Some of the spans, in order of time. */
class Row {
  constructor(spans, ids) {
    this.spans = spans;
    this.ids = ids;
    // Beside each other in memory: of a million spans all over it, most of the time would go into waiting for it.
    this.from = Float64Array.from(ids, (id) => spans.from[id]);
    this.lengths = Float64Array.from(ids, (id) => spans.to[id] - spans.from[id]);
    this.busy = new Float64Array(ids.length + 1);
    for (let at = 0; at < ids.length; at++) this.busy[at + 1] = this.busy[at] + this.lengths[at];
    /** Of each block of FAN spans the position of the longest, then of FAN such blocks, and so on. */
    this.levels = [];
    for (let below = Uint32Array.from(ids, (_, at) => at); below.length > FAN; below = this.levels.at(-1)) {
      const level = new Uint32Array(Math.ceil(below.length / FAN));
      for (let at = 0; at < below.length; at++) {
        const block = Math.floor(at / FAN);
        if (at % FAN === 0 || this.length(below[at]) > this.length(level[block])) level[block] = below[at];
      }
      this.levels.push(level);
    }
  }

  length(at) {
    return this.lengths[at];
  }

  /** The position of the last span that begins no later than this, or 0. */
  first(time) {
    return Math.max(0, this.after(time, 0) - 1);
  }

  /** The position of the first span, from a position on, that begins after a time: mostly it is near. */
  after(time, low) {
    let high = low;
    for (let step = 1; high < this.from.length && this.from[high] <= time; step *= 2) {
      low = high + 1;
      high += step;
    }
    return search(low, Math.min(high, this.from.length), (at) => this.from[at] > time);
  }

  /** The longest of the spans from a position until before another. */
  longestOf(from, to) {
    let best = from;
    for (let at = from; at < to; ) {
      // The largest block that begins here and ends no later.
      let [level, size] = [-1, 1];
      while (level + 1 < this.levels.length && at % (size * FAN) === 0 && at + size * FAN <= to) {
        level++;
        size *= FAN;
      }
      const candidate = level < 0 ? at : this.levels[level][at / size];
      if (this.lengths[candidate] > this.lengths[best]) best = candidate;
      at += size;
    }
    return this.ids[best];
  }

  /** The spans for which something holds. */
  only(is) {
    return new Row(this.spans, this.ids.filter(is));
  }
}

/** The spans by core, or by thread: a row for each of so many. */
function rows(spans, key, count) {
  const sizes = new Uint32Array(count);
  for (let id = 0; id < spans.count; id++) sizes[key[id]]++;
  const ids = Array.from(sizes, (size) => new Uint32Array(size));
  const filled = new Uint32Array(count);
  for (let id = 0; id < spans.count; id++) ids[key[id]][filled[key[id]]++] = id;
  return ids.map((list) => new Row(spans, list));
}

/** A value over time. */
class Steps {
  constructor(at, value) {
    this.at = at;
    this.value = value;
    this.low = new Float64Array(Math.ceil(at.length / BLOCK)).fill(Infinity);
    this.high = new Float64Array(this.low.length).fill(-Infinity);
    value.forEach((number, index) => {
      const block = Math.floor(index / BLOCK);
      this.low[block] = Math.min(this.low[block], number);
      this.high[block] = Math.max(this.high[block], number);
    });
    this.most = this.high.reduce((most, high) => Math.max(most, high), 0);
    /** What the value has come to, over time, at each position. */
    this.area = new Float64Array(at.length);
    for (let index = 1; index < at.length; index++) this.area[index] = this.area[index - 1] + value[index - 1] * (at[index] - at[index - 1]);
  }

  /** What the value has come to by a time. */
  until(time) {
    const position = this.position(time);
    return position < 0 ? 0 : this.area[position] + this.value[position] * (time - this.at[position]);
  }

  /** The position of the value at a time; -1 before the first. */
  position(time) {
    return search(0, this.at.length, (index) => this.at[index] > time) - 1;
  }

  /** The lowest and the highest value from a position until before another. */
  range(from, to) {
    let [low, high] = [Infinity, -Infinity];
    for (let index = from; index < to; ) {
      const whole = index % BLOCK === 0 && index + BLOCK <= to;
      low = Math.min(low, whole ? this.low[index / BLOCK] : this.value[index]);
      high = Math.max(high, whole ? this.high[index / BLOCK] : this.value[index]);
      index += whole ? BLOCK : 1;
    }
    return [low, high];
  }
}
