"""JSON objects whose fields are checked one by one, and a complaint that says where the wrong one stands.

Knows no format: ``canonical.py`` says which fields there are.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from tracerank.errors import MalformedRollout

T = TypeVar("T")

_NAMES: Mapping[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def kind_of(value: object) -> str:
    """What a JSON value is, in words for error messages."""
    return _NAMES.get(type(value), type(value).__name__)


@dataclass(frozen=True, slots=True)
class Field:
    """What one field must be."""

    name: str
    kind: type
    default: object = None
    """Omitted when it has this value; a field without it must be present."""
    is_required: bool = False


class Shape:
    """The fields of one kind of object, and what is looked up for each of thousands of them."""

    def __init__(self, *fields: Field, parts: tuple[Field, ...] = ()) -> None:
        """``parts`` hold objects of their own, which whoever reads or writes the object takes care of."""
        self.fields = fields
        self.read = (*fields, *parts)
        self.kinds = {field.name: field.kind for field in self.read}
        self.required = frozenset(field.name for field in fields if field.is_required)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)


class Misfit(MalformedRollout):
    """A field that is not what it should be; whoever read the object around it adds where that stands."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"field '{place}': {reason}")
        self.place = place
        self.reason = reason

    def inside(self, name: str) -> "Misfit":
        return Misfit(f"{name}.{self.place}" if self.place else name, self.reason)


def each(values: Mapping[str, Any], name: str, read: Callable[[object], T]) -> tuple[T, ...]:
    """The items of a list; what is wrong in one of them is told with its place."""
    found: list[T] = []
    try:
        for item in values.get(name, ()):
            found.append(read(item))
    except Misfit as error:
        raise error.inside(f"{name}[{len(found)}]") from None
    return tuple(found)


def part(record: Mapping[str, Any], name: str, shape: Shape) -> dict[str, Any]:
    """The fields of an object inside another."""
    try:
        return values_of(record[name], shape)
    except Misfit as error:
        raise error.inside(name) from None


def values_of(item: object, shape: Shape) -> dict[str, Any]:
    """The fields that the object has; looks at those present, and at each for what it should be only in doubt."""
    if not isinstance(item, dict):
        reject_field("", "an object", item)
    kind_of_field = shape.kinds.get
    values = {name: value for name, value in item.items() if type(value) is kind_of_field(name)}
    if len(values) < len(item) or not shape.required <= values.keys():
        for field in shape.read:
            if field.name not in values and (field.is_required or item.get(field.name) is not None):
                reject_field(field.name, _NAMES[field.kind], item.get(field.name))
    return values


def share_of(record: Mapping[str, Any], name: str) -> float | None:
    """A number between 0 and 1; true and false count as 1 and 0, NaN as unknown."""
    value = record.get(name)
    if value is None or (type(value) is float and value != value):
        return None
    if type(value) not in (bool, int, float) or not 0 <= value <= 1:
        reject_field(name, "a number between 0 and 1", value)
    return float(value)


def reject_field(field: str, expected: str, value: object) -> NoReturn:
    """Raise what says that the field is not what was expected."""
    shown = repr(value) if type(value) in (int, float, bool) or value == "" else kind_of(value)
    raise Misfit(field, f"expected {expected}, got {shown}")
