"""The library's tables on the terminal."""

from collections.abc import Iterable

import click

from tracerank.cli.terminal import harmless, new_table, print_table
from tracerank.evaluation.tables import TEXT, Table


def print_tables(tables: Iterable[Table]) -> None:
    """Each table with its title above and its notes below."""
    for table in tables:
        left = [index for index, column in enumerate(table.columns) if column.kind == TEXT]
        shown = new_table(*(column.name for column in table.columns), left=left)
        for row in table.shown_rows():
            shown.add_row(*map(harmless, row))
        print_table(shown, table.title)
        for line in table.notes:
            click.echo(f" {harmless(line)}\n")
