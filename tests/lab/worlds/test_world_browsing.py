"""Browsing rollouts of the world are what the reader would recover from the transcript of such a session."""

import json
from typing import Any

from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, Evidence, Rollout, View
from tracerank.readers.formats.browsing import BrowsingReader

POOLS = list(iter_world(PAPER[BROWSING], 40, seed=4))


def printed(view: View, seen: Evidence | None) -> str:
    """The tool's return as a harmony browser prints it."""
    if view.tool == "search":
        return f"[{view.cursor}] q (web-search://ts=1)\n**viewing lines [0 - 1] of 2**\nL0: 【0†A page†atlas.example】"
    if view.tool == "find":
        excerpts = seen.text.split("\n\n") if seen else []
        matches = "".join(f"\nL{n}: # 【{n}†match at L{n}】\nL{n}: {text}" for n, text in enumerate(excerpts))
        return f"[{view.cursor}] Find results for text: `x` in `A page`{matches}"
    assert seen is not None
    header = f"{seen.title} ({view.url})"
    rest = seen.text.removeprefix(header).strip()
    field, body = f"URL: {view.url}", rest.removeprefix(f"URL: {view.url}").strip()
    lines = [field, body] if rest.startswith(field) else [body]
    numbered = "\n".join(f"L{n}: {line}" for n, line in enumerate(lines))
    return f"[{view.cursor}] {header}\n**viewing lines [0 - {len(lines)}] of 99**\n\n{numbered}"


def arguments(view: View, queries: dict[int | None, str | None]) -> dict[str, Any]:
    if view.tool == "search":
        return {"query": queries[view.event]}
    start = {} if view.parent is None else {"cursor": view.parent}
    if view.tool == "find":
        return {"pattern": "x", **start}
    return start if view.continues else {"id": view.requested or 0, **start}


def transcript(rollout: Rollout) -> dict[str, Any]:
    seen = {found.event: found for search in rollout.searches for found in search.evidence}
    queries = {search.event: search.query for search in rollout.searches}
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Which?"}]
    for view in rollout.views:
        content = json.dumps(arguments(view, queries))
        tool = f"browser.{view.tool}"
        messages.append({"role": "assistant", "channel": "analysis", "recipient": tool, "content": content})
        text = printed(view, seen.get(view.event))
        messages.append({"role": "tool", "name": tool, "content": [{"type": "text", "text": text}]})
    if rollout.answer is not None:
        messages.append({"role": "assistant", "channel": "final", "content": rollout.answer})
    return {"qid": 1, "sample_id": rollout.sample_id, "messages": messages}


def test_the_reader_recovers_every_view_search_and_source_from_the_transcript() -> None:
    for pool in POOLS:
        read = [BrowsingReader().parse(transcript(rollout), "here").rollout for rollout in pool.rollouts]
        for made, parsed in zip(pool.rollouts, read, strict=True):
            assert parsed.views == made.views
            assert parsed.answer == made.answer
        made_kept = pool.retained().kept
        parsed_kept = Pool.of(pool.question, read).retained().kept
        assert [rollout.searches for rollout in parsed_kept] == [rollout.searches for rollout in made_kept]


def test_the_documents_are_already_those_that_the_views_establish() -> None:
    for pool in POOLS:
        kept = pool.retained().kept
        assert kept == tuple(rollout for rollout in pool.rollouts if rollout.answer)
