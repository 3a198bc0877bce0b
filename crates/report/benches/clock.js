// Times what a page does in each frame. Runs before the page's own script.

window.drawing = [];
const request = window.requestAnimationFrame.bind(window);
window.untimed = request;
window.requestAnimationFrame = (act) =>
  request((now) => {
    const began = performance.now();
    act(now);
    const ended = performance.now();
    window.drawing.push(ended - began);
    // Since the page was asked for.
    window.opened ??= ended;
  });
