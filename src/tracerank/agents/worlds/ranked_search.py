"""Agents of the WebQA setting: Search returns three ranked chunks, then an answer."""

from dataclasses import dataclass
from random import Random

from tracerank.agents.worlds.agents import Agent, Agents, ErrorModel, Journey, Mistake
from tracerank.agents.worlds.library import Hit, Library
from tracerank.agents.worlds.questions import Case, Lookup
from tracerank.answers.exact import exact_match
from tracerank.pools.types import Evidence, Rollout, Search


@dataclass(frozen=True, slots=True)
class SearchHabits:
    """How long agents search."""

    searches_on: tuple[float, float, float] = (0.3, 0.1, 0.1)
    """Chance to search again for a fact that is missing, of which the agent is unsure, or sure."""
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
        return Journey(rollout, tuple(agent.mistakes), agent.readings, agent.could_stop_early)

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
