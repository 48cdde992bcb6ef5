// What is missing: evidence that would decide a question on which the method is unsure.

function missingPanel(data) {
  const found = data.missing;
  if (!found) return null;
  const by = (samples) => samples.map((sample) => `#${sample}`).join(", ");
  const rows = [
    ...found.unsupported.map((one) => [
      one.is_chosen ? "No text holds the selected answer" : "No text holds the answer",
      one.answer,
      `given by ${by(one.rollouts)}; ${one.was_asked ? "a query asked for it" : "no query asked for it"}`,
    ]),
    ...found.unasked.map((one) => [
      "No query asked for",
      one.phrase,
      one.where === "question" ? "named in the question" : `the answer of ${by(one.rollouts)}`,
    ]),
    ...found.repeated.map((one) => [
      "Most rollouts repeat the query",
      one.query,
      `${one.rollouts} of ${one.searching} that searched`,
    ]),
  ].map(([words, text, about]) =>
    element("li", {}, `${words} `, foreign("b", "", clipped(text, 200)), " ", element("span", { class: "aside" }, about)),
  );
  const lead = rows.length > 0 ? "More searching could decide:" : "Nothing was found to be missing.";
  return element(
    "section",
    { class: "panel missing", "aria-labelledby": "missing-title" },
    element("h2", { id: "missing-title" }, "What is missing"),
    element("p", { class: "lead" }, `The answer is unsure. ${lead}`),
    rows.length > 0 && element("ul", {}, rows),
    found.note && element("p", { class: "aside" }, `Not checked: ${found.note}.`),
  );
}
