// The head of a question, and its candidates ranked by score with their answer groups.

function questionHead(data, onBack) {
  return element(
    "header",
    { class: "question-head" },
    element(
      "div",
      { class: "crumbs" },
      button({ class: "back", "aria-label": "Back to the list" }, onBack, "← Questions"),
      data.dataset && foreign("span", "crumb", data.dataset),
      foreign("span", "crumb id", clipped(data.id, 80)),
    ),
    longText("h1", "question-text", data.question || "(the question has no text)", 600),
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

/** Text that is cut until it is clicked. */
function longText(tag, className, text, length) {
  const made = foreign(tag, className, clipped(text, length));
  if (text.length <= length) return made;
  const more = button({ class: "more" }, () => openText(text), `all ${text.length.toLocaleString("en")} characters`);
  made.append(" ", more);
  return made;
}

function fact(className, name, ...content) {
  return element("div", { class: `fact ${className}` }, element("div", { class: "fact-name" }, name), ...content);
}

function selectedAnswer(data) {
  const answer = longText("div", "fact-value", data.selected.answer ?? "none", 160);
  return fact("is-selected", ["Selected by ", report.method], answer, verdict(data.selected.right));
}

function votedAnswer(data) {
  if (report.is_vote) return null;
  if (data.agrees) return fact("", "The vote", element("div", { class: "fact-value quiet" }, "agrees"));
  return fact("", "The vote", longText("div", "fact-value", data.vote.answer ?? "none", 160), verdict(data.vote.right));
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

function candidatesPanel(data, onShow) {
  const { candidates } = data;
  const panel = element(
    "section",
    { class: "panel candidates", "aria-labelledby": "candidates-title" },
    element("h2", { id: "candidates-title" }, "Candidates"),
  );
  if (candidates.length === 0) {
    panel.append(element("p", { class: "empty" }, "No rollout can be chosen; the lanes below say why."));
    return panel;
  }
  const scores = candidates.map((rollout) => rollout.score).filter((score) => score !== null);
  const lowest = Math.min(...scores), highest = Math.max(...scores);
  const table = element("ol", { class: "ranking" });
  candidates.forEach((rollout, place) => {
    table.append(candidateRow(data, rollout, place + 1, scoreShare(rollout, lowest, highest), onShow));
  });
  panel.append(groupStrip(data), table, droppedLine(data) ?? "");
  return panel;
}

/** All answers side by side, each as wide as its votes. */
function groupStrip(data) {
  const strip = element("div", { class: "strip", "aria-label": "Votes by answer" });
  for (const group of data.groups) {
    const title = `${groupLetter(group)}: ${clipped(group.answer, 80)} (${counted(group.members.length, "rollout")})`;
    const part = element("span", { class: `strip-part g${Math.min(group.place, 7)}`, title }, groupLetter(group));
    strip.append(withVariable(part, "--votes", group.members.length));
  }
  return strip;
}

/** Scores have no zero: the weakest candidate keeps a stub so that its bar can be seen. */
function scoreShare(rollout, lowest, highest) {
  if (rollout.score === null) return 0;
  return highest === lowest ? 1 : 0.06 + (0.94 * (rollout.score - lowest)) / (highest - lowest);
}

function candidateRow(data, rollout, rank, share, onShow) {
  const isSelected = rollout.sample === data.selected.sample;
  const className = `candidate ${isSelected ? "is-selected" : ""}`;
  const row = button(
    { class: className, "data-sample": rollout.sample, title: "Show this rollout" },
    () => onShow(rollout),
    element("span", { class: "rank number" }, rank),
    groupMark(data, rollout),
    foreign("span", "candidate-answer", clipped(rollout.answer || "", 120)),
    element("span", { class: "sample" }, `#${rollout.sample}`),
    bar(share, "score-bar"),
    element("span", { class: "score number" }, scoreText(rollout.score)),
    verdict(rollout.label, true) ?? element("span"),
  );
  return element("li", {}, row);
}

function droppedLine(data) {
  const dropped = data.ranked.filter((rollout) => rollout.dropped);
  if (dropped.length === 0) return null;
  const reasons = new Map();
  for (const rollout of dropped) reasons.set(rollout.dropped, (reasons.get(rollout.dropped) || 0) + 1);
  const told = [...reasons].slice(0, 4).map(([reason, count]) => `${count} × ${clipped(reason, 80)}`);
  return foreign("p", "aside", `${counted(dropped.length, "rollout")} could not be chosen: ${told.join("; ")}.`);
}
