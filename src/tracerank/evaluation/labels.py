"""Which rule says that an answer is right: declared per dataset, overridden by the user, never mixed up silently.

``given`` takes the labels of the file (a judge's verdicts, the environment's reward); ``em``, ``meaning`` and
``contains`` compare with the references. Containment is lenient and can be gamed by long answers, so it is never the
default.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tracerank.answers.equivalence import contains_match
from tracerank.answers.exact import exact_match, normalize_answer
from tracerank.answers.meaning.rightness import is_right
from tracerank.errors import UsageError
from tracerank.pools.pool import Pool

AUTO, GIVEN, EM, MEANING, CONTAINS = "auto", "given", "em", "meaning", "contains"
RULES = (AUTO, GIVEN, EM, MEANING, CONTAINS)
_MATCHES: Mapping[str, Callable[[str, str | None, Sequence[str]], float]] = MappingProxyType(
    {
        EM: lambda _, answer, references: exact_match(answer, references),
        MEANING: lambda question, answer, references: float(is_right(question, answer, references)),
        CONTAINS: lambda _, answer, references: contains_match(answer, references),
    }
)
"""How right an answer to a question is, given the references."""

DECLARED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("nq", "hotpotqa", "triviaqa", "popqa", "2wiki", "musique", "bamboogle"), EM),
        **dict.fromkeys(
            ("browsecomp", "browsecompplus", "frames", "gaia", "hle", "deepsearchqa", "healthbench"), GIVEN
        ),
    }
)
"""Dataset, as letters and digits, to rule (App. A.1): exact match for WebQA, saved judgments for long browsing."""
_OTHER_NAMES = {"2wikimultihopqa": "2wiki", "naturalquestions": "nq", "hotpot": "hotpotqa"}


def declared_rule(dataset: str | None) -> str | None:
    """The rule that a dataset is scored by; None: no dataset that we know."""
    bare = normalize_answer(dataset).replace(" ", "")
    return DECLARED.get(_OTHER_NAMES.get(bare, bare))


def labelled(pool: Pool, rule: str = AUTO) -> Pool:
    """The pool with labels by the rule; ``auto``: those of the file, and where it has none, the dataset's rule."""
    if rule not in RULES:
        raise UsageError(f"labels by {rule!r} are unknown; known are {', '.join(RULES)}")
    if rule == AUTO:
        if declared_rule(pool.question.dataset) != GIVEN:
            return pool  # reading has compared with the references where there was no label
        rule = GIVEN
    if rule == GIVEN:
        # Without references nothing can be compared: what has no label stays unjudged.
        return Pool(replace(pool.question, references=()), pool.rollouts)
    match, references = _MATCHES[rule], pool.question.references
    if not references:
        return Pool(pool.question, tuple(replace(rollout, label=None) for rollout in pool.rollouts))
    text = pool.question.text
    return Pool(
        pool.question,
        tuple(replace(rollout, label=match(text, rollout.answer, references)) for rollout in pool.rollouts),
    )
