// The list of questions: filters, search, and only those rows that can be seen.

const ROW_HEIGHT = 92;
const ROWS_AROUND = 6;
const LOW_CONFIDENCE = 0.5;

const FILTERS = [
  {
    name: "differs",
    label: "Vote differs",
    title: "The vote and the selector disagree",
    keeps: (entry) => !entry.agrees,
  },
  {
    name: "right",
    label: "Right",
    title: "The selected answer is right",
    keeps: (entry) => isRight(entry.right) === true,
  },
  {
    name: "wrong",
    label: "Wrong",
    title: "The selected answer is wrong",
    keeps: (entry) => isRight(entry.right) === false,
  },
  {
    name: "low",
    label: "Low confidence",
    title: "Confidence, or what stands in for it, below 50%",
    keeps: (entry) => entry.confidence !== null && entry.confidence < LOW_CONFIDENCE,
  },
];
const EXCLUSIVE = { right: "wrong", wrong: "right" };

const list = {
  box: document.getElementById("list"),
  rows: element("div", { class: "rows", role: "presentation" }),
  search: document.getElementById("search"),
  active: new Set(),
  shown: [],
  current: null,
};

function startList(onChoose) {
  list.box.append(list.rows);
  list.box.addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
  list.search.addEventListener("input", applyFilters);
  list.rows.addEventListener("click", (event) => {
    const row = event.target.closest("[data-number]");
    if (row) onChoose(Number(row.dataset.number));
  });
  new ResizeObserver(drawRows).observe(list.box);
  const offered = FILTERS.filter((filter) => report.questions.some(filter.keeps));
  document.getElementById("filters").append(...offered.map(filterButton));
  if (report.agents.length > 0) showAgents();
  applyFilters();
}

/** How often each agent gives the selected answer, and how often it is right. */
function showAgents() {
  const share = (part, whole) => element("td", { class: "number" }, whole > 0 ? percent(part / whole) : "–");
  const rows = report.agents
    .map(([agent, rollouts, agrees, judged, right]) => ({ agent, rollouts, agrees, judged, right }))
    .sort((a, b) => b.agrees / b.rollouts - a.agrees / a.rollouts)
    .map((one) =>
      element(
        "tr",
        {},
        foreign("td", "agent", one.agent, { title: counted(one.rollouts, "rollout") }),
        share(one.agrees, one.rollouts),
        share(one.right, one.judged),
      ),
    );
  const heads = ["agent", "selected answer", "right"].map((name) => element("th", { scope: "col" }, name));
  const box = document.getElementById("agents");
  box.append(element("table", {}, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows)));
  box.hidden = false;
}

function filterButton(filter) {
  const count = report.questions.filter(filter.keeps).length;
  const attributes = { class: "chip", "aria-pressed": "false", "data-filter": filter.name, title: filter.title };
  return button(
    attributes,
    () => toggleFilter(filter.name),
    filter.label,
    element("span", { class: "chip-count" }, count.toLocaleString("en")),
  );
}

function toggleFilter(name) {
  if (!list.active.delete(name)) {
    list.active.add(name);
    list.active.delete(EXCLUSIVE[name]);
  }
  applyFilters();
}

function applyFilters() {
  const words = list.search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = FILTERS.filter((filter) => list.active.has(filter.name));
  list.shown = [];
  report.questions.forEach((entry, number) => {
    if (chosen.every((filter) => filter.keeps(entry)) && words.every((word) => searchable(entry).includes(word))) {
      list.shown.push(number);
    }
  });
  for (const chip of document.querySelectorAll("[data-filter]")) {
    chip.setAttribute("aria-pressed", String(list.active.has(chip.dataset.filter)));
  }
  const all = report.questions.length;
  const count = list.shown.length === all ? "" : `${list.shown.length.toLocaleString("en")} of `;
  document.getElementById("count").textContent = `${count}${counted(all, "question")}`;
  list.box.scrollTop = 0;
  drawRows();
}

function searchable(entry) {
  entry.words ??= [entry.question, entry.selected, entry.vote, entry.id].join(" ").toLowerCase();
  return entry.words;
}

function clearFinder() {
  list.search.value = "";
  list.active.clear();
  applyFilters();
}

function drawRows() {
  if (list.shown.length === 0) {
    list.rows.style.height = "auto";
    const showAll = button({ class: "button" }, clearFinder, "Show all");
    list.rows.replaceChildren(element("div", { class: "empty" }, element("p", {}, "No question fits."), showAll));
    return;
  }
  list.rows.style.height = `${list.shown.length * ROW_HEIGHT}px`;
  const first = Math.max(0, Math.floor(list.box.scrollTop / ROW_HEIGHT) - ROWS_AROUND);
  const last = Math.ceil((list.box.scrollTop + list.box.clientHeight) / ROW_HEIGHT) + ROWS_AROUND;
  const numbers = list.shown.slice(first, last);
  list.rows.replaceChildren(...numbers.map((number, index) => row(number, first + index)));
  const current = document.getElementById(`row-${list.current}`);
  if (current) list.box.setAttribute("aria-activedescendant", current.id);
  else list.box.removeAttribute("aria-activedescendant");
}

function row(number, index) {
  const entry = report.questions[number];
  const made = element(
    "div",
    {
      class: "row",
      role: "option",
      id: `row-${number}`,
      "data-number": number,
      "aria-selected": String(number === list.current),
      "aria-setsize": list.shown.length,
      "aria-posinset": index + 1,
    },
    foreign("div", "row-question", entry.question || entry.id),
    element("div", { class: "row-answers" }, rowAnswers(entry), rowVotes(entry)),
  );
  made.style.transform = `translateY(${index * ROW_HEIGHT}px)`;
  return made;
}

function rowAnswers(entry) {
  const sides = [
    { answer: entry.selected, core: entry.selected_core },
    { answer: entry.vote, core: entry.vote_core },
  ];
  const lines = sides.map((side, index) => shortAnswer(side, entry.agrees ? [] : [sides[1 - index]]));
  const selected = foreign("span", "row-selected", lines[0] || "no candidate");
  if (entry.agrees) return element("span", { class: "row-pair" }, verdict(entry.right, true), selected);
  return element(
    "span",
    { class: "row-pair" },
    verdict(entry.vote_right, true),
    foreign("span", "row-vote", lines[1] || "nothing"),
    element("span", { class: "row-arrow" }, "→"),
    verdict(entry.right, true),
    selected,
  );
}

function rowVotes(entry) {
  if (entry.votes === null) return element("span", { class: "row-votes", title: "Long answers, compared by their claims" }, "report");
  const title = `${entry.votes} of ${entry.rollouts} rollouts give this answer`;
  return element("span", { class: "row-votes", title }, `${entry.votes}/${entry.rollouts}`);
}

/** Marks the question that is open and brings its row into view. */
function markCurrent(number) {
  list.current = number;
  const index = list.shown.indexOf(number);
  if (index >= 0) {
    const top = index * ROW_HEIGHT;
    if (top < list.box.scrollTop) list.box.scrollTop = top;
    const bottom = top + ROW_HEIGHT - list.box.clientHeight;
    if (bottom > list.box.scrollTop) list.box.scrollTop = bottom;
  }
  drawRows();
}

/** The number of the question so many rows away from the open one, among those shown. */
function neighbour(step) {
  const index = list.shown.indexOf(list.current);
  if (index < 0) return list.shown[0] ?? null;
  return list.shown[Math.max(0, Math.min(list.shown.length - 1, index + step))];
}
