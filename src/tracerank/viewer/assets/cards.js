// Evidence cards, and the highlight that follows the pointer and the focus to all occurrences of the same evidence.

const CARD_CHARACTERS = 260;

function evidenceCard(data, rollout, seen) {
  const name = evidenceName(data, seen);
  const shared = Math.max(seen.same_text, seen.same_document);
  const card = button(
    {
      class: `card ${shared ? "is-shared" : ""}`,
      "data-text": seen.text,
      "data-document": seen.document,
      "aria-label": `${name || "evidence"}, ${weightWords(data, seen)}${sharing(seen)}`,
    },
    () => openEvidence(data, seen),
    element(
      "span",
      { class: "card-head" },
      element("span", { class: `way way-${wayFound(seen).split(" ")[0]}` }, wayFound(seen)),
      name ? foreign("span", "card-name", clipped(name, 80)) : element("span", { class: "card-name" }),
      seen.weight !== null && element("span", { class: "card-weight number" }, percent(seen.weight)),
      shared > 0 && element("span", { class: "card-others number", title: sharing(seen) }, shared),
    ),
    shaped("span", "card-text", clipped(gist(data, seen), CARD_CHARACTERS)),
  );
  // Shaded within the rollout: a long one spreads the same attention over more evidence. Squared, because attention is
  // often nearly even and the eye compares large areas poorly; the figure beside it is exact.
  const share = rollout.heaviest > 0 ? ((seen.weight || 0) / rollout.heaviest) ** 2 : 0;
  return withVariable(card, "--heat-share", share.toFixed(3));
}

function weightWords(data, seen) {
  return seen.weight === null ? "" : `${data.weights_are} ${percent(seen.weight)}, `;
}

/** Calls back with the evidence under the pointer or the focus, and with null when there is none. */
function watchEvidence(box, onChange) {
  let current = null;
  const change = (target) => {
    const found = target && target.closest ? target.closest("[data-text]") : null;
    if (found === current) return;
    current = found;
    onChange(found && { text: found.dataset.text, document: found.dataset.document ?? null });
  };
  box.addEventListener("pointerover", (event) => change(event.target));
  box.addEventListener("pointerleave", () => change(null));
  box.addEventListener("focusin", (event) => change(event.target));
  box.addEventListener("focusout", (event) => change(event.relatedTarget));
}

/** Lights up the same text everywhere, and more faintly the same document. */
function lightUp(box, evidence) {
  box.classList.toggle("has-lit", evidence !== null);
  for (const card of box.querySelectorAll("[data-text]")) {
    const isSame = evidence !== null && card.dataset.text === evidence.text;
    const isKin = evidence !== null && evidence.document !== null && card.dataset.document === evidence.document;
    card.classList.toggle("lit", isSame);
    card.classList.toggle("kin", isKin && !isSame);
  }
}
