"""``tracerank corpus``: documents into a searchable index, looking into it, and serving it."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import AllowedHosts, AsJson, Force, ProblemsFile, Quiet, host_names, written_place
from tracerank.cli.reading import Problems
from tracerank.cli.terminal import harmless, new_table, note, print_json, print_table, working
from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.lab.corpus.base import DEFAULT_RULE, RERANKED, PassageRule

if TYPE_CHECKING:
    from tracerank.lab.corpus.base import Passage, Retriever
    from tracerank.lab.corpus.index import Corpus
    from tracerank.lab.corpus.layout import CorpusInfo

DocumentFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="DOCS",
        help="Files of documents, JSON Lines or JSON, plain or gzip: title, text, optional id and url.",
        show_default=False,
    ),
]
NewIndex = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="INDEX", callback=written_place, help="Folder to make.", show_default=False),
]
Words = Annotated[int, typer.Option("--words", metavar="N", help="Most words of a passage.")]
Overlap = Annotated[int, typer.Option("--overlap", metavar="N", help="Most words that neighbouring passages share.")]
Index = Annotated[Path, typer.Argument(metavar="INDEX", help="Folder of an index.", show_default=False)]
Query = Annotated[str, typer.Argument(metavar="QUERY", help="What to search for.", show_default=False)]
Count = Annotated[int, typer.Option("-k", metavar="K", min=1, help="Passages to show.")]
Rerank = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        metavar="NAME",
        help="Order the best passages by this encoder's vectors: default, multilingual, hash-256, folder, hub id or "
        "URL#MODEL.",
        show_default=False,
    ),
]
Depth = Annotated[int, typer.Option("--depth", metavar="N", min=1, help="Passages that --rerank looks at.")]
Host = Annotated[str, typer.Option("--host", metavar="NAME", help="Address to listen on.")]
Port = Annotated[int, typer.Option("--port", metavar="N", min=1, max=65535, help="Port to listen on.")]

corpus = typer.Typer(no_args_is_help=True, help="Make, search and serve the documents that agents search.")


@corpus.command(epilog="Example:\n\ntracerank corpus build docs.jsonl.gz -o index/")
def build(
    files: DocumentFiles,
    output: NewIndex,
    words: Words = DEFAULT_RULE.words,
    overlap: Overlap = DEFAULT_RULE.overlap,
    force: Force = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Cut documents into passages and index them; the folder appears when all is done."""
    from tracerank.lab.corpus.build import build_corpus

    with Problems(problems, keep=files) as report, working("indexing", unit="documents", quiet=quiet) as bar:
        info = build_corpus(
            files,
            output,
            PassageRule(words, overlap),
            force=force,
            on_problem=report,
            on_document=bar.advance,
        )
    if not quiet:
        left_out = f"; {info.dropped:,} rows dropped, {info.copies:,} copies left out"
        note(f"{output}: {info.documents:,} documents, {info.passages:,} passages{left_out}")


@corpus.command(epilog="Example:\n\ntracerank corpus info index/")
def info(index: Index, as_json: AsJson = False) -> None:
    """Show what an index holds and how it was made."""
    from tracerank.lab.corpus.layout import read_info

    found = read_info(index)
    if as_json:
        print_json(asdict(found), indent=2)
    else:
        _print_info(index, found)


@corpus.command(epilog='Example:\n\ntracerank corpus search index/ "who discovered the river" -k 3')
def search(
    index: Index, query: Query, k: Count = 3, rerank: Rerank = None, depth: Depth = RERANKED, as_json: AsJson = False
) -> None:
    """Show the passages that a search finds, best first."""
    from tracerank.lab.corpus.index import Corpus  # brings numpy, for which --help shall not wait

    found = _retriever(Corpus(index), rerank, depth).search(query, k)
    if as_json:
        print_json([asdict(passage) for passage in found], indent=2)
        return
    if not found:
        note("no passage shares a word with the query")
    for rank, passage in enumerate(found, start=1):
        _print_passage(rank, passage)


@corpus.command(epilog="Example:\n\ntracerank corpus serve index/ --port 8000")
def serve(
    index: Index,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    allow_host: AllowedHosts = None,
    rerank: Rerank = None,
    depth: Depth = RERANKED,
    quiet: Quiet = False,
) -> None:
    """Answer Search-R1 style POST /retrieve requests over an index until interrupted."""
    from tracerank.lab.corpus.index import Corpus
    from tracerank.serving.retrieve_server import retrieve_app
    from tracerank.serving.retrieve_server import serve as serve_app

    with needed("serving a corpus needs", "serve", UsageError):
        from tracerank.serving.security import allowed_hosts
    opened = Corpus(index)
    about = {"documents": opened.info.documents, "passages": len(opened), "fingerprint": opened.info.fingerprint}
    hosts = allowed_hosts(host, host_names(allow_host or ()))
    app = retrieve_app(_retriever(opened, rerank, depth), about, hosts=hosts)
    if not quiet:
        note(f"{index}: {len(opened):,} passages at http://{host}:{port}/retrieve; Ctrl-C ends it")
    serve_app(app, host, port)


def _retriever(opened: "Corpus", rerank: str | None, depth: int) -> "Retriever":
    if rerank is None:
        if depth != RERANKED:
            raise UsageError("--depth is of use only beside --rerank NAME")
        return opened
    from tracerank.embedding.load import load_embedder
    from tracerank.lab.corpus.index import Reranked

    return Reranked(opened, load_embedder(rerank), depth)


def _print_info(index: Path, found: "CorpusInfo") -> None:
    table = new_table(harmless(str(index)), "")
    for name, value in asdict(found).items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) else harmless(value))
    print_table(table)


def _print_passage(rank: int, passage: "Passage") -> None:
    score = "" if passage.score is None else f"  {passage.score:.3f}"
    place = "" if not passage.place else f", passage {passage.place + 1}"
    typer.echo(harmless(f"{rank}. {passage.title or 'untitled'}{score}  ({passage.url}{place})"))
    typer.echo(harmless(f"   {' '.join(passage.text.split())}"))
