// Numbers and words as they are shown.

function percent(share) {
  if (share > 0 && share < 0.005) return "<1%";
  return `${Math.round(100 * share)}%`;
}

function scoreText(score) {
  if (score === null) return "–";
  return Number.isInteger(score) ? String(score) : score.toFixed(2);
}

function counted(count, one, many) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many || `${one}s`}`;
}

function isRight(value) {
  return value === null || value === undefined ? null : value >= 0.5;
}

/** A, B, … Z, then numbers: a name for an answer group that does not need its colour. */
function groupLetter(group) {
  return group.index < 26 ? String.fromCharCode(65 + group.index) : String(group.index + 1);
}

/** One line of a rollout's answer that distinguishes it from the other answers. */
function answerLine(data, rollout) {
  return shortAnswer(rollout, data.answers.filter((other) => other.group !== rollout.group));
}

/** What an evidence is called: its title, else where it is from, else how it was found. */
function evidenceName(data, seen) {
  const address = webAddress(seen.url || (seen.document === null ? null : data.documents[seen.document]) || "");
  return seen.title || (address ? `${address.hostname}${address.pathname === "/" ? "" : address.pathname}` : null);
}

/** The text without the title and address that many tools put in front of it; the dialog shows it whole. */
function gist(data, seen) {
  const head = data.texts[seen.text].slice(0, 1000);
  let rest = head.replace(/^\(Title: "[^"]*"\)\s*/, "");
  // "Title (address)" and "Title The text" are headers; a title that begins a sentence is part of it.
  const after = seen.title && rest.startsWith(seen.title) ? rest.slice(seen.title.length).trimStart() : rest;
  if (/^(\(https?:|\p{Lu})/u.test(after)) rest = after;
  rest = rest.replace(/^\(https?:\S*\)\s+/, "").replace(/^URL: \S+\s*/, "");
  return rest || head;
}

/** How the agent came by it. */
function wayFound(seen) {
  if (seen.tool !== "search") return seen.tool;
  return seen.rank === null ? "search" : `rank ${seen.rank}`;
}

/** In how many other rollouts, in words. */
function sharing(seen) {
  if (seen.same_text > 0) return `also in ${counted(seen.same_text, "other rollout")}`;
  if (seen.same_document > 0) return `same document in ${counted(seen.same_document, "other rollout")}`;
  return "in no other rollout";
}
