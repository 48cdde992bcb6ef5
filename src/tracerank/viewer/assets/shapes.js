// The shape of foreign texts: code and lists keep their lines, and answers that begin alike show where they differ.

const SHAPE_CHARACTERS = 4000;
const SHARED_BEGINNING = 24;
const BLOCK_CHARACTERS = 700;
const CODE_LINE =
  /^(\t| {2,})\S|^(def|class|import|from|function|const|let|var|return|public|static|package|use|fn|SELECT|WITH|INSERT)\s|[{};]\s*$|\)\s*[:{]\s*$|^\|.*\|\s*$/;

/** "code" keeps its lines and columns, "lines" its lines; "line" is running text. */
function shapeOf(text) {
  const head = text.slice(0, SHAPE_CHARACTERS).trim();
  const lines = head.split("\n").filter((line) => line.trim() !== "");
  if (lines.length < 2) return "line";
  const marked = lines.filter((line) => CODE_LINE.test(line)).length;
  return /^(```|~~~)/m.test(head) || marked >= 2 || 3 * marked >= lines.length ? "code" : "lines";
}

/** Foreign text as an element that keeps its shape. */
function shaped(tag, className, text, attributes) {
  const shape = shapeOf(text);
  return foreign(tag, shape === "line" ? className : `${className} is-${shape}`, text, attributes);
}

/** Running text within so many characters; a block of lines may be longer, because it can be scrolled. */
function roomFor(text, length) {
  return shapeOf(text) === "line" ? length : Math.max(length, BLOCK_CHARACTERS);
}

/** An answer in a line: what it comes down to, unless another comes down to the same or it is code. */
function shortAnswer(rollout, others) {
  const answer = rollout.answer || "";
  const isDistinct = rollout.core && shapeOf(answer) !== "code" && others.every((other) => other.core !== rollout.core);
  return isDistinct ? rollout.core : distinctLine(answer, others.map((other) => other.answer || ""));
}

/** One line that says which answer this is: the first that no other has; where all begin alike, what comes after. */
function distinctLine(text, others) {
  const lines = linesOf(text);
  if (lines.length === 0) return "";
  const taken = new Set(others.flatMap(linesOf));
  const index = lines.findIndex((line) => !taken.has(line));
  const line = lines[Math.max(0, index)];
  const beginnings = others.map((other) => linesOf(other)[0] ?? "");
  const shared = index === 0 ? Math.max(0, ...beginnings.map((other) => commonLength(line, other))) : 0;
  const cut = shared >= SHARED_BEGINNING ? line.lastIndexOf(" ", shared) + 1 : 0;
  return cut > 0 || index > 0 ? `… ${line.slice(cut)}` : line;
}

/** Lines that say something, without the signs that make a heading or an item of them. */
function linesOf(text) {
  return text
    .slice(0, SHAPE_CHARACTERS)
    .split("\n")
    .map((line) => line.replace(/^\s*(#{1,6}\s+|[-*>]\s+|```\w*)/, "").trim())
    .filter((line) => /[\p{L}\p{N}]/u.test(line));
}

function commonLength(a, b) {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}
