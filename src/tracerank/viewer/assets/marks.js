// Small signs that recur: verdicts, answer groups, bars.

const MARKS_AT_ONCE = 16;

/** Right, wrong or unknown, in shape and word as well as in colour. */
function verdict(value, isShort) {
  const right = isRight(value);
  if (right === null) return null;
  const partly = value > 0 && value < 1 ? ` ${value.toFixed(2)}` : "";
  const name = `${right ? "right" : "wrong"}${partly}`;
  return element(
    "span",
    { class: `verdict ${right ? "is-right" : "is-wrong"}`, title: name },
    element("span", { "aria-hidden": "true" }, right ? "✓" : "✗"),
    isShort ? element("span", { class: "unseen" }, name) : ` ${name}`,
  );
}

/** Where an answer's group stands among all; what has none comes last. */
function groupIndex(data, rollout) {
  return data.groupOf.get(rollout.group)?.index ?? data.groups.length;
}

/** The letter of an answer group in its colour. */
function groupMark(data, rollout) {
  const group = data.groupOf.get(rollout.group);
  if (!group || rollout.dropped) return element("span", { class: "group none", title: "no candidate" }, "–");
  return groupBadge(group);
}

function groupBadge(group) {
  const title = `answer ${groupLetter(group)}, given by ${counted(group.members.length, "rollout")}`;
  return element("span", { class: `group g${Math.min(group.index, 7)}`, title }, groupLetter(group));
}

/** A bar of a share between 0 and 1. */
function bar(share, className) {
  const made = element("span", { class: `bar ${className || ""}`, "aria-hidden": "true" }, element("span"));
  return withVariable(made, "--share", Math.max(0, Math.min(1, share)));
}

/** One letter for each other rollout that saw it, so that one sees which answers it serves. */
function witnesses(data, seen, own) {
  const others = [...(data.seenText.get(seen.text) || [])].filter((rollout) => rollout !== own && !rollout.dropped);
  return others.length === 0 ? null : groupMarks(data, others);
}

/** The letters of these rollouts' answers, equal ones together. */
function groupMarks(data, rollouts) {
  const sorted = [...rollouts].sort((a, b) => groupIndex(data, a) - groupIndex(data, b));
  const shown = sorted.slice(0, MARKS_AT_ONCE).map((rollout) => groupMark(data, rollout));
  const more = sorted.length > MARKS_AT_ONCE ? ` +${sorted.length - MARKS_AT_ONCE}` : null;
  const names = `rollouts ${sorted.map((rollout) => rollout.sample).join(", ")}`;
  return element("span", { class: "witnesses", "aria-label": names }, shown, more);
}
