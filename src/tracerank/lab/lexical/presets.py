"""How careful a lexical agent is: ``base`` guesses and wanders, ``sft`` is steadier, ``rl`` hardly varies."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Preset:
    """The probabilities behind one policy; all between 0 and 1 unless said otherwise."""

    name: str
    searches: tuple[float, float, float, float]
    """Shares of rollouts with 1, 2, 3 and 4 searches."""
    no_search: float
    """Share of rollouts that answer at once; WebQA never retains them (App. A.1)."""
    no_answer: float
    """Share of the other rollouts that end without an answer."""
    drops_word: float
    """Probability that a query leaves a word of the question out."""
    starts_with_name: float
    """Probability that the first query is about one name instead of the whole question."""
    asks_again: float
    """Probability that a later query words the question anew instead of following a name that was read."""
    bridge_temperature: float
    """Above 0; how freely the name to follow is drawn."""
    temperature: float
    """Above 0; how freely the answer is drawn."""
    top_p: float
    """Answers beyond this cumulative probability are never drawn."""
    passage_noise: float
    """Standard deviation of the scorer's trust in a passage, in logits."""
    skips_passage: float
    """Probability that a passage is overlooked when the answer is drawn."""


BASE = Preset(
    name="base",
    searches=(0.20, 0.35, 0.28, 0.17),
    no_search=0.06,
    no_answer=0.12,
    drops_word=0.25,
    starts_with_name=0.3,
    asks_again=0.15,
    bridge_temperature=0.8,
    temperature=0.8,
    top_p=0.8,
    passage_noise=0.7,
    skips_passage=0.12,
)
SFT = Preset(
    name="sft",
    searches=(0.12, 0.45, 0.30, 0.13),
    no_search=0.0,
    no_answer=0.025,
    drops_word=0.15,
    starts_with_name=0.2,
    asks_again=0.12,
    bridge_temperature=0.5,
    temperature=0.6,
    top_p=0.8,
    passage_noise=0.45,
    skips_passage=0.06,
)
RL = Preset(
    name="rl",
    searches=(0.05, 0.50, 0.35, 0.10),
    no_search=0.0,
    no_answer=0.005,
    drops_word=0.03,
    starts_with_name=0.04,
    asks_again=0.05,
    bridge_temperature=0.12,
    temperature=0.2,
    top_p=0.9,
    passage_noise=0.12,
    skips_passage=0.0,
)

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in (BASE, SFT, RL)})
