"""How the world's agents search: in WebQA by three ranked chunks a query, in browsing by Search, Open and Find.

A browsing session is recorded as the browsing reader would recover it from a transcript; which page to open is up to
the agent. Long searches run out of room: then most agents end without an answer, as the paper's long-horizon agents do.
"""

from dataclasses import dataclass
from random import Random

from tracerank.answers.exact import exact_match
from tracerank.lab.worlds.agents import Agent, Agents, ErrorModel, Journey, Mistake
from tracerank.lab.worlds.library import Hit, Library, Query
from tracerank.lab.worlds.pages import Page
from tracerank.lab.worlds.questions import Case, Lookup
from tracerank.pools.types import BROWSING, Document, Evidence, Rollout, Search, View

_WITH_FIELD = "returned_URL_field_matches_display"
_WITHOUT_FIELD = "returned_document_header"


class Screens:
    """What the browser shows of each page; the rollouts of a question share it."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, int], str] = {}
        self._documents: dict[int, Document] = {}

    def text(self, page: Page, window: int) -> str:
        """What Open shows."""
        key = (page.number, window)
        if key not in self._texts:
            field = f" URL: {page.url}" if window == 0 else ""
            self._texts[key] = f"{page.title} ({page.url}){field} {page.passages[window].body}"
        return self._texts[key]

    def document(self, page: Page) -> Document:
        found = self._documents.get(page.number)
        if found is None:
            found = self._documents[page.number] = Document(f"url:{page.url}", url=page.url)
        return found


class Session:
    """The tool calls of one rollout."""

    def __init__(self, screens: Screens) -> None:
        self._screens = screens
        self.views: list[View] = []
        self._roots: dict[int, tuple[str | None, list[Evidence]]] = {}
        self._root = 0
        self._latest = 0
        self._group = ""

    def search(self, query: Query) -> None:
        """List pages for a query."""
        event = len(self.views)
        self.views.append(View(event, "search", None, event, True, fallback=f"event:{event}"))
        self._roots[event] = (query.text, [])
        self._root = self._latest = event

    def open(self, page: Page, window: int = 0, by_address: bool = False) -> None:
        """Show a window of a page, by a listed link or by its address."""
        event = len(self.views)
        parent = self._latest if self.views else None
        if parent is None:
            self._root = event
            self._roots[event] = (None, [])
        self._group = page.url if by_address else f"event:{event}"
        requested = page.url if by_address else None
        self.views.append(_document_view(event, parent, page, self._group, window, requested=requested))
        status = _WITHOUT_FIELD if window else _WITH_FIELD
        self._show(page, self._screens.text(page, window), page.title, "open", status)

    def page_on(self, page: Page, window: int) -> None:
        """Show another window of the page in view."""
        event = len(self.views)
        self.views.append(_document_view(event, self._latest, page, self._group, window, continues=True))
        self._show(page, self._screens.text(page, window), page.title, "open", "open_inherits_source")

    def find(self, page: Page, windows: list[int]) -> None:
        """Show the parts of the page in view that match a pattern; without a match the agent stays where it was."""
        event = len(self.views)
        self.views.append(View(event, "find", self._latest, event, True, fallback=self._group))
        text = "\n\n".join(page.passages[window].body for window in windows)
        if text:
            self._show(page, text, None, "find", "find_inherits_source")

    def searches(self) -> tuple[Search, ...]:
        """The searches in order, each with the evidence it led to."""
        return tuple(Search(query, tuple(seen), event) for event, (query, seen) in sorted(self._roots.items()))

    def _show(self, page: Page, text: str, title: str | None, tool: str, status: str) -> None:
        event = len(self.views) - 1
        document = self._screens.document(page)
        evidence = Evidence(text, title, page.url, None, tool, document, event, status)
        self._roots[self._root][1].append(evidence)
        self._latest = event


def _document_view(
    event: int,
    parent: int | None,
    page: Page,
    group: str,
    window: int,
    requested: str | None = None,
    continues: bool = False,
) -> View:
    """The view of an Open; only the first window repeats the address."""
    has_field = window == 0
    header = _WITH_FIELD if has_field else _WITHOUT_FIELD
    established = (requested, "document", page.url, page.url, has_field, header)
    return View(event, "open", parent, event, True, continues, *established, fallback=group)


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

    def agents(self, case: Case, library: Library, errors: ErrorModel) -> Agents:
        """Agents with these habits at one question."""
        return BrowsingSearch(case, library, errors, self)


class BrowsingSearch:
    """All rollouts of one question."""

    def __init__(self, case: Case, library: Library, errors: ErrorModel, habits: BrowsingHabits) -> None:
        self._case, self._library, self._errors, self._habits = case, library, errors, habits
        self._screens = Screens()

    def run(self, rng: Random, sample_id: int) -> Journey:
        """One rollout."""
        errors, case = self._errors, self._case
        agent = Agent(case, rng, errors)
        fates = (Mistake.NO_ANSWER, Mistake.NO_SEARCH, None)
        shares = (errors.no_answer, errors.no_search)
        fate = rng.choices(fates, (*shares, 1 - sum(shares)))[0]
        if fate is not None:
            agent.mistakes.append(fate)
        visit = _Visit(agent, self._library, self._habits, Session(self._screens))
        answer = agent.remember() if fate is Mistake.NO_SEARCH else self._investigate(agent, visit)
        answer = None if fate is Mistake.NO_ANSWER else agent.written(answer)
        rollout = Rollout(
            sample_id,
            answer,
            visit.session.searches(),
            exact_match(answer, case.question.references),
            setting=BROWSING,
            views=tuple(visit.session.views),
        )
        return Journey(rollout, tuple(agent.mistakes))

    def _investigate(self, agent: Agent, visit: "_Visit") -> str | None:
        name, place = "", None
        values: list[str | None] = []
        for number, lookup in enumerate(self._case.lookups, start=1):
            name, place = (lookup.name, lookup.place) if lookup.name else (values[-1] or "", name)
            topic = lookup.relation.topic
            if not visit.look_up(name, topic, place) and agent.rng.random() < self._habits.runs_out:
                agent.give_up()
                return None
            values.append(agent.believe(name, topic, lookup.relation.to))
            if values[-1] is None and not self._case.is_comparison:
                return agent.guess()
            if number < len(self._case.lookups) and agent.stops_early():
                return agent.stop_with(values[-1] or "")
        return agent.compare(values) if self._case.is_comparison else values[-1] or ""


class _Visit:
    """One agent at the browser."""

    def __init__(self, agent: Agent, library: Library, habits: BrowsingHabits, session: Session) -> None:
        self.session = session
        self._agent, self._library, self._habits = agent, library, habits
        rng, effort = agent.rng, agent.case.effort
        self._room = habits.room * effort * rng.lognormvariate(0.0, habits.room_spread)
        self._visited: set[int] = set()
        # Agents that keep at it read more of each page, too.
        self._reads_on = 1.0 - (1.0 - habits.reads_on) ** effort

    def look_up(self, name: str, topic: str, place: str | None) -> bool:
        """Search and read until the agent is content; False: there was no room left."""
        agent, habits = self._agent, self._habits
        rng = agent.rng
        if not self.session.views and rng.random() < habits.by_address:
            self._read(self._library.pages[0], topic, by_address=True)
        while len(self.session.views) < self._room:
            query = self._library.word(rng, name, topic, place)
            listed = self._library.list_pages(query)
            self.session.search(query)
            for page in listed:
                if rng.random() >= habits.eagerness:
                    self._read(page, topic)
                    break
            if rng.random() >= habits.searches_on[agent.standing(name, topic)]:
                return True
        return False

    def _read(self, page: Page, topic: str, by_address: bool = False) -> None:
        rng, habits, agent = self._agent.rng, self._habits, self._agent
        last = len(page.passages) - 1
        is_return = page.number in self._visited and rng.random() < habits.resumes
        window = rng.randint(0, last) if is_return else 0
        self._visited.add(page.number)
        self.session.open(page, window, by_address)
        agent.see(page, page.passages[window])
        while rng.random() < self._reads_on and len(self.session.views) < self._room:
            if rng.random() < habits.finds:
                windows = _matching(page, topic if rng.random() < 0.7 else "", rng)
                self.session.find(page, windows)
                agent.see(page, *(page.passages[found] for found in windows))
            else:
                window = window + 1 if window < last and rng.random() < habits.in_order else rng.randint(0, last)
                self.session.page_on(page, window)
                agent.see(page, page.passages[window])


def _matching(page: Page, topic: str, rng: Random) -> list[int]:
    """Windows that state the topic; without one, those that happen to hold some other word."""
    if topic:
        return [
            window
            for window, passage in enumerate(page.passages)
            if any(statement.topic == topic for statement in passage.states)
        ]
    first = rng.randrange(len(page.passages))
    return list(range(first, min(first + 2, len(page.passages))))


@dataclass(frozen=True, slots=True)
class SearchHabits:
    """How long agents search."""

    searches_on: tuple[float, float, float] = (0.3, 0.1, 0.1)
    """Probability of searching again for a fact that is missing, of which the agent is unsure, or sure."""
    most_searches: int = 5

    def agents(self, case: Case, library: Library, errors: ErrorModel) -> Agents:
        """Agents with these habits at one question."""
        return RankedSearch(case, library, errors, self)


class RankedSearch:
    """All rollouts of one question; equal chunks at equal ranks are one object."""

    def __init__(self, case: Case, library: Library, errors: ErrorModel, habits: SearchHabits) -> None:
        self._case, self._library, self._errors, self._habits = case, library, errors, habits
        self._seen: dict[tuple[int, int, int], Evidence] = {}

    def run(self, rng: Random, sample_id: int) -> Journey:
        """One rollout."""
        errors, case = self._errors, self._case
        agent = Agent(case, rng, errors)
        shares = (errors.no_answer, errors.no_search, errors.no_return)
        fates = (Mistake.NO_ANSWER, Mistake.NO_SEARCH, Mistake.NO_RETURN, None)
        fate = rng.choices(fates, (*shares, 1 - sum(shares)))[0]
        if fate is not None:
            agent.mistakes.append(fate)
        searches: list[Search] = []
        answer: str | None
        if fate is Mistake.NO_SEARCH:
            answer = agent.remember()
        else:
            answer = self._investigate(agent, searches, is_served=fate is not Mistake.NO_RETURN)
        answer = None if fate is Mistake.NO_ANSWER else agent.written(answer)
        label = exact_match(answer, case.question.references)
        rollout = Rollout(sample_id, answer, tuple(searches), label)
        return Journey(rollout, tuple(agent.mistakes))

    def _investigate(self, agent: Agent, searches: list[Search], is_served: bool) -> str | None:
        name, place = "", None
        values: list[str | None] = []
        for number, lookup in enumerate(self._case.lookups, start=1):
            name, place = (lookup.name, lookup.place) if lookup.name else (values[-1] or "", name)
            self._look_up(agent, lookup, name, place, searches, is_served)
            values.append(agent.believe(name, lookup.relation.topic, lookup.relation.to))
            if values[-1] is None and not self._case.is_comparison:
                return agent.guess()
            if number < len(self._case.lookups) and agent.stops_early():
                return agent.stop_with(values[-1] or "")
        return agent.compare(values) if self._case.is_comparison else values[-1] or ""

    def _look_up(
        self, agent: Agent, lookup: Lookup, name: str, place: str | None, searches: list[Search], is_served: bool
    ) -> None:
        topic = lookup.relation.topic
        while len(searches) < self._habits.most_searches:
            query = self._library.word(agent.rng, name, topic, place)
            hits = self._library.search(query) if is_served else ()
            searches.append(Search(query.text, tuple(self._shown(hit, rank) for rank, hit in enumerate(hits, start=1))))
            for hit in hits:
                agent.see(hit.page, hit.passage)
            if agent.rng.random() >= self._habits.searches_on[agent.standing(name, topic)]:
                return

    def _shown(self, hit: Hit, rank: int) -> Evidence:
        key = (hit.page.number, hit.place, rank)
        shown = self._seen.get(key)
        if shown is None:
            title = hit.page.title
            shown = self._seen[key] = Evidence(f'(Title: "{title}") {hit.passage.body}', title=title, rank=rank)
        return shown
