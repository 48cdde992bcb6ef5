// The answers that were given, best first: one row for all rollouts that count as one, which opens to show them.

const LABEL_CHARACTERS = 160;

function answersPanel(data, onShow) {
  const panel = element(
    "section",
    { class: "panel candidates", "aria-labelledby": "candidates-title" },
    element("h2", { id: "candidates-title" }, "Answers"),
  );
  if (data.candidates.length === 0) {
    panel.append(element("p", { class: "empty" }, "No rollout can be chosen; the lanes below say why."));
    return panel;
  }
  const scores = data.candidates.map((rollout) => rollout.score).filter((score) => score !== null);
  const lowest = Math.min(...scores), highest = Math.max(...scores);
  const share = (rollout) => scoreShare(rollout, lowest, highest);
  const rows = [...data.groups, ...withoutVote(data)].map((group, index) =>
    answerRow(data, group, index + 1, share, onShow),
  );
  panel.append(data.report ? "" : groupStrip(data), element("ol", { class: "ranking" }, rows), droppedLine(data) ?? "");
  return panel;
}

/** Candidates whose answer counts for nothing, such as "I don't know", as one row. */
function withoutVote(data) {
  const members = data.candidates.filter((rollout) => rollout.group === NO_GROUP);
  return members.length === 0 ? [] : [{ number: NO_GROUP, answer: members[0].answer, members, line: "" }];
}

/** All answers side by side, each as wide as its votes. */
function groupStrip(data) {
  const strip = element("div", { class: "strip", "aria-label": "Votes by answer" });
  for (const group of data.groups) {
    const title = `${groupLetter(group)}: ${clipped(group.line, 80)} (${counted(group.members.length, "rollout")})`;
    const part = element("span", { class: `strip-part g${Math.min(group.index, 7)}`, title }, groupLetter(group));
    strip.append(withVariable(part, "--votes", group.members.length));
  }
  return strip;
}

/** Scores have no zero: the weakest candidate keeps a stub so that its bar can be seen. */
function scoreShare(rollout, lowest, highest) {
  if (rollout.score === null) return 0;
  return highest === lowest ? 1 : 0.06 + (0.94 * (rollout.score - lowest)) / (highest - lowest);
}

function answerRow(data, group, rank, share, onShow) {
  const [best] = group.members;
  const isOne = group.members.length === 1;
  const isSelected = group.members.some((rollout) => rollout.sample === data.selected.sample);
  const members = isOne ? null : membersList(data, group, onShow);
  const row = button(
    {
      class: `candidate ${isSelected ? "is-selected" : ""}`,
      "data-sample": isOne ? best.sample : null,
      "aria-expanded": isOne ? null : "false",
      title: isOne ? "Show this rollout" : "Show the rollouts that give this answer",
    },
    () => (isOne ? onShow(best) : toggle(row, members)),
    element("span", { class: "rank number" }, rank),
    groupMark(data, best),
    foreign("span", "candidate-answer", clipped(group.line || best.answer || "", LABEL_CHARACTERS)),
    element("span", { class: "times number" }, isOne ? `#${best.sample}` : `× ${group.members.length}`),
    bar(share(best), "score-bar"),
    element("span", { class: "score number" }, scoreText(best.score)),
    groupVerdict(group) ?? element("span"),
  );
  return element("li", { class: "answer" }, row, members);
}

function toggle(row, members) {
  members.hidden = !members.hidden;
  row.setAttribute("aria-expanded", String(!members.hidden));
}

/** The rollouts of one answer, each by its own wording. */
function membersList(data, group, onShow) {
  const rows = group.members.map((rollout) => {
    const others = group.members.filter((other) => other.answer !== rollout.answer);
    return element(
      "li",
      {},
      button(
        { class: "member", "data-sample": rollout.sample, title: "Show this rollout" },
        () => onShow(rollout),
        element("span", { class: "sample" }, `#${rollout.sample}`),
        foreign("span", "candidate-answer", clipped(distinctLine(rollout.answer || "", others.map((other) => other.answer || "")), LABEL_CHARACTERS)),
        rollout.sample === data.selected.sample && element("span", { class: "flag" }, "selected"),
        rollout.sample === data.vote.sample && element("span", { class: "flag vote" }, "vote"),
        verdict(rollout.label, true),
      ),
    );
  });
  return element("ol", { class: "members", hidden: true }, rows);
}

/** One sign for all; where labels differ, how many are right. */
function groupVerdict(group) {
  const known = group.members.map((rollout) => isRight(rollout.label)).filter((right) => right !== null);
  if (known.length === 0) return null;
  const right = known.filter(Boolean).length;
  if (right === 0 || right === known.length) return verdict(group.members[0].label ?? Number(right > 0), true);
  return element("span", { class: "verdict", title: `${right} of ${known.length} are right` }, `${right}/${known.length}`);
}

function droppedLine(data) {
  const dropped = data.ranked.filter((rollout) => rollout.dropped);
  if (dropped.length === 0) return null;
  const reasons = new Map();
  for (const rollout of dropped) reasons.set(rollout.dropped, (reasons.get(rollout.dropped) || 0) + 1);
  const listed = [...reasons].slice(0, 4).map(([reason, count]) => `${count} × ${clipped(reason, 80)}`);
  return foreign("p", "aside", `${counted(dropped.length, "rollout")} could not be chosen: ${listed.join("; ")}.`);
}
