"""The shipped agents on real questions that the scorer was not fitted on; skipped where the data are absent."""

from random import Random

import pytest

from studies.quality.lexical_report import shape_of
from studies.shipped_weights.lexical_data import DATA, QuestionSets, split_of
from tracerank.lab.lexical.policy import LexicalPolicy
from tracerank.lab.lexical.presets import BASE, RL
from tracerank.lab.lexical.span_scorer import SpanScorer, load_weights

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.exists(), reason=f"no question sets in {DATA} (TRACERANK_SHARED)"),
]


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> QuestionSets:
    return QuestionSets(tmp_path_factory.mktemp("lexical"))


def test_no_train_question_is_a_test_question_in_any_spelling(sets: QuestionSets) -> None:
    def folded(split: str) -> set[str]:
        return {" ".join(example.question.text.lower().split()) for example in sets.of(split)}

    assert not folded("train") & folded("test")
    assert all(split_of(example.question.text) == "train" for example in sets.of("train"))


def test_agents_reach_their_targets_on_test_questions(sets: QuestionSets) -> None:
    examples = Random(2).sample(sets.of("test"), 400)
    scorer = SpanScorer(load_weights())
    base, rl = (
        shape_of(LexicalPolicy(sets.corpus, preset, scorer).pools(example.question for example in examples))
        for preset in (BASE, RL)
    )
    # The targets over all test questions are 0.18, 0.28 and 0.48; a sample may fall short by two standard errors.
    assert base.single > 0.16
    assert base.majority > 0.24
    assert base.oracle > 0.44
    assert rl.single > base.single
    assert rl.overlap > base.overlap
    assert rl.distinct < base.distinct
