// What a page does once it is there. Timelines that are folded away are read when they are opened, or when there is nothing else to do:
// paper has them all, and who prints does not wait.

for (const figure of document.querySelectorAll("figure.drawn")) {
  exportable(figure);
  follow(figure);
}

async function begin(figure) {
  try {
    return await Timeline.begin(figure);
  } catch (error) {
    const failed = document.createElement("p");
    failed.textContent = `This timeline cannot be shown: ${error.message}. A newer browser may show it.`;
    figure.append(failed);
    reportError(error);
    return null;
  }
}

/** By figure, what is being read. */
const begun = new Map();
/** What has been read. */
const timelines = [];

function once(figure) {
  if (!begun.has(figure)) begun.set(figure, begin(figure).then((timeline) => timeline && timelines.push(timeline)));
  return begun.get(figure);
}

async function readAll(figures) {
  const isFolded = (figure) => figure.closest("details:not([open])");
  for (const figure of figures) figure.closest("details")?.addEventListener("toggle", () => once(figure));
  await Promise.all(figures.filter((figure) => !isFolded(figure)).map(once));
  for (const figure of figures) {
    // Not every browser says when it has nothing else to do.
    await new Promise((idle) => (window.requestIdleCallback ?? setTimeout)(idle));
    await once(figure);
  }
}
readAll([...document.querySelectorAll("figure.timeline")]);

let unfolded = [];

addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printed");
  // A browser may say so twice.
  const folded = [...document.querySelectorAll("details:not([open])")];
  unfolded = [...unfolded, ...folded];
  for (const details of folded) details.open = true;
  for (const timeline of timelines) timeline.print();
});

addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printed");
  for (const details of unfolded) details.open = false;
  unfolded = [];
  for (const timeline of timelines) timeline.unprint();
});
