"""Raw logs at the paper's sizes, as agents leave them: what parsing and the way from a file to a decision are timed on.

WebQA rows hold passages of a hundred words. Browsing rollouts are harmony messages in parts, as gpt-oss agents write
them, with views of about fifty lines of eighty characters; pages are opened by link, by address and by scrolling on,
searched within, and opened again by other rollouts.
"""

import json
import random
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.pools.pool import Pool

CHUNK_CHARACTERS = 580
"""Wikipedia passages of a hundred words have about as many."""
VIEW_LINES = 50
PAGES = 24
"""Pages that the rollouts of a question meet."""
_POPULARITY = [1 / (page + 1) ** 1.6 for page in range(PAGES)]
_PART_OF_PAGE = (0.45, 0.2, 0.15, 0.1, 0.05, 0.05)
_EVIDENCE_OF_SEARCH = ((0, 1, 2, 3, 4, 6), (0.2, 0.2, 0.2, 0.16, 0.14, 0.1))
_ANSWERS = (0.45, 0.2, 0.12, 0.08, 0.06, 0.05, 0.04)
_WORDS = tuple(
    (  # noqa: SIM905
        "harbour winter council archive bridge granite the of in and a was by to from record river engineer "
        "valley north survey letter museum parish estate railway company opened 1894 1907 later first known "
        "near built château café – « » “quoted” Żubr "
    ).split()
)
_EMPTY_PART = dict.fromkeys(
    ("channel_config", "conversation_start_date", "knowledge_cutoff", "model_identity", "reasoning_effort", "tools")
)


def write_records(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """One record a line."""
    with path.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record) + "\n")


def webqa_records(pools: Iterable[Pool]) -> Iterator[dict[str, Any]]:
    """Rows of the official WebQA format for pools of ranked chunks, each chunk as long as a passage."""
    for pool in pools:
        for rollout in pool.rollouts:
            steps: list[dict[str, str]] = []
            for search in rollout.searches:
                steps.append({"action": "think", "content": _passage(search.query or "")[:200]})
                docs = (f"Doc {e.rank} {normalize_text(e.text)} {_passage(e.text)}" for e in search.evidence)
                steps.append({"action": "search", "content": search.query or "", "search_result": "\n".join(docs)})
            yield {
                "question_index": int(pool.question.id),
                "question": pool.question.text,
                "golden_answers": ["answer"],
                "sample_id": rollout.sample_id,
                "answer": rollout.answer,
                "steps": steps,
            }


@cache
def _passage(name: str) -> str:
    """Words of its own for each passage."""
    rng = random.Random(name)
    return " ".join(rng.choices(_WORDS, k=150))[:CHUNK_CHARACTERS].rstrip()


def browsing_records(count: int, seed: int = 0, rollouts: float = 11.5) -> Iterator[dict[str, Any]]:
    """Browser rollouts of so many questions; ``rollouts`` is the mean of a question."""
    rng = random.Random(seed)
    for number in range(count):
        site = _Site(rng, number)
        for sample in range(around(rng, rollouts, min(3, int(rollouts / 4)))):
            yield _Agent(rng, site, sample).record()


def around(rng: random.Random, mean: float, spread: int) -> int:
    """A whole number about the mean, at least one."""
    return max(1, round(mean + rng.uniform(-spread, spread)))


def answers_of(rng: random.Random, number: int) -> list[str]:
    """What the rollouts of a question answer; a few answers are common."""
    return rng.choices([f"answer {number} {a}" for a in range(len(_ANSWERS))], _ANSWERS, k=512)


class _Site:
    """The pages of one question."""

    def __init__(self, rng: random.Random, number: int) -> None:
        self.number = number
        self.question = f"question {number}"
        self.answers = answers_of(rng, number)
        self.titles = [f"{rng.choice(_WORDS).title()} {rng.choice(_WORDS)} {page}" for page in range(PAGES)]
        self._lines = [_line(rng) for _ in range(400)]

    def url(self, page: int) -> str:
        return f"https://site{page % 7}.example.org/{self.number}/page-{page}"

    def view(self, page: int, part: int) -> str:
        """Title, address, viewport and numbered lines, as the browser prints them."""
        begin = part * VIEW_LINES
        shown = (f"L{begin + line}: {self.line(page, begin + line)}" for line in range(VIEW_LINES))
        head = (
            f"{self.titles[page]} ({self.url(page)})\n**viewing lines [{begin} - {begin + VIEW_LINES - 1}] of 312**\n\n"
        )
        return head + "\n".join(shown)

    def line(self, page: int, line: int) -> str:
        if line < 2:
            return ("", f"URL: {self.url(page)}")[line]
        return self._lines[(page * 61 + line * 7) % len(self._lines)]

    def matches(self, page: int, pattern: str) -> str:
        """What a search within the page prints."""
        lines = [4 + (len(pattern) * 31 + page * 13 + place * 9) % 200 for place in range(4)]
        shown = "\n".join(
            f"L{place * 4}: # 【{place}†match at L{line}】\n"
            + "\n".join(f"L{place * 4 + row}: {self.line(page, line + row)}" for row in (1, 2, 3))
            for place, line in enumerate(lines)
        )
        address = f"{self.url(page)}/find?pattern={pattern}"
        return f"Find results for text: `{pattern}` in `{self.titles[page]}` ({address})\n{shown}"

    def listing(self, query: str, order: list[int]) -> str:
        """What a search prints: three lines a result."""
        rows = []
        for place, page in enumerate(order):
            begin = 4 + 3 * place
            rows.append(
                f"L{begin}:   * 【{place}†{self.titles[page]}†site{page % 7}.example.org】 {self.line(page, 2)}"
            )
            rows += [f"L{begin + row}: {self.line(page, 2 + row)}" for row in (1, 2)]
        address = f"web-search://ts={len(query) * 7919 + self.number}"
        head = f"{query} ({address})\n**viewing lines [0 - {3 + 3 * len(order)}] of 65**\n\nL0: \nL1: URL: {address}\n"
        return head + "L2: # Search Results\nL3: \n" + "\n".join(rows)


def _line(rng: random.Random) -> str:
    words: list[str] = []
    while sum(map(len, words)) + len(words) < 74:
        words.append(rng.choice(_WORDS))
    return " ".join(words) + " "


class _Agent:
    """One rollout: messages, and which view has which number."""

    def __init__(self, rng: random.Random, site: _Site, sample: int) -> None:
        self.rng, self.site, self.sample = rng, site, sample
        self.messages: list[dict[str, Any]] = []
        self.views = 0
        self.opened: dict[int, int] = {}
        """Cursor of the last view of each page."""

    def record(self) -> dict[str, Any]:
        rng, site = self.rng, self.site
        self._say("system", "You are a research agent with a browser. " * 20)
        self._say("user", site.question)
        for search in range(around(rng, 4.5, 3)):
            order = rng.sample(range(PAGES), 12)
            query = f"{site.question} search {self.sample} {search}"
            listing = self._call("search", {"query": query, "topn": 10}, site.listing(query, order))
            for _ in range(rng.choices(*_EVIDENCE_OF_SEARCH)[0]):
                self._look(listing, order)
        self._say("assistant", f"{site.answers[self.sample % 512]}", channel="final")
        return {
            "qid": site.number,
            "sample_id": self.sample,
            "question": site.question,
            "answer": "the reference",
            "correct": rng.random() < 0.4,
            "messages": self.messages,
        }

    def _look(self, listing: int, order: list[int]) -> None:
        """Open a page, scroll on in one, or search within it."""
        rng, site = self.rng, self.site
        page = rng.choices(range(PAGES), _POPULARITY)[0]
        if page in self.opened and rng.random() < 0.35:
            pattern = rng.choice(_WORDS[:8])
            self._call("find", {"pattern": pattern, "cursor": self.opened[page]}, site.matches(page, pattern))
            return
        part = rng.choices(range(len(_PART_OF_PAGE)), _PART_OF_PAGE)[0]
        if page in self.opened and part:
            arguments: dict[str, Any] = {"cursor": self.opened[page], "loc": part * VIEW_LINES}
        elif page in order:
            arguments = {"cursor": listing, "id": order.index(page), "loc": part * VIEW_LINES}
        else:
            arguments = {"id": site.url(page), "loc": part * VIEW_LINES}
        self.opened[page] = self._call("open", arguments, site.view(page, part))

    def _call(self, tool: str, arguments: dict[str, Any], shown: str) -> int:
        self._say("assistant", self.site.line(self.views, 9), channel="analysis")
        self._say("assistant", json.dumps(arguments, indent=2), "analysis", f"browser.{tool}", content_type="code")
        cursor, self.views = self.views, self.views + 1
        self._say("tool", f"[{cursor}] {shown}", "analysis", "assistant", name=f"browser.{tool}")
        return cursor

    def _say(self, role: str, text: str, channel: str | None = None, recipient: str | None = None, **more: str) -> None:
        self.messages.append(
            {
                "channel": channel,
                "content": [{**_EMPTY_PART, "text": text, "type": "text"}],
                "content_type": None,
                "name": None,
                "recipient": recipient,
                "role": role,
                **more,
            }
        )
