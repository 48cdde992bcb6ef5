"""Arguments that several commands take, each worded once."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tracerank.cli.terminal import note
from tracerank.endpoints.chat import VERDICT_TOKENS
from tracerank.endpoints.spelling import ChatTime as UsualTime
from tracerank.errors import UsageError
from tracerank.plugins import METHOD_GROUP, READER_GROUP, listed
from tracerank.readers.detect import AUTO, READERS, plugged_reader
from tracerank.selectors.table import METHOD_HELP, METHODS, EqualityName, FormName, MethodOptions, plugged_method

LIST = "help"
"""The name that is none."""
STDOUT = "-"
"""Standard output, as a name of a file."""


def list_readers(name: str) -> str:
    """The name as it was given, unless the list is wanted, which ends the command."""
    if name == LIST:
        _end_with(*listed(READER_GROUP, (AUTO, *READERS), plugged_reader))
    return name


def list_methods(name: str | None) -> str | None:
    """The same of methods; None: not given."""
    if name == LIST:
        _end_with(*listed(METHOD_GROUP, METHODS, partial(plugged_method, options=MethodOptions())))
    return name


def written_place(path: Path | None) -> Path | None:
    """What ``-o`` names, where that cannot be standard output: a dash would be the name of a file."""
    if path is not None and str(path) == STDOUT:
        raise UsageError(f"-o {STDOUT}: this command does not write to standard output; name a file or a folder")
    return path


def printed_unless_named(path: Path | None) -> Path | None:
    """The same where without a name it is printed, which a dash asks for, too."""
    return None if path is not None and str(path) == STDOUT else path


def _end_with(rows: list[tuple[str, str]], warnings: list[str]) -> None:
    width = max(len(name) for name, _ in rows)
    for name, distribution in rows:
        typer.echo(f"{name:{width}}  {distribution}")
    for warning in warnings:
        note(f"warning: {warning}")
    raise typer.Exit()


Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="Files, folders or patterns of rollouts: JSON Lines, JSON, gzip, Parquet, SQLite, .eval.",
        show_default=False,
    ),
]
ReaderName = Annotated[
    str,
    typer.Option(
        "--reader",
        metavar="NAME",
        help=f"Format of the files: {', '.join((AUTO, *READERS))}; help lists them with those of plug-ins.",
        callback=list_readers,
        is_eager=True,
    ),
]
FirstK = Annotated[
    int | None,
    typer.Option(
        "-k",
        metavar="K",
        min=1,
        help="Use the K rollouts with the lowest sample ids of each question; all of them if not given.",
        show_default=False,
    ),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="FOLDER",
        help="Folder of a trained selector, or default or browsing, which come with tracerank.",
        show_default=False,
    ),
]
OtherEncoder = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        help="Encoder to use instead of the checkpoint's own: default, hash-256, a folder, a hub id or URL#MODEL.",
        show_default=False,
    ),
]
Dims = Annotated[
    int | None,
    typer.Option(
        "--dims",
        metavar="N",
        min=1,
        help="Cut the encoder's vectors to N numbers (Qwen3-Embedding: 32 to 4096); a server is asked for N.",
        show_default=False,
    ),
]
AllowMismatch = Annotated[
    bool,
    typer.Option("--allow-encoder-mismatch", help="Go on although the encoder's vectors are not the checkpoint's."),
]
MethodChoice = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME",
        help=f"What decides: {METHOD_HELP}; help lists them with those of plug-ins.",
        callback=list_methods,
        is_eager=True,
    ),
]
Methods = Annotated[
    str,
    typer.Option(
        "--methods",
        metavar="NAME,NAME,…",
        help=f"What is compared: {METHOD_HELP}; help lists them with those of plug-ins.",
        callback=list_methods,
        is_eager=True,
    ),
]
Escalate = Annotated[
    str | None,
    typer.Option(
        "--escalate",
        metavar="METHOD",
        help="Ask this method, too, where the confidence is below --below or there is none; any of --method, such as "
        "verifier or solagg. Where it fails or can tell nothing, the first decision stays.",
        callback=list_methods,
        show_default=False,
    ),
]
Below = Annotated[
    float | None,
    typer.Option("--below", metavar="P", min=0.0, max=1.0, help="Confidence for --escalate.", show_default=False),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of what a method draws at random.")]
Equality = Annotated[
    EqualityName,
    typer.Option(
        "--equality",
        metavar="LEVEL",
        help="When the vote takes two answers for one: exact (the paper's), default (numbers, dates, short answers "
        "inside sentences), containment (one stands in the other, word for word), meaning (what sentences assert), "
        "semantic (by the encoder) or llm (asks --chat).",
    ),
]
CountAbstentions = Annotated[
    bool,
    typer.Option(
        "--count-abstentions",
        help='Let "I don\'t know" have a vote like any answer, as in the paper; otherwise it has one only where nobody '
        "answers.",
    ),
]
Form = Annotated[
    FormName | None,
    typer.Option(
        "--form",
        metavar="FORM",
        help="Which wording of the chosen meaning is returned: commonest (of selectors unless given), first (of the "
        "vote), shortest or longest.",
        show_default=False,
    ),
]
ChatContext = Annotated[
    int | None,
    typer.Option(
        "--chat-context",
        metavar="N",
        min=512,
        help="Tokens that the chat model holds; replies and prompts are kept within it. Unless given, enough for the "
        "paper's settings: 10,000 a reply.",
        show_default=False,
    ),
]
Chat = Annotated[
    str | None,
    typer.Option(
        "--chat",
        metavar="URL#MODEL",
        help="Chat server, for --equality llm and methods that ask one.",
        show_default=False,
    ),
]
ChatTokens = Annotated[
    int | None,
    typer.Option(
        "--chat-tokens",
        metavar="N",
        min=1,
        help=f"Most tokens of a chat model's reply, thinking included; unless given, {VERDICT_TOKENS:,} for a verdict "
        "or a number and 10,000 for a written answer.",
        show_default=False,
    ),
]
ChatTime = Annotated[
    str | None,
    typer.Option(
        "--chat-time",
        metavar="S,S,S",
        help="Seconds that a chat server may take: to the first token (it reads the prompt meanwhile), between two "
        f"tokens, and for a whole reply; {UsualTime()} unless given. Some may be left out: ,120 allows more silence.",
        show_default=False,
    ),
]
PricesFile = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        metavar="FILE",
        help="Also show what tokens cost: JSON or TOML, a model's name or * to the prices of a million tokens, as in "
        '{"*": {"input": 2, "output": 8}, "currency": "USD"}.',
        show_default=False,
    ),
]
ProblemsFile = Annotated[
    Path | None,
    typer.Option(
        "--problems",
        metavar="FILE",
        help="Write every problem met while reading to this file, as JSON Lines; without it the first 10 are shown.",
        show_default=False,
    ),
]
SplitName = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="SHARE|FILE",
        help="Hold questions out, chosen by their text: a share such as 0.3, or a file with an id or a question a "
        "line. fit and train leave them out, evaluate judges only them: the same value never meets.",
        show_default=False,
    ),
]
IncludeFitted = Annotated[
    bool,
    typer.Option("--include-fitted", help="Judge also the questions that a selector was fitted on."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the output if it exists.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no summary.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, unrounded, instead of a table.")]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="NAME",
        help="Answer requests for this host, too; may be repeated. On loopback others than localhost get 421; "
        "elsewhere all are answered unless you name some.",
        show_default=False,
    ),
]


def host_names(given: Iterable[str]) -> list[str]:
    """The names given by --allow-host."""
    names = [name.strip() for name in given]
    for name in names:
        if not name or "/" in name:
            raise UsageError(f"--allow-host: {name!r} is no host; give the name alone, such as tracerank.example.org")
    return names
