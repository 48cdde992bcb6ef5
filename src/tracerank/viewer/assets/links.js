// Shared evidence as lines across the lanes: solid for the same text, dashed for the same document.

const MAX_LINES = 400;

function drawLinks(lanes) {
  const { drawing, inner } = lanes;
  const frame = inner.getBoundingClientRect();
  drawing.setAttribute("width", inner.scrollWidth);
  drawing.setAttribute("height", inner.scrollHeight);
  const cards = cardsByEvidence(lanes);
  const lines = [];
  for (const [key, ends] of cards) {
    const isLit = isLitKey(lanes, key);
    if (!isLit && !isWanted(lanes, key)) continue;
    lines.push(...linesThrough(key, ends, frame, isLit));
  }
  // The lit ones last, so that they lie on top and are not the ones left out.
  lines.sort((a, b) => a.isLit - b.isLit);
  drawing.replaceChildren(...lines.slice(-MAX_LINES).map(lineElement));
}

/** For each shared text and document, the first card of each lane that is filled, in the order of the lanes. */
function cardsByEvidence(lanes) {
  const found = new Map();
  const { data } = lanes;
  [...lanes.byRollout.values()].forEach((made, lane) => {
    for (const card of made.querySelectorAll(".card")) {
      const text = Number(card.dataset.text);
      if (data.seenText.get(text).size > 1) addCard(found, `text-${text}`, { lane, card });
      if (card.dataset.document === undefined) continue;
      const document = Number(card.dataset.document);
      if (data.seenDocument.get(document).size > 1) addCard(found, `document-${document}`, { lane, card });
    }
  });
  return found;
}

function addCard(found, key, end) {
  if (!found.has(key)) found.set(key, []);
  const ends = found.get(key);
  if (ends.length === 0 || ends[ends.length - 1].lane !== end.lane) ends.push(end);
}

function isLitKey(lanes, key) {
  return lanes.lit !== null && (key === `text-${lanes.lit.text}` || key === `document-${lanes.lit.document}`);
}

function isWanted(lanes, key) {
  if (lanes.links !== "selected") return lanes.links === "all";
  const selected = lanes.data.bySample.get(lanes.data.selected.sample);
  const [kind, number] = key.split("-");
  const seenBy = kind === "text" ? lanes.data.seenText : lanes.data.seenDocument;
  return seenBy.get(Number(number)).has(selected);
}

function linesThrough(key, ends, frame, isLit) {
  const isText = key.startsWith("text-");
  const lines = [];
  for (let index = 1; index < ends.length; index++) {
    const [from, to] = [ends[index - 1], ends[index]];
    // The same text is already linked by a solid line.
    if (!isText && from.card.dataset.text === to.card.dataset.text) continue;
    lines.push({ path: curve(from.card, to.card, frame), kind: isText ? "text" : "document", isLit });
  }
  return lines;
}

function curve(from, to, frame) {
  const a = from.getBoundingClientRect(), b = to.getBoundingClientRect();
  const x1 = a.right - frame.left, y1 = a.top - frame.top + Math.min(a.height / 2, 40);
  const x2 = b.left - frame.left, y2 = b.top - frame.top + Math.min(b.height / 2, 40);
  const bend = Math.max(18, Math.min(120, (x2 - x1) / 2));
  const points = [x1, y1, x1 + bend, y1, x2 - bend, y2, x2, y2].map((value) => value.toFixed(1));
  return `M${points.slice(0, 2).join(" ")}C${points.slice(2).join(" ")}`;
}

function lineElement(line) {
  return svgElement("path", { d: line.path, class: `link ${line.kind}${line.isLit ? " lit" : ""}` });
}
