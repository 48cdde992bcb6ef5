"""``python -m studies.scale.streaming``: is the local loop flat in memory, and does a kill cost it nothing?

Generated pools of about 8 kB, so that 10,000 of them fill the window in which rollouts may stand apart. ``select`` by
majority, ``convert`` and ``embed`` (hash vectors) run over each number of pools: seconds, greatest resident size, then
again with SIGKILL at moments drawn at random, resumed each time, compared byte for byte (``embed``: vector by vector).
Rows are kept in a file, and those that are there are not measured again.
"""

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from hashlib import blake2b, file_digest
from pathlib import Path

ROLLOUTS = 4
TEXT_BYTES = 1_700
COMMANDS = ("select", "convert", "embed")
_PAUSE = 0.002
_FEWEST_BYTES = 4096
"""A run that has written less is not killed: it would begin again, which shows nothing."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """One command over so many pools."""

    command: str
    pools: int
    input_megabytes: float
    seconds: float
    peak_megabytes: float
    kills: int
    is_same: bool
    """After all kills, the output of a run that nobody has killed."""
    is_ordered: bool | None
    """Questions come in the order of the input; None: there is no output to look at."""


def write_questions(path: Path, count: int) -> None:
    """Rollouts in the canonical form, a question's behind each other."""
    draw = random.Random(7)
    words = [f"w{number}" for number in range(5000)]
    with open(path.with_suffix(".draft"), "w", encoding="utf-8") as file:
        for number in range(count):
            for sample in range(ROLLOUTS):
                answer = f"answer {draw.randrange(3)} of {number}"
                text = " ".join(draw.choices(words, k=TEXT_BYTES // 6))
                evidence = [{"text": f"{text} {answer}", "rank": 1, "document": {"key": f"d{number}-{sample}"}}]
                record = {
                    "question_id": f"q{number}",
                    "question": f"What does bridge {number} cross?",
                    "sample_id": sample,
                    "answer": answer,
                    "searches": [{"query": f"bridge {number}", "evidence": evidence}],
                }
                file.write(json.dumps(record) + "\n")
    path.with_suffix(".draft").rename(path)


def command_line(command: str, source: Path, output: Path) -> list[str]:
    """The command that is measured."""
    made = [sys.executable, "-m", "tracerank", command, str(source), "-q"]
    if command == "embed":
        return [*made, "--encoder", "hash-32", "--cache", str(output)]
    method = ["--method", "majority"] if command == "select" else []
    return [*made, *method, "-o", str(output)]


def peak_of(command: Sequence[str]) -> tuple[float, float]:
    """Seconds and greatest resident megabytes of a run to its end."""
    began = time.monotonic()
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[3]}: ended with {process.returncode}")
    return time.monotonic() - began, used.ru_maxrss / 1024


def killed_and_resumed(command: Sequence[str], output: Path, size: int, kills: int, seed: int = 1) -> int:
    """Run with SIGKILL when so many bytes stand there, for moments drawn at random; how many kills hit."""
    draw = random.Random(seed)
    hits = 0
    for moment in sorted(draw.randrange(min(_FEWEST_BYTES, size - 1), size) for _ in range(kills)):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while process.poll() is None and _written(output) < moment:
            time.sleep(_PAUSE)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            hits += 1
        process.wait()
    if not output.is_file():
        subprocess.run(command, check=True)
    return hits


def _written(output: Path) -> int:
    """Bytes of what a run has put there so far."""
    part = output.with_name(f"{output.name}.part")
    places = [part, output, *(output.glob("*") if output.is_dir() else ())]
    return sum(place.stat().st_size for place in places if place.is_file())


def digest_of(output: Path) -> str:
    """Of a file's bytes; of a cache, of all its vectors in the order of their keys."""
    if output.is_file():
        with open(output, "rb") as file:
            return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    whole = blake2b(digest_size=16)
    with closing(sqlite3.connect(output / "vectors.sqlite")) as file:
        for key, vector in file.execute("SELECT key, vector FROM vectors ORDER BY encoder, key"):
            whole.update(key + vector)
    return whole.hexdigest()


def is_in_order(output: Path) -> bool:
    """Whether questions come as they were generated."""
    last = 0
    with open(output, encoding="utf-8") as file:
        for line in file:
            number = int(json.loads(line)["question_id"].removeprefix("q"))
            if number < last:
                return False
            last = number
    return True


def measured(command: str, pools: int, cache: Path, kills: int) -> Streamed:
    """A whole run, then the same killed again and again."""
    source = cache / f"{pools}.jsonl"
    if not source.exists():
        cache.mkdir(parents=True, exist_ok=True)
        write_questions(source, pools)
    ending = "" if command == "embed" else ".jsonl"
    whole, resumed = (cache / f"{command}-{pools}-{name}{ending}" for name in ("whole", "resumed"))
    for left in (path for one in (whole, resumed) for path in cache.glob(f"{one.name}*")):
        subprocess.run(["rm", "-rf", str(left)], check=True)
    seconds, peak = peak_of(command_line(command, source, whole))
    hits, is_same = 0, True
    if kills:
        hits = killed_and_resumed(command_line(command, source, resumed), resumed, _written(whole), kills)
        if command == "embed":
            subprocess.run(command_line(command, source, resumed), check=True)
        is_same = digest_of(whole) == digest_of(resumed)
    ordered = None if command == "embed" else is_in_order(whole)
    return Streamed(command, pools, source.stat().st_size / 1e6, seconds, peak, hits, is_same, ordered)


def main() -> None:
    """Measure what is missing and print all."""
    parser = argparse.ArgumentParser(prog="python -m studies.scale.streaming")
    parser.add_argument("--pools", default="10000,1000000", help="numbers of pools, with commas between")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--cache", type=Path, default=Path("runs/scale/streaming"), help="where everything stays")
    given = parser.parse_args()
    rows = given.cache / "rows.jsonl"
    known = [Streamed(**json.loads(line)) for line in rows.read_text().splitlines()] if rows.exists() else []
    done = {(one.command, one.pools) for one in known}
    for pools in map(int, given.pools.split(",")):
        for command in given.commands.split(","):
            if (command, pools) not in done:
                known.append(measured(command, pools, given.cache, given.kills))
                with rows.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(known[-1])) + "\n")
    print("| command | pools | input MB | seconds | peak MB | kills | the same | in order |")
    print("|---|---:|---:|---:|---:|---:|---|---|")
    for one in sorted(known, key=lambda one: (COMMANDS.index(one.command), one.pools)):
        order = "" if one.is_ordered is None else ("yes" if one.is_ordered else "NO")
        print(
            f"| {one.command} | {one.pools:,} | {one.input_megabytes:,.0f} | {one.seconds:,.1f} | "
            f"{one.peak_megabytes:,.0f} | {one.kills} | {'yes' if one.is_same else 'NO'} | {order} |"
        )


if __name__ == "__main__":
    main()
