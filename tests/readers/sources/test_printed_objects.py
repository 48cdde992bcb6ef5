"""What Python prints of objects, read without running any of it."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.readers.sources.loose_json import NOT_JSON
from tracerank.readers.sources.printed_objects import load_printed

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@dataclass
class Thing:
    name: str
    inner: Any = None
    many: list[Any] = field(default_factory=list)


@given(st.lists(plain) | st.dictionaries(st.text(), plain))
def test_plain_values_come_back(value: Any) -> None:
    assert load_printed(repr(value)) == value


@given(st.text(), plain)
def test_fields_of_objects_come_back_with_the_name_of_the_class(name: str, inner: Any) -> None:
    found = load_printed(repr(Thing(name, inner, [Thing("a")])))
    assert found == {
        "name": name,
        "inner": inner,
        "many": [{"name": "a", "inner": None, "many": [], "type": "Thing"}],
        "type": "Thing",
    }


def test_what_has_no_written_form_is_nothing() -> None:
    text = "[Step(raw=<a.Response object at 0x7f>, role=<Role.USER: 'user'>, at=datetime.date(2024, 1, 2), k=Kind.A)]"
    (found,) = load_printed(text)
    assert (found["raw"], found["role"], found["at"]["args"], found["k"]) == (None, "user", [2024, 1, 2], "Kind.A")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "word",
        "Step(",
        "[1, 2",
        "A(x=1) and more",
        "[lambda: 1]",
        "{'a': }",
        "[" * 10_000,
        "A(x=" * 10_000,
        "'a",
        "<",
    ],
)
def test_anything_else_is_no_printed_object(text: str) -> None:
    assert load_printed(text) is NOT_JSON


@given(st.text(alphabet="A(x='\"\\,[]{}<>: 1n\n)"))
def test_no_text_breaks_it(text: str) -> None:
    load_printed(text)


def test_nothing_is_run() -> None:
    assert load_printed("[__import__('os').system('exit 1')]") is NOT_JSON
    assert load_printed("[exit('now')]") == [{"args": ["now"], "type": "exit"}]


def test_fields_may_be_parted_by_blanks_as_pydantic_prints_them() -> None:
    found = load_printed("M(content='a b=c' kw={'x': [1]} id=<a at 0x1> n=None)")
    assert found == {"content": "a b=c", "kw": {"x": [1]}, "id": None, "n": None, "type": "M"}
