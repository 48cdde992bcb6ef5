"""The second scenario: two questions, a search and a tool that opens pages, under names that each maker chooses.

q0r0 searches twice at once, opens a page and answers in two parts; q0r1 meets a failing search and a missing page and
answers otherwise; q1r0 thinks, finds nothing once and ends with a labelled answer; q1r1 never answers, unless the maker
says that its SDK cannot end so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.readers.sdk_logs.scenario import Scenario, Script, Step, Tool, Turn
from tests.readers.sdk_logs.second.returns import Hit, Layout, paragraphs

SYSTEM = "You are a careful researcher. Search before you answer. Today is 2026-03-01."
FAILURE = "503 Service Unavailable from the search backend"
MISSING = "404 Client Error: Not Found"


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What a maker calls its two tools, and what they return."""

    search: str
    query: str
    """The argument that says what to search for."""
    open: str
    address: str
    layout: Layout
    page: Callable[[Hit], object] = paragraphs
    more: Mapping[str, object] = field(default_factory=dict)
    """Other arguments of the search, which the model gives, too."""
    is_batch: bool = False
    """The argument is a list, and what is asked at once is one call."""
    is_whole: bool = False
    """The layout does not tell the results apart."""


@dataclass(frozen=True, slots=True)
class _Asked:
    text: str
    subject: str
    right: str
    wrong: str


_QUESTIONS = (
    _Asked(
        "Who composed the opera that premièred at the Teatro Regio in Turin on 1 February 1896?\n"
        "Name the composer only.",
        "Teatro Regio première 1896",
        "Giacomo Puccini (La bohème)",
        "Ruggero Leoncavallo",
    ),
    _Asked(
        "In welcher Stadt steht die größte Domkirche Skandinaviens – und wie heißt sie?",
        "größte Domkirche Skandinavien",
        "Uppsala – Uppsala domkyrka",
        "Trondheim",
    ),
)


def script(question: int, rollout: int, maker: Any) -> Script:
    """What happens in a rollout that this maker runs."""
    box: Toolbox = maker.TOOLS
    asked = _QUESTIONS[question]
    first, second = f"{asked.subject} overview {rollout}", f"{asked.subject} „details“ {rollout}"
    third = f"{asked.subject} primary source {rollout}"
    thought = ""
    if (question, rollout) == (0, 0):
        words = "Let me look at two things at once."
        turns = (
            Turn(_searches(box, first, second), words),
            Turn((_opened(box, _hits(first)[0]),)),
            Turn(_searches(box, third), "One more check."),
        )
        last, answer = (asked.right[:8], asked.right[8:]), asked.right
    elif (question, rollout) == (0, 1):
        turns = (
            Turn(_searches(box, first, failure=FAILURE)),
            Turn(_searches(box, second), "The backend failed; I try again."),
            Turn((_missing(box, asked.subject),)),
        )
        last, answer = (asked.wrong,), asked.wrong
    elif rollout == 0:
        thought = "The user asks in German; I should compare several cathedrals."
        turns = (
            Turn(_searches(box, first), thought=thought),
            Turn(_searches(box, second, is_empty=True), thought="Nothing found, another wording may help."),
            Turn(_searches(box, third)),
        )
        last = (f"Two sources agree on the length of the nave.\n\nFinal answer: {asked.right}",)
        answer = asked.right
    else:
        turns = (Turn(_searches(box, first), "I will search for it."), Turn(_searches(box, third)))
        ends = getattr(maker, "ENDS_WITHOUT_ANSWER", True)
        last, answer = ((), "") if ends else ((asked.right,), asked.right)
    return Script(asked.text, turns, last, answer, _tools(box), thought, SYSTEM)


def _tools(box: Toolbox) -> tuple[Tool, ...]:
    given = {box.query: list[str] if box.is_batch else str}
    search = Tool(box.search, "Looks a question up in the knowledge base.", given, dict(box.more))
    return (search, Tool(box.open, "Reads a page in full.", {box.address: str}))


def _searches(box: Toolbox, *queries: str, failure: str = "", is_empty: bool = False) -> tuple[Step, ...]:
    asked_together = [queries] if box.is_batch else [(query,) for query in queries]
    return tuple(_search(box, together, failure, is_empty) for together in asked_together)


def _search(box: Toolbox, queries: tuple[str, ...], failure: str, is_empty: bool) -> Step:
    hits = [hit for query in queries for hit in ([] if is_empty else _hits(query))]
    texts = tuple(hit.text for hit in hits)
    given = list(queries) if box.is_batch else queries[0]
    return Step(
        box.search,
        {box.query: given, **box.more},
        queries[0],
        box.layout(" | ".join(queries), hits),
        (" | ".join(queries),),  # a batch whose results cannot be told apart is one search
        (" ".join(texts),) if box.is_whole and texts else texts,
        failure,
    )


def _opened(box: Toolbox, hit: Hit) -> Step:
    return Step(box.open, {box.address: hit.url}, hit.page[0], box.page(hit), (), (hit.page[0],))


def _missing(box: Toolbox, subject: str) -> Step:
    url = f"https://missing.example.net/{subject.split()[0].lower()}"
    return Step(box.open, {box.address: url}, url, failure=f"{MISSING} for url: {url}")


def _hits(query: str) -> list[Hit]:
    slug = "-".join(word for word in query.lower().split() if word.isascii())
    kinds = (
        ("Archive", "archive.example.org", "Lexikon: für „{0}“ nennt der Eintrag Jahr, Ort & Namen (S. 12–14)."),
        ("Gazette", "gazette.example.com", "The gazette's report on {0} – dated 3 May – gives the same name."),
        ("Notes", "notes.example.net", "Lecture notes about {0}: see section 2.1; the name occurs twice."),
    )
    return [
        Hit(f"{name}: {query}", f"https://{host}/{slug}/{place}", text.format(query), _page(name, query))
        for place, (name, host, text) in enumerate(kinds, start=1)
    ]


def _page(name: str, query: str) -> tuple[str, ...]:
    return (
        f"Full page of the {name} about {query}, with all that the excerpt leaves out.",
        "1. First, the building is described.\n2. Then the people are named.",
        "See also: https://elsewhere.example.org/index and the register.",
    )


SECOND = Scenario(
    script, "tests.readers.sdk_logs.second.makers", Path(__file__).parent / "fixtures", questions=2, rollouts=2
)
