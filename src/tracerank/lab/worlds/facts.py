"""What can be true in the world: invented names, kinds of entities and the typed relations between them, with wording.

Holds no particular fact. All names are invented and every text is our own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

_ONSETS = (
    *("b", "br", "d", "dr", "f", "g", "gl", "h", "k", "kl", "l"),
    *("m", "n", "p", "pr", "r", "s", "st", "t", "tr", "v", "z"),
)
_VOWELS = ("a", "e", "i", "o", "u", "ai", "eo", "ou")
_ENDINGS = ("", "l", "n", "r", "s", "th", "nd", "sk", "m")
_SYLLABLES = tuple(onset + vowel for onset in _ONSETS for vowel in _VOWELS)


def invented_name(rng: Random, syllables: int = 2) -> str:
    """A pronounceable word with a capital letter."""
    pick, count = rng.random, len(_SYLLABLES)
    body = "".join([_SYLLABLES[int(pick() * count)] for _ in range(syllables)])
    return (body + _ENDINGS[int(pick() * len(_ENDINGS))]).capitalize()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entity."""

    nouns: tuple[str, ...]
    """What an entity of this kind is called, with its article."""
    form: str
    """The name; takes ``{a}`` and ``{b}``, two invented words."""
    syllables: int = 2
    place_word: str = "in"
    """Stands between the name and the district in a question."""

    def name(self, rng: Random) -> str:
        return self.form.format(a=invented_name(rng, self.syllables), b=invented_name(rng))


INSTITUTE = Kind(("an institute", "a school"), "{a} Institute")
COMPANY = Kind(("a company", "a workshop"), "{a} Works")
CHRONICLE = Kind(("a chronicle", "a book"), "{a} Chronicle", place_word="of")
BRIDGE = Kind(("a bridge", "a stone bridge"), "{a} Bridge")
OPERA = Kind(("an opera", "a stage work"), "{a} Cycle", place_word="of")
PERSON = Kind(("a painter", "a botanist", "an engineer", "a printer", "a surveyor"), "{a} {b}", place_word="of")
TOWN = Kind(("a town", "a market town"), "{a}", syllables=3)
RIVER = Kind(("a river", "a slow river"), "{a} River")
YEAR = Kind(("a year",), "")
SHIP = Kind(("a ship", "a barque"), "{a} Star", place_word="of")
GARDEN = Kind(("a garden", "a park"), "{a} Garden")
ALLOY = Kind(("an alloy", "a metal"), "{a} Bronze", place_word="of")

FIRST_YEAR, LAST_YEAR = 1650, 1990


def invented_value(rng: Random, kind: Kind) -> str:
    """A value of the kind that states nothing true."""
    return str(rng.randint(FIRST_YEAR, LAST_YEAR)) if kind is YEAR else kind.name(rng)


@dataclass(frozen=True, slots=True)
class Relation:
    """One type of fact: subject of one kind, value of another."""

    topic: str
    """What a search query says it looks for."""
    of: Kind
    to: Kind
    ask: str
    """The question; takes ``{x}``, the subject."""
    phrase: str
    """The value in words; takes ``{x}``, so that hops nest."""
    says: tuple[str, ...]
    """Sentences that state the fact; take ``{x}`` and ``{v}``."""


def _made_by(topic: str, of: Kind, verb: str) -> Relation:
    says = (f"{{x}} was {verb} by {{v}}.", f"The {topic} of {{x}} is known to be {{v}}.")
    return Relation(topic, of, PERSON, f"Who was the {topic} of {{x}}?", f"the {topic} of {{x}}", says)


def _relation(topic: str, of: Kind, to: Kind, ask: str, phrase: str, *says: str) -> Relation:
    return Relation(topic, of, to, ask, phrase, says)


# fmt: off
RELATIONS: tuple[Relation, ...] = (
    _made_by("founder", INSTITUTE, "founded"),
    _made_by("founder", COMPANY, "founded"),
    _made_by("director", INSTITUTE, "directed"),
    _made_by("owner", COMPANY, "owned"),
    _made_by("author", CHRONICLE, "written"),
    _made_by("translator", CHRONICLE, "translated"),
    _made_by("architect", BRIDGE, "designed"),
    _made_by("composer", OPERA, "composed"),
    _made_by("patron", OPERA, "paid for"),
    _relation("seat", COMPANY, TOWN, "In which town does {x} have its seat?", "the seat of {x}",
              "{x} has its seat in {v}.", "The seat of {x} is in {v}."),
    _relation("first performance", OPERA, TOWN,
              "In which town was {x} first performed?", "the town of the first performance of {x}",
              "{x} was first performed in {v}.", "The first performance of {x} was given in {v}."),
    _relation("river", BRIDGE, RIVER, "Which river does {x} cross?", "the river under {x}",
              "{x} crosses the {v}.", "The {v} flows under {x}."),
    _relation("birthplace", PERSON, TOWN, "In which town was {x} born?", "the birthplace of {x}",
              "{x} was born in {v}.", "The birthplace of {x} is {v}."),
    _relation("teacher", PERSON, PERSON, "Who taught {x}?", "the teacher of {x}",
              "{x} was a pupil of {v}.", "The teacher of {x} was {v}."),
    _relation("spouse", PERSON, PERSON, "Who was married to {x}?", "the spouse of {x}",
              "{x} was married to {v}.", "The spouse of {x} was {v}."),
    _relation("mayor", TOWN, PERSON, "Who is the mayor of {x}?", "the mayor of {x}",
              "The mayor of {x} is {v}.", "{x} has {v} for its mayor."),
    _relation("river", TOWN, RIVER, "On which river does {x} lie?", "the river of {x}",
              "{x} lies on the {v}.", "The river that runs through {x} is the {v}."),
    _relation("mouth", RIVER, TOWN, "In which town does {x} reach the sea?", "the town at the mouth of {x}",
              "{x} reaches the sea in {v}.", "The mouth of {x} is in {v}."),
    _relation("pilot", RIVER, PERSON, "Who first mapped {x}?", "the first to map {x}",
              "{x} was first mapped by {v}.", "The first map of {x} was drawn by {v}."),
    _made_by("captain", SHIP, "commanded"),
    _made_by("builder", SHIP, "built"),
    _relation("home port", SHIP, TOWN, "In which port was {x} at home?", "the home port of {x}",
              "The home port of {x} was {v}.", "{x} sailed from {v}."),
    _made_by("gardener", GARDEN, "laid out"),
    _relation("stream", GARDEN, RIVER, "Which stream feeds the ponds of {x}?", "the stream of {x}",
              "The ponds of {x} are fed by the {v}.", "Water comes to {x} from the {v}."),
    _made_by("inventor", ALLOY, "invented"),
    _relation("mine", ALLOY, TOWN, "In which town was the ore of {x} dug?", "the town of the ore of {x}",
              "The ore of {x} was dug in {v}.", "{x} was made from ore of {v}."),
)
# fmt: on

ROOT_KINDS = (INSTITUTE, COMPANY, CHRONICLE, BRIDGE, OPERA)
"""Kinds of which a question may name the entity it starts from."""
OTHER_ROOT_KINDS = (SHIP, GARDEN, ALLOY)
"""The same in a world of other facts, to see whether what was learned carries over."""

BY_KIND: Mapping[Kind, tuple[Relation, ...]] = MappingProxyType(
    {
        kind: tuple(relation for relation in RELATIONS if relation.of is kind)
        for kind in (*ROOT_KINDS, *OTHER_ROOT_KINDS, PERSON, TOWN, RIVER)
    }
)

_DATED = ("{x} dates from {v}.", "{x} was begun in {v}.")
AGES: Mapping[Kind, Relation] = MappingProxyType(
    {
        kind: Relation("year", kind, YEAR, "In which year was {x} begun?", "the year of {x}", _DATED)
        for kind in (*ROOT_KINDS, *OTHER_ROOT_KINDS)
    }
)
"""What comparisons compare."""

COMPARISONS = ("Which is older, {x} or {y}?", "Which was begun first, {x} or {y}?")
