// The head of a question: what was asked, what was chosen, and the way to everything below.

const HEADING_CHARACTERS = 240;
const QUESTION_CHARACTERS = 600;

function questionHead(data, onBack) {
  return element(
    "header",
    { class: "question-head" },
    element(
      "div",
      { class: "crumbs" },
      button({ class: "back", "aria-label": "Back to the list" }, onBack, "← Questions"),
      data.dataset && foreign("span", "crumb", data.dataset),
      data.is_fitted && element("span", { class: "crumb fitted" }, "fitted on"),
      data.id !== data.question && foreign("span", "crumb id", clipped(data.id, 80)),
    ),
    questionText(data.question || "(the question has no text)"),
    element(
      "div",
      { class: "verdicts" },
      selectedAnswer(data),
      votedAnswer(data),
      referenceAnswers(data),
      certainty(data),
    ),
    data.selected.note && foreign("p", "aside", data.selected.note),
  );
}

/** A question of one line is a heading; one of many lines, or a long one, is a text. */
function questionText(text) {
  const isHeading = text.length <= HEADING_CHARACTERS && shapeOf(text) === "line";
  return longText("h1", `question-text ${isHeading ? "" : "is-long"}`, text, QUESTION_CHARACTERS);
}

/** Text that is cut until it is clicked. */
function longText(tag, className, text, length) {
  const room = roomFor(text, length);
  const made = shaped(tag, className, clipped(text, room));
  if (text.length <= room) return made;
  const more = button({ class: "more" }, () => openText(text), `all ${text.length.toLocaleString("en")} characters`);
  return element("div", { class: "cut" }, made, more);
}

function fact(className, name, ...content) {
  return element("div", { class: `fact ${className}` }, element("div", { class: "fact-name" }, name), ...content);
}

function selectedAnswer(data) {
  if (data.report) {
    const words = `Report of rollout #${data.report.sample}, ${counted(data.report.words, "word")}`;
    return fact("is-selected", ["Selected by ", report.method], element("div", { class: "fact-value" }, words), verdict(data.selected.right));
  }
  return fact("is-selected", ["Selected by ", report.method], answerText(data.selected), verdict(data.selected.right));
}

/** A brief answer as it is; of a long one first what it comes down to, then the text itself. */
function answerText({ answer, core }) {
  if (!core || shapeOf(answer) === "code") return longText("div", "fact-value", answer ?? "none", 160);
  return [
    foreign("div", "fact-value", clipped(core, 160)),
    longText("div", "fact-whole", answer, 200),
  ];
}

function votedAnswer(data) {
  if (report.is_vote || data.report) return null;
  if (data.agrees) return fact("", "The vote", element("div", { class: "fact-value quiet" }, "agrees"));
  return fact("", "The vote", answerText(data.vote), verdict(data.vote.right));
}

function referenceAnswers(data) {
  if (data.references.length === 0) return null;
  const shown = data.references.slice(0, 4).join(" · ");
  const more = data.references.length > 4 ? ` and ${data.references.length - 4} more` : "";
  const name = data.references.length === 1 ? "Reference" : "References";
  return fact("", name, longText("div", "fact-value", shown + more, 160));
}

const CERTAINTY_NOTES = {
  confidence: "The method's calibrated estimate that the answer is right",
  "score share": "The answer's part of a softmax over all scores; not calibrated",
  agreement: "How many of the rollouts that answer give this answer",
};

function certainty(data) {
  const { value, kind } = data.confidence;
  if (value === null) return null;
  const name = kind[0].toUpperCase() + kind.slice(1);
  const shown = element("div", { class: "fact-value number", title: CERTAINTY_NOTES[kind] }, percent(value));
  return fact("", name, shown, bar(value, value < LOW_CONFIDENCE ? "is-low" : ""));
}

/** Every part of the question, one click away wherever one is. */
function jumps(data) {
  const parts = [
    ...(data.report ? [["report-title", "Claims", data.report.claims.length]] : []),
    ["candidates-title", "Answers", data.groups.length],
    ["why-title", "Why this one", null],
    ["matrix-title", "Who saw what", null],
    ["lanes-title", "Rollouts", data.rollouts.length],
  ];
  const jump = (id) => document.getElementById(id).closest("section").scrollIntoView({ block: "start", behavior: scrollBehavior() });
  const made = parts.map(([id, name, count]) =>
    button(
      { class: "jump", "data-jump": id },
      () => jump(id),
      name,
      count !== null && element("span", { class: "jump-count number" }, count),
    ),
  );
  return element("nav", { class: "jumps", "aria-label": "Parts of this question" }, made);
}
