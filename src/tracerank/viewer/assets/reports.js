// A long answer: its claims, how many runs say each, and the sentences of the others beside its own.

const REPORT_AT_ONCE = 24000;
const LISTED_CLAIMS = 12;
const CLAIM_CHARACTERS = 240;

function claimsPanel(data) {
  const found = data.report;
  if (!found) return null;
  const contested = found.claims.filter((claim) => claim.contested !== null);
  const shared = found.claims.filter((claim) => claim.others > 0).length;
  const alone = found.claims.filter((claim) => claim.others === 0 && claim.contested === null).length;
  const words = [
    counted(found.claims.length, "claim"),
    `${contested.length.toLocaleString("en")} contested`,
    `${shared.toLocaleString("en")} also in other runs`,
    `${alone.toLocaleString("en")} only here`,
  ];
  return element(
    "section",
    { class: "panel report", "aria-labelledby": "report-title" },
    element("h2", { id: "report-title" }, "Claims"),
    element("p", { class: "lead" }, `${words.join(", ")}.`),
    element("p", { class: "aside" }, "Only here is not wrong, and runs of one model share errors."),
    claimList("Contested", contested, (claim) => contestedRow(found, claim)),
    claimList("Not in this report", found.lacks, lackingRow),
    element("h3", {}, "The report"),
    reportText(found, data.selected.answer),
  );
}

/** The first few at once: a report of ten thousand words may have hundreds. */
function claimList(title, claims, row) {
  if (claims.length === 0) return null;
  const rows = element("ul", { class: "claim-list" }, claims.slice(0, LISTED_CLAIMS).map(row));
  const left = claims.length - LISTED_CLAIMS;
  const all = button({ class: "more" }, () => {
    rows.append(...claims.slice(LISTED_CLAIMS).map(row));
    all.remove();
  }, `${left.toLocaleString("en")} more`);
  return element("div", {}, element("h3", {}, title), rows, left > 0 && all);
}

function contestedRow(found, claim) {
  return element("li", {}, foreign("span", "claim-text", clipped(claim.text, CLAIM_CHARACTERS)), " ", claimChip(found, claim));
}

function lackingRow(one) {
  const others = one.samples.map((sample) => `#${sample}`).join(", ");
  const open = () => showDetails("Not in this report", sidesOf(one.where.map((said) => side(`#${said.sample}`, said.text, []))));
  const chip = button({ class: "claim-chip", title: "The sentences of the others" }, open, `in ${others}`);
  return element("li", {}, foreign("span", "claim-text", clipped(one.text, CLAIM_CHARACTERS)), " ", chip);
}

function standing(found, claim) {
  if (claim.contested !== null) return `contested: ${clipped(claim.contested, 80)}`;
  return claim.others > 0 ? `${claim.others + 1} of ${found.runs} runs` : "only here";
}

function claimChip(found, claim) {
  const kind = claim.contested !== null ? "is-contested" : claim.others > 0 ? "is-shared" : "is-alone";
  const sourced = claim.sources.length > 0 ? " · sourced" : "";
  const attributes = { class: `claim-chip ${kind}`, dir: "auto", title: "What the other runs say" };
  return button(attributes, () => openClaim(found, claim), standing(found, claim), sourced);
}

/** The sentences side by side, those with other values first. */
function openClaim(found, claim) {
  const here = claim.against.flatMap((one) => one.here);
  const sides = [
    side(`this report, #${found.sample}`, claim.sentence, here),
    ...claim.against.map((one) => side(`#${one.sample}, says otherwise`, one.text, one.there)),
    ...claim.where.map((one) => side(`#${one.sample}`, one.text, [])),
  ];
  const sources = claim.sources.map((source) =>
    element(
      "li",
      {},
      source.url ? outwardLink(source.url, "address") : foreign("b", "", clipped(source.title || "a text", 120)),
      foreign("div", "claim-sentence", source.text),
      element("div", { class: "aside" }, `seen by ${source.samples.map((sample) => `#${sample}`).join(", ")}${source.is_cited ? ", cited here" : ""}`),
    ),
  );
  showDetails(
    standing(found, claim),
    sidesOf(sides),
    claim.others === 0 && claim.against.length === 0 && element("p", { class: "aside" }, "No other run says this. That does not make it wrong."),
    sources.length > 0 && element("div", {}, element("h3", {}, "Found in"), element("ul", { class: "claim-list" }, sources)),
  );
}

function sidesOf(sides) {
  return element("div", { class: "claim-sides" }, sides);
}

function side(name, text, values) {
  return element("div", { class: "claim-side" }, element("div", { class: "fact-name" }, name), marked(clipped(text, 1200), values));
}

/** A sentence with its values marked where they stand. */
function marked(text, values) {
  const made = foreign("div", "claim-sentence", "");
  const spans = values
    .map((value) => [text.indexOf(value), value.length])
    .filter(([start]) => start >= 0)
    .sort(([a], [b]) => a - b);
  let end = 0;
  for (const [start, length] of spans) {
    if (start < end) continue;
    made.append(text.slice(end, start), element("mark", {}, text.slice(start, start + length)));
    end = start + length;
  }
  made.append(text.slice(end));
  return made;
}

/** The report as it was written, a chip behind each claim; long ones in portions. */
function reportText(found, text) {
  const body = element("div", { class: "report-text", dir: "auto" });
  const more = button({ class: "button" }, () => add(), "");
  let end = 0;
  let next = 0;
  const add = () => {
    const until = Math.min(text.length, end + REPORT_AT_ONCE);
    while (next < found.claims.length && found.claims[next].start < until) {
      const claim = found.claims[next++];
      if (claim.start < end || claim.end > text.length) continue;
      body.append(text.slice(end, claim.start), foreign("span", claimClass(claim), text.slice(claim.start, claim.end)));
      body.append("\u2009", claimChip(found, claim));
      end = claim.end;
    }
    const stop = Math.max(end, until);
    body.append(text.slice(end, stop));
    end = stop;
    more.hidden = end >= text.length;
    more.textContent = `Show more (${(text.length - end).toLocaleString("en")} characters are left)`;
  };
  add();
  return element("div", {}, body, more);
}

function claimClass(claim) {
  return claim.contested !== null ? "claim is-contested" : claim.others > 0 ? "claim is-shared" : "claim";
}
