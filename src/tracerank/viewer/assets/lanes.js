// The rollouts as lanes side by side, in search order. Large pools fill only the lanes that can be seen.

const FILLED_CARDS = 500;
const DENSE_CARDS = 240;
const ORDERS = [["score", "by score"], ["sample", "as sampled"]];
const LINKS = [["selected", "of the selected"], ["all", "all"], ["none", "none"]];
const DENSITIES = [[false, "text"], [true, "lines"]];

function lanesSection(data) {
  const cards = data.rollouts.reduce((sum, rollout) => sum + rollout.evidence.length, 0);
  const lanes = {
    data,
    isLazy: cards > FILLED_CARDS,
    order: "score",
    links: "selected",
    isDense: cards > DENSE_CARDS,
    lit: null,
    scroller: element("div", { class: "lanes", tabindex: 0, role: "group", "aria-label": "Rollouts side by side" }),
    inner: element("div", { class: "lanes-inner" }),
    drawing: svgElement("svg", { class: "links", "aria-hidden": "true" }),
    byRollout: new Map(),
  };
  lanes.scroller.append(lanes.inner);
  const attributes = { class: "lanes-section", "aria-labelledby": "lanes-title" };
  lanes.section = element("section", attributes, lanesHead(lanes), lanes.scroller);
  layLanes(lanes);
  return lanes;
}

function lanesHead(lanes) {
  const { data } = lanes;
  return element(
    "div",
    { class: "lanes-head" },
    element("h2", { id: "lanes-title" }, counted(data.rollouts.length, "rollout")),
    choiceOf("Order", lanes, "order", ORDERS, () => layLanes(lanes)),
    choiceOf("Links", lanes, "links", LINKS, () => drawLinks(lanes)),
    choiceOf("Cards", lanes, "isDense", DENSITIES, () => layLanes(lanes)),
    element(
      "p",
      { class: "legend" },
      data.has_weights
        ? legend("heat", data.weights_are === "support" ? "holds the answer" : "attention of the answer")
        : element("span", {}, "no attention: this method reads no evidence"),
      legend("line", "same text"),
      legend("dashes", "same document"),
      legend("others", "in so many other rollouts"),
    ),
  );
}

function legend(kind, words) {
  return element("span", { class: "legend-part" }, element("span", { class: `swatch ${kind}` }), words);
}

/** A few buttons of which one is pressed. */
function choiceOf(name, state, key, options, onChange) {
  const box = element("div", { class: "choice", role: "group", "aria-label": name });
  const buttons = [];
  const press = () =>
    buttons.forEach((child, index) => child.setAttribute("aria-pressed", String(options[index][0] === state[key])));
  for (const [value, label] of options) {
    const pressed = () => {
      state[key] = value;
      press();
      onChange();
    };
    buttons.push(button({ "data-choice": `${key}-${value}` }, pressed, label));
  }
  press();
  box.append(element("span", { class: "choice-name" }, name), ...buttons);
  return box;
}

function layLanes(lanes) {
  const { data } = lanes;
  lanes.observer?.disconnect();
  lanes.scroller.classList.toggle("dense", lanes.isDense);
  const rollouts = lanes.order === "score" ? data.ranked : data.rollouts;
  lanes.byRollout = new Map(rollouts.map((rollout) => [rollout, lane(data, rollout)]));
  lanes.inner.replaceChildren(lanes.drawing, ...lanes.byRollout.values());
  if (lanes.isLazy) fillWhenSeen(lanes);
  else for (const [rollout, made] of lanes.byRollout) fill(data, rollout, made);
  requestAnimationFrame(() => drawLinks(lanes));
}

function fillWhenSeen(lanes) {
  const rolloutOf = new Map([...lanes.byRollout].map(([rollout, made]) => [made, rollout]));
  const watch = (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) fill(lanes.data, rolloutOf.get(target), target);
      else empty(target);
    }
    if (lanes.lit) lightUp(lanes.inner, lanes.lit);
    requestAnimationFrame(() => drawLinks(lanes));
  };
  lanes.observer = new IntersectionObserver(watch, { root: lanes.scroller, rootMargin: "0px 300px" });
  for (const made of lanes.byRollout.values()) lanes.observer.observe(made);
}

function lane(data, rollout) {
  const isSelected = rollout.sample === data.selected.sample;
  const classes = ["lane", isSelected && "is-selected", rollout.dropped && "is-dropped"].filter(Boolean).join(" ");
  const label = `Rollout ${rollout.sample}, answer ${clipped(rollout.answer || "none", 80)}`;
  return element(
    "article",
    { class: classes, "data-sample": rollout.sample, tabindex: -1, "aria-label": label },
    element(
      "header",
      { class: "lane-head" },
      element(
        "div",
        { class: "lane-line" },
        groupMark(data, rollout),
        element("span", { class: "sample" }, `#${rollout.sample}`),
        rollout.agent && foreign("span", "agent", clipped(rollout.agent, 40), { title: rollout.agent }),
        isSelected && element("span", { class: "flag" }, "selected"),
        rollout.sample === data.vote.sample && element("span", { class: "flag vote" }, "vote"),
        element("span", { class: "lane-score number" }, rollout.score === null ? "" : scoreText(rollout.score)),
        verdict(rollout.label, true),
      ),
      rollout.answer && laneText("lane-answer", answerLine(data, rollout), rollout.answer),
      rollout.dropped && laneText(rollout.answer ? "lane-dropped" : "lane-answer none", rollout.dropped),
    ),
    element("div", { class: "lane-body" }),
  );
}

function laneText(className, text, whole) {
  const isBlock = whole !== undefined && shapeOf(whole) !== "line";
  return foreign("div", isBlock ? `${className} is-block` : className, clipped(text, 140), {
    title: clipped(whole ?? text, 1000),
  });
}

function fill(data, rollout, made) {
  const body = made.querySelector(".lane-body");
  if (body.childElementCount > 0) return;
  body.append(...rollout.searches.map((search, index) => searchBlock(data, rollout, search, index)));
  if (rollout.searches.length === 0) body.append(element("p", { class: "empty" }, "It answered without searching."));
}

/** Keeps the height, so that nothing moves under the pointer. */
function empty(made) {
  const body = made.querySelector(".lane-body");
  if (body.childElementCount === 0) return;
  body.style.minHeight = `${body.offsetHeight}px`;
  body.replaceChildren();
}

function searchBlock(data, rollout, search, index) {
  const query = search.query === null ? "(no search behind this)" : search.query || "(the query was not logged)";
  return element(
    "section",
    { class: "search" },
    element(
      "div",
      { class: "query", title: clipped(query, 1000) },
      element("span", { class: "query-number number" }, index + 1),
      foreign("span", `query-text ${search.query ? "" : "none"}`, clipped(query, 200)),
      search.weight !== null && queryWeight(search.weight),
    ),
    search.evidence.length === 0 && element("p", { class: "empty small" }, "nothing was looked at"),
    search.evidence.map((seen) => evidenceCard(data, rollout, seen)),
  );
}

function queryWeight(weight) {
  const attributes = { class: "query-weight number", title: "attention on the search itself" };
  return element("span", attributes, percent(weight));
}

/** Brings a lane into view and focus. */
function showLane(lanes, rollout) {
  const made = lanes.byRollout.get(rollout);
  const left = made.offsetLeft - 16;
  lanes.scroller.scrollTo({ left, top: 0, behavior: scrollBehavior() });
  lanes.section.scrollIntoView({ block: "nearest", behavior: scrollBehavior() });
  made.focus({ preventScroll: true });
}

function scrollBehavior() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
}

/** Moves by whole lanes. */
function stepLane(lanes, step) {
  const all = [...lanes.byRollout.values()];
  const focused = document.activeElement.closest?.(".lane");
  const index = focused ? all.indexOf(focused) + step : step > 0 ? 0 : all.length - 1;
  const rollout = [...lanes.byRollout.keys()][Math.max(0, Math.min(all.length - 1, index))];
  if (rollout) showLane(lanes, rollout);
}
