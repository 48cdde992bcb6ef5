"""Readers and methods of other distributions, by the entry points that they declare.

Looking for them reads metadata only: a plug-in is imported when it is asked for by its name, or listed. What it raises
then becomes one line that names it and its distribution.
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
    """One entry point and whose it is."""

    name: str
    distribution: str
    """Its name and version; ``?`` where the metadata do not tell."""
    entry: "EntryPoint"

    def __str__(self) -> str:
        return f"plug-in {self.name!r} of {self.distribution}"

    def made(self, parts: Iterable[str], *arguments: object) -> Any:
        """What it declares, called with the arguments unless it is an object already; it must have all the parts."""
        try:
            found = self.entry.load()
            made = found(*arguments) if callable(found) else found
        except UsageError:
            raise  # it tells the user something of its own
        except Exception as error:  # anything can happen in a module of somebody else
            raise self.broken(error) from None
        if lacking := [part for part in parts if not hasattr(made, part)]:
            raise UsageError(f"{self}: {self.entry.value} has no {', '.join(lacking)}; docs/plug-ins.md shows one")
        return made

    def broken(self, error: Exception) -> UsageError:
        """The line about what it raised."""
        line = " ".join(f"{type(error).__name__}: {error}".split())
        return UsageError(f"{self} cannot be used: {line}; correct or uninstall it")


def plugins(group: str) -> dict[str, Plugin]:
    """All of a group by name, none imported; of two with one name the first that is found."""
    from importlib.metadata import entry_points

    found: dict[str, Plugin] = {}
    for entry in entry_points(group=group):
        whose = "?" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
        found.setdefault(entry.name, Plugin(entry.name, whose, entry))
    return found


def listed(group: str, own: Iterable[str], make: Callable[[Plugin], object]) -> tuple[list[tuple[str, str]], list[str]]:
    """Names with the distribution that brings each, ours first, and a warning for each that cannot be used."""
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
