"""What the browser did equals what our own reader recovers from the printed transcript, hostile pages included."""

from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from tests.lab.shelves import HOSTILE, RIVERS, WORDS, corpus_of, hostile_row
from tests.lab.tools.harmony import Message, answered, asked, called, returned
from tracerank.answers.exact import normalize_text
from tracerank.lab.corpus.index import Corpus
from tracerank.lab.tools.browser import Browser, BrowserRule, ToolReturn
from tracerank.pools.documents import link_documents
from tracerank.pools.types import Rollout
from tracerank.readers.formats.browsing import BrowsingReader

Arguments = dict[str, Any] | str
WALKS = 200
ENCODED_TWICE = '"{\\"query\\": \\"river\\"}"'


class Walk:
    """An agent's calls, what came back, and the transcript of both."""

    def __init__(self, corpus: Corpus, rule: BrowserRule | None = None) -> None:
        self.browser = Browser(corpus, rule or BrowserRule(view_lines=6))
        self.messages: list[Message] = [asked("Which river?")]
        self.queries: list[Any] = []
        self.returns: list[ToolReturn] = []

    def call(self, tool: str, arguments: Arguments) -> ToolReturn:
        done = self.browser.call(f"browser.{tool}", arguments)
        self.messages += [called(tool, arguments), returned(tool, done.text)]
        values = {"query": "river"} if arguments == ENCODED_TWICE else arguments
        self.queries.append(values.get("query") if isinstance(values, dict) else None)
        self.returns.append(done)
        return done

    def read_back(self) -> Rollout:
        """The rollout as our reader sees it, after a trip through JSON."""
        record = orjson.loads(orjson.dumps({"qid": 1, "sample_id": 0, "messages": [*self.messages, answered("Velm")]}))
        assert BrowsingReader().recognises(record)
        (rollout,) = link_documents([BrowsingReader().parse(record, "walk:1").rollout])
        return rollout


def root_of(returns: list[ToolReturn], event: int) -> int:
    while returns[event].tool != "search" and (parent := returns[event].parent) is not None:
        event = parent
    return event


def evidence_of(done: ToolReturn) -> str:
    """The text that a call put before the agent, from the pages themselves, not from what was printed."""
    assert done.page is not None
    lines = done.page.lines[done.first_line : done.first_line + done.shown_lines]
    if done.tool == "open":
        return normalize_text(" ".join((done.page.title, f"({done.page.address})", *lines)))
    excerpts: list[list[str]] = []
    for line in lines:
        if line.startswith("# 【"):
            excerpts.append([])
        elif excerpts:
            excerpts[-1].append(line)
    return "\n\n".join(filter(None, (normalize_text(" ".join(lines)) for lines in excerpts)))


def document_of(returns: list[ToolReturn], done: ToolReturn) -> str:
    assert done.page is not None
    assert done.event is not None
    if done.page.kind == "search":
        return f"search-view:0:{root_of(returns, done.event)}"
    return f"url:{done.page.url}"


def done_by_tools(walk: Walk) -> list[tuple[Any, ...]]:
    """Searches and orphans in order: event, query, and each evidence with tool, event, text, title, document."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    queries: dict[int, str | None] = {}
    for event, done in enumerate(walk.returns):
        if done.tool == "search":
            query = walk.queries[event]
            queries[event] = normalize_text(query) if isinstance(query, str) else ""
        elif done.cursor is not None and (text := evidence_of(done)):
            root = root_of(walk.returns, event)
            queries.setdefault(root, None)
            title = (
                done.page.title or None if done.tool == "open" and done.page and done.page.kind != "search" else None
            )
            seen = (done.tool, event, text, title, document_of(walk.returns, done))
            found.setdefault(root, []).append(seen)
    return [(event, queries[event], found.get(event, [])) for event in sorted(queries)]


def read_by_reader(rollout: Rollout) -> list[tuple[Any, ...]]:
    return [
        (
            search.event,
            search.query,
            [(e.tool, e.event, e.text, e.title, e.document and e.document.key) for e in search.evidence],
        )
        for search in rollout.searches
    ]


def check(walk: Walk) -> Rollout:
    rollout = walk.read_back()
    assert read_by_reader(rollout) == done_by_tools(walk)
    assert len(rollout.views) == len(walk.returns)
    for view, done in zip(rollout.views, walk.returns, strict=True):
        assert (view.event, view.tool, view.cursor) == (done.event, done.tool, done.cursor)
        if done.cursor is not None:
            assert view.is_valid
            assert view.parent == done.parent
    assert all(seen.document and seen.document.verified for search in rollout.searches for seen in search.evidence)
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
    kinds: set[tuple[str | None, bool]] = set()
    orphans = continued = 0
    for seed in range(WALKS):
        rng = Random(seed)
        walk = Walk(rng.choice(corpora), BrowserRule(results=rng.choice((2, 10)), view_lines=rng.choice((1, 4, 40))))
        for _ in range(rng.randrange(1, 25)):
            done = walk.call(*random_call(rng, walk))
            kinds.add((done.tool, done.cursor is None))
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
        return tool, rng.choice(("{broken", "[1]", "null", ENCODED_TWICE))
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
    pages = [done.page.url for done in walk.returns if done.page is not None and done.page.url is not None]
    number = rng.randrange(walk.browser._library.info.documents)  # type: ignore[attr-defined]
    known = walk.browser._library.document(number).url  # type: ignore[attr-defined]
    return rng.choice((known, known, *pages, f"{known}#part", "https://nowhere.example/", "no address"))
