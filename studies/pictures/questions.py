"""Questions with rollouts to show: a storm and a bridge, and others beside it in the list."""

from collections.abc import Mapping, Sequence

from tracerank.pools.pool import Pool
from tracerank.pools.types import Document, Evidence, Question, Rollout, Search

Answered = tuple[str, Sequence[tuple[str, str]]]
"""An answer, and what was searched for it: a query and the names of the pages that were found, with spaces between."""

PAGES: Mapping[str, tuple[str, str, str]] = {
    "tay": (
        "Tay Bridge",
        "https://en.wikipedia.org/wiki/Tay_Bridge",
        "The second bridge over the Firth of Tay stands a few metres upstream of the stumps of the first. It was "
        "designed by William Henry Barlow, its chief engineer, with his son Crawford Barlow, and built by William "
        "Arrol & Co. It was opened on 13 July 1887.",
    ),
    "disaster": (
        "Tay Bridge disaster",
        "https://en.wikipedia.org/wiki/Tay_Bridge_disaster",
        "On 28 December 1879, in a storm, the high girders of the first Tay Bridge fell while a train crossed it. The "
        "bridge had been designed by Sir Thomas Bouch, who was held to blame.",
    ),
    "bouch": (
        "Thomas Bouch",
        "https://en.wikipedia.org/wiki/Thomas_Bouch",
        "Sir Thomas Bouch was the engineer of the first Tay Bridge, opened in 1878. After its fall his plans for a "
        "bridge over the Forth were put aside.",
    ),
    "barlow": (
        "William Henry Barlow",
        "https://en.wikipedia.org/wiki/William_Henry_Barlow",
        "William Henry Barlow sat on the inquiry into bridge winds after 1879 and was then chief engineer of the new "
        "bridge that replaced the fallen one over the Tay; his son Crawford assisted him.",
    ),
    "arrol": (
        "Sir William Arrol & Co.",
        "https://en.wikipedia.org/wiki/Sir_William_Arrol_%26_Co.",
        "The Glasgow firm of William Arrol was the contractor of the second Tay Bridge and of the Forth Bridge.",
    ),
    "forth": (
        "Forth Bridge",
        "https://en.wikipedia.org/wiki/Forth_Bridge",
        "The Forth Bridge was designed by Sir John Fowler and Benjamin Baker, after Bouch's design had been dropped.",
    ),
    "eclipse": (
        "Solar eclipse of August 18, 1868",
        "https://en.wikipedia.org/wiki/Solar_eclipse_of_August_18,_1868",
        "From Guntur, Pierre Janssen saw a bright yellow line in the spectrum of the prominences.",
    ),
    "helium": (
        "Helium",
        "https://en.wikipedia.org/wiki/Helium",
        "Norman Lockyer and the chemist Edward Frankland named the element behind the yellow line helium.",
    ),
    "lockyer": (
        "Norman Lockyer",
        "https://en.wikipedia.org/wiki/Norman_Lockyer",
        "Lockyer, who founded the journal Nature, saw the D3 line from London in October 1868.",
    ),
    "challenger": (
        "Challenger Deep",
        "https://en.wikipedia.org/wiki/Challenger_Deep",
        "The bathyscaphe Trieste reached the bottom on 23 January 1960 with Jacques Piccard and Don Walsh.",
    ),
    "trieste": (
        "Trieste (bathyscaphe)",
        "https://en.wikipedia.org/wiki/Trieste_(bathyscaphe)",
        "Designed by Auguste Piccard. His son Jacques Piccard and Lieutenant Don Walsh dived in it in 1960.",
    ),
    "everest": (
        "Mount Everest",
        "https://en.wikipedia.org/wiki/Mount_Everest",
        "In 1865 the Royal Geographical Society named Peak XV after George Everest, Surveyor General of India before "
        "Andrew Waugh.",
    ),
    "ada": (
        "Note G",
        "https://en.wikipedia.org/wiki/Note_G",
        "Note G, published by Ada Lovelace in 1843, tells how the Analytical Engine would compute Bernoulli numbers.",
    ),
    "kon-tiki": (
        "Kon-Tiki expedition",
        "https://en.wikipedia.org/wiki/Kon-Tiki_expedition",
        "The raft left Callao on 28 April 1947 and after 101 days struck a reef at Raroia in the Tuamotus.",
    ),
    "bloomsday": (
        "Bloomsday",
        "https://en.wikipedia.org/wiki/Bloomsday",
        "Ulysses takes place on 16 June 1904, the day of Joyce's first outing with Nora Barnacle.",
    ),
    "heapq": (
        "heapq",
        "https://docs.python.org/3/library/heapq.html",
        "heapq.nlargest(n, iterable, key=None) returns a list with the n largest elements.",
    ),
    "counter": (
        "collections.Counter",
        "https://docs.python.org/3/library/collections.html",
        "most_common(n) returns the n most common elements and their counts.",
    ),
}

BRIDGE: Sequence[Answered] = (
    (
        "Thomas Bouch",
        [("bridge that fell in a storm 28 December 1879", "disaster bouch"), ("Tay Bridge engineer", "bouch forth")],
    ),
    (
        "William Henry Barlow",
        [
            ("28 December 1879 storm bridge fell", "disaster"),
            ("second Tay Bridge chief engineer", "tay barlow"),
            ("William Henry Barlow Tay Bridge", "barlow"),
        ],
    ),
    ("Thomas Bouch", [("Tay Bridge disaster engineer", "disaster bouch")]),
    (
        "The chief engineer was William Henry Barlow, with his son Crawford.",
        [
            ("bridge collapsed 1879 storm replacement", "disaster tay"),
            ("who designed the second Tay Bridge", "tay arrol"),
        ],
    ),
    ("William Arrol", [("second Tay Bridge built by", "arrol tay"), ("William Arrol Forth Bridge", "arrol forth")]),
    ("Thomas Bouch", [("engineer Tay Bridge 1879", "bouch disaster")]),
    (
        "William Henry Barlow",
        [("Tay Bridge replacement 1887", "tay"), ("Barlow engineer Tay", "barlow tay")],
    ),
    ("Benjamin Baker", [("engineer new bridge after Bouch", "forth")]),
)

NLARGEST = '''import heapq
from collections import Counter

def top_words(text, n):
    """The n commonest words."""
    counts = Counter(text.lower().split())
    return heapq.nlargest(n, counts, key=counts.get)'''
MOST_COMMON = """from collections import Counter

def top_words(text, n):
    counts = Counter(text.lower().split())
    return [word for word, _ in counts.most_common(n)]"""

QUESTIONS: Sequence[tuple[str, str, Sequence[Answered]]] = (
    (
        "Who was the chief engineer of the bridge that replaced the one that fell in a storm on 28 December 1879?",
        "William Henry Barlow",
        BRIDGE,
    ),
    (
        "Which element was first seen as a yellow line in sunlight, before anybody found it on Earth?",
        "helium",
        (
            ("Helium", [("yellow line 1868 eclipse element", "eclipse helium")]),
            ("It is helium.", [("D3 line element named by Lockyer", "lockyer helium")]),
            ("Sodium", [("yellow spectral line sun element", "eclipse")]),
            ("helium", [("element discovered in the sun", "helium lockyer")]),
        ),
    ),
    (
        "Who dived with Jacques Piccard to the bottom of the Challenger Deep in 1960?",
        "Don Walsh",
        (
            ("Lieutenant Don Walsh", [("Trieste 1960 dive crew", "trieste challenger")]),
            ("Auguste Piccard", [("Trieste bathyscaphe Piccard", "trieste")]),
            ("Don Walsh", [("Challenger Deep first descent", "challenger")]),
            ("Don Walsh (US Navy)", [("Jacques Piccard 1960", "challenger trieste")]),
        ),
    ),
    (
        "Write a Python function that returns the n commonest words of a text, the commonest first.",
        "",
        (
            (NLARGEST, [("python n largest by count", "heapq counter")]),
            (MOST_COMMON, [("python most common words", "counter")]),
            (MOST_COMMON.replace("text.lower()", "text"), [("Counter most_common", "counter")]),
        ),
    ),
    (
        "Who was Surveyor General of India before the man who named the world's highest mountain?",
        "George Everest",
        (
            ("George Everest", [("Peak XV named by", "everest")]),
            ("Andrew Waugh", [("who named Mount Everest", "everest")]),
            ("Sir George Everest", [("Surveyor General of India before Waugh", "everest")]),
        ),
    ),
    (
        "Which numbers does the program in Ada Lovelace's Note G compute?",
        "Bernoulli numbers",
        (
            ("Bernoulli numbers", [("Note G Analytical Engine", "ada")]),
            ("It computes the Bernoulli numbers.", [("Ada Lovelace program", "ada")]),
            ("Fibonacci numbers", [("first computer program", "ada")]),
        ),
    ),
    (
        "On which atoll did the raft of the Kon-Tiki expedition land?",
        "Raroia",
        (
            ("Raroia", [("Kon-Tiki reef", "kon-tiki")]),
            ("Raroia, in the Tuamotus", [("Kon-Tiki landing atoll", "kon-tiki")]),
            ("Rapa Nui", [("Heyerdahl island", "kon-tiki")]),
            ("The raft struck the reef of Raroia.", [("where did the Kon-Tiki land", "kon-tiki")]),
        ),
    ),
    (
        "On which day does the novel Ulysses take place?",
        "16 June 1904",
        (
            ("16 June 1904", [("Ulysses day Bloomsday", "bloomsday")]),
            ("June 16, 1904", [("Bloomsday", "bloomsday")]),
            ("2 February 1922", [("Ulysses Joyce date", "bloomsday")]),
            ("Thursday, 16 June 1904", [("when is Ulysses set", "bloomsday")]),
        ),
    ),
)


def shown_pools() -> list[Pool]:
    """The questions as pools, without labels: references are read by meaning."""
    return [
        Pool(
            Question(f"q{number}", text, (reference,) if reference else ()),
            tuple(_rollout(sample, *given) for sample, given in enumerate(rollouts)),
        )
        for number, (text, reference, rollouts) in enumerate(QUESTIONS, start=1)
    ]


def _rollout(sample: int, answer: str, searches: Sequence[tuple[str, str]]) -> Rollout:
    made = tuple(
        Search(query, tuple(_evidence(name, rank) for rank, name in enumerate(names.split(), start=1)))
        for query, names in searches
    )
    return Rollout(sample, answer, made)


def _evidence(name: str, rank: int) -> Evidence:
    title, url, text = PAGES[name]
    return Evidence(text, title, url, rank=rank, document=Document(url, url=url))
