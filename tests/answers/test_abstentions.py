"""Which answers only say that there is none."""

import gzip
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.quality.abstentions import measure, wordings
from tests.answers.abstention_examples import Example, read_examples
from tests.answers.abstention_table import (
    ABSTENTIONS,
    AFTERWARDS,
    ANSWERS,
    MADE_ANSWERS,
    NOT_AFTERWARDS,
    WITH_A_QUESTION,
)
from tests.shared_data import JUDGEMENTS, ROLLOUTS, needs_meaning, needs_rollouts
from tracerank.answers.abstentions import MAX_CHARACTERS, abstains
from tracerank.evaluation.labels import PAPER, labelled
from tracerank.readers import iter_pools

QUESTION = "What is the name of the city?"


def _verdict(example: Example) -> bool:
    return abstains(example.answer, example.question)


@pytest.mark.parametrize("language", ABSTENTIONS)
def test_abstentions_are_recognised_with_and_without_a_question(language: str) -> None:
    missed = [answer for answer in ABSTENTIONS[language] if not (abstains(answer) and abstains(answer, QUESTION))]
    assert missed == []


def test_answers_are_not_taken_for_abstentions() -> None:
    assert [answer for answer in ANSWERS if abstains(answer)] == []


def test_the_question_tells_abstentions_from_answers() -> None:
    assert [row for row in WITH_A_QUESTION if not abstains(*row)] == []
    assert [row for row in MADE_ANSWERS if abstains(*row)] == []


def test_what_was_written_afterwards_is_recognised_too() -> None:
    asked = "Who wrote the book?"
    assert [answer for answer in AFTERWARDS if not abstains(answer, asked)] == []
    assert [answer for answer in NOT_AFTERWARDS if abstains(answer, asked)] == []


def test_the_tables_are_large_enough_to_mean_something() -> None:
    assert sum(map(len, ABSTENTIONS.values())) + len(WITH_A_QUESTION) >= 150
    assert len(ANSWERS) + len(MADE_ANSWERS) >= 110


def test_no_answer_at_all_abstains() -> None:
    assert abstains(None)


def test_decoration_and_unusual_spaces_change_nothing() -> None:
    for written in ("**I don't know.**", '"I don’t know"', "i DON'T  know", "\u200bI don't\u00a0know…", "_unknown_"):
        assert abstains(written), written


def test_what_the_table_was_grown_on_is_told_apart() -> None:
    assert [example for example in read_examples("seen") if _verdict(example) is not example.abstains] == []


@pytest.mark.parametrize("name", ["held_out", "held_out_languages"])
def test_nine_of_ten_held_out_abstentions_are_recognised_and_hardly_an_answer_is_taken(name: str) -> None:
    examples = read_examples(name)
    abstentions = [example for example in examples if example.abstains]
    answers = [example for example in examples if not example.abstains]
    assert sum(map(_verdict, abstentions)) >= 0.9 * len(abstentions)
    assert sum(map(_verdict, answers)) <= 0.02 * len(answers)


def test_the_sets_share_no_example() -> None:
    names = ("seen", "held_out", "held_out_languages", "conclusions")
    answers = [answer for name in names for answer in {example.answer for example in read_examples(name)}]
    assert [answer for answer, count in Counter(answers).items() if count > 1 and len(answer.split()) > 2] == []


def test_most_texts_that_end_without_an_answer_abstain_and_no_answer_with_a_caveat() -> None:
    examples = read_examples("conclusions")
    assert [example for example in examples if not example.abstains and _verdict(example)] == []
    abstentions = [example for example in examples if example.abstains]
    assert sum(map(_verdict, abstentions)) >= 0.85 * len(abstentions)


def test_what_was_told_before_a_denial_counts_only_when_it_is_asked_for() -> None:
    told = "The bridge was designed by Karl Ott, but I could not find when it was opened."
    assert abstains(told, "When was the bridge opened?")
    assert not abstains(told, "Who designed the bridge?")
    assert not abstains(told)


def test_a_denial_must_come_last() -> None:
    question = "Where was the director of the film born?"
    assert abstains("Anna Ott directed it. I could not find where she was born.", question)
    assert abstains("Anna Ott directed it. I could not find where she was born. Please check the archive.", question)
    assert not abstains("I could not find where she was born. Her page names Lyon as her home town.", question)


def test_what_is_set_out_as_the_answer_is_one_whatever_follows() -> None:
    question = "Where was the director of the film born?"
    denial = "I can't say where she was born, so I can't answer."
    assert abstains(f"Anna Ott directed the film. {denial}", question)
    for stated in ("**Lyon** is named on her page.", "Answer: Lyon.", "Her page says: born -> Lyon.", "Lyon."):
        assert not abstains(f"{stated} {denial}", question), stated
    assert not abstains(f"Yes, in Lyon. {denial}", question)


def test_of_two_that_are_compared_one_may_be_missing() -> None:
    question = "Are the villages of Nordby and Sorby in the same country?"
    assert abstains("Nordby lies in Denmark; Sorby could not be located.", question)
    assert not abstains("Both lie in Denmark; the parish of Sorby could not be located.", question)
    assert not abstains("Nordby lies in Denmark; Sorby could not be located.", "Where does Nordby lie?")


@needs_meaning
def test_wordings_of_questions_that_no_rule_was_written_for_are_told_apart() -> None:
    for examples in wordings():
        found, taken = measure(examples).shares
        assert found >= 0.85
        assert taken <= 0.005


@needs_meaning
def test_no_answer_that_was_judged_right_is_taken_for_an_abstention() -> None:
    with gzip.open(JUDGEMENTS, "rt", encoding="utf-8") as lines:
        judged = [json.loads(line) for line in lines]
    taken = [row["answer"] for row in judged if row["right"] and abstains(row["answer"], row["question"])]
    # Two are sentences whose "No." lost its full stop to normalisation.
    assert [answer for answer in taken if not answer.startswith("no note ")] == []


def test_a_long_text_on_one_line_has_something_to_tell() -> None:
    assert not abstains("I don't know. " + "There is nothing. " * MAX_CHARACTERS)


REPORT = "The archive was founded in 1902 and moved twice. Its holdings are described on three pages.\n\n" * 20


def test_a_long_report_abstains_when_its_first_and_last_paragraph_do() -> None:
    denial = "I was unable to find the answer.\n\n"
    assert abstains(f"{denial}{REPORT}Please contact the archive.")
    assert not abstains(f"{denial}{REPORT}The founder was Anna Ott.")
    assert not abstains(f"{denial}{REPORT}Most likely it was Anna Ott.\n\nPlease contact the archive.")
    assert not abstains(f"{denial}{REPORT}**Answer:** Anna Ott\n\nPlease contact the archive.")
    assert not abstains(f"{REPORT}Please contact the archive.")


def test_lines_part_sentences_as_full_stops_do() -> None:
    for answer in ("## Summary\n\nNothing was found\n\n## Answer\n\nUnknown", "Not found\n- searched for maps"):
        assert abstains(answer, QUESTION)
    assert not abstains("Not found in the first source\nAnna Ott")


def test_idle_words_alone_are_no_abstention() -> None:
    assert [answer for answer in ("The The", "A", "the", "Here", "N") if abstains(answer)] == []


@given(st.text(max_size=200), st.text(max_size=60))
def test_any_text_gets_a_verdict(answer: str, question: str) -> None:
    assert abstains(answer, question) in (True, False)


@pytest.mark.slow
@needs_rollouts
def test_no_right_answer_of_real_rollouts_is_taken_for_an_abstention() -> None:
    seen: Counter[str] = Counter()
    wrongly: list[str] = []
    for folder in ("fireact", "knowagent", "hotpot_agent", "r1_searcher", "search_r1"):
        for path in sorted((ROLLOUTS / folder).iterdir()):
            if path.name.startswith("corpus"):
                continue
            for pool in iter_pools(path, on_problem=lambda *_: None):
                for rollout in labelled(pool, PAPER).rollouts:
                    seen["answered"] += bool(rollout.answer)
                    if rollout.answer and abstains(rollout.answer, pool.question.text):
                        seen["abstained"] += 1
                        if rollout.label:
                            wrongly.append(json.dumps([pool.question.text, rollout.answer]))
    assert wrongly == []
    # 0.7% of the answers; all were looked at once.
    assert 0.005 < seen["abstained"] / seen["answered"] < 0.01
