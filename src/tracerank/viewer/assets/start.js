// The page put together: which question is open is in the address, so that it can be sent and gone back to.

const app = document.getElementById("app");
const THEMES = ["auto", "light", "dark"];
const THEME_SIGNS = { auto: "◐", light: "○", dark: "●" };
let theme = "auto";

function isNarrow() {
  return matchMedia("(max-width: 820px)").matches;
}

function fromAddress() {
  const named = /^#id=(.+)/.exec(location.hash);
  const number = named
    ? report.questions.findIndex((one) => one.id === decodeURIComponent(named[1]))
    : Number.parseInt(location.hash.replace(/^#\//, ""), 10) - 1;
  return number >= 0 && number < report.questions.length ? number : null;
}

function route() {
  const number = fromAddress();
  app.dataset.view = number === null ? "list" : "question";
  if (number === null && isNarrow()) return;
  const wanted = number ?? list.current ?? list.shown[0];
  if (wanted === undefined) return;
  markCurrent(wanted);
  if (view.number !== wanted) openQuestion(wanted, showListOnly);
}

function choose(number) {
  if (number === null) return;
  location.hash = `#/${number + 1}`;
}

function showListOnly() {
  history.pushState(null, "", "#");
  route();
  list.box.focus();
}

/** Steps do not fill the history. */
function step(by) {
  const number = neighbour(by);
  if (number === null) return;
  if (isNarrow() && app.dataset.view === "list") {
    markCurrent(number);
    return;
  }
  history.replaceState(null, "", `#/${number + 1}`);
  route();
}

function nextTheme() {
  showTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
  try {
    localStorage.setItem("tracerank-theme", theme);
  } catch {
    // A browser may keep nothing for pages from disk; the choice then lasts as long as the page.
  }
}

function showTheme(name) {
  theme = THEMES.includes(name) ? name : "auto";
  document.documentElement.dataset.theme = theme;
  const sign = document.getElementById("theme");
  sign.textContent = THEME_SIGNS[theme];
  sign.setAttribute("aria-label", `Colours: ${theme}`);
}

function storedTheme() {
  try {
    return localStorage.getItem("tracerank-theme");
  } catch {
    return null;
  }
}

function leaveSearch() {
  if (list.search.value) {
    list.search.value = "";
    applyFilters();
  } else list.box.focus();
}

function showAbout() {
  const about = document.getElementById("about");
  const title = foreign("span", "", clipped(report.title, 120));
  about.append(title, element("br"), "decided by ", foreign("b", "", clipped(report.method, 120)));
  if (report.fitted > 0) {
    const words = `${report.fitted.toLocaleString("en")} of these questions were fitted on: right there proves nothing.`;
    about.append(element("span", { class: "about-fitted" }, words));
  }
}

function start() {
  showTheme(storedTheme());
  showAbout();
  if (report.questions.length === 0) {
    mainBox.replaceChildren(element("div", { class: "empty tall" }, "There are no questions."));
  }
  startList(choose);
  const help = () => document.getElementById("help").showModal();
  document.getElementById("theme").addEventListener("click", nextTheme);
  document.getElementById("help-open").addEventListener("click", help);
  startKeyboard({
    step,
    help,
    leaveSearch,
    theme: nextTheme,
    stepLane: (by) => view.lanes && stepLane(view.lanes, by),
    search: () => list.search.focus(),
    open: () => choose(list.current ?? list.shown[0] ?? null),
    back: () => (isNarrow() && app.dataset.view === "question" ? showListOnly() : list.box.focus()),
  });
  addEventListener("hashchange", route);
  addEventListener("popstate", route);
  for (const dialog of document.querySelectorAll("dialog")) {
    // A click on the backdrop arrives at the dialog itself.
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
  route();
}

start();
