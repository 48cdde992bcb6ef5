"""How the world's agents search: in WebQA by three ranked chunks a query, in browsing by Search, Open and Find.

A browsing session is recorded as the browsing reader would recover it from a transcript; which page to open is up to
the agent. Long searches run out of room: then most agents end without an answer, as the paper's long-horizon agents do.
"""

from dataclasses import dataclass
from random import Random

from tracerank.answers.exact import exact_match
from tracerank.lab.worlds.agents import Agent, ErrorModel
from tracerank.lab.worlds.library import Library
from tracerank.lab.worlds.pages import Page
from tracerank.lab.worlds.questions import Case
from tracerank.pools.types import BROWSING, WEBQA, Document, Evidence, Rollout, Search, View

_WITH_FIELD = "returned_URL_field_matches_display"
_WITHOUT_FIELD = "returned_document_header"


def roll_out(
    case: Case,
    library: Library,
    errors: ErrorModel,
    habits: "SearchHabits | BrowsingHabits",
    rng: Random,
    sample_id: int,
) -> Rollout:
    """One rollout of a question."""
    agent = Agent(case, rng, errors)
    shares = (errors.no_answer, errors.no_search, errors.no_return)
    fate = rng.choices(("no answer", "no search", "no return", None), (*shares, 1 - sum(shares)))[0]
    visit = habits.visit(agent, library, is_served=fate != "no return")
    answer = agent.remember() if fate == "no search" else _investigate(agent, visit, habits)
    answer = None if fate == "no answer" else agent.written(answer)
    label = exact_match(answer, case.question.references)
    return Rollout(sample_id, answer, visit.searches(), label, setting=visit.setting, views=tuple(visit.views))


def _investigate(
    agent: Agent, visit: "_RankedVisit | _BrowsingVisit", habits: "SearchHabits | BrowsingHabits"
) -> str | None:
    case = agent.case
    name, place = "", None
    values: list[str | None] = []
    for number, lookup in enumerate(case.lookups, start=1):
        name, place = (lookup.name, lookup.place) if lookup.name else (values[-1] or "", name)
        topic = lookup.relation.topic
        if not visit.look_up(name, topic, place) and agent.rng.random() < habits.runs_out:
            return None
        values.append(agent.believe(name, topic, lookup.relation.to))
        if values[-1] is None and not case.is_comparison:
            return agent.guess()
        if number < len(case.lookups) and agent.stops_early:
            return agent.stop_with(values[-1] or "")
    return agent.compare(values) if case.is_comparison else values[-1] or ""


@dataclass(frozen=True, slots=True)
class SearchHabits:
    """How long agents search."""

    searches_on: tuple[float, float, float] = (0.3, 0.1, 0.1)
    """Probability of searching again for a fact that is missing, of which the agent is unsure, or sure."""
    most_searches: int = 5
    runs_out: float = 0.0

    def visit(self, agent: Agent, library: Library, is_served: bool) -> "_RankedVisit":
        """Begin a rollout; unless it is served, searches find nothing."""
        return _RankedVisit(self, agent, library, is_served)


class _RankedVisit:
    """Ranked search."""

    setting = WEBQA

    def __init__(self, habits: SearchHabits, agent: Agent, library: Library, is_served: bool) -> None:
        self._habits, self._agent, self._library = habits, agent, library
        self._is_served = is_served
        self._searches: list[Search] = []
        self.views: list[View] = []

    def searches(self) -> tuple[Search, ...]:
        return tuple(self._searches)

    def look_up(self, name: str, topic: str, place: str | None) -> bool:
        agent, habits = self._agent, self._habits
        while len(self._searches) < habits.most_searches:
            query = self._library.word(agent.rng, name, topic, place)
            hits = self._library.search(query) if self._is_served else ()
            evidence = tuple(
                Evidence(f'(Title: "{page.title}") {page.passages[index].body}', title=page.title, rank=rank)
                for rank, (page, index) in enumerate(hits, start=1)
            )
            self._searches.append(Search(query.text, evidence))
            for page, index in hits:
                agent.see(page, page.passages[index])
            if agent.rng.random() >= habits.searches_on[agent.standing(name, topic)]:
                break
        return True


@dataclass(frozen=True, slots=True)
class BrowsingHabits:
    """How agents browse and when they stop."""

    room: float = 30.0
    """Tool calls that fit, in the median; the question's effort scales them."""
    room_spread: float = 0.4
    """Standard deviation of their logarithm over rollouts."""
    eagerness: float = 0.45
    """Probability that a listed page is passed over for the next one."""
    reads_on: float = 0.6
    """Probability of showing one more window of a page after the first; the question's effort raises it."""
    in_order: float = 0.6
    """Of such a window: the next one, else one that the agent jumps to."""
    finds: float = 0.25
    """Of looking further on a page: by Find instead of another window."""
    searches_on: tuple[float, float, float] = (1.0, 0.7, 0.15)
    """Probability of searching again for a fact that is missing, of which the agent is unsure, or sure."""
    resumes: float = 0.4
    """Of coming back to a page: goes to some later window instead of the first."""
    by_address: float = 0.02
    """Probability of beginning with a page whose address the agent knows: an orphan."""
    runs_out: float = 0.85
    """Of a rollout without room: ends without an answer, else gives what it has."""

    def visit(self, agent: Agent, library: Library, is_served: bool) -> "_BrowsingVisit":
        return _BrowsingVisit(self, agent, library)


class _BrowsingVisit:
    """A browser."""

    setting = BROWSING

    def __init__(self, habits: BrowsingHabits, agent: Agent, library: Library) -> None:
        self._habits, self._agent, self._library = habits, agent, library
        effort = agent.case.effort
        self._room = habits.room * effort * agent.rng.lognormvariate(0.0, habits.room_spread)
        self._visited: set[int] = set()
        # Agents that keep at it read more of each page, too.
        self._reads_on = 1.0 - (1.0 - habits.reads_on) ** effort
        self.views: list[View] = []
        self._roots: dict[int, tuple[str | None, list[Evidence]]] = {}
        """By event: the query and what was seen after it; the query of a page opened before any search is None."""
        self._seen: list[Evidence] = []
        self._latest: int | None = None
        self._group = ""

    def searches(self) -> tuple[Search, ...]:
        return tuple(Search(query, tuple(seen), event) for event, (query, seen) in self._roots.items())

    def look_up(self, name: str, topic: str, place: str | None) -> bool:
        habits, rng = self._habits, self._agent.rng
        if not self.views and rng.random() < habits.by_address:
            self._read(self._library.pages[0], topic, by_address=True)
        while len(self.views) < self._room:
            query = self._library.word(rng, name, topic, place)
            listed = self._library.list_pages(query)
            event = len(self.views)
            self.views.append(View(event, "search", None, event, True, fallback=f"event:{event}"))
            self._begin(event, query.text)
            self._latest = event
            for page in listed:
                if rng.random() >= habits.eagerness:
                    self._read(page, topic)
                    break
            if rng.random() >= habits.searches_on[self._agent.standing(name, topic)]:
                return True
        return False

    def _read(self, page: Page, topic: str, by_address: bool = False) -> None:
        rng, habits = self._agent.rng, self._habits
        last = len(page.passages) - 1
        is_return = page.number in self._visited and rng.random() < habits.resumes
        window = rng.randint(0, last) if is_return else 0
        self._visited.add(page.number)
        event = len(self.views)
        self._group = page.url if by_address else f"event:{event}"
        self._open(page, window, requested=page.url if by_address else None)
        while rng.random() < self._reads_on and len(self.views) < self._room:
            if rng.random() < habits.finds:
                self._find(page, _matching(page, topic if rng.random() < 0.7 else "", rng))
            else:
                window = window + 1 if window < last and rng.random() < habits.in_order else rng.randint(0, last)
                self._open(page, window, continues=True)

    def _open(self, page: Page, window: int, requested: str | None = None, continues: bool = False) -> None:
        """Show a window of a page; only the first one repeats the address."""
        event = len(self.views)
        header = _WITHOUT_FIELD if window else _WITH_FIELD
        established = (requested, "document", page.url, page.url, window == 0, header)
        self.views.append(View(event, "open", self._latest, event, True, continues, *established, fallback=self._group))
        field = "" if window else f" URL: {page.url}"
        text = f"{page.title} ({page.url}){field} {page.passages[window].body}"
        self._show(page, text, page.title, "open", "open_inherits_source" if continues else header)
        self._agent.see(page, page.passages[window])

    def _find(self, page: Page, windows: list[int]) -> None:
        """Show what matches a pattern; without a match the agent stays where it was."""
        event = len(self.views)
        self.views.append(View(event, "find", self._latest, event, True, fallback=self._group))
        found = [page.passages[window] for window in windows]
        if text := "\n\n".join(passage.body for passage in found):
            self._show(page, text, None, "find", "find_inherits_source")
        self._agent.see(page, *found)

    def _show(self, page: Page, text: str, title: str | None, tool: str, status: str) -> None:
        event = len(self.views) - 1
        if not self._roots:
            self._begin(event, None)
        document = Document(f"url:{page.url}", url=page.url)
        self._seen.append(Evidence(text, title, page.url, None, tool, document, event, status))
        self._latest = event

    def _begin(self, event: int, query: str | None) -> None:
        self._seen = []
        self._roots[event] = (query, self._seen)


def _matching(page: Page, topic: str, rng: Random) -> list[int]:
    """Windows that state the topic; without one, those that happen to hold some other word."""
    if not topic:
        first = rng.randrange(len(page.passages))
        return list(range(first, min(first + 2, len(page.passages))))
    return [
        window for window, passage in enumerate(page.passages) if any(said.topic == topic for said in passage.states)
    ]
