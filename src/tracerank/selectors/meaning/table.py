"""What is counted of a meaning, by name. A row is a group of answers that mean the same, however they are written.

Votes are counted; everything else is the best that *any* wording, rollout or text of the meaning shows. So a further
vote that brings no new text moves the votes alone, and a further text that holds the answer can only help: in a
monotone plan (``LinearPlan.is_monotone``) neither ever lowers the meaning's chance. Words weigh the same in every pool,
since weights by rarity would move with each text.
"""

from tracerank.selectors.features.support import OWN_CHAINS
from tracerank.selectors.features.table import DOWN, GROUP, UP, Feature, FeatureSet

MEANING = "meaning"
VERSION = 1
"""Raised whenever a value changes its meaning: a fitted selector is only valid for the version it was fitted on."""
VOTES, SUPPORT, CROSS, CHAINS, SEARCHED, FIT = "votes", "support", "cross_support", "chains", "searched", "fit"

_ROWS: dict[str, tuple[tuple[str, str, int], ...]] = {
    VOTES: (
        ("log_votes", "log of its votes", UP),
        ("vote_share", "its votes over all votes", UP),
        ("vote_lead", "its share less that of the largest other meaning", UP),
    ),
    SUPPORT: (
        ("found", "whether a text of its rollouts holds the answer", UP),
        ("last_found", "whether the last search of one of them returned it", UP),
        ("best_rank", "one over the best rank at which one of them saw it", UP),
        ("texts", "log of one plus the number of own texts that hold it", UP),
        ("mentions", "log of one plus the number of times that they name it", UP),
        ("recall", "best share of the answer's words in one own text", UP),
        ("window", "best share of the question's words around the answer in own texts", UP),
        ("close", "the same for the few words next to it", UP),
        ("head", "the same for the head of the own texts that hold it", UP),
        ("in_head", "whether an own text opens with the answer, as titles do", UP),
        ("question_recall", "best share of the question's words in one own text", UP),
    ),
    CROSS: (
        ("others_found", "whether a text of rollouts with other answers holds it", UP),
        ("others_recall", "as recall, in texts of rollouts with other answers", UP),
        ("others_window", "as window, in those texts", UP),
        ("others_close", "as close, in those texts", UP),
        ("all_texts", "log of one plus the number of texts of the pool that hold it", UP),
        ("kind_stated", "whether a text names the asked kind ('which city': city) by it", UP),
    ),
    CHAINS: (
        (OWN_CHAINS[0], "best share, around the answer, of the words of an own query that the question lacks", UP),
        (OWN_CHAINS[1], "best share of an own query's words there", UP),
        (OWN_CHAINS[2], "best share of the question's words there, or in an own text that holds the first words", UP),
    ),
    SEARCHED: (
        ("searched_by_others", "whether rollouts with other answers searched for it, as for a step on their way", 0),
    ),
    FIT: (
        ("fits_kind", "1 when a wording is of the kind that is asked for, -1 when none can be, 0 unknown", UP),
        ("misfit", "whether every wording is clearly not of the kind that is asked for", DOWN),
        ("kind_chance", "best log chance of an answer of its kind, given the wording of the question", UP),
        ("kind_lift", "the same less the log chance without a question", UP),
        ("is_polar", "whether it is yes or no", 0),
        ("is_option", "whether it is one of the options of an either-or question", 0),
        ("repeats_question", "least share of its content words that stand in the question", DOWN),
    ),
}

MEANING_FEATURES = FeatureSet(
    VERSION,
    MEANING,
    tuple(Feature(row[0], family, GROUP, row[1], row[2]) for family, rows in _ROWS.items() for row in rows),
)
FAMILY_OF = {feature.name: feature.family for feature in MEANING_FEATURES.features}
FAMILY_MEANINGS = {
    VOTES: "how many rollouts agree in meaning",
    SUPPORT: "how the evidence of its own rollouts holds the answer",
    CROSS: "how the evidence of other rollouts holds it",
    CHAINS: "how it follows from what its rollouts searched for",
    SEARCHED: "whether others took it for a step on the way",
    FIT: "how well it is what was asked for",
}
