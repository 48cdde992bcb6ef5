"""How many abstentions are found, and how many answers are taken for one: ``python -m studies.quality.abstentions``.

On the wordings of ``meaning.jsonl.gz`` (120 questions that rules were developed on, 60 held out), the examples of
``tests/answers`` and the real rollouts that match a reference.
"""

import gzip
import json
import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.answers.abstention_examples import Example, read_examples
from tracerank.answers.abstentions import abstains
from tracerank.evaluation.labels import PAPER, labelled
from tracerank.readers import iter_pools

SHARED = Path(os.environ.get("TRACERANK_SHARED") or Path(__file__).parents[2].parent / "shared")
MEANING = SHARED / "data" / "meaning.jsonl.gz"
ROLLOUTS = SHARED / "data" / "rollouts"
AGENTS = ("fireact", "knowagent", "hotpot_agent", "r1_searcher", "search_r1")
DEVELOPED = 120
"""Questions that rules were written for; the others are only measured."""


@dataclass(frozen=True, slots=True)
class Found:
    """What ``abstains`` says of labelled answers."""

    abstentions: int
    found: int
    answers: int
    taken: int
    """Answers that count as abstentions."""

    @property
    def shares(self) -> tuple[float, float]:
        """Of the abstentions those found, of the answers those taken."""
        return self.found / max(1, self.abstentions), self.taken / max(1, self.answers)


def measure(examples: Iterable[Example]) -> Found:
    """How the rules do on these."""
    said = [(example.abstains, abstains(example.answer, example.question)) for example in examples]
    return Found(
        abstentions=sum(is_one for is_one, _ in said),
        found=sum(is_one and is_found for is_one, is_found in said),
        answers=sum(not is_one for is_one, _ in said),
        taken=sum(is_found and not is_one for is_one, is_found in said),
    )


def wordings(path: Path = MEANING) -> tuple[list[Example], list[Example]]:
    """The answers to the questions that rules were developed on, and to those held out."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    order = list(range(len(rows)))
    random.Random(7).shuffle(order)
    developed, held_out = (
        [
            Example(rows[place]["question"], answer["text"], answer["means"] == "-")
            for place in sorted(places)
            for answer in rows[place]["answers"]
        ]
        for places in (order[:DEVELOPED], order[DEVELOPED:])
    )
    return developed, held_out


def real_answers(folder: Path = ROLLOUTS) -> Iterator[Example]:
    """The answers of real rollouts that match a reference: none of them abstains."""
    for agent in AGENTS:
        for path in sorted((folder / agent).iterdir()):
            if path.name.startswith("corpus"):
                continue
            for pool in iter_pools(path, on_problem=lambda *_: None):
                for rollout in labelled(pool, PAPER).rollouts:
                    if rollout.answer and rollout.label:
                        yield Example(pool.question.text, rollout.answer, abstains=False)


def main() -> None:
    """Print the table."""
    rows = {f"examples, {name}": read_examples(name) for name in ("held_out", "held_out_languages", "conclusions")}
    if MEANING.is_file():
        rows["wordings, developed on"], rows["wordings, held out"] = wordings()
    if ROLLOUTS.is_dir():
        rows["real answers that match"] = list(real_answers())
    table = Table("set", "abstentions", "found %", "answers", "taken %")
    for name, examples in rows.items():
        result = measure(examples)
        found, taken = (f"{100 * share:.1f}" for share in result.shares)
        table.add_row(name, str(result.abstentions), found, str(result.answers), taken)
    Console().print(table)


if __name__ == "__main__":
    main()
