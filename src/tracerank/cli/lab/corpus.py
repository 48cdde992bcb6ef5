"""``tracerank lab corpus``: documents into a searchable index."""

from pathlib import Path

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Problems
from tracerank.cli.terminal import note, working


@click.group()
def corpus() -> None:
    """Index the documents that agents search."""


@corpus.command(epilog=opt.example("tracerank lab corpus build docs.jsonl.gz -o index/"))
@click.argument("files", metavar="DOCS...", type=opt.PATH, nargs=-1, required=True)
@opt.output_option("Folder to make.", "INDEX", required=True)
@opt.force_option
@opt.problems_option
@opt.quiet_option
def build(files: tuple[Path, ...], output: Path, force: bool, problems: Path | None, quiet: bool) -> None:
    """Cut documents (JSON Lines or JSON: title, text, optional id and url) into passages and index them."""
    from tracerank.lab.corpus.build import build_corpus

    with Problems(problems, files) as report, working("indexing", unit="documents", quiet=quiet) as progress:
        info = build_corpus(files, output, force=force, on_problem=report, on_document=progress.advance)
    if not quiet:
        left_out = f"; {info.dropped:,} rows dropped, {info.copies:,} copies left out"
        note(f"{output}: {info.documents:,} documents, {info.passages:,} passages{left_out}")
