"""Values as tables in notebooks. Every text is escaped: rollouts quote pages, and a page may hold anything."""

from collections.abc import Iterable, Sequence
from html import escape

MAX_ROWS, MAX_TEXT = 50, 300


def html_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a title; what is None is left empty, and what is long is cut."""
    given = list(rows)
    lines = [_row("th", heads), *(_row("td", row) for row in given[:MAX_ROWS])]
    more = f"<p>and {len(given) - MAX_ROWS:,} more</p>" if len(given) > MAX_ROWS else ""
    return f"<p><b>{_shown(title)}</b></p><table>{''.join(lines)}</table>{more}"


def _row(tag: str, cells: Sequence[object]) -> str:
    shown = (f'<{tag} style="text-align: left"><bdi>{_shown(cell)}</bdi></{tag}>' for cell in cells)
    return f"<tr>{''.join(shown)}</tr>"


def _shown(value: object) -> str:
    text = "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…")
