// A reader of the timeline who looks for threads: types names letter by letter and deletes them. Each key comes once all lanes show what was looked for
// before.

new Promise((done) => {
  const figure = document.querySelector("figure.timeline");
  const field = figure.querySelector("input[type=search]");
  const texts = ["worker-1", "scaler", "request", "e"].flatMap((name) => {
    const typed = Array.from(name, (_, at) => name.slice(0, at + 1));
    return [...typed, ...typed.slice(0, -1).reverse(), ""];
  });
  const [busy, until] = [[], []];
  let began, handled;
  const type = (text) => {
    window.drawing.length = 0;
    began = performance.now();
    field.value = text;
    field.dispatchEvent(new Event("input"));
    handled = performance.now() - began;
  };
  const frame = () => {
    if (window.drawing.length && figure.dataset.looked === "0") {
      busy.push(Math.max(handled, ...window.drawing));
      until.push(performance.now() - began);
      if (!texts.length) return done({ busy, until });
      type(texts.shift());
    }
    window.untimed(frame);
  };
  type(texts.shift());
  window.untimed(frame);
})
