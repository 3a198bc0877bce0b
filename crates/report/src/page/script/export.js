// Drawings as files.

/** Lets a reader save what a blob holds. */
function save(name, blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function svgBlob(text) {
  return new Blob([text], { type: "image/svg+xml" });
}

/** A browser draws no larger pictures. */
const LONGEST = 16_000;

/** Saves an SVG as a picture with twice as many pixels, for paper. */
async function savePng(name, svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const scale = Math.min(2, LONGEST / Math.max(image.width, image.height));
  const [width, height] = [image.width, image.height].map((length) => Math.max(1, Math.round(scale * length)));
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save(name, blob));
}

/** What a drawing's parts look like comes from the page's style sheet, which the file does not have. */
const PROPERTIES = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "opacity", "font-size", "font-weight", "text-anchor", "dominant-baseline", "display"];

/** A drawing of the page as a document of its own. */
function standalone(svg) {
  const copy = svg.cloneNode(true);
  const { width, height } = svg.viewBox.baseVal;
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((part, index) => {
    const style = getComputedStyle(originals[index]);
    for (const property of PROPERTIES) part.setAttribute(property, style.getPropertyValue(property));
    part.removeAttribute("class");
    part.removeAttribute("style");
  });
  const attributes = { xmlns: "http://www.w3.org/2000/svg", width, height, "font-family": "sans-serif" };
  for (const [name, value] of Object.entries(attributes)) copy.setAttribute(name, value);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const background = getComputedStyle(document.body).backgroundColor;
  for (const [name, value] of Object.entries({ width, height, fill: background })) paper.setAttribute(name, value);
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

/** Buttons that save a figure. */
function exportable(figure) {
  const svg = figure.querySelector("svg");
  if (!svg) return;
  const buttons = Object.assign(document.createElement("div"), { className: "toolbar small" });
  buttons.setAttribute("role", "group");
  buttons.setAttribute("aria-label", `Save ${figure.id}`);
  for (const [text, act] of [
    ["SVG", () => save(`${figure.id}.svg`, svgBlob(standalone(svg)))],
    ["PNG", () => savePng(`${figure.id}.png`, standalone(svg))],
  ]) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: text, title: `Save as ${text}` });
    button.setAttribute("aria-label", `Save ${figure.id} as ${text}`);
    button.addEventListener("click", act);
    buttons.append(button);
  }
  figure.append(buttons);
}
