"""``tracerank lab corpus``: documents into a searchable index, and looking into it."""

from dataclasses import asdict
from pathlib import Path

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Problems
from tracerank.cli.terminal import harmless, note, print_json, working


@click.group()
def corpus() -> None:
    """Build and search the documents that agents search."""


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


@corpus.command(epilog=opt.example('tracerank lab corpus search index/ "who discovered the river" -k 3'))
@click.argument("index", type=opt.PATH)
@click.argument("query")
@opt.option("-k K", "Passages to show.", opt.COUNT, default=3)
@opt.json_option
def search(index: Path, query: str, k: int, as_json: bool) -> None:
    """Show the passages that a search finds, best first."""
    from tracerank.lab.corpus.index import Corpus

    found = Corpus(index).search(query, k)
    if as_json:
        print_json([asdict(passage) for passage in found], indent=2)
        return
    if not found:
        note("no passage shares a word with the query")
    for rank, passage in enumerate(found, start=1):
        score = "" if passage.score is None else f"  {passage.score:.3f}"
        place = "" if not passage.place else f", passage {passage.place + 1}"
        click.echo(harmless(f"{rank}. {passage.title or 'untitled'}{score}  ({passage.url}{place})"))
        click.echo(harmless(f"   {' '.join(passage.text.split())}"))
