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

/** Some of the spans, in order of time. */
class Row {
  constructor(spans, ids) {
    this.spans = spans;
    this.ids = ids;
    this.busy = new Float64Array(ids.length + 1);
    this.longest = new Uint32Array(Math.ceil(ids.length / BLOCK));
    for (let at = 0; at < ids.length; at++) {
      this.busy[at + 1] = this.busy[at] + this.length(at);
      const block = Math.floor(at / BLOCK);
      if (at % BLOCK === 0 || this.length(at) > this.length(this.longest[block])) this.longest[block] = at;
    }
  }

  length(at) {
    return this.spans.to[this.ids[at]] - this.spans.from[this.ids[at]];
  }

  /** The position of the last span that begins no later than this, or 0. */
  first(time) {
    return Math.max(0, this.after(time, 0) - 1);
  }

  /** The position of the first span, from a position on, that begins after a time. */
  after(time, low) {
    return search(low, this.ids.length, (at) => this.spans.from[this.ids[at]] > time);
  }

  /** The longest of the spans from a position until before another. */
  longestOf(from, to) {
    let best = from;
    for (let at = from; at < to; ) {
      const whole = at % BLOCK === 0 && at + BLOCK <= to;
      const candidate = whole ? this.longest[at / BLOCK] : at;
      if (this.length(candidate) > this.length(best)) best = candidate;
      at += whole ? BLOCK : 1;
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
