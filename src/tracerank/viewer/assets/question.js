// One question, put together: head, answers, reasons, lanes.

const mainBox = document.getElementById("main");
const view = { number: null, lanes: null };

async function openQuestion(number, onBack) {
  view.number = number;
  let data;
  try {
    data = await questionData(number);
  } catch (error) {
    showError(error);
    return;
  }
  if (view.number !== number) return; // another one was opened meanwhile
  const lanes = lanesSection(data);
  const onShow = (rollout) => showLane(lanes, rollout);
  const body = element(
    "div",
    { class: "question" },
    questionHead(data, onBack),
    jumps(data),
    claimsPanel(data),
    element(
      "div",
      { class: "panels" },
      element("div", { class: "column" }, answersPanel(data, onShow), matrixPanel(data)),
      element("div", { class: "column" }, whyPanel(data), missingPanel(data)),
    ),
    lanes.section,
  );
  watchEvidence(body, (evidence) => {
    lanes.lit = evidence;
    lightUp(body, evidence);
    drawLinks(lanes);
  });
  view.resizing?.disconnect();
  view.lanes?.observer?.disconnect();
  mainBox.replaceChildren(body);
  mainBox.scrollTop = 0;
  view.lanes = lanes;
  view.resizing = new ResizeObserver(() => drawLinks(lanes));
  view.resizing.observe(lanes.inner);
  document.title = `${clipped(data.question || data.id, 60)} · tracerank`;
}

function showError(error) {
  mainBox.replaceChildren(
    element(
      "div",
      { class: "empty tall" },
      element("p", {}, "This question cannot be shown: its data is damaged, or the browser is too old to unpack it."),
      element("p", { class: "aside" }, String(error)),
    ),
  );
}
