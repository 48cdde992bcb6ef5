"""A few pages written for these tests, and a retriever that counts shared words."""

import re
from collections.abc import Sequence

from tracerank.lab.corpus.base import Passage

PAGES = (
    ("Maren Holt", "Maren Holt (born 3 May 1921) was a Norwegian engineer. She was born in the town of Alversund."),
    ("Silver Bridge of Orrin", "The Silver Bridge of Orrin was designed by Maren Holt and opened in 1957."),
    ("Alversund", "Alversund is a town on the western coast. Its harbour was built by Peder Lind in 1840."),
    ("Peder Lind", "Peder Lind (12 June 1801 – 4 March 1866) was a Danish builder and ship owner."),
    ("Orrin", "Orrin is a river that flows through the village of Kestrel Green. It is 40 kilometres long."),
    ("Kestrel Green", "Kestrel Green is a village known for its wool market, held every year since 1688."),
    ("The Glass Ferry", "The Glass Ferry is a 1963 drama film directed by Tove Brandt."),
    ("Tove Brandt", "Tove Brandt (born 9 July 1930) is a Norwegian film director."),
)


_STOP_WORDS = frozenset(("a", "and", "at", "by", "for", "in", "is", "it", "of", "on", "s", "the", "to", "was", "who"))


def content_words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - _STOP_WORDS


class WordRetriever:
    """Ranks the pages by the content words that they share with a query; earlier pages win ties."""

    def __init__(self, pages: Sequence[tuple[str, str]] = PAGES) -> None:
        self.passages = [Passage(text, title, None, str(at)) for at, (title, text) in enumerate(pages)]
        self.asked: list[str] = []

    def search(self, query: str, k: int = 3) -> tuple[Passage, ...]:
        self.asked.append(query)
        wanted = content_words(query)
        shared = [len(wanted & content_words(f"{page.title} {page.text}")) for page in self.passages]
        order = sorted(range(len(shared)), key=lambda at: -shared[at])
        return tuple(self.passages[at] for at in order[:k] if shared[at])
