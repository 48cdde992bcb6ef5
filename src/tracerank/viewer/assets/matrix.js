// Who saw what: the most shared evidence against all candidates, those with the same answer side by side.

const MATRIX_ROWS = 10;
const LETTERED_COLUMNS = 24;

function matrixPanel(data) {
  const panel = element(
    "section",
    { class: "panel matrix", "aria-labelledby": "matrix-title" },
    element("h2", { id: "matrix-title" }, "Who saw what"),
  );
  const rows = sharedSources(data).slice(0, MATRIX_ROWS);
  if (rows.length === 0) {
    panel.append(element("p", { class: "empty" }, "No two candidates saw the same evidence."));
    return panel;
  }
  const columns = [...data.candidates].sort((a, b) => groupIndex(data, a) - groupIndex(data, b));
  const kind = rows[0].isDocument ? "documents" : "texts";
  const table = element(
    "div",
    {},
    matrixHead(data, columns),
    rows.map((source) => matrixRow(data, source, columns)),
  );
  panel.append(
    element("p", { class: "aside" }, `The most shared ${kind}; candidates in columns, by answer.`),
    withVariable(table, "--columns", columns.length),
  );
  return panel;
}

/** Documents where they are known, otherwise texts, that at least two candidates saw; the most shared first. */
function sharedSources(data) {
  const isDocument = data.seenDocument.size > 0;
  const sources = new Map();
  for (const rollout of data.candidates) {
    for (const seen of rollout.evidence) {
      const key = isDocument ? seen.document : seen.text;
      if (key === null) continue;
      if (!sources.has(key)) sources.set(key, { seen, isDocument, rollouts: new Set() });
      sources.get(key).rollouts.add(rollout);
    }
  }
  return [...sources.values()]
    .filter((source) => source.rollouts.size > 1)
    .sort((a, b) => b.rollouts.size - a.rollouts.size);
}

function matrixHead(data, columns) {
  const cells = columns.map((rollout) => {
    const isSelected = rollout.sample === data.selected.sample;
    const group = data.groupOf.get(rollout.group);
    const letter = columns.length <= LETTERED_COLUMNS && group ? groupLetter(group) : "";
    const className = `matrix-letter ${isSelected ? "is-selected" : ""}`;
    return element("span", { class: className, title: `#${rollout.sample}` }, letter);
  });
  return element(
    "div",
    { class: "matrix-row is-head", "aria-hidden": "true" },
    element("span"),
    element("span", { class: "matrix-cells" }, cells),
    element("span"),
  );
}

function matrixRow(data, { seen, isDocument, rollouts }, columns) {
  const name = evidenceName(data, seen) || gist(data, seen);
  const cells = columns.map((rollout) => {
    const group = data.groupOf.get(rollout.group);
    const isSeen = rollouts.has(rollout);
    return element("span", { class: isSeen ? `cell is-seen g${group ? Math.min(group.index, 7) : 7}` : "cell" });
  });
  return button(
    {
      class: "matrix-row",
      "data-text": seen.text,
      "data-document": isDocument ? seen.document : null,
      "aria-label": `${clipped(name, 80)}, seen by ${counted(rollouts.size, "candidate")}`,
    },
    () => openEvidence(data, seen),
    foreign("span", "matrix-name", clipped(name, 60)),
    element("span", { class: "matrix-cells" }, cells),
    element("span", { class: "number matrix-count" }, rollouts.size),
  );
}
