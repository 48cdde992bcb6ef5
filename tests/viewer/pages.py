"""Pages to look at: explained pools of a small world, a pool written out, a hostile one, and large ones."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.builders import browsed, found, opened, pool_of, ranked, rollout, small_net
from tracerank.embedding.base import EncoderIdentity, HashEmbedder
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Document, Evidence, Question, Rollout, Search
from tracerank.trace.checkpoint import Checkpoint
from tracerank.trace.recipe import RECIPES
from tracerank.trace.selector import TraceSelector
from tracerank.viewer.page import About, page
from tracerank.viewer.question_data import question_data
from tracerank.votes.base import Method
from tracerank.votes.explanation import explain_stream
from tracerank.votes.voting import MajorityVote

BRIDGE = "The bridge was opened in 1931 by the mayor of Aldwater."
MAYOR = "Mayor Ines Tarrow held office from 1929 to 1933."
FERRY = "A ferry crossed the river until 1930."


def bridge_pool() -> Pool:
    """Three candidates: #0 and #1 share a text, #2 saw another part of the same document; #3 gave no answer."""
    first = browsed("Aldwater bridge opening", opened(BRIDGE, "url:bridge"), opened(MAYOR, "url:mayor"))
    second = browsed("who opened the bridge", found(BRIDGE, "url:bridge"))
    third = browsed("Aldwater ferry", opened(FERRY, "url:bridge"))
    made = pool_of(
        rollout("Ines Tarrow", first, browsed("nothing found"), label=1.0),
        rollout("ines tarrow.", second, label=1.0),
        rollout("The ferryman", third, label=0.0),
        rollout(None, browsed("gave up", opened(BRIDGE, "url:bridge"))),
        question="Who opened the bridge of Aldwater?",
    )
    browsing = tuple(replace(each, setting=BROWSING) for each in made.rollouts)
    return Pool(replace(made.question, references=("Ines Tarrow",), dataset="bridges"), browsing)


def selector(setting: str) -> TraceSelector:
    """An untrained net: its attention means nothing, but it is there."""
    return TraceSelector(Checkpoint(small_net(RECIPES[setting]), EncoderIdentity("hash-32", 32)), HashEmbedder(32))


def explained(pools: Sequence[Pool], setting: str = WEBQA) -> list[dict[str, Any]]:
    return [question_data(pool, explanation) for pool, explanation in explain_stream(selector(setting), pools)]


def voted(pools: Sequence[Pool], method: Method | None = None) -> list[dict[str, Any]]:
    return [question_data(pool, explanation) for pool, explanation in explain_stream(method or MajorityVote(), pools)]


def page_of(questions: Sequence[dict[str, Any]], method: str = "trace") -> bytes:
    return page(questions, About("pools.jsonl", method, is_vote=method == "majority"))


SCRIPT = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
TEMPLATE = "{{7*7}} ${window.hacked = 1} <%= 7 %> {{questions}} {{list}} <!-- \u2028\u2029\u202e backwards \ud800"
LONG_LINE = "x" * 1_000_000
CODE = f"```html\n{SCRIPT}\n    <iframe src=javascript:1></iframe>\n# {SCRIPT}\n```"
ADDRESSES = ("javascript:window.hacked=1", "JaVaScRiPt:alert(1)", "data:text/html,<script>1</script>", "//evil.example")


def hostile_pool() -> Pool:
    """Everything that a page or a transcript can say to a browser, everywhere that it can say it."""
    evidence = tuple(
        Evidence(f"{SCRIPT} {number}", SCRIPT, address, rank=number + 1, document=Document(address, url=address))
        for number, address in enumerate(ADDRESSES)
    )
    searches = (Search(SCRIPT, evidence), Search(TEMPLATE, (Evidence(LONG_LINE, LONG_LINE), Evidence(TEMPLATE))))
    rollouts = (
        Rollout(0, SCRIPT, searches, 1.0),
        Rollout(1, TEMPLATE, searches, 0.0),
        Rollout(2, LONG_LINE, searches[:1], 0.0),
        Rollout(3, "x", problem=SCRIPT),
        Rollout(4, CODE, (Search(CODE, (Evidence(CODE, CODE),)),), 1.0),
        Rollout(5, SCRIPT, (), 0.0),
    )
    return Pool(Question(SCRIPT, SCRIPT + TEMPLATE, (SCRIPT, LONG_LINE), dataset=SCRIPT), rollouts)


def wide_pool(rollouts: int = 64, evidence: int = 50) -> Pool:
    """Many long rollouts that share most of what they saw."""
    return pool_of(
        *(
            rollout(f"answer {number % 7}", *(_five(number, search) for search in range(evidence // 5)))
            for number in range(rollouts)
        )
    )


def _five(number: int, search: int) -> Search:
    return ranked(
        f"search {search}", *(f"chunk {(number * 7 + search * 5 + rank) % 120}: {BRIDGE}" for rank in range(5))
    )


def many_questions(count: int) -> list[dict[str, Any]]:
    """As many questions of 16 rollouts with three searches each, told apart by number."""
    searches = [ranked(f"query {n}", *(f"chunk {n}.{r} {BRIDGE * 4}" for r in range(3))) for n in range(3)]
    model = pool_of(*(rollout(f"answer {number % 3}", *searches, label=float(number % 2)) for number in range(16)))
    [data] = voted([model])
    return [{**data, "id": f"q{number}", "question": f"Question number {number}?"} for number in range(count)]
