"""How good every way to settle a pool is, set by set: ``python -m studies.quality CACHE`` writes docs/quality.md.

By meaning first (``by_meaning.py``), by exact match second. Real rollouts, judgements and questions come from
``TRACERANK_SHARED`` (or ``../shared``), lexical pools of train questions from ``TRACERANK_LEXICAL``; what is absent is
left out and said so. The document is written part by part. ``--resume`` goes
on with what an interrupted run of the same code finished; ``--quick`` takes a few questions of each set, to try it.
"""

import argparse
import json
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from studies import ROOT
from studies.quality.by_meaning import PARTS as MEANING_PARTS
from studies.quality.by_meaning import Study
from studies.quality.by_meaning import measure as measure_meaning
from studies.quality.figures import DRAWS
from studies.quality.meaning_report import report
from studies.quality.meaning_tables import Part
from studies.quality.parts import LEXICAL_AGENTS, REAL, SECTIONS, TRANSFER, WORDY, Made, parts
from studies.quality.pools import QUICK, QualityPools, Scale
from studies.quality.summary import means_table
from studies.quality.tables import Gain
from studies.shipped_weights.judged import FILE as JUDGED
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.meaning_selector import Taught
from studies.shipped_weights.real_pools import ROLLOUTS
from tracerank.runs.atomic import write_text

DOCUMENT = ROOT / "docs" / "quality.md"
HEADER = f"""# How good, set by set

Written by `make quality`: first by what answers mean, then by exact match. K random rollouts in random order, mean over
{DRAWS} draws. Gains are in points, with 95% intervals of a paired bootstrap over questions, over three baselines:

- **(a)** *majority without abstentions*: equal are answers that match exactly;
- **(b)** *strongest vote in hindsight*: of all votes (exact, equal answers, containment clusters, same meaning, each of
  the last three returned in the first, shortest, longest and commonest form; the paper's, in which abstentions count;
  weighted by confidence) the one that did best in that very cell. It was chosen with the judged questions, so the
  comparison favours the vote;
- **(c)** *best single generator in hindsight*: of the agents whose rollouts are mixed, the one that is right most often
  over the judged questions, alone, whatever K is. Nobody knows it beforehand. Questions that it has no rollout of are
  left out.

What ships returns the commonest form of the answer that it chooses. It was fitted on none of the questions below. Two
sets of agents are new to it, search_r1 and hotpot_agent; three (r1_searcher, fireact, knowagent) it knows from other
questions. `hotpot_agent+` is hotpot_agent with its searches repeated, because its log lacks what they returned.
"""
EXACT_HEADER = """Right answers in %, string / group of equal answers (by the rules of `default` equality, the same
for every method); gains are string / group, too. By the string much is a matter of form: *shipped default, --form
shortest* is the same choice of meaning in its shortest form, as references tend to be short.

*fitted* models were fitted here, with hashed words as the encoder: of a real set on the other agents that may train
and, where they are there, a share of lexical pools, without the set's questions and without test questions, by exact
match; on lexical pools of train questions; on another seed of the world.

Read with care: means take one of hotpot_agent and hotpot_agent+. From K=4 on it is the only real set, K=3 has two.
Where containment counts as right, the longest form of an answer wins by the rule, not by merit. By the paper's rule
trace-paper drops rollouts without evidence, which is all of hotpot_agent's: it answers nothing there. Longer forms
are made by templates and from the agent's own evidence (`studies/shipped_weights/wordy.py`): a stress test, not an
agent.
"""
ABSENT = {
    REAL: "no real rollouts (`TRACERANK_SHARED`)",
    TRANSFER: "no real rollouts (`TRACERANK_SHARED`)",
    WORDY: "no real rollouts (`TRACERANK_SHARED`)",
    LEXICAL_AGENTS: "no lexical pools of train questions (`TRACERANK_LEXICAL`) or no questions (`TRACERANK_SHARED`)",
}


def document(meant: Mapping[str, Part], made: Iterable[Made], unfinished: Collection[str]) -> str:
    """The whole text from the parts that are there: by meaning, then by exact match."""
    found = list(made)
    gains = [gain for each in found for gain in each.gains]
    lines = [HEADER]
    if unfinished:
        lines.append(f"**Unfinished**: {', '.join(unfinished)} not measured yet.\n")
    lines.append("## By meaning\n")
    if meant:
        lines += report(meant)
    elif not unfinished:
        lines.append("Left out: no judged rollouts (`TRACERANK_SHARED`).\n")
    lines += ["## By exact match\n", EXACT_HEADER, *([*means_table(gains), ""] if gains else [])]
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
    wanted, by_meaning = parts(pools), meaning_parts(pools)
    files = {name: pools.work / f"{name.replace(' ', '-')}.json" for name in wanted}
    made = {name: load(file) for name, file in files.items() if file.exists()}
    meant: dict[str, Part] = {}

    def write() -> None:
        unfinished = [f"{name} by meaning" for name in by_meaning if name not in meant]
        unfinished += [name for name in wanted if name not in made]
        out.write_text(document(meant, [made[part] for part in wanted if part in made], unfinished), encoding="utf-8")

    for name, find in by_meaning.items():
        meant[name] = find()
        write()
    for name, make in wanted.items():
        began = time.monotonic()
        if name not in made:
            made[name] = make()
            save(made[name], files[name])
            console.print(f"{name}: {time.monotonic() - began:.0f} s")
        write()


def meaning_parts(pools: QualityPools) -> Mapping[str, Callable[[], Part]]:
    """Every part by meaning, measured or kept from an interrupted run; none without judged rollouts."""
    if not (ROLLOUTS.is_dir() and JUDGED.exists()):
        return {}
    folder = pools.work / "by-meaning"
    folder.mkdir(exist_ok=True)
    study = Study(pools, Judgements.read(), Taught())
    return {name: partial(_meant, study, name, folder) for name in MEANING_PARTS}


def _meant(study: Study, name: str, folder: Path) -> Part:
    return measure_meaning(study, [name], folder)[name]


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
