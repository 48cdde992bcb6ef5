"""Options that several commands share, each worded once; options that belong together arrive as one value."""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce, wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from tracerank.cli.inputs import Inputs, check_folder
from tracerank.cli.terminal import note
from tracerank.errors import UsageError

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]

LIST = "help"
"""In place of a reader's or a method's name: list them."""
STDOUT = Path("-")
FILE, FOLDER = "FILE", "FOLDER"
ENCODERS = "default (all-MiniLM-L6-v2), multilingual, hash-256 (no model), a folder, a hub id or URL#MODEL"

PATH = click.Path(path_type=Path)
COUNT = click.IntRange(1)
SHARE = click.FloatRange(0, 1)
SECONDS = click.FloatRange(0, min_open=True)


def option(spelling: str, about: str, kind: Any = None, **attributes: Any) -> Decorator[Any]:
    """An option by its names and its metavar, as in ``-o --output FILE``; a name without dashes is the parameter's."""
    *names, metavar = spelling.split(" ")
    return click.option(*names, metavar=metavar, type=kind, help=about, **attributes)


def choice(name: str, words: Iterable[str], about: str, **attributes: Any) -> Decorator[Any]:
    """An option that is one of several words."""
    return click.option(name, type=click.Choice(tuple(words)), help=about, **attributes)


def flag(name: str, about: str) -> Decorator[Any]:
    """An option that is given or not."""
    return click.option(*name.split(" "), is_flag=True, help=about)


def example(text: str) -> str:
    """The epilog of a command."""
    return f"Example: {text}"


def together(*decorators: Decorator[Any]) -> Decorator[Any]:
    """Several decorators as one, the first on top."""
    return lambda command: reduce(lambda made, decorate: decorate(made), reversed(decorators), command)


def _as_one(name: str, options: Mapping[str, Decorator[Any]], make: Callable[..., object]) -> Decorator[Any]:
    """Options by their parameters, which arrive as one value: what ``make`` makes of them."""

    def decorate(command: Command) -> Any:
        @wraps(command)
        def with_value(**given: Any) -> Any:
            given[name] = make(**{parameter: given.pop(parameter) for parameter in options})
            return command(**given)

        return together(*options.values())(with_value)

    return decorate


def output_option(about: str, kind: str = FILE, *marks: str, prints: bool = False, **attributes: Any) -> Decorator[Any]:
    """``-o``; with ``prints`` the command writes to standard output without it.

    A folder must be new or empty, or hold one of the ``marks`` by which the command's own folders are known.
    """

    def checked(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
        if path == STDOUT and not prints:
            raise UsageError("-o -: this command does not write to standard output; name a file or a folder")
        if path is not None and kind == FOLDER:
            check_folder(path, marks)
        return None if path == STDOUT else path

    return option(f"-o --output {kind}", about, PATH, callback=checked, **attributes)


def seed_option(about: str, default: int | None = 0) -> Decorator[Any]:
    """``--seed``."""
    return option("--seed N", about, click.IntRange(0), default=default)


force_option = flag("--force", "Overwrite the output if it exists.")
quiet_option = flag("-q --quiet", "Show no progress and no summary.")
json_option = flag("--json as_json", "Print JSON, unrounded, instead of tables.")
problems_option = option(
    "--problems FILE",
    "Write every problem met to this file, as JSON Lines; without it the first 10 are shown.",
    PATH,
)
dims_option = option("--dims N", "Cut the encoder's vectors to N numbers.", COUNT)
split_option = option(
    "--split SHARE|FILE",
    "Questions held out: a share such as 0.3, or a file of ids. fit and train leave them out, evaluate judges only "
    "them.",
)
include_fitted_option = flag("--include-fitted", "Judge also the questions that a selector was fitted on.")


def labels_option(default: str = "auto") -> Decorator[Any]:
    """``--labels``."""
    about = (
        "What is right: given (labels of the file), meaning, em (exact match), contains, f1, paper (given, else em), "
        "judge:URL#MODEL, or auto (given, else meaning)."
    )
    return option("--labels RULE", about, default=default)


def _host_names(ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> list[str]:
    for name in given:
        if not name.strip() or "/" in name:
            raise UsageError(f"--allow-host: {name!r} is not a host; give the name alone, like tracerank.example.org")
    return [name.strip() for name in given]


def address_options(port: int) -> Decorator[Any]:
    """``--host``, ``--port`` and ``--allow-host``, of services."""
    return together(
        option("--host NAME", "Address to listen on.", default="127.0.0.1"),
        option("--port N", "Port to listen on.", click.IntRange(0, 65535), default=port),
        option(
            "--allow-host NAME",
            "Also answer requests for this host; may be repeated.",
            multiple=True,
            callback=_host_names,
        ),
    )


def inputs_options(*, k: bool = True) -> Decorator[Any]:
    """The files of rollouts and how they are read, as one value ``inputs``; ``k``: the command takes a ``-k``."""
    first = {"k": option("-k K", "Use the K rollouts with the lowest sample ids; all by default.", COUNT)}
    return _as_one("inputs", _INPUTS | (first if k else {}), _inputs)


def _inputs(
    reader: str, fields: str | None, tools: str | None, answer_field: str | None, asked: Path | None, **given: Any
) -> Inputs:
    if any(one is not None for one in (fields, tools, answer_field, asked)):
        from tracerank.readers.sources.field_map import spelled_with

        reader = spelled_with(reader, fields, tools, answer_field, asked)
    return Inputs(reader=reader, **given)


def _or_list(ctx: click.Context, parameter: click.Parameter, given: Any) -> Any:
    """The name or names of a reader or of methods; in place of one, all of them are listed."""
    if LIST not in (given if isinstance(given, tuple) else (given,)):
        return given
    from tracerank.plugins import METHOD_GROUP, READER_GROUP, listed

    about: dict[str, str] = {}
    if parameter.name == "reader":
        from tracerank.readers.detect import AUTO, READERS, plugged_reader

        rows, warnings = listed(READER_GROUP, (AUTO, *READERS), plugged_reader)
    else:
        from tracerank.methods import METHODS, MethodOptions, plugged_method

        about = {name: row.about for name, row in METHODS.items()}
        rows, warnings = listed(METHOD_GROUP, METHODS, lambda plugin: plugged_method(plugin, MethodOptions()))
    width = max(len(name) for name, _ in rows)
    for name, whose in rows:
        click.echo(f"{name:{width}}  {about.get(name, whose)}")
    for warning in warnings:
        note(f"warning: {warning}")
    raise click.exceptions.Exit(0)


_INPUTS: dict[str, Decorator[Any]] = {
    "files": click.argument("files", metavar="FILE...", type=PATH, nargs=-1, required=True),
    "reader": option(
        "--reader NAME",
        f"Format of the files, recognised by default; '{LIST}' lists the formats.",
        default="auto",
        callback=_or_list,
        is_eager=True,
    ),
    "fields": option(
        "--map fields OUR=THEIR,…",
        "Fields under other names: question=prompt,answer=data.reply; dots lead into objects and lists.",
    ),
    "tools": option(
        "--tools NAME=KIND,…",
        "What tools of your own do, and which argument is the query: lookup=search:for_what,lift=open.",
    ),
    "answer_field": option("--answer-field NAME", "The field that is the answer, of answers that are objects."),
    "asked": option(
        "--questions asked FILE",
        "What was asked, for logs that do not say it: ids (or names of files), questions, references.",
        PATH,
    ),
    "problems": problems_option,
    "quiet": quiet_option,
}


def method_option(default: str = "evidence", *, several: bool = False) -> Decorator[Any]:
    """``--method NAME|FOLDER``; with ``several`` a list with commas, or repeated."""
    many = "; several with commas, or repeated" if several else ""
    return option(
        f"--method{' methods' if several else ''} NAME|FOLDER",
        "What decides: evidence, majority, weighted, trace, verifier, solagg, …, or a folder that fit or train "
        f"wrote{many}; '{LIST}' lists them.",
        default=None if several else default,
        multiple=several,
        callback=_or_list,
        is_eager=True,
    )


BELOW_ALONE = "--below needs --escalate METHOD: the method that is asked below that confidence"
escalation_options = together(
    option(
        "--escalate NAME|FOLDER",
        "Ask this method where the confidence is under --below; the first decision stays where it fails.",
        callback=_or_list,
        is_eager=True,
    ),
    option("--below P", "Confidence for --escalate.", click.FloatRange(0, 1, min_open=True)),
)
_METHOD: dict[str, Decorator[Any]] = {
    "equality": choice(
        "--equality",
        ("exact", "default", "meaning"),
        "When a vote counts two answers as one: the same words (the paper's), the same number, date or short answer, "
        "or the same assertion.",
        default="exact",
    ),
    "form": choice(
        "--form",
        ("commonest", "first", "shortest", "longest"),
        "Which wording of the chosen answer is returned.",
    ),
    "answers": choice(
        "--answers",
        ("auto", "short", "long"),
        "Whether answers are reports, whose claims are compared, or facts; auto looks at their length.",
        default="auto",
    ),
    "seed": seed_option("Seed of random choices."),
    "chat": option("--chat URL#MODEL", "Chat server, for methods that ask a model."),
    "chat_context": option("--chat-context N", "Tokens that the chat model holds.", click.IntRange(512)),
    "chat_tokens": option("--chat-tokens N", "Most tokens of a reply, thinking included.", COUNT),
    "chat_time": option("--chat-time S", "Seconds that a reply of the chat model may take; 3600 by default."),
    "encoder": option("--encoder NAME", f"Instead of the folder's own encoder: {ENCODERS}."),
}


def method_options(*names: str) -> Decorator[Any]:
    """Options of methods, all or those named, as one value ``options``."""
    return _as_one("options", {name: _METHOD[name] for name in names or _METHOD}, _method_options)


def _method_options(**given: Any) -> Any:
    from tracerank.methods import MethodOptions

    return MethodOptions(**given)
