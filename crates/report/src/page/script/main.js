// What a page does once it is there. Timelines that are folded away are read when they are opened.

for (const figure of document.querySelectorAll("figure.drawn")) {
  exportable(figure);
  follow(figure);
}

async function begin(figure) {
  try {
    await Timeline.begin(figure);
  } catch (error) {
    const failed = document.createElement("p");
    failed.textContent = `This timeline cannot be shown: ${error.message}. A newer browser may show it.`;
    figure.append(failed);
    throw error;
  }
}

for (const figure of document.querySelectorAll("figure.timeline")) {
  const folded = figure.closest("details");
  if (!folded || folded.open) begin(figure);
  else folded.addEventListener("toggle", () => begin(figure), { once: true });
}
