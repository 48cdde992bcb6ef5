"""Patterns that are compiled at their first use: the same as others, and every one of them compiles."""

import pickle
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tracerank import answers
from tracerank.answers.lazy_patterns import lazy_pattern

HOME = Path(answers.__file__).parent
USERS = sorted(
    ".".join(("tracerank.answers", *path.relative_to(HOME).with_suffix("").parts))
    for path in HOME.rglob("*.py")
    if "lazy_patterns import" in path.read_text(encoding="utf-8")
)


def test_a_lazy_pattern_finds_what_the_pattern_finds() -> None:
    lazy, eager = lazy_pattern(r"(?P<name>b+)|(x)", re.I), re.compile(r"(?P<name>b+)|(x)", re.I)
    text = "abBa xX"
    assert lazy.findall(text) == eager.findall(text)
    assert [found.span() for found in lazy.finditer(text)] == [found.span() for found in eager.finditer(text)]
    assert lazy.sub("-", text) == eager.sub("-", text)
    assert (lazy.pattern, lazy.flags, lazy.groups, lazy.groupindex) == (
        eager.pattern,
        eager.flags,
        eager.groups,
        eager.groupindex,
    )
    assert lazy.search("ccc") is None


def test_nothing_is_compiled_before_the_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    monkeypatch.setattr("re.compile", lambda text, flags=0: compiled.append(text))
    lazy = lazy_pattern("a+")
    assert compiled == []
    monkeypatch.undo()
    assert lazy.match("aab") is not None


def test_a_lazy_pattern_can_be_pickled_before_and_after_its_use() -> None:
    lazy = lazy_pattern("a+", re.I)
    assert pickle.loads(pickle.dumps(lazy)).fullmatch("AA")
    assert lazy.fullmatch("aA")
    assert pickle.loads(pickle.dumps(lazy)).fullmatch("AA")
    with pytest.raises(AttributeError):
        _ = lazy.no_such_part  # type: ignore[attr-defined]


def test_there_are_modules_that_use_them() -> None:
    assert len(USERS) >= 10


@pytest.mark.parametrize("name", USERS)
def test_every_lazy_pattern_compiles(name: str) -> None:
    module: ModuleType = import_module(name)
    kind = type(lazy_pattern(""))
    held = list(vars(module).values())
    for value in held:
        if isinstance(value, (list, tuple)):
            held.extend(value)
        elif isinstance(value, kind):
            assert isinstance(value.pattern, str)  # type: ignore[attr-defined]
