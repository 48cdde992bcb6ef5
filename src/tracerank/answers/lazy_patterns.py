"""Regular expressions that are compiled when they are first used: of hundreds, one question needs a few.

For constants of modules. What is made here has the methods of a pattern, and is pickled as what it was made of; only
functions of ``re`` that take a pattern do not know it.
"""

import re
from typing import Any, cast


class _Lazy:
    """Stands for the pattern until it is asked for a part of it, and has that part from then on."""

    def __init__(self, text: str, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        # The cache of ``re`` is small and may forget; the parts that were asked for hold the pattern.
        found = getattr(re.compile(*self._given), name)
        self.__dict__[name] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _Lazy, self._given

    def __repr__(self) -> str:
        return f"lazy_pattern({self._given[0]!r})"


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """The pattern, compiled at its first use; a mistake in it shows only then, so a test compiles all."""
    return cast("re.Pattern[str]", _Lazy(text, flags))
