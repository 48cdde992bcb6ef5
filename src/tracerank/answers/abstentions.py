"""Answers that only say that there is none: "I don't know", "N/A", "cannot be determined"."""

import re

from tracerank.answers.text_keys import tokens_of

_READ = 400
"""Characters that are looked at: an abstention says so at once."""
_REST = r"(?: .{0,200})?"
_MISSING = (
    "unknown|not known|undetermined|unclear|unanswerable|undefined|indeterminate|not specified|not mentioned"
    "|not provided|not stated|not available|not found|not applicable|na|n a|n/a|null|nan"
)
_FIND = "find|determine|answer|locate|verify|identify"
_FORMS = (
    r"(?:i )?(?:(?:really |honestly )?(?:do not|dont) know(?: the answer)?|(?:i|a)?m not sure|have no idea)(?: sorry)?",
    rf"(?:the answer is )?(?:{_MISSING})",
    rf"no (?:answer|prediction|idea|results?|response|information|info|data){_REST}",
    rf"(?:(?:it|this|the answer|the question) )?(?:cannot|can not|cant|could not) be"
    rf" (?:determined|answered|found|verified|established){_REST}",
    rf"(?:there (?:is|was|are) )?(?:insufficient|not enough|no) (?:information|evidence|data|context){_REST}",
    rf"(?:sorry )?i (?:could not|couldnt|cannot|can not|cant|was unable to|am unable to|was not able to|did not|didnt)"
    rf" (?:{_FIND}){_REST}",
    rf"unable to (?:{_FIND}){_REST}",
    r"(?:(?:the|these|this|provided|given) ){0,3}(?:passages?|documents?|text|context|information|sources?"
    r"|search results?)(?: provided| given)? (?:does not|do not|did not|doesnt|dont|didnt)"
    rf" (?:provide|contain|mention|state|include|specify){_REST}",
)
_ABSTENTION = re.compile("|".join(_FORMS))
_STILL_ANSWERS = re.compile(r"\b(?:but|however|likely|probably|possibly|guess|perhaps|therefore|although|might)\b")


def is_abstention(text: str) -> bool:
    """Whether a folded answer only says that there is none; one that still names a guess is an answer."""
    said = " ".join(tokens_of(text[:_READ]))
    if not said:
        return text.isascii()  # "-", "???"
    return not _STILL_ANSWERS.search(said) and bool(_ABSTENTION.fullmatch(said))
