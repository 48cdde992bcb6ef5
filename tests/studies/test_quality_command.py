"""The command that writes docs/quality.md part by part, and what it fits on; ``studies/quality/__main__.py``."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from studies.quality import __main__ as quality
from studies.quality import pools as quality_pools
from studies.quality.figures import Settled, View
from studies.quality.meaning_tables import ORACLE, Figure, Part, Row
from studies.quality.methods import OVER_ALL, SHIPPED, VOTES, unfitted
from studies.quality.parts import SECTIONS, Made
from studies.quality.pools import QUICK, QualityPools
from studies.quality.tables import columns_of, gains_of, table
from studies.shipped_weights.lexical_data import split_of
from tracerank.evaluation.labels import EM
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout


def pool_of(question: str) -> Pool:
    return Pool.of(Question(question, question, ("Paris",)), [Rollout(0, "Paris"), Rollout(1, "Rome")])


def made(name: str) -> Made:
    settled = Settled([pool_of("Which city?")], (2,), unfitted())
    columns = columns_of(View(settled, EM, np.array([True]), VOTES))
    gains = gains_of(name, columns, OVER_ALL)
    return Made({SECTIONS[0]: table(name, columns, list(settled.methods), gains)}, gains)


class Command:
    """Two parts, of which the second may be interrupted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder, self.out, self.ran = folder, folder / "quality.md", list[str]()
        self.interrupted: str | None = None
        monkeypatch.setattr(quality, "parts", lambda pools: {name: self.part(name) for name in ("one", "two")})
        monkeypatch.setattr(quality, "meaning_parts", lambda pools: {})

    def part(self, name: str) -> Callable[[], Made]:
        def make() -> Made:
            if name == self.interrupted:
                raise KeyboardInterrupt
            self.ran.append(name)
            return made(name)

        return make

    def run(self, *options: str) -> None:
        quality.main([str(self.folder), "--out", str(self.out), *options])


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    return Command(monkeypatch, tmp_path)


def test_an_interrupted_run_keeps_its_finished_parts_and_resumes_with_the_rest(command: Command) -> None:
    command.interrupted = "two"
    with pytest.raises(KeyboardInterrupt):
        command.run()
    text = command.out.read_text()
    assert "| one | K=2 |" in text
    assert "**Unfinished**: two" in text
    command.interrupted = None
    command.run("--resume")
    assert command.ran == ["one", "two"]
    text = command.out.read_text()
    assert text.index("| one | K=2 |") < text.index("| two | K=2 |")
    assert "Unfinished" not in text


def test_without_resume_everything_is_measured_again(command: Command) -> None:
    command.run()
    command.run()
    assert command.ran == ["one", "two"] * 2


def test_a_resumed_run_with_nothing_to_do_writes_the_same_document(command: Command) -> None:
    command.run()
    text = command.out.read_text()
    command.out.unlink()
    command.run("--resume")
    assert command.out.read_text() == text
    assert command.ran == ["one", "two"]


def test_a_quick_run_leaves_the_document_and_the_parts_of_a_full_one_alone(command: Command) -> None:
    command.run()
    quality.main([str(command.folder), "--quick"])
    command.run("--resume")
    assert command.ran == ["one", "two"] * 2
    assert (command.folder / "quality-quick" / "quality.md").exists()


def test_sections_without_data_say_why(command: Command) -> None:
    command.run()
    text = command.out.read_text()
    assert "Left out: no judged rollouts" in text
    assert "Left out: no lexical pools of train questions" in text


def test_what_is_right_by_meaning_comes_first(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = Figure(50.0, 1.0, -1.0, 3.0)
    rows = [Row("search_r1, K=2", 10, method, figure, None) for method in (SHIPPED, ORACLE)]
    monkeypatch.setattr(quality, "meaning_parts", lambda pools: {"search_r1": lambda: Part(rows, [])})
    command.interrupted = "one"
    with pytest.raises(KeyboardInterrupt):
        command.run()
    assert "| unseen: search_r1, K=2 | 10 | 50.0 |" in command.out.read_text()
    command.interrupted = None
    command.run()
    text = command.out.read_text()
    assert text.index("| unseen: search_r1, K=2 |") < text.index("| one | K=2 |")


def test_a_table_of_no_questions_is_no_table() -> None:
    settled = Settled([pool_of("Which city?")], (2,), unfitted())
    assert table("empty", columns_of(View(settled, EM, np.array([False]), VOTES)), VOTES, []) == []


def asked(split: str, start: int) -> str:
    """A question whose text falls into the split."""
    return next(text for n in range(start, start + 1000) if split_of(text := f"Which city is number {n}?") == split)


TEST, SHARED, OWN, LEXICAL = asked("test", 0), asked("train", 1000), asked("train", 2000), asked("train", 3000)


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> QualityPools:
    """``fireact`` and ``knowagent`` share a question; one question of ``search_r1`` is lexical, too."""
    sources = {
        "fireact": (TEST, SHARED, OWN),
        "knowagent": (SHARED,),
        "r1_searcher": (TEST,),
        "search_r1": (LEXICAL, TEST),
    }

    def learned_from(learn: Sequence[Pool], embedder: object, folder: Path) -> dict[str, Pool]:
        return {each.question.text: each for each in learn}

    monkeypatch.setattr(quality_pools, "real_pools", lambda name: [pool_of(text) for text in sources.get(name, ())])
    monkeypatch.setattr(quality_pools, "lexical_pools", lambda every: iter([pool_of(LEXICAL)]))
    monkeypatch.setattr(quality_pools, "LEXICAL", tmp_path)
    monkeypatch.setattr(quality_pools, "tested_questions", frozenset)
    monkeypatch.setattr(quality_pools, "rows_of", lambda name: iter([{"question": LEXICAL}]))
    monkeypatch.setattr(quality_pools, "fitted", learned_from)
    return QualityPools(tmp_path, tmp_path, QUICK)


def test_models_learn_neither_from_the_agent_left_out_nor_from_its_questions_nor_from_test_ones(
    pools: QualityPools,
) -> None:
    assert set(pools.fitted_on_others("knowagent").methods) == {OWN, LEXICAL}
    assert set(pools.fitted_on_others("search_r1").methods) == {OWN, SHARED}


def test_what_ships_is_judged_on_no_question_that_it_may_have_learned_from(pools: QualityPools) -> None:
    assert pools.new_to_shipped(pools.real("fireact")).tolist() == [True, False, False]
    assert pools.new_to_shipped(pools.real("search_r1")).tolist() == [False, True]
