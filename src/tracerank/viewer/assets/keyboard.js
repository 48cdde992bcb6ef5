// Keys, the same everywhere but in the search field.

function startKeyboard(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return; // a dialog has keys of its own
    const act = document.activeElement === list.search ? keyInSearch(event, actions) : keyElsewhere(event, actions);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function keyInSearch(event, actions) {
  if (event.key === "Escape") return actions.leaveSearch;
  if (event.key === "ArrowDown") return () => actions.step(1);
  if (event.key === "ArrowUp") return () => actions.step(-1);
  if (event.key === "Enter") return actions.open;
  return null;
}

function keyElsewhere(event, actions) {
  const isInLanes = Boolean(document.activeElement.closest?.(".lanes"));
  const keys = {
    j: () => actions.step(1),
    k: () => actions.step(-1),
    l: () => actions.stepLane(1),
    h: () => actions.stepLane(-1),
    ArrowRight: () => actions.stepLane(1),
    ArrowLeft: () => actions.stepLane(-1),
    "/": actions.search,
    "?": actions.help,
    t: actions.theme,
    Escape: actions.back,
  };
  // Elsewhere arrows scroll, and Enter presses what is in focus.
  if (!isInLanes) Object.assign(keys, { ArrowDown: keys.j, ArrowUp: keys.k });
  if (document.activeElement === list.box) keys.Enter = actions.open;
  return keys[event.key] || null;
}
