"""``tracerank lab corpus``: documents into a searchable index, looking into it, and serving it."""

from dataclasses import asdict
from pathlib import Path

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Problems
from tracerank.cli.terminal import harmless, note, print_json, working
from tracerank.errors import UsageError
from tracerank.extras import needed

index_argument = click.argument("index", type=opt.PATH)


@click.group()
def corpus() -> None:
    """Build, search and serve the documents that agents search."""


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
@index_argument
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


@corpus.command(epilog=opt.example("tracerank lab corpus serve index/ --port 8000"))
@index_argument
@opt.address_options(8000)
@opt.quiet_option
def serve(index: Path, host: str, port: int, allow_host: list[str], quiet: bool) -> None:
    """Answer Search-R1 style POST /retrieve requests over an index until interrupted."""
    from tracerank.lab.corpus.index import Corpus

    with needed("serving a corpus needs", "serve", UsageError):
        from tracerank.lab.retrieve_server import retrieve_app
        from tracerank.serving.app import run
        from tracerank.serving.security import allowed_hosts
    opened = Corpus(index)
    about = {"documents": opened.info.documents, "passages": len(opened), "fingerprint": opened.info.fingerprint}
    hosts = allowed_hosts(host, allow_host)
    app = retrieve_app(opened, about, hosts=hosts)

    def announce(address: str) -> None:
        if not quiet:
            note(f"{index}: {len(opened):,} passages at {address}/retrieve; Ctrl-C ends it")

    run(app, host, port, announce=announce)
