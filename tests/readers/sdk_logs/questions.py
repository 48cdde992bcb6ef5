"""What the scripted model does: questions, and for each rollout its queries, what they return and its answer.

Known before any SDK runs, so that what a reader finds can be compared with it.
"""

from dataclasses import dataclass

FAILURE = "search backend timed out"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with the answer that most rollouts give and the one that another gives."""

    text: str
    subject: str
    right: str
    wrong: str


QUESTIONS = (
    Asked("Which river flows through the capital of Austria?", "Vienna river", "Danube", "Inn"),
    Asked("Who painted the ceiling of the Sistine Chapel?", "Sistine ceiling", "Michelangelo", "Raphael"),
    Asked("In which year did the Berlin Wall fall?", "Berlin Wall", "1989", "1991"),
    Asked("What is the tallest mountain of Japan?", "Japan mountain", "Mount Fuji", "Mount Kita"),
    Asked("Which element has the atomic number 79?", "element 79", "Gold", "Platinum"),
)


@dataclass(frozen=True, slots=True)
class Script:
    """One rollout: each turn holds the queries of one message of the model."""

    question: str
    turns: tuple[tuple[str, ...], ...]
    failing: str | None
    """The query at which the tool raises; None: none."""
    answer: str

    @property
    def queries(self) -> tuple[str, ...]:
        return tuple(query for turn in self.turns for query in turn)

    def expected(self) -> dict[str, object]:
        """What a reader has to find."""
        returned = {text for query in self.queries if query != self.failing for text in snippets(query)}
        return {
            "question": self.question,
            "answer": self.answer,
            "queries": list(self.queries),
            "evidence": len(returned),
            "snippets": sorted(returned),
        }


def script(question: int, rollout: int) -> Script:
    """Rollout 0 asks twice at once, 1 fails once and answers otherwise, 2 asks once, 3 asks one after the other."""
    asked = QUESTIONS[question]
    first, second = f"{asked.subject} facts v{rollout}", f"{asked.subject} history v{rollout}"
    turns = {0: ((first, second),), 1: ((first,), (second,)), 2: ((first,),), 3: ((first,), (second,))}[rollout]
    fails = rollout == 1
    return Script(asked.text, turns, first if fails else None, asked.wrong if fails else asked.right)


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
