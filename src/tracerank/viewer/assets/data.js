// The data of the page: the list is read at once, a question when it is opened.

const report = JSON.parse(document.getElementById("list-data").textContent);
const NO_GROUP = -1;
const KEPT_QUESTIONS = 12;
const opened = new Map();

/** The question of this number with what the views derive from it. */
async function questionData(number) {
  if (!opened.has(number)) {
    opened.set(number, unpacked(document.getElementById(`question-${number}`).textContent).then(derived));
    if (opened.size > KEPT_QUESTIONS) opened.delete(opened.keys().next().value);
  }
  return opened.get(number);
}

async function unpacked(base64) {
  const packed = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function derived(data) {
  data.ranked = rankedRollouts(data);
  data.candidates = data.ranked.filter((rollout) => !rollout.dropped);
  data.groups = answerGroups(data);
  data.answers = data.groups.map((group) => group.members[0]);
  data.groupOf = new Map(data.groups.map((group) => [group.number, group]));
  data.bySample = new Map(data.rollouts.map((rollout) => [rollout.sample, rollout]));
  data.seenText = new Map();
  data.seenDocument = new Map();
  for (const rollout of data.rollouts) {
    rollout.evidence = rollout.searches.flatMap((search) => search.evidence);
    rollout.heaviest = Math.max(0, ...rollout.evidence.map((seen) => seen.weight || 0));
    for (const seen of rollout.evidence) {
      addTo(data.seenText, seen.text, rollout);
      if (seen.document !== null) addTo(data.seenDocument, seen.document, rollout);
    }
  }
  data.runnerUp = runnerUp(data);
  return data;
}

function addTo(sets, key, value) {
  if (!sets.has(key)) sets.set(key, new Set());
  sets.get(key).add(value);
}

/** The selected rollout, then the others by score; those without one, and what was dropped, in sampling order. */
function rankedRollouts(data) {
  const selected = data.selected.sample;
  const merit = (rollout) => (rollout.dropped ? -Infinity : rollout.score ?? -Number.MAX_VALUE);
  const ranked = data.rollouts.map((rollout, index) => ({ rollout, index }));
  ranked.sort(
    (a, b) =>
      (b.rollout.sample === selected) - (a.rollout.sample === selected) ||
      compare(merit(b.rollout), merit(a.rollout)) ||
      a.index - b.index,
  );
  return ranked.map(({ rollout }) => rollout);
}

function compare(a, b) {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Answers that count as one, the best ranked first. */
function answerGroups(data) {
  const groups = new Map();
  for (const rollout of data.candidates) {
    if (rollout.group === NO_GROUP) continue;
    if (!groups.has(rollout.group)) {
      groups.set(rollout.group, { number: rollout.group, answer: rollout.answer, members: [], index: groups.size });
    }
    groups.get(rollout.group).members.push(rollout);
  }
  const all = [...groups.values()];
  for (const group of all) {
    group.line = shortAnswer(group.members[0], all.filter((other) => other !== group).map(({ members }) => members[0]));
  }
  return all;
}

/** The best candidate with another answer; where there is none, the next candidate. */
function runnerUp(data) {
  const [first, ...rest] = data.candidates;
  if (!first || first.sample !== data.selected.sample) return null;
  return rest.find((rollout) => rollout.group !== first.group) || rest[0] || null;
}
