// Times for people.

const UNITS = [
  ["s", 1e9],
  ["ms", 1e6],
  ["us", 1e3],
  ["ns", 1],
];

/** A span of time: `1.25 ms`. */
function duration(ns) {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ns) >= size) ?? UNITS[3];
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}

/** A moment, exact enough to tell it from one a `step` later: `1.0025 s`. */
function moment(ns, step) {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ns) >= size) ?? UNITS[3];
  const decimals = Math.max(0, Math.ceil(Math.log10(size / step)));
  return `${(ns / size).toFixed(Math.min(decimals, 9))} ${unit}`;
}

/** 1, 2 or 5 times a power of ten: the least such that there are no more than so many steps in a span. */
function round(span, steps) {
  const least = span / Math.max(1, steps);
  const power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= least * 0.999);
}
