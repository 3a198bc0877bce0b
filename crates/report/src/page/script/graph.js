// In the graph of who waits for whom, a thread that is pointed at shows its own waits alone.

function follow(figure) {
  const edges = figure.querySelectorAll("[data-waiter]");
  const show = (node) => {
    figure.classList.toggle("following", node !== null);
    for (const edge of edges) edge.classList.toggle("on", node === edge.dataset.waiter || node === edge.dataset.waker);
  };
  for (const node of figure.querySelectorAll("[data-node]")) {
    node.addEventListener("pointerenter", () => show(node.dataset.node));
    node.addEventListener("pointerleave", () => show(null));
    node.addEventListener("focus", () => show(node.dataset.node));
    node.addEventListener("blur", () => show(null));
  }
}
