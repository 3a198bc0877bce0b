// What a span is, in words.

/** What is known of a span: pairs of a name and a text. */
function facts(run, id) {
  const { spans } = run;
  const result = [
    ["on", run.cores[spans.core[id]].label],
    ["from", `${moment(spans.from[id], 1000)}, for ${duration(spans.to[id] - spans.from[id])}`],
  ];
  if (spans.ready[id] > 0) result.push(["before", `ready for ${duration(spans.ready[id])} without a core`]);
  if (spans.woken[id] === 1) result.push(["woken", "by time, or from outside"]);
  if (spans.woken[id] > 1) result.push(["woken", `by ${run.nameOf(spans.woken[id] - 2)}`]);
  if (run.reasons[spans.why[id]]) result.push(["then", run.reasons[spans.why[id]]]);
  const thread = spans.thread[id];
  const judged = run.judgedAt(thread, spans.from[id]);
  const thought = judged && thoughtOf(judged);
  if (thought) result.push(["label", `${thought}, since ${moment(judged.at, 1000)}`]);
  return [...result, ...(run.threads[thread].facts ?? [])];
}

/** The same for the pointer: a line each. */
function hint(run, id) {
  const lines = facts(run, id).map(([name, text]) => `${name}: ${text}`);
  return [run.nameOf(run.spans.thread[id]), ...lines].join("\n");
}

/** How long a thread ran on each kind of core. */
function shares(run, thread) {
  const times = new Map();
  for (const id of run.byThread[thread].ids) {
    const { kind } = run.cores[run.spans.core[id]];
    times.set(kind, (times.get(kind) ?? 0) + run.spans.to[id] - run.spans.from[id]);
  }
  return [...times].map(([kind, time]) => `${duration(time)} on ${kind}`).join(", ");
}

/** Shows what is known of the selected span and its thread. */
function describe(timeline, selected) {
  const { details } = timeline;
  // A button that was pressed by keyboard has the focus again once it is made anew.
  const pressed = details.contains(document.activeElement) ? document.activeElement.textContent : null;
  if (!selected) return details.replaceChildren();
  const { run, id } = selected;
  const thread = run.spans.thread[id];
  const list = document.createElement("dl");
  // What was thinned does not add up.
  const sum = run.thinned ? [] : [["in all", `ran ${shares(run, thread)}`]];
  const all = [...facts(run, id), ...sum];
  for (const [name, text] of all) {
    list.append(Object.assign(document.createElement("dt"), { textContent: name }), Object.assign(document.createElement("dd"), { textContent: text }));
  }
  const button = (text, act) => {
    const made = Object.assign(document.createElement("button"), { type: "button", textContent: text });
    made.addEventListener("click", act);
    return made;
  };
  const heading = document.createElement("strong");
  heading.textContent = run.title ? `${run.nameOf(thread)}, ${run.title}` : run.nameOf(thread);
  const buttons = [button("← before", () => timeline.step(-1)), button("after →", () => timeline.step(1))];
  const waker = run.waker(id);
  if (waker !== null) buttons.push(button("what woke it", () => timeline.select({ run, id: waker })));
  details.replaceChildren(heading, ...buttons, list);
  if (pressed) (buttons.find((made) => made.textContent === pressed) ?? buttons[0]).focus();
}
