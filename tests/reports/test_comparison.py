"""The table of claims: where each stands, what contests it, what the chosen report lacks, which documents say it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracerank as tr
from tests.reports.texts import FULL, NARRATING, OFF_TOPIC, PROMPT, SECOND, THIRD
from tracerank.errors import UsageError
from tracerank.pools.types import Evidence, Question, Rollout, Search
from tracerank.reports.comparison import Claim, compare_reports
from tracerank.reports.digest import digest

POOL = (FULL, SECOND, THIRD, NARRATING)


def claim_with(text: str, *reports: str, prompt: str = PROMPT) -> Claim:
    """The first report's claim that holds a text."""
    return next(claim for claim in compare_reports(prompt, reports).of(0) if text in claim.text)


def test_a_claim_says_in_how_many_others_it_stands_and_where() -> None:
    opened = claim_with("212 metres", *POOL)
    assert (opened.others, opened.contested) == (1, None)
    assert [(where.report, where.text) for where in opened.where] == [
        (1, "The main span of 212 metres was the longest arch of the country until 1963.")
    ]
    assert claim_with("museum", *POOL).others == 0


def test_offsets_find_claims_and_their_matches_in_the_reports() -> None:
    for claim in compare_reports(PROMPT, POOL).claims:
        written = POOL[claim.report][claim.start : claim.end]
        assert claim.text.rstrip(".") == written.replace("**", "").replace(" [1]", "").rstrip(".")
        for where in (*claim.where, *claim.contradictions):
            assert where.text.split()[0] in POOL[where.report][where.start : where.end]


def test_a_contested_value_names_the_other_and_its_report() -> None:
    opened = claim_with("12 May 1949", *POOL)
    assert opened.others == 1
    assert opened.contested == "12 May 1949 here, May 1942 in #2"
    assert [(each.here, each.there) for each in opened.contradictions] == [(("12 May 1949",), ("May 1942",))]


SAME, OTHER = True, False


@pytest.mark.parametrize(
    ("one", "two", "agrees"),
    [
        ("The bridge was opened on 12 May 1949 by Ida Brandt.", "In 1949 the bridge was opened by Ida Brandt.", SAME),
        ("The bridge was opened on 12 May 1949 by Ida.", "The bridge was opened on 13 May 1949 by Ida.", OTHER),
        ("The arch has 124 steel ribs from Vessen.", "The arch has over 100 steel ribs from Vessen.", SAME),
        ("The arch has 124 steel ribs from Vessen.", "The arch has over 200 steel ribs from Vessen.", OTHER),
        ("Repairs cost $1,500,000 in total that winter.", "Repairs cost $1.5 million in total that winter.", SAME),
        ("Traffic rose by 5.2% after the opening.", "Traffic rose by 5% after the opening.", SAME),
        ("The road is 5 km long from Vessen.", "The road is 3.1 miles long from Vessen.", SAME),
        ("Repairs cost $1.5m in total that winter.", "Repairs cost $1.5 million in total that winter.", SAME),
        ("Traffic rose by 5.2% after the opening.", "Traffic rose by 7.1% after the opening.", OTHER),
        ("Floods closed the bridge in 1951 and 1953.", "Floods closed the bridge in 1951, 1953 and 1960.", SAME),
        ("The toll house has 3 rooms and cost 9,000 crowns.", "The toll house has 3 rooms.", SAME),
    ],
)  # fmt: skip
def test_a_more_exact_value_a_bound_and_a_part_of_a_list_are_no_conflict(one: str, two: str, *, agrees: bool) -> None:
    assert (claim_with("", one, two).contested is None) is agrees


@pytest.mark.parametrize(
    ("one", "two", "here", "there"),
    [
        ("The museum was founded by Ida Lo.", "In 1950 the museum was founded by Al Rehn.", "Ida Lo", "Al Rehn"),
        ("It was designed in 1938 by the engineer Ida Lo.", "It was designed by Al Rehn.", "Ida Lo", "Al Rehn"),
        ("Designed by Ida Lo, the Kessel bridge is old.", "It was designed by Al Rehn.", "Ida Lo", "Al Rehn"),
        ("Orn Cells is old. The firm is based in Aa.", "Orn Cells is headquartered in Bo.", "Aa", "Bo"),
        ("Lo was born in Aa, Ornland.", "Lo was born on 3 May 1901 in Bo, Ornland.", "Aa", "Bo"),
        ("The bridge was not damaged then.", "The bridge was damaged then.", "was not damaged", "damaged"),
        ("The old ferry stopped that year.", "The old ferry never stopped that year.", "stopped", "never stopped"),
    ],
)  # fmt: skip
def test_another_name_in_a_relation_and_a_denial_are_conflicts(one: str, two: str, here: str, there: str) -> None:
    assert claim_with(here, one, two).contested == f"{here} here, {there} in #1"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("The museum was founded by Ida Brandt.", "The museum was founded by Brandt and Tomas Rehn."),
        ("The museum was founded by Ida Brandt.", "The ferry was founded by Tomas Rehn."),
        ("Brandt was born in Vessen.", "Brandt was born in Vessen, Ornland."),
        ("Brandt was born in Vessen.", "Brandt was born in Ornland. Vessen is the capital of Ornland."),
        ("Brandt was born in Vessen.", "Her father was born in Kessel."),
        ("The museum was founded by Ida Lo.", "The museum was founded by Al Rehn. It was founded by Ida Lo."),
        ("It was built by Rehn Works, others were built by Orn Works.", "It was built by Kessel Works."),
        ("The bridge was not only damaged by the flood.", "The bridge was damaged by the flood."),
        ("Some ferries were not damaged by the flood.", "Some ferries were damaged by the flood."),
        ("The bridge was not damaged by the flood.", "The toll house was damaged by the storm."),
        ("It is not known who damaged it or not.", "It is not known who damaged it."),
    ],
)  # fmt: skip
def test_names_that_may_both_hold_and_other_denials_are_no_conflict(one: str, two: str) -> None:
    assert claim_with("", one, two).contested is None


def test_what_another_report_denies_stands_there_no_more() -> None:
    claim = claim_with("", "The bridge was damaged by the flood.", "The bridge was not damaged by the flood.")
    assert (claim.others, claim.contradictions[0].there) == (0, ("was not damaged",))


def test_conflicts_are_found_in_sentences_that_go_on() -> None:
    one = (
        "The Kessel bridge was opened in 1949 and crosses the Orn. In 1978 it was damaged by a flood and soon repaired."
    )
    two = "The bridge at Kessel was opened in 1942 and crosses the Orn. It was not damaged by the flood of 1978."
    prompt = "Write a report on the Kessel bridge."
    assert claim_with("opened", one, two, prompt=prompt).contested == "1949 here, 1942 in #1"
    assert claim_with("damaged", one, two, prompt=prompt).contested == "damaged here, was not damaged in #1"
    assert claim_with("not damaged", two, one, prompt=prompt).contested == "was not damaged here, damaged in #1"


def test_sentences_with_figures_in_scripts_without_spaces_are_compared() -> None:
    one = "凯塞尔桥于1949年开放，横跨奥恩河。桥长212米，有两条车道。"
    two = "凯塞尔桥于1942年开放，横跨奥恩河。桥长212米，有两条车道。"
    prompt = "写一份关于桥的报告。"
    assert claim_with("开放", one, two, prompt=prompt).contested == "1949 here, 1942 in #1"
    assert claim_with("212", one, two, prompt=prompt).others == 1


def test_what_two_others_say_and_the_chosen_report_lacks_is_listed_once() -> None:
    compared = compare_reports(PROMPT, POOL)
    assert compared.chosen == 0
    assert {each.text: each.reports for each in compared.lacks} == {
        "About 9,000 vehicles cross it each day.": (1, 2),
        "It was closed for repairs for two years in 1987, when the deck was replaced.": (1, 2),
    }


def test_off_topic_reports_support_nothing_and_are_named() -> None:
    compared = compare_reports(PROMPT, (FULL, OFF_TOPIC, SECOND, THIRD))
    assert compared.reports[1].dropped is not None
    assert not any(claim.others for claim in compared.of(1))


def test_a_claim_found_in_a_document_is_sourced_also_where_another_rollout_saw_it() -> None:
    page = Evidence(
        "A toll house. Ida Brandt, the mayor, opened it on 12 May 1949. Rain.", "Orn", "https://example.org/orn"
    )
    cited = Evidence("The Kessel bridge spans the river Orn near Vessen.", "Orn", "https://example.org/orn/")
    pool = tr.Pool.of(
        Question("q", PROMPT),
        [Rollout(0, FULL), Rollout(1, SECOND, (Search("bridge", (page,)), Search("orn", (cited,))))],
    )
    compared = compare_reports(PROMPT, pool)
    [opened] = [claim for claim in compared.of(0) if "opened on" in claim.text]
    [source] = opened.sourced
    assert (source.rollouts, source.url, source.is_cited) == ((1,), "https://example.org/orn", False)
    assert source.text == "Ida Brandt, the mayor, opened it on 12 May 1949."
    assert all(not claim.sourced for claim in compared.claims if "museum" in claim.text)


def test_citations_are_followed_to_the_documents_they_name() -> None:
    pages = [
        Evidence("The bridge of Kessel crosses the Orn near Vessen, a town.", url=url)
        for url in ("https://other.org", "https://example.org/orn")
    ]
    crossing = compare_reports(PROMPT, [Rollout(0, FULL, (Search("a", tuple(pages)),)), SECOND]).claims[0]
    assert crossing.cites == ("https://example.org/orn",)
    assert [source.is_cited for source in crossing.sourced] == [True]


def test_no_confidence_is_stated_and_the_record_says_why() -> None:
    record = compare_reports(PROMPT, POOL).record()
    assert record["confidence"] is None
    assert "not measured" in record["note"]
    assert json.loads(json.dumps(record)) == record
    assert {"report", "text", "sentence", "start", "end", "others", "where", "contested", "sourced"} <= record[
        "claims"
    ][0].keys()


def test_the_digest_puts_contested_claims_first_and_escapes_markdown() -> None:
    text = digest(
        compare_reports(PROMPT, (FULL + "\nA [link](javascript:1) and `code` <b>in</b> the museum.", *POOL[1:]))
    )
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings[:2] == ["## Contested", "## Not in this report"]
    assert "contested: 12 May 1949 here, May 1942 in #2" in text
    assert not any(mark in text for mark in ("<b>", "]("))


@pytest.mark.parametrize("given", ["one text", 5, {"a": 1}, [3]])
def test_what_is_no_list_of_reports_is_refused(given: object) -> None:
    with pytest.raises(UsageError, match="expected a"):
        compare_reports(PROMPT, given)  # type: ignore[arg-type]


def test_without_any_report_nothing_is_chosen() -> None:
    for nothing in ([], [None, ""]):
        compared = compare_reports(PROMPT, nothing)
        assert (compared.chosen, compared.claims, compared.lacks) == (None, (), ())
        assert digest(compared)


SENTENCE = st.sampled_from(
    [sentence for report in POOL[:3] for sentence in report.split(". ")] + ["", "\n", "| a | 12 |", "[1]"]
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(SENTENCE, max_size=6).map(". ".join), max_size=4))
def test_support_is_counted_within_the_pool(reports: list[str]) -> None:
    compared = compare_reports(PROMPT, reports)
    for claim in compared.claims:
        others = {where.report for where in claim.where}
        assert claim.others == len(others) < len(reports)
        assert claim.report not in others | {each.report for each in claim.contradictions}
        assert not others & {each.report for each in claim.contradictions}
        assert 0 <= claim.score <= 1


def test_reports_that_share_nothing_are_noted() -> None:
    german = "Die Brücke wurde im Jahr 1949 eröffnet. Sie führt über den Fluss und hat einen Bogen aus Stahl."
    assert "different languages" in compare_reports(PROMPT, [SECOND, german]).note
    assert "different languages" not in compare_reports(PROMPT, POOL).note
