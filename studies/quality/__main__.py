"""How good every way to settle a pool is, set by set: ``python -m studies.quality CACHE`` writes docs/quality.md.

Real rollouts and questions come from ``TRACERANK_SHARED`` (or ``../shared``), lexical pools of train questions from
``TRACERANK_LEXICAL``; what is absent is left out and said so. The document is written part by part. ``--resume`` goes
on with what an interrupted run of the same code finished; ``--quick`` takes a few questions of each set, to try it.
"""

import argparse
import json
import shutil
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.console import Console

from studies import ROOT
from studies.quality.figures import DRAWS
from studies.quality.parts import LEXICAL_AGENTS, REAL, SECTIONS, TRANSFER, WORDY, Made, parts
from studies.quality.pools import QUICK, QualityPools, Scale
from studies.quality.summary import means_table
from studies.quality.tables import Gain
from tracerank.pools.files import write_text

DOCUMENT = ROOT / "docs" / "quality.md"
HEADER = f"""# How good, set by set

Written by `make quality`. Right answers in %, string / group of equal answers (by the rules of `default`
equality, the same for every method); K random rollouts in random order, mean over {DRAWS} draws. Gains are in points,
string / group, with 95% intervals of a paired bootstrap over questions. Two votes are compared with:

- **(a)** *majority, containment clusters*: abstentions left out, an answer that stands in another counts for it, first
  form: the "best vote" of the study that this project began with;
- **(b)** *strongest vote in hindsight*: of all votes in the table (the one weighted by confidence among them) the one
  that did best in that very column, for the string and for the group each. It was chosen with the judged questions, so
  the comparison favours the vote.

*Best single generator in hindsight* is the agent that is right most often over the judged questions, alone, whatever
K is. The shipped selectors were fitted on none of the questions below, under any agent. *fitted* models were
fitted here, with hashed words as the encoder: of a real set on the other agents that may train and a share of lexical
pools, without the set's questions and without test questions, by exact match; on lexical pools of train questions; on
another seed of the world.

Read with care: three of the real agents (r1_searcher, fireact, knowagent) are known to the shipped selector from other
questions; search_r1 and hotpot_agent are new to it. `hotpot_agent+` is hotpot_agent with its searches repeated, because
its log lacks what they returned: means take one of the two. From K=4 on hotpot_agent is the only real set, K=3 has two.
Where containment counts as right, the longest form of an answer wins by the rule, not by merit. By the paper's rule
trace-paper drops rollouts without evidence, which is all of hotpot_agent's: it answers nothing there. Longer forms are
made by templates and from the agent's own evidence (`studies/shipped_weights/wordy.py`): a stress test, not an agent.
"""
ABSENT = {
    REAL: "no real rollouts (`TRACERANK_SHARED`)",
    TRANSFER: "no real rollouts (`TRACERANK_SHARED`)",
    WORDY: "no real rollouts (`TRACERANK_SHARED`)",
    LEXICAL_AGENTS: "no lexical pools of train questions (`TRACERANK_LEXICAL`) or no questions (`TRACERANK_SHARED`)",
}


def document(made: Iterable[Made], unfinished: Collection[str]) -> str:
    """The whole text from the parts that are there."""
    found = list(made)
    gains = [gain for each in found for gain in each.gains]
    lines = [HEADER]
    if unfinished:
        lines.append(f"**Unfinished**: {', '.join(unfinished)} not measured yet.\n")
    lines += ["## Summary\n", *means_table(gains), ""]
    for section in SECTIONS:
        own = [line for each in found for line in each.tables.get(section, ())]
        if own:
            lines += [f"## {section}\n", *own]
        elif not unfinished:
            reason = next((why for title, why in ABSENT.items() if section.startswith(title)), "nothing to judge")
            lines += [f"## {section}\n", f"Left out: {reason}.\n"]
    return "\n".join(lines).rstrip() + "\n"


ARRAYS = ("differences", "low", "high")
"""Fields of a gain that are arrays."""


def save(made: Made, file: Path) -> None:
    """Whole or not at all."""
    gains = [asdict(gain) | {name: getattr(gain, name).tolist() for name in ARRAYS} for gain in made.gains]
    write_text(file, json.dumps({"tables": made.tables, "gains": gains}))


def load(file: Path) -> Made:
    saved = json.loads(file.read_text(encoding="utf-8"))
    return Made(
        saved["tables"], [Gain(**row | {name: np.array(row[name]) for name in ARRAYS}) for row in saved["gains"]]
    )


def measure(pools: QualityPools, out: Path) -> None:
    """Make what is missing, one part after the other, and write the document after each."""
    console = Console(stderr=True)
    wanted = parts(pools)
    files = {name: pools.work / f"{name.replace(' ', '-')}.json" for name in wanted}
    made = {name: load(file) for name, file in files.items() if file.exists()}
    for name, make in wanted.items():
        began = time.monotonic()
        if name not in made:
            made[name] = make()
            save(made[name], files[name])
            console.print(f"{name}: {time.monotonic() - began:.0f} s")
        unfinished = [other for other in wanted if other not in made]
        out.write_text(document([made[part] for part in wanted if part in made], unfinished), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="studies.quality.__main__", description=__doc__)
    parser.add_argument("cache", type=Path, help="folder for indexes, fitted models and finished parts")
    parser.add_argument("--resume", action="store_true", help="keep the parts that an earlier run finished")
    parser.add_argument("--quick", action="store_true", help="a few questions of each set; writes into the cache")
    parser.add_argument("--out", type=Path, help="the document; docs/quality.md by default")
    chosen = parser.parse_args(arguments)
    work = chosen.cache / ("quality-quick" if chosen.quick else "quality")
    if not chosen.resume:
        shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    out = chosen.out or (work / "quality.md" if chosen.quick else DOCUMENT)
    measure(QualityPools(chosen.cache, work, QUICK if chosen.quick else Scale()), out)


if __name__ == "__main__":
    main()
