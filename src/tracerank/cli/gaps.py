"""``tracerank gaps``: what evidence unsure pools lack, so that the next wave of rollouts can be aimed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from tracerank.cli.arguments import (
    AllowMismatch,
    AsJson,
    Checkpoint,
    Files,
    FirstK,
    MethodChoice,
    OtherEncoder,
    ProblemsFile,
    Quiet,
    ReaderName,
)
from tracerank.cli.output import SOME_FAILED
from tracerank.cli.reading import Failures, Problems, pools_of
from tracerank.cli.terminal import harmless, new_table, note, print_json, print_table, working
from tracerank.errors import UsageError
from tracerank.pools.pool import Pool
from tracerank.readers.detect import AUTO
from tracerank.selectors.table import SELECTOR, MethodOptions, method_named, tells_confidence
from tracerank.votes.base import Decision, Method, decide_stream
from tracerank.votes.missing import Missing

BELOW = 0.7
SHOWN = 20
"""Questions that the terminal shows; JSON has them all."""
Below = Annotated[
    float, typer.Option("--below", metavar="P", min=0.0, max=1.0, help="Confidence below which a pool is unsure.")
]
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Unsure:
    """A pool below the threshold, and what it lacks."""

    pool: Pool
    decision: Decision
    missing: Missing

    def record(self) -> dict[str, Any]:
        """In plain values."""
        return {
            "question_id": self.pool.question.id,
            "question": self.pool.question.text,
            "answer": self.decision.answer,
            "sample_id": self.decision.sample_id,
            "confidence": self.decision.confidence,
            "rollouts": len(self.pool),
            "missing": self.missing.record(),
            "sentences": list(map(str, self.missing)),
        }


def gaps(
    files: Files,
    below: Below = BELOW,
    checkpoint: Checkpoint = None,
    method: MethodChoice = SELECTOR,
    k: FirstK = None,
    reader: ReaderName = AUTO,
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
    as_json: AsJson = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Say what evidence would settle unsure pools: claims without support, names no rollout looked up, repeated queries.

    A pool is unsure below --below, and where its answer has no confidence. unsupported: an answer, the returned one or
    a rival, that stands in no text that any rollout saw. unasked: a name in the question or of an answer that no query
    asked for (one that repeats the whole question does not count) and no page seen is about. repeated: a query that
    nearly all rollouts asked, so that the next one should ask something else. No model is asked. Names are told by
    capitals and quotation marks, so in scripts without capitals fewer are found.
    """
    if not tells_confidence(method):
        raise UsageError(f"--method {method}: tells no confidence; majority and selectors do")
    options = MethodOptions(checkpoint, encoder, allow_encoder_mismatch)
    with Problems(problems, keep=files) as report, working("looking", quiet=quiet) as bar:
        failed = Failures("questions", report)
        chosen = method_named(method, options)
        counted = _Counted(bar.over(pools_of(files, reader, report, k)))
        found = list(_unsure(chosen, counted, below, failed))
    found.sort(key=lambda one: -1.0 if one.decision.confidence is None else one.decision.confidence)
    if as_json:
        told = {"below": below, "questions": counted.count, "unsure": len(found)}
        print_json({**told, "pools": [one.record() for one in found]}, indent=2)
    else:
        _print(found, below)
    if not quiet:
        lacking = sum(bool(one.missing) for one in found)
        note(f"{counted.count:,} questions, {len(found):,} of them below {below:g}; something is named for {lacking:,}")
    if failed.count:
        note(failed.sentence(chosen.name, counted.count))
        raise typer.Exit(SOME_FAILED)


class _Counted:
    """Pools that are counted as they pass."""

    def __init__(self, pools: Iterable[Pool]) -> None:
        self._pools = pools
        self.count = 0

    def __iter__(self) -> Iterator[Pool]:
        for pool in self._pools:
            self.count += 1
            yield pool


def _unsure(method: Method, pools: Iterable[Pool], below: float, failed: Failures) -> Iterator[Unsure]:
    from tracerank.selectors.unsure.gaps import gaps as gaps_of

    for pool, decision in decide_stream(method, pools, failed):
        if decision.problem is None and (decision.confidence is None or decision.confidence < below):
            yield Unsure(pool, decision, gaps_of(pool, decision))


def _print(found: list[Unsure], below: float) -> None:
    table = new_table("question", "confidence", "answer", "what is missing")
    for column in table.columns:
        column.justify = "left"
    for one in found[:SHOWN]:
        sure = "–" if one.decision.confidence is None else f"{one.decision.confidence:.2f}"
        told = [*map(str, one.missing), *([one.missing.note] if one.missing.note else [])]
        cells = (one.pool.question.text, sure, one.decision.answer or "–")
        lacking = "\n".join(harmless(line) for line in told) or "nothing that can be told"
        table.add_row(*(harmless(cell[:_LONGEST]) for cell in cells), lacking)
    print_table(table, f"pools below a confidence of {below:g}")
    if len(found) > SHOWN:
        typer.echo(f" and {len(found) - SHOWN:,} more; --json has them all\n")
