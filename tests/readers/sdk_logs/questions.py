"""The first scenario: five questions, one tool ``web_search`` whose results are objects with title, url and snippet.

Rollout 0 asks twice at once, 1 fails once and answers otherwise, 2 asks once, 3 asks one after the other.
"""

from dataclasses import dataclass
from pathlib import Path

from tests.readers.sdk_logs.scenario import Scenario, Script, Step, Tool, Turn

FAILURE = "search backend timed out"
TOOL = Tool("web_search", "Search the web.", {"query": str})


@dataclass(frozen=True, slots=True)
class KnownQuestion:
    """One question with the answer that most rollouts give and the one that another gives."""

    text: str
    subject: str
    right: str
    wrong: str


QUESTIONS = (
    KnownQuestion("Which river flows through the capital of Austria?", "Vienna river", "Danube", "Inn"),
    KnownQuestion("Who painted the ceiling of the Sistine Chapel?", "Sistine ceiling", "Michelangelo", "Raphael"),
    KnownQuestion("In which year did the Berlin Wall fall?", "Berlin Wall", "1989", "1991"),
    KnownQuestion("What is the tallest mountain of Japan?", "Japan mountain", "Mount Fuji", "Mount Kita"),
    KnownQuestion("Which element has the atomic number 79?", "element 79", "Gold", "Platinum"),
)


def script(question: int, rollout: int, maker: object = None) -> Script:
    """What happens in a rollout; it is the same for every SDK."""
    asked = QUESTIONS[question]
    first, second = f"{asked.subject} facts v{rollout}", f"{asked.subject} history v{rollout}"
    turns = {0: ((first, second),), 1: ((first,), (second,)), 2: ((first,),), 3: ((first,), (second,))}[rollout]
    failing = first if rollout == 1 else None
    answer = asked.wrong if failing else asked.right
    made = (Turn(tuple(_step(query, FAILURE if query == failing else "") for query in turn)) for turn in turns)
    return Script(asked.text, tuple(made), (answer,), answer, (TOOL,))


def _step(query: str, failure: str) -> Step:
    return Step(TOOL.name, {"query": query}, query, results(query), (query,), snippets(query), failure)


def snippets(query: str) -> tuple[str, str]:
    """The texts of the two results of a query."""
    return (
        f"An encyclopedia entry found for {query} names it.",
        f"A newspaper article about {query} agrees with that.",
    )


def results(query: str) -> list[dict[str, str]]:
    """What the search returns."""
    slug = query.replace(" ", "-").lower()
    return [
        {"title": f"Result {place} of {query}", "url": f"https://example.org/{slug}/{place}", "snippet": text}
        for place, text in enumerate(snippets(query), start=1)
    ]


FIRST = Scenario(
    script, "tests.readers.sdk_logs.makers", Path(__file__).parent / "fixtures", questions=len(QUESTIONS), rollouts=4
)
