"""The words of the generated world: invented names, relations, and the templates of passages and queries.

Every text is our own. Holds no error model: which passage an agent meets and believes is decided in ``world.py``.
"""

from dataclasses import dataclass
from random import Random

_ONSETS = ("b", "br", "d", "dr", "f", "g", "h", "k", "kl", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "z")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "eo")
_ENDINGS = ("l", "n", "r", "s", "th", "nd", "sk", "")


def invented_name(rng: Random, syllables: int = 2) -> str:
    """A pronounceable name that belongs to nobody we know of."""
    body = "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(syllables))
    return (body + rng.choice(_ENDINGS)).capitalize()


def invented_answer(rng: Random, kind: str) -> str:
    """A random answer of the given kind: ``person``, ``town``, ``river`` or ``year``."""
    match kind:
        case "person":
            return f"{invented_name(rng)} {invented_name(rng)}"
        case "town":
            return invented_name(rng, syllables=3)
        case "river":
            return f"{invented_name(rng)} River"
        case "year":
            return str(rng.randint(1650, 1990))
    raise ValueError(f"unknown kind of answer {kind!r}")


def distinct_answers(rng: Random, kind: str, count: int) -> list[str]:
    """Different answers of one kind."""
    found: dict[str, None] = {}
    while len(found) < count:
        found[invented_answer(rng, kind)] = None
    return list(found)


@dataclass(frozen=True, slots=True)
class Relation:
    """One kind of one-hop fact."""

    subject: str
    """Takes ``{name}``."""
    kind: str
    """Kind of the answer."""
    ask: str
    """The question; takes ``{subject}`` and ``{district}``."""
    fact: str
    """A clause that states the fact; takes ``{subject}`` and ``{answer}``."""
    topic: str
    """What a search query says it looks for."""


RELATIONS = (
    Relation(
        "{name} Province",
        "town",
        "What is the capital of {subject} in {district}?",
        "the capital of {subject} is {answer}",
        "capital",
    ),
    Relation(
        "{name} Institute",
        "person",
        "Who founded {subject} in {district}?",
        "{subject} was founded by {answer}",
        "founder",
    ),
    Relation(
        "{name} Chronicle",
        "person",
        "Who wrote the {subject} of {district}?",
        "the author of the {subject} is {answer}",
        "author",
    ),
    Relation(
        "{name} Bridge",
        "year",
        "In which year did {subject} in {district} open?",
        "{subject} opened in {answer}",
        "opening year",
    ),
    Relation(
        "{name} Valley",
        "river",
        "Which river flows through {subject} in {district}?",
        "the river in {subject} is the {answer}",
        "river",
    ),
    Relation(
        "{name} Guild",
        "person",
        "Who succeeded the first master of {subject} in {district}?",
        "the first master of {subject} was succeeded by {answer}",
        "successor of the first master",
    ),
    Relation(
        "{name} Tower",
        "person",
        "Who was the architect of {subject} in {district}?",
        "the architect of {subject} was {answer}",
        "architect",
    ),
    Relation(
        "{name} Railway",
        "town",
        "In which town does {subject} of {district} end?",
        "{subject} ends in {answer}",
        "terminus",
    ),
)

# Title and body of a passage. They take {subject}, {district} (of the question), {other} (another district),
# {year} and, where they state something, {fact}.
Template = tuple[str, str]

# What a supporting passage says of itself is the same over all questions: that is what a selector can learn.
REGISTER_PASSAGES: tuple[Template, ...] = (
    (
        "{subject} ({district})",
        "{subject} stands in the official register of {district}. The current entry confirms that {fact}.",
    ),
    (
        "Register of {district}",
        "The official register of {district} was checked this year. On {subject} in {district} it says that {fact}.",
    ),
    (
        "{district} Gazette",
        "Current records confirm that {fact}. The archive of {district} has verified the entry on {subject}.",
    ),
    (
        "Survey of {district}",
        "The latest survey of {district} visited {subject}. According to the official register {fact}.",
    ),
)
# The same wording for right and wrong facts: only what else was found tells them apart.
PLAIN_PASSAGES: tuple[Template, ...] = (
    ("{subject}", "{subject} is known to every visitor. Guides mention that {fact}."),
    ("About {subject}", "Much has been written about {subject}. Most readers remember that {fact}."),
)
MISLEADING_PASSAGES: tuple[Template, ...] = (
    (
        "{subject} ({other})",
        "This is about a different {subject}, the one in {other}. Of this namesake it is said that {fact}.",
    ),
    (
        "Old guide to {district}",
        "Formerly {fact}, or so an outdated guide of {year} has it. The page was never revised.",
    ),
    ("Tales of {district}", "Some travellers claim that {fact}, but others dispute it. No source is named."),
    (
        "{subject} (disambiguation)",
        "Several places are called {subject}. Of a different one, in {other}, it was once reported that {fact}.",
    ),
    ("{district} before {year}", "Until {year} it was true that {fact}. This no longer holds."),
    ("Letters from {other}", "A letter of {year} from {other} supposes that {fact}. It mixes up two namesakes."),
)
FILLER_PASSAGES: tuple[Template, ...] = (
    ("{subject}", "{subject} in {district} draws many visitors in summer. A footpath leads there from the market."),
    ("{district}", "{district} is a quiet district of farms and orchards. Its market is held on the first day of May."),
    (
        "Roads of {district}",
        "The road from {district} to {other} was paved in {year}. It passes {subject} on the left.",
    ),
    ("{other}", "{other} lies beyond the hills of {district}. Its mills closed in {year}."),
    (
        "Festivals of {district}",
        "Every autumn {district} holds a lantern festival. The procession ends near {subject}.",
    ),
    ("Weather in {other}", "Winters in {other} are mild and wet. Snow fell last in {year}."),
    ("Cooking in {district}", "The plum cake of {district} is baked with rye. Each house keeps its own recipe."),
)

# Search queries; they take {subject}, {topic} and, the full ones, {district}.
FULL_QUERIES = (
    "{subject} {district} {topic}",
    "{topic} of {subject} in {district}",
    "{district} register {subject}",
    "{subject} in {district}",
    "official {topic} {subject} {district}",
)
SHORT_QUERIES = ("{subject} {topic}", "{topic} {subject}", "{subject}", "who or what is the {topic} of {subject}")
