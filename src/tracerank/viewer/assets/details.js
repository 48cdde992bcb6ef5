// The whole text of an evidence in a dialog, with every rollout that saw it.

const TEXT_AT_ONCE = 20000;
const LISTED_AT_ONCE = 6;
const detailsBox = document.getElementById("details");

function openEvidence(data, seen) {
  const address = seen.url || (seen.document === null ? null : data.documents[seen.document]);
  showDetails(
    evidenceName(data, seen) || "Evidence",
    address && outwardLink(address, "address"),
    seenByList(data, seen),
    pagedText(data.texts[seen.text]),
  );
}

function openText(text) {
  showDetails("Whole text", pagedText(text));
}

function showDetails(title, ...content) {
  const close = button({ class: "tool", "aria-label": "Close" }, () => detailsBox.close(), "✕");
  detailsBox.replaceChildren(
    element(
      "header",
      { class: "details-head" },
      foreign("h2", "", clipped(title, 200), { id: "details-title" }),
      close,
    ),
    element("div", { class: "details-body" }, ...content),
  );
  detailsBox.showModal();
  detailsBox.querySelector(".details-body").scrollTop = 0;
}

/** Text in portions: a browser takes seconds to lay out a line of a megabyte. */
function pagedText(text) {
  const shown = shaped("div", "whole-text", text.slice(0, TEXT_AT_ONCE));
  if (text.length <= TEXT_AT_ONCE) return shown;
  let end = TEXT_AT_ONCE;
  const more = button({ class: "button" }, () => {
    shown.append(text.slice(end, end + TEXT_AT_ONCE));
    end += TEXT_AT_ONCE;
    name();
  });
  const name = () => {
    more.hidden = end >= text.length;
    more.textContent = `Show more (${Math.max(0, text.length - end).toLocaleString("en")} characters are left)`;
  };
  name();
  return element("div", {}, shown, more);
}

function seenByList(data, seen) {
  const byText = data.seenText.get(seen.text);
  const byDocument = seen.document === null ? new Set() : data.seenDocument.get(seen.document);
  const rollouts = data.ranked.filter((rollout) => byText.has(rollout) || byDocument.has(rollout));
  const rows = rollouts.map((rollout) => {
    const isSame = byText.has(rollout);
    const key = isSame ? "text" : "document";
    const same = rollout.evidence.filter((other) => other[key] === seen[key]);
    const weight = same.reduce((sum, other) => sum + (other.weight || 0), 0);
    return element(
      "tr",
      {},
      element("td", {}, groupMark(data, rollout), ` #${rollout.sample}`),
      element(
        "td",
        {},
        foreign("span", "", clipped(answerLine(data, rollout) || "no answer", 80)),
        " ",
        verdict(rollout.label, true),
      ),
      element("td", { class: "quiet" }, isSame ? "same text" : "same document"),
      element("td", { class: "number" }, data.has_weights && !rollout.dropped ? percent(weight) : ""),
    );
  });
  const title = `Seen by ${counted(rollouts.length, "rollout")}`;
  return element(
    "details",
    { class: "seen-by", open: rollouts.length <= LISTED_AT_ONCE },
    element("summary", {}, title, " ", groupMarks(data, rollouts)),
    element("table", {}, element("tbody", {}, rows)),
  );
}
