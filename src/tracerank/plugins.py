"""Readers and methods of other distributions, found by their entry points.

A plug-in is imported only when it is used by name or listed. What it raises then becomes one line that names it and its
distribution.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracerank.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

READER_GROUP = "tracerank.readers"
METHOD_GROUP = "tracerank.methods"


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point and its distribution."""

    name: str
    distribution: str
    """Name and version; ``?`` if the metadata lack them."""
    entry: "EntryPoint"

    def __str__(self) -> str:
        return f"plug-in {self.name!r} of {self.distribution}"

    def made(self, parts: Iterable[str], *arguments: object) -> Any:
        """The declared object, or the result of calling it with the arguments; it must have all the parts."""
        try:
            found = self.entry.load()
            made = found(*arguments) if callable(found) else found
        except UsageError:
            raise  # its own message to the user
        except Exception as error:  # third-party code may raise anything
            raise self.broken(error) from None
        if lacking := [part for part in parts if not hasattr(made, part)]:
            raise UsageError(f"{self}: {self.entry.value} has no {', '.join(lacking)}; docs/guides/extend.md shows one")
        return made

    def broken(self, error: Exception) -> UsageError:
        """The error about what it raised."""
        line = " ".join(f"{type(error).__name__}: {error}".split())
        return UsageError(f"{self} cannot be used: {line}; correct or uninstall it")


def plugins(group: str) -> dict[str, Plugin]:
    """All plug-ins of a group by name, not imported; the first found wins a name."""
    from importlib.metadata import entry_points

    found: dict[str, Plugin] = {}
    for entry in entry_points(group=group):
        whose = "?" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
        found.setdefault(entry.name, Plugin(entry.name, whose, entry))
    return found


def listed(group: str, own: Iterable[str], make: Callable[[Plugin], object]) -> tuple[list[tuple[str, str]], list[str]]:
    """Names with their distributions, our own first, and a warning for each plug-in that cannot be used."""
    rows = [(name, "tracerank") for name in own]
    taken = {name for name, _ in rows}
    warnings = []
    for plugin in plugins(group).values():
        try:
            if plugin.name in taken:
                raise UsageError(f"{plugin} has the name of one of tracerank's own, which is used")
            make(plugin)
            rows.append((plugin.name, plugin.distribution))
        except UsageError as error:
            warnings.append(str(error))
    return rows, warnings
