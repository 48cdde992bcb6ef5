"""The features of a candidate by name, with what each means. Values are computed in the neighbouring modules.

A candidate is a *form*: an answer as it is written, with all rollouts that wrote it so. Nothing here names the agent,
the sample's place or the label. NaN means that the question does not arise, such as support without any evidence.
"""

from dataclasses import dataclass, field

from tracerank.answers.equivalence import DEFAULT

VERSION = 1
"""Raised whenever a value changes its meaning: a fitted selector is only valid for the version it was fitted on."""

POOL, GROUP, FORM = "pool", "group", "form"
"""Over what a feature is constant: the whole pool, the group of equal answers, the form."""
LIMIT = 32.0
"""How far from 0 any value may lie: logs of counts stay below it on any machine, all else that is real far below. A
list of numbers without a space has 1,700 commas a word, and odds made of that leave the range of floats."""
UP, DOWN = 1, -1
"""More of it may only raise, or only lower, the chance of being right, where a plan is monotone."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One number of a candidate."""

    name: str
    family: str
    """What an ablation leaves out together."""
    scope: str
    meaning: str
    direction: int = 0
    """In which it may speak in a monotone plan: ``UP``, ``DOWN``; 0: in either."""


Row = tuple[str, str, str] | tuple[str, str, str, int]
"""Name, scope, meaning, and the direction if there is but one."""


def _family(family: str, *rows: Row) -> tuple[Feature, ...]:
    return tuple(Feature(row[0], family, row[1], row[2], row[3] if len(row) > 3 else 0) for row in rows)


FEATURES: tuple[Feature, ...] = (
    *_family(
        "pool",
        ("log_voters", POOL, "log of the number of rollouts that answered"),
        ("abstained", POOL, "share of answered rollouts that abstained"),
        ("groups_per_voter", POOL, "number of groups over the number of voters"),
        ("with_evidence", POOL, "share of voters that saw any evidence"),
    ),
    *_family(
        "votes",
        ("log_votes", GROUP, "log of the group's votes", UP),
        ("vote_share", GROUP, "the group's votes over all votes", UP),
        ("vote_lead", GROUP, "vote share less that of the largest other group", UP),
        ("form_votes", FORM, "votes for exactly this form over all votes", UP),
        ("kin_votes", FORM, "share of votes for kin: forms of its group, with more words, fewer, or much alike", UP),
        ("kin_lead", FORM, "the same less the largest share of kin votes of a form that is no kin", UP),
        ("agreement", FORM, "mean token F1 with the answers of the other voters", UP),
        ("agreement_outside", FORM, "mean token F1 with the answers of other groups"),
    ),
    *_family(
        "support",
        ("own_found", FORM, "share of its rollouts with evidence whose evidence holds the answer", UP),
        ("own_last_found", FORM, "share of its rollouts whose last search returned the answer", UP),
        ("own_rank", FORM, "mean of one over the best rank at which its rollouts saw the answer", UP),
        ("own_texts", FORM, "log of one plus the mean number of own texts that hold the answer", UP),
        ("own_recall", FORM, "best share of the answer's words, by rarity, in one own text", UP),
        ("own_window", FORM, "best share of the question's words, by rarity, around the answer in own texts", UP),
        ("own_close", FORM, "the same for the few words next to it", UP),
        ("own_head", FORM, "the same for the head of the own texts that hold the answer", UP),
        ("own_mentions", FORM, "log of one plus the mean number of times that own texts name the answer", UP),
        ("in_head", FORM, "whether an own text opens with the answer, as titles do", UP),
        ("in_own_queries", FORM, "share of its rollouts that searched for the answer itself"),
    ),
    *_family(
        "cross_support",
        ("others_found", FORM, "share of rollouts outside the group with evidence whose evidence holds the answer", UP),
        ("others_recall", FORM, "best share of the answer's words, by rarity, in one text of rollouts outside", UP),
        ("others_window", FORM, "as own_window, in texts of rollouts outside the group", UP),
        ("kind_stated", FORM, "whether a text names the asked kind ('which city': city) by it; NaN: none asked", UP),
        ("texts_share", FORM, "share of the pool's distinct texts that hold the answer", UP),
        ("shared_found", FORM, "most rollouts that share a text which holds the answer, over those with evidence", UP),
        ("in_others_queries", FORM, "share of rollouts outside the group that searched for the answer"),
    ),
    *_family(
        "overlap",
        ("overlap_same", FORM, "mean Jaccard overlap of its texts with those of rollouts of its group"),
        ("overlap_others", FORM, "mean Jaccard overlap of its texts with those of rollouts outside its group"),
        ("text_popularity", FORM, "mean share of the other rollouts that saw the texts which its rollouts saw"),
        ("question_recall", FORM, "best share of the question's words, by rarity, in one own text, mean over rollouts"),
    ),
    *_family(
        "effort",
        ("searches", FORM, "log of one plus the mean number of searches"),
        ("searches_relative", FORM, "the same less the pool's mean"),
        ("repeated_queries", FORM, "share of searches that repeat an earlier one"),
        ("failed_searches", FORM, "share of searches that returned nothing"),
        ("evidence", FORM, "log of one plus the mean number of distinct texts seen"),
        ("evidence_relative", FORM, "the same less the pool's mean"),
        ("unread", FORM, "share of its rollouts that saw no evidence"),
    ),
    *_family(
        "confidence",
        ("confidence", FORM, "mean confidence that its rollouts state", UP),
        ("confidence_relative", FORM, "the same less the mean of all voters who state one", UP),
        ("confidence_share", GROUP, "the group's part of all stated confidence", UP),
    ),
    *_family(
        "shape",
        ("words", FORM, "log of the number of words"),
        ("words_relative", FORM, "the same less the median over voters"),
        ("fits_kind", FORM, "1 when the answer is of the kind that is asked for, -1 when it is not, 0 unknown", UP),
        ("misfit", FORM, "whether it is clearly not of the kind that is asked for", DOWN),
        ("kind_chance", FORM, "log chance of an answer of its kind, given the wording of the question"),
        ("kind_lift", FORM, "the same less the log chance without a question"),
        ("is_polar", FORM, "whether it is yes or no"),
        ("is_option", FORM, "whether it is one of the options of an either-or question; NaN: there are none"),
        ("repeats_question", FORM, "share of its content words that stand in the question; NaN for options and yes/no"),
        ("has_digit", FORM, "whether it has a digit"),
        ("capitals", FORM, "share of its words that begin with a capital"),
        ("is_sentence", FORM, "whether it reads as a sentence: verbs among more than six words, or several lines"),
        ("signs", FORM, "commas, brackets, slashes and semicolons per word"),
    ),
    *_family(
        "form",
        ("kin_forms", FORM, "log of the number of kin forms, itself among them"),
        ("form_share", FORM, "votes for this form over those of its kin"),
        ("group_share", FORM, "votes of its group over those of its kin"),
        ("is_shortest", FORM, "whether no kin has fewer words"),
        ("is_longest", FORM, "whether no kin has more words"),
        ("length_in_kin", FORM, "log of its words less the mean over the votes of its kin"),
        ("centrality", FORM, "mean token F1 with the other votes of its kin"),
        ("subset_of", FORM, "share of votes for other forms that have all its words"),
        ("superset_of", FORM, "share of votes for other forms whose words it has all"),
        ("contained_in", FORM, "share of votes for other forms that contain this one"),
        ("contains", FORM, "share of votes for other forms that lie in this one"),
        ("contains_strictly", FORM, "share of the other kin votes whose form lies in this one"),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """The columns of one kind of table, and what its rows are told apart by."""

    version: int
    equality: str
    """Level at which answers count as one."""
    features: tuple[Feature, ...]
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(feature.name for feature in self.features))


FORM_FEATURES = FeatureSet(VERSION, DEFAULT, FEATURES)
NAMES = FORM_FEATURES.names
FAMILY_OF = {feature.name: feature.family for feature in FEATURES}
FAMILY_MEANINGS = {
    "pool": "what the whole pool is like",
    "votes": "how many rollouts agree",
    "support": "how its own evidence holds the answer",
    "cross_support": "how the evidence of other rollouts holds it",
    "overlap": "how much its rollouts read what others read",
    "effort": "how much its rollouts searched",
    "confidence": "how sure its rollouts say they are",
    "shape": "how well it looks like what was asked for",
    "form": "how it is written beside similar answers",
}
FAMILIES = tuple(dict.fromkeys(feature.family for feature in FEATURES))
