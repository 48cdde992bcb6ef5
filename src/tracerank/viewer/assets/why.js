// Why this one: the evidence that weighs most, who else saw it, and what the runner-up had instead.

const STRONGEST = 5;
const SNIPPET_CHARACTERS = 220;
const SOUGHT_CHARACTERS = 120;

function whyPanel(data) {
  const panel = element(
    "section",
    { class: "panel why", "aria-labelledby": "why-title" },
    element("h2", { id: "why-title" }, "Why this one"),
  );
  const selected = data.bySample.get(data.selected.sample);
  if (!selected) {
    const isWritten = data.selected.answer !== null;
    const words = isWritten ? "The answer was newly written; no single rollout gave it." : "Nothing was selected.";
    panel.append(element("p", { class: "empty" }, words));
    return panel;
  }
  panel.append(data.report && data.report.is_richest ? richnessSentence(data, selected) : verdictSentence(data, selected));
  if (data.reasons.length > 0) panel.append(reasonsList(data.reasons));
  panel.append(element("p", { class: "lead" }, evidenceSentence(data, selected)), strongestList(data, selected, STRONGEST));
  if (data.runnerUp) panel.append(comparison(data, selected, data.runnerUp));
  return panel;
}

/** Reports have no votes: the score is the number of content words. */
function richnessSentence(data, selected) {
  const words = `Of the sound reports, rollout #${selected.sample} has the most distinct content words: ${scoreText(selected.score)}`;
  const next = data.runnerUp ? `, the next ${scoreText(data.runnerUp.score)}` : "";
  return element("p", { class: "lead" }, `${words}${next}.`);
}

function verdictSentence(data, selected) {
  const other = data.runnerUp;
  const votes = data.groupOf.get(selected.group)?.members.length ?? 1;
  const words = [votes > 1 ? `${counted(votes, "rollout")} give this answer; rollout #${selected.sample}` : `Rollout #${selected.sample}`];
  words.push(selected.score === null ? " was chosen." : ` scores ${scoreText(selected.score)}`);
  if (other && selected.score !== null) {
    const differs = other.group !== selected.group;
    words.push(`, the best ${differs ? "other answer" : "other rollout"} ${scoreText(other.score)}`);
  }
  if (selected.score !== null) words.push(".");
  words.push(` ${majoritySentence(data, selected, votes)}`);
  return element("p", { class: "lead" }, words.join(""));
}

/** Whether the choice is the vote's, and if not, what it was chosen over. */
function majoritySentence(data, selected, votes) {
  const others = [...data.groupOf].filter(([group]) => group >= 0 && group !== selected.group);
  const most = Math.max(0, ...others.map(([, { members }]) => members.length));
  if (votes > most) return "No other answer has as many votes.";
  if (votes === most) return "Another answer has as many votes.";
  return `It was chosen over an answer with ${counted(most, "vote")}, for what is listed below.`;
}

function evidenceSentence(data, rollout) {
  if (!data.has_weights) return "This method weighs no evidence, so what most other rollouts saw comes first:";
  if (data.weights_are !== "support") return "Its answer looked most at:";
  if (rollout.heaviest > 0) return "Evidence that holds its answer, next to what was asked:";
  return rollout.evidence.length > 0
    ? "None of its evidence holds the answer; what most other rollouts saw comes first:"
    : "";
}

/** What set the answer apart from the best other one, in the method's own terms. */
function reasonsList(reasons) {
  const most = Math.max(...reasons.map(({ gain }) => Math.abs(gain)));
  const rows = reasons.map(({ meaning, gain }) =>
    element(
      "li",
      { class: gain < 0 ? "respect against" : "respect" },
      element("span", { class: "respect-words" }, meaning),
      gainBar(gain / most),
      element("span", { class: "number" }, `${gain < 0 ? "−" : "+"}${Math.abs(gain).toFixed(2)}`),
    ),
  );
  return element(
    "div",
    { class: "respects" },
    element("h3", {}, "What set it apart from the best other answer"),
    element(
      "div",
      { class: "respect-head", "aria-hidden": "true" },
      element("span"),
      element("span", { class: "respect-sides" }, element("span", {}, "against"), element("span", {}, "for")),
      element("span"),
    ),
    element("ul", {}, rows),
  );
}

/** From a line in the middle: to the right what spoke for the answer, to the left what spoke against it. */
function gainBar(share) {
  const made = element("span", { class: "gain-bar", "aria-hidden": "true" }, element("span"));
  return withVariable(made, "--share", Math.min(1, Math.abs(share)));
}

/** The heaviest evidence, each text once; without weights the most shared. */
function strongest(rollout, count) {
  const texts = new Map();
  for (const seen of rollout.evidence) {
    const known = texts.get(seen.text);
    if (known) known.weight += seen.weight || 0;
    else texts.set(seen.text, { seen, weight: seen.weight || 0 });
  }
  const all = [...texts.values()];
  all.sort(
    (a, b) =>
      b.weight - a.weight || b.seen.same_text - a.seen.same_text || b.seen.same_document - a.seen.same_document,
  );
  return all.slice(0, count);
}

function strongestList(data, rollout, count) {
  const most = strongest(rollout, count);
  // A text that does not hold the answer is no reason for it where others do.
  const isSupported = data.weights_are === "support" && most.some(({ weight }) => weight > 0);
  const found = isSupported ? most.filter(({ weight }) => weight > 0) : most;
  if (found.length === 0) return element("p", { class: "empty" }, "It rests on no evidence.");
  const heaviest = Math.max(...found.map(({ weight }) => weight));
  const rows = found.map(({ seen, weight }) => reason(data, rollout, seen, weight, heaviest));
  return element("ol", { class: "strongest" }, rows);
}

function reason(data, rollout, seen, weight, heaviest) {
  const row = button(
    { class: "reason", "data-text": seen.text, "data-document": seen.document },
    () => openEvidence(data, seen),
    element(
      "span",
      { class: "reason-weight" },
      data.has_weights && element("span", { class: "number" }, percent(weight)),
      data.has_weights && bar(heaviest ? weight / heaviest : 0, "heat-bar"),
    ),
    element(
      "span",
      { class: "reason-text" },
      evidenceName(data, seen) && foreign("b", "", clipped(evidenceName(data, seen), 90)),
      snippet(gist(data, seen), weight > 0 && data.weights_are === "support" ? rollout : null),
      element("span", { class: "reason-sharing" }, sharing(seen), " ", witnesses(data, seen, rollout)),
    ),
  );
  return element("li", {}, row);
}

/** The text from where it holds the rollout's answer, which is marked; else its beginning. */
function snippet(text, rollout) {
  const sought = rollout && (rollout.core || rollout.answer);
  const start = sought && sought.length <= SOUGHT_CHARACTERS ? text.toLowerCase().indexOf(sought.toLowerCase()) : -1;
  // Lower case may be longer than what it is made from; then offsets differ.
  if (start < 0 || text.toLowerCase().length !== text.length) return shaped("span", "snippet", clipped(text, SNIPPET_CHARACTERS));
  const sentence = Math.max(0, text.lastIndexOf(". ", start) + 2 * Number(text.lastIndexOf(". ", start) >= 0));
  const begin = start - sentence <= SNIPPET_CHARACTERS / 3 ? sentence : text.indexOf(" ", start - SNIPPET_CHARACTERS / 3) + 1;
  const end = start + sought.length;
  const made = shaped("span", "snippet", begin > 0 ? "… " : "");
  made.append(text.slice(Math.min(begin, start), start), element("mark", {}, text.slice(start, end)));
  made.append(clipped(text.slice(end), Math.max(40, SNIPPET_CHARACTERS - (end - begin))));
  return made;
}

function comparison(data, selected, other) {
  const own = new Set(selected.evidence.map((seen) => seen.text));
  const others = new Set(other.evidence.map((seen) => seen.text));
  const both = [...own].filter((text) => others.has(text)).length;
  const rows = [
    ["answer", (rollout) => [groupMark(data, rollout), " ", foreign("span", "", clipped(answerLine(data, rollout), 90))]],
    ["label", (rollout) => verdict(rollout.label) ?? "unknown"],
    ["score", (rollout) => scoreText(rollout.score)],
    ["votes", (rollout) => String(data.groupOf.get(rollout.group)?.members.length ?? 0)],
    ["searches", (rollout) => String(rollout.searches.length)],
    ["distinct evidence", (rollout) => String(new Set(rollout.evidence.map((seen) => seen.text)).size)],
    ["of it shared", (rollout) => sharedPart(rollout)],
  ];
  if (data.has_weights) rows.push([`${data.weights_are} on shared`, (rollout) => percent(sharedWeight(rollout))]);
  const body = rows.map(([name, cell]) => {
    const cells = [selected, other].map((rollout) => element("td", {}, cell(rollout)));
    return element("tr", {}, element("th", { scope: "row" }, name), cells);
  });
  return element(
    "details",
    { class: "comparison" },
    element("summary", {}, "Against the runner-up"),
    element("table", {}, element("thead", {}, comparisonHead(selected, other)), element("tbody", {}, body)),
    element("p", { class: "aside" }, overlapSentence(both, own.size - both, others.size - both)),
    element("h3", {}, runnerUpHeading(data, other)),
    strongestList(data, other, 3),
  );
}

function runnerUpHeading(data, other) {
  if (!data.has_weights) return "The runner-up's most shared evidence";
  if (data.weights_are !== "support") return "The runner-up looked most at";
  return other.heaviest > 0 ? "What holds the runner-up's answer" : "Nothing the runner-up saw holds its answer";
}

function comparisonHead(selected, other) {
  const cells = [`selected #${selected.sample}`, `runner-up #${other.sample}`];
  return element("tr", {}, element("td"), cells.map((cell) => element("th", { scope: "col" }, cell)));
}

function overlapSentence(both, own, others) {
  return `Seen by both: ${both}; by the selected one only: ${own}; by the runner-up only: ${others}.`;
}

function isShared(seen) {
  return seen.same_text > 0 || seen.same_document > 0;
}

function sharedPart(rollout) {
  const texts = new Map(rollout.evidence.map((seen) => [seen.text, isShared(seen)]));
  return texts.size === 0 ? "–" : percent([...texts.values()].filter(Boolean).length / texts.size);
}

function sharedWeight(rollout) {
  return rollout.evidence.filter(isShared).reduce((sum, seen) => sum + (seen.weight || 0), 0);
}
