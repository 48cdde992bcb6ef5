"""One question as the page shows it: a JSON object with everything in it, and its line in the list of questions.

Each distinct text and document is held once and pointed to by number. Knows nothing of HTML.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tracerank.answers.equivalence import NO_GROUP
from tracerank.answers.meaning.grouping import answer_core, group_by_meaning, same_answer
from tracerank.evaluation.evaluate import judge
from tracerank.evaluation.labels import Labelling, labelled
from tracerank.evidence.gaps import gaps
from tracerank.pools.correctness import is_judged
from tracerank.pools.pool import Pool
from tracerank.pools.types import RETENTION_RULES, Evidence, Rollout
from tracerank.reports.comparison import Comparison, compare_reports
from tracerank.reports.deciding import has_long_answers, is_long
from tracerank.viewer.report_data import report_data
from tracerank.votes.base import Decision, Method
from tracerank.votes.explanation import ATTENTION, ExplainedEvidence, ExplainedRollout, Explanation, explain
from tracerank.votes.missing import UNSURE
from tracerank.votes.voting import MajorityVote

LISTED_CHARACTERS = 240
"""Of a question or an answer in the list, which holds thousands; the whole text comes with the question."""

BRIEF = 8
"""Words of an answer that is shown as it is; of a longer one, what it comes down to stands first."""

CALIBRATED, SCORE_SHARE, AGREEMENT = "confidence", "score share", "agreement"
"""What the figure beside an answer is: a calibrated estimate, the answer's part of all scores, or of all votes."""


@dataclass(slots=True)
class _Shared:
    """Numbers distinct texts and documents in the order in which they are met."""

    texts: dict[str, int] = field(default_factory=dict)
    documents: dict[str, int] = field(default_factory=dict)
    urls: list[str | None] = field(default_factory=list)

    def text(self, evidence: Evidence) -> int:
        return self.texts.setdefault(evidence.text, len(self.texts))

    def document(self, evidence: Evidence) -> int | None:
        found = evidence.document
        if found is None:
            return None
        if found.key not in self.documents:
            self.documents[found.key] = len(self.documents)
            self.urls.append(found.url or evidence.url)
        return self.documents[found.key]


def question_data(
    pool: Pool, explanation: Explanation, vote: Method | None = None, is_fitted: bool = False
) -> dict[str, Any]:
    """Everything that the page shows of one question; ``vote`` is what the decision is compared with.

    ``is_fitted``: what decided was fitted on the question, so that it proves nothing.
    """
    pool = labelled(pool)
    decision = explanation.decision
    report = _report(pool, decision)
    # Votes count equal answers, and no two reports are equal.
    voted = decision if report else (vote or MajorityVote()).decide(pool)
    groups = _groups(pool, explanation)
    chosen_group, of_vote = groups.get(decision.sample_id, NO_GROUP), groups.get(voted.sample_id, NO_GROUP)
    shared = _Shared()
    explained = {each.rollout.sample_id: each for each in explanation.rollouts}
    rollouts = [
        _rollout(pool, rollout, explained.get(rollout.sample_id), decision, groups[rollout.sample_id], shared)
        for rollout in pool.rollouts
    ]
    confidence = {"value": None, "kind": None} if report else _confidence(explanation, rollouts, chosen_group)
    return {
        "id": pool.question.id,
        "question": pool.question.text,
        "dataset": pool.question.dataset,
        "is_fitted": is_fitted,
        "references": list(pool.question.references),
        "has_weights": explanation.has_weights,
        "weights_are": explanation.weights_are,
        "reasons": [asdict(reason) for reason in explanation.reasons],
        "selected": _choice(pool, decision, chosen_group),
        "vote": _choice(pool, voted, of_vote),
        "agrees": report is not None or _agrees(pool, decision, voted, chosen_group, of_vote),
        "confidence": confidence,
        "missing": None if report else _missing(pool, decision, confidence["value"]),
        "report": report,
        "rollouts": rollouts,
        "texts": list(shared.texts),
        "documents": shared.urls,
    }


def _report(pool: Pool, decision: Decision) -> dict[str, Any] | None:
    """The claims of a long answer, chosen by any method; None: the answers are short."""
    compared = decision.claims
    if compared is None and has_long_answers(pool):
        samples = [rollout.sample_id for rollout in pool.rollouts]
        if decision.sample_id in samples:
            compared = compare_reports(pool.question.text, pool, chosen=samples.index(decision.sample_id))
    return report_data(compared, decision.claims is not None) if isinstance(compared, Comparison) else None


def _missing(pool: Pool, decision: Decision, confidence: float | None) -> dict[str, Any] | None:
    """What evidence would decide the question; None: the confidence that is shown is high enough."""
    if confidence is not None and confidence >= UNSURE:
        return None
    return (decision.missing or gaps(pool, decision)).record()


def list_entry(data: dict[str, Any]) -> dict[str, Any]:
    """What the list of questions holds of one."""
    candidates = (one for one in data["rollouts"] if one["dropped"] is None)
    votes = sum(one["group"] == data["selected"]["group"] != NO_GROUP for one in candidates)
    texts = {"id": data["id"], "question": data["question"]}
    for side in ("selected", "vote"):
        texts |= {side: data[side]["answer"], f"{side}_core": data[side]["core"]}
    return {
        **{name: _cut(text) for name, text in texts.items()},
        "right": data["selected"]["right"],
        "vote_right": data["vote"]["right"],
        "agrees": data["agrees"],
        "confidence": data["confidence"]["value"],
        "votes": None if data["report"] else votes,
        "rollouts": len(data["rollouts"]),
    }


def agent_counts(data: dict[str, Any]) -> Iterator[tuple[str, tuple[int, int, int, float]]]:
    """Of each rollout whose agent is known: the agent, and 1 for it, for the selected answer, and for a label."""
    chosen = data["selected"]["group"]
    for one in data["rollouts"]:
        if one["agent"]:
            agrees, is_judged = one["group"] == chosen != NO_GROUP, one["label"] is not None
            yield one["agent"], (1, int(agrees), int(is_judged), one["label"] or 0.0)


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= LISTED_CHARACTERS:
        return text
    return f"{text[: LISTED_CHARACTERS - 1]}…"


def _choice(pool: Pool, decision: Decision, group: int) -> dict[str, Any]:
    return {
        "answer": decision.answer,
        "core": _core(pool.question.text, decision.answer),
        "sample": decision.sample_id,
        "group": group,
        "right": judge(pool, decision, Labelling().answer).correct if is_judged(pool) else None,
        "note": decision.note,
    }


def _core(question: str, answer: str | None) -> str | None:
    """What a long answer comes down to; None: it is brief, a report, or has no core."""
    if answer is None or (len(answer.split()) <= BRIEF and "\n" not in answer) or is_long(answer):
        return None
    return answer_core(question, answer).text.strip() or None


def _groups(pool: Pool, explanation: Explanation) -> dict[int | None, int]:
    """Sample id to the number of its answer, as the decision counted; None: a newly written answer.

    By meaning where the method counts no answers as one.
    """
    decision = explanation.decision
    samples = [None, *(rollout.sample_id for rollout in pool.rollouts)]
    if explanation.groups:
        found = dict.fromkeys(samples, NO_GROUP)
        found.update(explanation.groups.items())
    else:
        written = decision.answer if decision.sample_id is None else None
        answers = [written, *(rollout.answer for rollout in pool.rollouts)]
        found = dict(zip(samples, group_by_meaning(pool.question.text, answers), strict=True))
    # The decision gives the group of the chosen answer; the others may not have its number.
    own = max(found.values()) + 1
    return found | dict.fromkeys(decision.group, own)


def _agrees(pool: Pool, decision: Decision, vote: Decision, group: int, of_vote: int) -> bool:
    if group != NO_GROUP and of_vote != NO_GROUP:
        return group == of_vote
    return decision.answer == vote.answer or same_answer(pool.question.text, decision.answer, vote.answer)


def _confidence(explanation: Explanation, rollouts: Sequence[dict[str, Any]], group: int) -> dict[str, Any]:
    """The method's own estimate; else the answer's part of the scores, where they compete; else of the votes."""
    own = explanation.decision.confidence
    if own is not None:
        return {"value": own, "kind": CALIBRATED}
    scored = [one for one in rollouts if one["score"] is not None]
    if explanation.has_weights and explanation.weights_are == ATTENTION and scored:
        # TRACE is trained with a softmax over the candidates of a pool.
        highest = max(one["score"] for one in scored)
        parts = [math.exp(one["score"] - highest) for one in scored]
        own = sum(part for part, one in zip(parts, scored, strict=True) if one["group"] == group) / sum(parts)
        return {"value": own, "kind": SCORE_SHARE}
    answered = [one for one in rollouts if one["group"] != NO_GROUP]
    same = sum(one["group"] == group for one in answered)
    return {"value": same / len(answered) if answered else None, "kind": AGREEMENT}


def _rollout(
    pool: Pool, rollout: Rollout, explained: ExplainedRollout | None, decision: Decision, group: int, shared: _Shared
) -> dict[str, Any]:
    # What was dropped is shown as it was read, without weights; its texts link to others all the same.
    shown = explained or explain([rollout], decision).rollouts[0]
    by_index = {(seen.search, seen.index): seen for seen in shown.evidence}
    return {
        "sample": rollout.sample_id,
        "agent": rollout.agent and _cut(rollout.agent),
        "answer": rollout.answer,
        "core": _core(pool.question.text, rollout.answer),
        "group": group,
        "score": shown.score,
        "label": rollout.label,
        "confidence": rollout.confidence,
        "dropped": None if explained else _why_dropped(pool, rollout, decision),
        "searches": [
            {
                "query": search.query,
                "weight": weight,
                "evidence": [_evidence(by_index[number, index], shared) for index in range(len(search.evidence))],
            }
            for number, (search, weight) in enumerate(zip(shown.rollout.searches, shown.search_weights, strict=True))
        ],
    }


def _why_dropped(pool: Pool, rollout: Rollout, decision: Decision) -> str:
    """The method's own reason, else the rule's."""
    given = decision.dropped.get(rollout.sample_id)
    return given or RETENTION_RULES[pool.setting].reason_to_drop(rollout) or "not considered by the method"


def _evidence(seen: ExplainedEvidence, shared: _Shared) -> dict[str, Any]:
    evidence = seen.evidence
    return {
        **{name: getattr(evidence, name) for name in ("title", "url", "rank", "tool")},
        **{name: getattr(seen, name) for name in ("weight", "same_text", "same_document")},
        "text": shared.text(evidence),
        "document": shared.document(evidence),
    }
