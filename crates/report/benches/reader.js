// A reader of the timeline: zooms in, pans there and back, further in, all the way out. One step a frame, for some 15 s.

new Promise((done) => {
  const canvas = document.querySelector("figure.timeline canvas");
  canvas.scrollIntoView({ block: "center" });
  canvas.focus();
  const { left, top, width } = canvas.getBoundingClientRect();
  const wheel = (turn) => () =>
    canvas.dispatchEvent(new WheelEvent("wheel", { ...turn, clientX: left + 0.6 * width, clientY: top + 60, cancelable: true }));
  const steps = [];
  const take = (count, turn) => steps.push(...Array.from({ length: count }, () => wheel(turn)));
  for (let level = 0; level < 6; level++) {
    take(35, { ctrlKey: true, deltaY: -20 });
    take(40, { deltaX: 25 });
    take(40, { deltaX: -25 });
  }
  take(210, { ctrlKey: true, deltaY: 20 });
  window.drawing.length = 0;
  const between = [];
  let before = null;
  const frame = (now) => {
    if (before !== null) between.push(now - before);
    before = now;
    const step = steps.shift();
    if (!step) return done({ drawing: window.drawing, between });
    step();
    window.untimed(frame);
  };
  window.untimed(frame);
})
