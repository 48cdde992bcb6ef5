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


# fmt: off
BASE, SFT, RL = (
    # name, searches, no search, no answer, word, name, again, bridge, answer, top-p, noise, skips
    Preset("base", (0.20, 0.35, 0.28, 0.17), 0.06, 0.120, 0.25, 0.30, 0.15, 0.80, 0.8, 0.8, 0.70, 0.12),
    Preset("sft",  (0.12, 0.45, 0.30, 0.13), 0.00, 0.025, 0.15, 0.20, 0.12, 0.50, 0.6, 0.8, 0.45, 0.06),
    Preset("rl",   (0.05, 0.50, 0.35, 0.10), 0.00, 0.005, 0.03, 0.04, 0.05, 0.12, 0.2, 0.9, 0.12, 0.00),
)
# fmt: on
PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in (BASE, SFT, RL)})
