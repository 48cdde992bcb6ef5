"""The error model: each mistake happens as often as its parameter says, and has the effect it is named after."""

from collections import Counter
from dataclasses import replace
from functools import cache
from statistics import mean

import pytest

from tracerank.lab.worlds.agents import Journey, Mistake
from tracerank.lab.worlds.pages import Source
from tracerank.lab.worlds.presets import FAULTLESS, PAPER, Preset, iter_journeys
from tracerank.lab.worlds.questions import Case
from tracerank.pools.types import BROWSING, WEBQA

SETTINGS = (WEBQA, BROWSING)


@cache
def journeys(setting: str) -> list[tuple[Case, list[Journey]]]:
    return list(iter_journeys(PAPER[setting], 150, seed=7))


def all_journeys(setting: str) -> list[Journey]:
    return [journey for _, found in journeys(setting) for journey in found]


def counted(setting: str) -> Counter[Mistake]:
    return Counter(mistake for journey in all_journeys(setting) for mistake in journey.mistakes)


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_mistake_that_the_setting_knows_occurs(setting: str) -> None:
    impossible = {WEBQA: set(), BROWSING: {Mistake.NO_SEARCH, Mistake.NO_RETURN}}[setting]
    assert set(counted(setting)) == set(Mistake) - impossible


def test_rollouts_fail_altogether_at_their_rates() -> None:
    errors, total = PAPER[WEBQA].errors, len(all_journeys(WEBQA))
    found = counted(WEBQA)
    assert found[Mistake.NO_ANSWER] / total == pytest.approx(errors.no_answer, abs=0.02)
    assert found[Mistake.NO_SEARCH] / total == pytest.approx(errors.no_search, abs=0.015)
    assert found[Mistake.NO_RETURN] / total == pytest.approx(errors.no_return, abs=0.015)


def test_agents_that_have_read_nothing_of_use_give_up_at_their_rate() -> None:
    found = counted(WEBQA)
    gave_up = found[Mistake.GAVE_UP] / (found[Mistake.GAVE_UP] + found[Mistake.GUESS])
    assert gave_up == pytest.approx(PAPER[WEBQA].errors.gives_up, abs=0.04)


@pytest.mark.parametrize("setting", SETTINGS)
def test_readings_are_misread_at_their_rate(setting: str) -> None:
    readings = sum(journey.readings for journey in all_journeys(setting))
    assert counted(setting)[Mistake.MISREAD] / readings == pytest.approx(PAPER[setting].errors.misread, abs=0.015)


@pytest.mark.parametrize("setting", SETTINGS)
def test_agents_stop_early_at_their_rate(setting: str) -> None:
    # One draw a rollout: a rollout that goes on after its first fact goes on after its second.
    could = [journey for journey in all_journeys(setting) if journey.could_stop_early]
    stopped = mean(Mistake.EARLY_STOP in journey.mistakes for journey in could)
    assert stopped == pytest.approx(PAPER[setting].errors.early_stop, abs=0.03)


def test_only_the_named_mistakes_leave_a_rollout_without_answer_or_searches() -> None:
    for journey in all_journeys(WEBQA):
        assert (journey.rollout.answer is None) == bool({Mistake.NO_ANSWER, Mistake.GAVE_UP} & set(journey.mistakes))
        assert (not journey.rollout.searches) == (Mistake.NO_SEARCH in journey.mistakes)
        assert journey.rollout.has_evidence or {Mistake.NO_SEARCH, Mistake.NO_RETURN} & set(journey.mistakes)


def test_browsing_agents_that_run_out_of_room_have_looked_longer() -> None:
    errors = replace(PAPER[BROWSING].errors, no_answer=0.0)
    found = iter_journeys(replace(PAPER[BROWSING], errors=errors), 60, seed=7)
    lengths: dict[bool, list[int]] = {True: [], False: []}
    for _, together in found:
        for journey in together:
            lengths[journey.rollout.answer is None].append(len(journey.rollout.views))
    assert mean(lengths[True]) > 1.3 * mean(lengths[False])


def misled(source: str, **changes: float) -> Preset:
    """A world in which nobody errs but for namesakes or old pages, which nobody sees through."""
    faultless = FAULTLESS[WEBQA]
    world = replace(faultless.world, **{source: 1.0}, register=0.0, hops=(1.0, 0.0, 0.0))
    return replace(
        faultless, world=world, errors=replace(faultless.errors, **{"heed": 0.0, "impatience": 1.0} | changes)
    )


@pytest.mark.parametrize(("source", "mistake"), [("namesake", Mistake.NAMESAKE), ("stale", Mistake.STALE)])
def test_a_misleading_page_explains_every_wrong_answer_of_a_world_without_other_errors(
    source: str, mistake: Mistake
) -> None:
    wrong = 0
    for case, found in iter_journeys(misled(source), 40, seed=2):
        stated = {
            statement.value
            for page in case.pages
            if page.source is Source(source)
            for passage in page.passages
            for statement in passage.states
        }
        for journey in found:
            assert bool(journey.rollout.label) == (mistake not in journey.mistakes)
            assert journey.rollout.label or (journey.rollout.answer or "").rstrip(".") in stated
            wrong += not journey.rollout.label
    assert wrong > 0.1 * 40 * 16


def test_agents_that_heed_what_a_page_says_of_itself_are_misled_less() -> None:
    def right(heed: float) -> float:
        found = iter_journeys(misled("namesake", heed=heed), 60, seed=2)
        return mean(journey.rollout.label or 0.0 for _, together in found for journey in together)

    assert right(1.0) > right(0.0) + 0.1


def test_own_evidence_often_does_not_tell_whether_the_page_is_right() -> None:
    """Among wrong answers taken from a namesake or an old page, many rollouts never saw what unmasks it."""
    blind = []
    for case, found in journeys(WEBQA):
        telling = {
            passage.body
            for page in case.pages
            if page.source in (Source.NAMESAKE, Source.STALE)
            for passage in page.passages
            if passage.tells
        }
        for journey in found:
            if {Mistake.NAMESAKE, Mistake.STALE} & set(journey.mistakes):
                read = [seen.text for search in journey.rollout.searches for seen in search.evidence]
                blind.append(not any(text.endswith(body) for text in read for body in telling))
    assert 0.1 < mean(blind) < 0.9


def test_right_answers_rest_on_passages_that_several_rollouts_found_through_different_queries() -> None:
    rollouts_per_passage, queries_per_passage = [], []
    for case, found in journeys(WEBQA):
        if case.is_comparison or sum(journey.rollout.label or 0.0 for journey in found) < 2:
            continue
        meetings = [
            (seen.text, journey.rollout.sample_id, search.query)
            for journey in found
            if journey.rollout.label
            for search in journey.rollout.searches
            for seen in search.evidence
            if case.answer in seen.text
        ]
        for text in {text for text, _, _ in meetings}:
            rollouts_per_passage.append(len({sample for met, sample, _ in meetings if met == text}))
            queries_per_passage.append(len({query for met, _, query in meetings if met == text}))
    assert mean(rollouts_per_passage) > 3
    assert mean(queries_per_passage) > 2


def test_what_was_misread_mostly_stands_in_nobodys_evidence() -> None:
    stands = []
    for case, found in journeys(WEBQA):
        read = {seen.text for journey in found for search in journey.rollout.searches for seen in search.evidence}
        for journey in found:
            answer = (journey.rollout.answer or "").rstrip(".")
            if journey.mistakes == (Mistake.MISREAD,) and answer and len(case.lookups) == 1:
                stands.append(any(f" {answer}." in text or f" {answer} " in text for text in read))
    assert stands
    assert mean(stands) < 0.6
