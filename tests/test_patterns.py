"""Every regular expression of the package takes time linear in the length of the text.

A pattern is quadratic where two unbounded repeats can share a run of characters, with nothing, something optional, or
characters of the same run between them; and where a search begins with an unbounded repeat. Both are read off the
parsed pattern, so that no clock is needed.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import tracerank
from tracerank.answers.lazy_patterns import lazy_pattern

UNBOUNDED = 1000
"""Repeats that may take as many characters count as unbounded."""
ALPHABET = "".join(map(chr, range(128))) + "é\u00a0\u2003–【】†漢\u0301"
SINGLE = (sre.IN, sre.LITERAL, sre.NOT_LITERAL, sre.ANY)
SEARCHES = ("search", "finditer", "findall", "split", "sub", "subn")
LAZY: Any = type(lazy_pattern(""))
Chars = frozenset[str]
EVERYTHING: Chars = frozenset(ALPHABET)


class Audit:
    """What is wrong with one pattern."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.flags = flags
        self.problems: list[str] = []
        self.groups: dict[int, Chars] = {}
        self.tree = list(_parser.parse(pattern, flags))
        self.sequence(self.tree, [], can_fail=False)

    def sequence(self, items: Sequence[Any], before: list[Chars], can_fail: bool) -> list[Chars]:
        """The runs that may still be shared after the items; ``before``: those that end right before them."""
        for index, item in enumerate(items):
            fails = can_fail or any(self.is_fallible(one) for one in items[index + 1 :])
            before = self.item(item, before, fails)
        return before

    def item(self, item: Any, before: list[Chars], can_fail: bool) -> list[Chars]:
        op, argument = item
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self.repeat(op, argument, before, can_fail)
        if op is sre.SUBPATTERN:
            self.groups[argument[0]] = self.chars(argument[-1])
            return self.sequence(argument[-1], before, can_fail)
        if op is sre.ATOMIC_GROUP:
            self.sequence(argument, before, can_fail)
            return self.restricted(before, argument)
        if op is sre.BRANCH:
            return list(chain.from_iterable(self.sequence(one, list(before), can_fail) for one in argument[1]))
        if op in (sre.ASSERT, sre.ASSERT_NOT):
            self.sequence(argument[1], [], can_fail=True)
            return before
        if op is sre.AT:  # the character before the beginning of a line is its end
            return [run & {"\n"} for run in before] if argument is sre.AT_BEGINNING else before
        return self.restricted(before, [item])

    def repeat(self, op: Any, argument: Any, before: list[Chars], can_fail: bool) -> list[Chars]:
        least, most, inner = argument
        if most < UNBOUNDED:
            after = self.sequence(inner, list(before), can_fail)
            return before + after if least == 0 else after
        kept = before if least == 0 else self.restricted(before, inner)
        if len(inner) == 1 and inner[0][0] in SINGLE:
            chars = self.chars(inner)
            if can_fail and any(chars & run for run in before):
                self.problems.append(f"two repeats share {sorted(chars & frozenset().union(*before))[:5]}")
            after = [chars]
        else:
            after = self.sequence(inner, list(before), can_fail)
            if op is not sre.POSSESSIVE_REPEAT:
                after = self.sequence([*inner, *inner], [], can_fail=True)  # one round and the next
        return kept if op is sre.POSSESSIVE_REPEAT else [*kept, *after]

    def restricted(self, before: list[Chars], items: Sequence[Any]) -> list[Chars]:
        """The runs in which the items may lie, too."""
        for item in items:
            if not self.is_nullable(item):
                before = [shared for run in before if (shared := run & self.chars([item]))]
        return before

    def is_fallible(self, item: Any) -> bool:
        op, argument = item
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return bool(argument[0])
        if op in (sre.SUBPATTERN, sre.ATOMIC_GROUP):
            return any(map(self.is_fallible, argument[-1] if op is sre.SUBPATTERN else argument))
        if op is sre.BRANCH:
            return all(any(map(self.is_fallible, one)) for one in argument[1])
        return True

    def is_nullable(self, item: Any) -> bool:
        return item[0] in (sre.ASSERT, sre.ASSERT_NOT, sre.AT) or not self.is_fallible(item)

    def chars(self, items: Sequence[Any]) -> Chars:
        """All characters that the items may take."""
        return frozenset().union(*map(self.chars_of, items))

    def chars_of(self, item: Any) -> Chars:
        op, argument = item
        if op is sre.LITERAL:
            found = frozenset(chr(argument))
            return frozenset(map(str.lower, found)) | frozenset(map(str.upper, found)) if self.is_caseless else found
        if op is sre.NOT_LITERAL:
            return EVERYTHING - {chr(argument)}
        if op is sre.ANY:
            return EVERYTHING if self.flags & re.S else EVERYTHING - {"\n"}
        if op is sre.IN:
            chars = frozenset().union(*(self.chars_of(one) for one in argument if one[0] is not sre.NEGATE))
            return EVERYTHING - chars if argument[0][0] is sre.NEGATE else chars
        if op is sre.GROUPREF:
            return self.groups.get(argument, EVERYTHING)
        if op is sre.RANGE:
            return frozenset(char for char in ALPHABET if argument[0] <= ord(char) <= argument[1])
        if op is sre.CATEGORY:
            escape = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[str(argument).rpartition("_")[2]]
            escape = escape.upper() if "_NOT_" in str(argument) else escape
            return frozenset(re.findall(rf"\{escape}", ALPHABET))
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self.chars(argument[2])
        if op is sre.SUBPATTERN:
            return self.chars(argument[-1])
        if op is sre.ATOMIC_GROUP:
            return self.chars(argument)
        if op is sre.BRANCH:
            return frozenset().union(*map(self.chars, argument[1]))
        return frozenset() if op in (sre.ASSERT, sre.ASSERT_NOT, sre.AT) else EVERYTHING

    @property
    def is_caseless(self) -> bool:
        return bool(self.flags & re.I)

    def begins_unbounded(self) -> bool:
        """Whether a search would try a long run again from each of its characters."""
        before: list[Chars] = []
        for index, item in enumerate(self.tree):
            op, argument = item
            if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT) and argument[1] >= UNBOUNDED:
                return any(map(self.is_fallible, self.tree[index + 1 :]))
            if not self.is_nullable(item) or op in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):
                return False
            before = self.item(item, before, can_fail=False)
        return False


def modules() -> Iterator[tuple[str, Any]]:
    for found in pkgutil.walk_packages(tracerank.__path__, "tracerank."):
        if ".assets" in found.name or found.name.endswith("__main__"):
            continue
        try:
            yield found.name, importlib.import_module(found.name)
        except ImportError:  # of an extra that is not installed
            continue


def patterns_in(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern | LAZY):
        yield re.compile(value.pattern, value.flags) if isinstance(value.pattern, str) else value
    elif isinstance(value, tuple | list | set | frozenset):
        yield from chain.from_iterable(map(patterns_in, value))
    elif isinstance(value, dict):
        yield from chain.from_iterable(map(patterns_in, (*value, *value.values())))


def searched_names(module: Any) -> set[str]:
    """Names of patterns with which a module searches rather than matches at a place."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    return {
        node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in SEARCHES and isinstance(node.value, ast.Name)
    }


def quadratic_patterns() -> Iterator[str]:
    for name, module in modules():
        searched = searched_names(module)
        for variable, value in vars(module).items():
            for pattern in patterns_in(value):
                if not isinstance(pattern.pattern, str):
                    continue
                audit = Audit(pattern.pattern, pattern.flags)
                for problem in audit.problems[:1]:
                    yield f"{name}.{variable}: {problem}"
                if variable in searched and audit.begins_unbounded():
                    yield f"{name}.{variable}: a search begins with an unbounded repeat"


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s*(?:x)?\s*y",
        r"\s*\n\s*y",
        r"(?:\s*\w+)*y",
        r"[^\n]*,.*y",
        r"a*+\s*b?\s*+y",
        r"(\w+\s*)*:",
        r"(?:a|b*)*c",
        r"\s*?\n?\s*y",
    ],
)
def test_the_audit_sees_repeats_that_share_a_run(pattern: str) -> None:
    assert Audit(pattern, re.compile(pattern).flags).problems


@pytest.mark.parametrize(
    "pattern", [r"\s*+(?:x)?\s*y", r"\s*(?:x\s*)?+", r"\d+\.\d+y", r"[^<]*<[^>]*>", r"(?:a[^b]*+b)*+c", r"\s*\w+\s*"]
)
def test_the_audit_accepts_what_is_linear(pattern: str) -> None:
    assert not Audit(pattern, re.compile(pattern).flags).problems


def test_every_pattern_is_linear() -> None:
    found = sorted(set(quadratic_patterns()))
    assert not found, "\n".join(found)
