"""What an answer looks like, and whether the question asks for something that looks so. English cues only."""

import math
import re
from statistics import median

from tracerank.answers.asked import Asked
from tracerank.answers.english import AUXILIARIES, MONTHS, ONES, TENS, VERBS
from tracerank.selectors.features.kinds import kind_model, kind_of
from tracerank.selectors.features.view import Form, PoolView

NAN = float("nan")
_OR = re.compile(r"\bor\b", re.I)
_SIGNS = re.compile(r"[,;/()\[\]]")
_SENTENCE_WORDS = 6
_NUMBER_WORDS = frozenset((*ONES, *TENS, "hundred", "thousand", "million", "billion", "dozen"))
_MONTHS = frozenset(MONTHS)


def shape(view: PoolView, question: str) -> dict[str, list[float]]:
    """The columns of the family ``shape``."""
    has_options = bool(_OR.search(question)) and " or " in view.question.text
    lengths = [math.log(max(1, len(form.words))) for form in view.forms for _ in form.rollouts]
    middle = median(lengths)
    rows = [_row(view, form, middle, has_options) for form in view.forms]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns["misfit"] = [float(fit < 0) for fit in columns["fits_kind"]]
    model = kind_model()
    chances, prior = model.log_chances(question), model.log_prior
    kinds = [kind_of(form, view.question) for form in view.forms]
    columns["kind_chance"] = [float(chances[kind]) for kind in kinds]
    columns["kind_lift"] = [float(chances[kind] - prior[kind]) for kind in kinds]
    return columns


def _row(view: PoolView, form: Form, middle: float, has_options: bool) -> dict[str, float]:
    length = math.log(max(1, len(form.words)))
    in_question = len(form.content & view.question.words) / max(1, len(form.content))
    is_option = float(form.line in view.question.text) if has_options and not form.is_polar else NAN
    written = form.answer.split()
    return {
        "words": length,
        "words_relative": length - middle,
        "fits_kind": _fits(view.asked, form, has_options),
        "is_polar": float(form.is_polar),
        "is_option": is_option,
        "repeats_question": NAN if has_options or form.is_polar else in_question,
        "has_digit": float(any(char.isdigit() for char in form.answer[:200])),
        "capitals": sum(word[0].isupper() for word in written) / max(1, len(written)),
        "is_sentence": float(_is_sentence(form)),
        "signs": len(_SIGNS.findall(form.answer)) / max(1, len(written)),
    }


def _is_sentence(form: Form) -> bool:
    is_long = len(form.words) > _SENTENCE_WORDS
    return (is_long and any(word in VERBS or word in AUXILIARIES for word in form.words)) or "\n" in form.answer.strip()


def _fits(asked: Asked, form: Form, has_options: bool) -> float:
    if asked.may_be_polar is None:
        return 0.0
    if form.is_polar:
        return 1.0 if asked.may_be_polar and not has_options else -1.0
    if asked.may_be_polar and not asked.wants:
        return 0.0 if has_options else -1.0
    is_number = any(word[0].isdigit() or word in _NUMBER_WORDS for word in form.words)
    if asked.wants == "number":
        return 1.0 if is_number else -1.0
    if asked.wants == "date":
        return 1.0 if is_number or any(word in _MONTHS for word in form.words) else -1.0
    if asked.wants == "name":
        return -1.0 if is_number and len(form.words) == 1 else float(any(char.isupper() for char in form.answer))
    return 0.0
