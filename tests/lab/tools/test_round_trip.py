"""What the browser printed is read back by our own reader without loss, hostile pages included."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from tests.lab.shelves import HOSTILE, RIVERS, WORDS, corpus_of, hostile_row
from tracerank.answers.exact import normalize_text
from tracerank.lab.corpus.index import Corpus
from tracerank.lab.tools.browser import Browser
from tracerank.pools.documents import link_documents
from tracerank.pools.types import Rollout
from tracerank.readers.formats.browsing import BrowsingReader
from tracerank.readers.values import encodable

Arguments = dict[str, Any]
WALKS = 200


def message(role: str, text: str, **given: Any) -> dict[str, Any]:
    """A turn as harmony logs have it; a model can write half a character."""
    return {"role": role, "content": [{"type": "text", "text": encodable(text)}], **given}


class Walk:
    """An agent's calls, what came back, and the transcript of both."""

    def __init__(self, corpus: Corpus, max_lines: int = 6) -> None:
        self.corpus = corpus
        self.browser = Browser(corpus, max_lines)
        self.messages = [message("user", "Which river?")]
        self.calls: list[tuple[str, Any, str, int | None]] = []
        """Tool, query, text, and the cursor of the page shown."""

    def call(self, tool: str, arguments: Arguments) -> tuple[str, bool]:
        text = self.browser.call(f"browser.{tool}", arguments)
        name = f"browser.{tool}"
        written = json.dumps(arguments, ensure_ascii=False)
        self.messages += [
            message("assistant", written, channel="analysis", recipient=name, content_type="code"),
            message("tool", text, name=name, recipient="assistant"),
        ]
        cursor = re.match(r"\[(\d+)\] ", text)
        self.calls.append((tool, arguments.get("query"), text, int(cursor[1]) if cursor else None))
        return tool, cursor is not None

    def read_back(self) -> Rollout:
        """The rollout as our reader sees it, after a trip through JSON."""
        messages = [*self.messages, message("assistant", "Velm", channel="final", recipient=None)]
        record = orjson.loads(orjson.dumps({"qid": 1, "sample_id": 0, "messages": messages}))
        assert BrowsingReader().recognises(record)
        (rollout,) = link_documents([BrowsingReader().parse(record, "walk:1").rollout])
        return rollout


def shown(tool: str, text: str) -> str:
    """The text that a call put before the agent, of the lines that were printed."""
    header, _, body = text.partition("\n")
    lines = [re.sub(r"\AL\d+: ?", "", line) for line in body.partition("\n\n")[2].split("\n")]
    if tool == "open":
        return normalize_text(" ".join((re.sub(r"\A\[\d+\] ", "", header), *lines)))
    excerpts: list[list[str]] = []
    for line in lines:
        if line.startswith("# 【"):
            excerpts.append([])
        elif excerpts:
            excerpts[-1].append(line)
    return "\n\n".join(filter(None, (normalize_text(" ".join(lines)) for lines in excerpts)))


def check(walk: Walk) -> Rollout:
    rollout = walk.read_back()
    assert [(view.tool, view.cursor) for view in rollout.views] == [(tool, cursor) for tool, _, _, cursor in walk.calls]
    assert all(view.is_valid for view in rollout.views if view.cursor is not None)
    queries = [
        normalize_text(query) if isinstance(query, str) else "" for tool, query, *_ in walk.calls if tool == "search"
    ]
    assert [search.query for search in rollout.searches if not search.is_orphan] == queries
    found = {seen.event: seen for search in rollout.searches for seen in search.evidence}
    for event, (tool, _, text, cursor) in enumerate(walk.calls):
        expected = shown(tool, text) if tool != "search" and cursor is not None else ""
        assert (found[event].text if event in found else "") == expected
    assert all(seen.document and seen.document.verified for seen in found.values())
    return rollout


@pytest.fixture(scope="module")
def rivers(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    long = {"title": "Register", "text": "\n".join(f"Entry {n}: the Velm in {1800 + n}." for n in range(60))}
    return corpus_of(tmp_path_factory.mktemp("rivers"), [*RIVERS, long])


def test_a_scripted_agent_is_read_back_without_loss(rivers: Corpus) -> None:
    walk = Walk(rivers)
    walk.call("open", {"id": "https://tarrow.example/"})  # before any search: an orphan
    walk.call("search", {"query": " Velm  register "})
    walk.call("open", {"id": 0})
    walk.call("open", {"loc": 30})  # the same page, further down
    walk.call("find", {"pattern": "Velm in 1820", "cursor": 2})
    walk.call("open", {"id": 0})  # the match, in its page
    walk.call("find", {"pattern": "no such words"})
    walk.call("search", {"query": "Ada Korn surveyor"})
    walk.call("open", {"cursor": 1, "loc": 3})  # further down in the first listing
    walk.call("open", {"cursor": 1, "id": 99})
    walk.call("open", {"cursor": 7, "id": 0})
    rollout = check(walk)

    register = next(d.url for d in map(rivers.document, range(rivers.info.documents)) if d.title == "Register")
    orphan, first, second = rollout.searches
    assert orphan.is_orphan
    assert [seen.url for seen in orphan.evidence] == ["https://tarrow.example/"]
    assert first.query == "Velm register"
    assert [(seen.tool, seen.status) for seen in first.evidence] == [
        ("open", "returned_URL_field_matches_display"),
        ("open", "open_inherits_source"),
        ("find", "find_inherits_source"),
        ("open", "returned_document_header"),
        ("open", "open_inherits_source"),
    ]
    assert [seen.url for seen in first.evidence] == [register] * 4 + [None]
    assert "Velm in 1820" in first.evidence[2].text
    assert second.query == "Ada Korn surveyor"
    assert [seen.title for seen in second.evidence] == ["Ada Korn"]


def test_random_agents_on_hostile_pages_are_read_back_without_loss(tmp_path: Path) -> None:
    corpora = []
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        rng = Random(number)
        corpora.append(corpus_of(folder, [*RIVERS, *(hostile_row(rng) for _ in range(12))]))
    kinds: set[tuple[str, bool]] = set()
    orphans = continued = 0
    for seed in range(WALKS):
        rng = Random(seed)
        walk = Walk(rng.choice(corpora), rng.choice((1, 4, 40)))
        for _ in range(rng.randrange(1, 25)):
            kinds.add(walk.call(*random_call(rng, walk)))
        rollout = check(walk)
        orphans += sum(search.is_orphan for search in rollout.searches)
        continued += sum(view.continues and view.cursor is not None for view in rollout.views)
    assert len(kinds) == 6  # each tool succeeded and failed
    assert orphans > 20
    assert continued > 100


def random_call(rng: Random, walk: Walk) -> tuple[str, Arguments]:
    """A call that makes sense, or nearly so."""
    tool = rng.choice(("search", "search", "open", "open", "open", "find"))
    if rng.random() < 0.03:
        return tool, {"query": rng.choice(("", None))}
    arguments: dict[str, Any] = {}
    if tool == "search":
        words = rng.choices(WORDS, k=rng.randrange(4)) + rng.choices(HOSTILE, k=rng.choice((0, 0, 1)))
        return tool, {"query": " ".join(words), "topn": 5}
    if rng.random() < 0.4:
        arguments["cursor"] = rng.choice((-1, 0, 1, 2, 3, 5, 8, -2, 99, "0", True))
    if tool == "find":
        return tool, {**arguments, "pattern": rng.choice((*WORDS, *HOSTILE, "/find?pattern=", "..."))}
    match rng.randrange(5):
        case 0 | 1:
            arguments["id"] = rng.choice((0, 0, 1, 2, 3, "1", 9, -1, -2, None))
        case 2:
            arguments[rng.choice(("id", "url"))] = random_address(rng, walk)
    if rng.random() < 0.5:
        arguments["loc"] = rng.choice((0, 1, 2, 5, 12, 40, 5000, -1, "3"))
    if rng.random() < 0.2:
        arguments["num_lines"] = rng.choice((1, 3, 100, 0, -1))
    return tool, arguments


def random_address(rng: Random, walk: Walk) -> str:
    known = walk.corpus.document(rng.randrange(walk.corpus.info.documents)).url
    return str(rng.choice((known, known, known, f"{known}#part", "https://nowhere.example/", "no address")))
