"""Every method by name: the one table from words to what decides on a pool, and the one loader of fitted folders.

A folder of any kind may stand wherever a name may. Help, error messages and what a run remembers of its methods come
from the table. Heavy libraries are imported when their row is built.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial, reduce
from importlib import import_module
from operator import or_
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tracerank.cache_folders import default_reply_folder
from tracerank.errors import CheckpointError, UsageError, did_you_mean
from tracerank.extras import missing
from tracerank.plugins import METHOD_GROUP, Plugin, plugins
from tracerank.reports.deciding import ANSWERS, AUTO, LONG, SHORT, ByLength
from tracerank.votes.agents import Reliabilities
from tracerank.votes.answer_groups import AnswerGrouping, DefaultGroups, ExactGroups, MeaningGroups, WithoutAbstentions
from tracerank.votes.base import Calibrator, Method
from tracerank.votes.escalation import Escalating
from tracerank.votes.explanation import Called
from tracerank.votes.fitted_vote import FittedVote
from tracerank.votes.folders import SHIPPED, FittedOn, existing_folder, fitted_on, selector_digest, selector_kind
from tracerank.votes.selector import EmbedderChoice, Selector
from tracerank.votes.simple import FewestTools, Oracle, RandomRollout, SingleRollout
from tracerank.votes.voting import FORMS, MajorityVote
from tracerank.votes.weighted import READ_SOURCES, ConfidenceSource, WeightedVote

EVIDENCE, TRACE = SHIPPED, "trace"
_GROUPINGS: Mapping[str, AnswerGrouping] = MappingProxyType(
    {"exact": WithoutAbstentions(), "default": DefaultGroups(), "meaning": MeaningGroups()}
)
EQUALITIES = tuple(_GROUPINGS)
"""Levels at which a vote takes two answers for one."""
CONCURRENCY = 4
"""Requests to a chat server under way at once, about one question."""


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """Options of methods; each method uses those that concern it."""

    encoder: str | None = None
    """For vectors; None: the one that a network was trained with."""
    equality: str = EQUALITIES[0]
    """When a vote counts two answers as the same."""
    form: str | None = None
    """Which wording of the chosen answer is returned: one of ``FORMS``; None: the method's own."""
    seed: int = 0
    """Of random draws."""
    chat: str | None = None
    """``URL#MODEL`` of the model that states confidences, judges or aggregates."""
    chat_context: int | None = None
    """Tokens that the chat model holds; None: enough for what the paper allows."""
    chat_tokens: int | None = None
    """Tokens of a chat model's reply; None: as many as suit the method."""
    chat_time: str | None = None
    """Seconds that a chat server may take, as ``--chat-time`` has them; changes no decision."""
    answers: str = AUTO
    """``long``: answers are reports; ``short``: facts; ``auto``: by their length. For ``evidence`` and folders."""

    def __post_init__(self) -> None:
        if self.equality not in EQUALITIES:
            raise UsageError(f"equality {self.equality!r}: expected one of {', '.join(EQUALITIES)}")
        if self.answers not in ANSWERS:
            raise UsageError(f"answers {self.answers!r}: expected one of {', '.join(ANSWERS)}")
        if self.form not in (None, *FORMS):
            raise UsageError(f"form {self.form!r}: expected one of {', '.join(FORMS)}")

    def identity(self) -> dict[str, Any]:
        """What a run remembers of them: everything that can change a decision."""
        found = asdict(self)
        del found["chat_time"]
        return found


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One method that can be named."""

    about: str
    """For the help: what it chooses, in a few words."""
    build: Callable[[MethodOptions], Method]
    needs_chat: bool = False
    has_confidence: bool = True


def load_method(name: str = EVIDENCE, options: MethodOptions | None = None, **named: Any) -> Method:
    """The method of a name or a folder, ready to decide: ``load_method("majority", equality="meaning")``.

    Options are given by name; each method uses those that concern it: ``equality`` (``exact``, ``default``,
    ``meaning``), ``form`` (``first``, ``shortest``, ``longest``, ``commonest``), ``answers`` (``auto``, ``long``,
    ``short``), ``seed``, ``encoder``, and ``chat`` (``URL#MODEL``) with ``chat_context``, ``chat_tokens`` and
    ``chat_time``. ``options`` holds the same as one object.
    """
    known = [one.name for one in fields(MethodOptions)]
    if unknown := [one for one in named if one not in known]:
        raise UsageError(f"load_method has no option {unknown[0]!r}{did_you_mean(unknown[0], known)}")
    options = replace(options or MethodOptions(), **named)
    return _checked_row(name, options).build(options)


def load_selector(folder: str | Path = SHIPPED, embedder: EmbedderChoice = None) -> Selector:
    """The fitted method in a folder, of any kind; one that reads vectors takes its own encoder by default.

    Vectors of an encoder that is loaded here are kept in the cache on disk; an embedder object is used as it is.
    """
    path = existing_folder(folder)
    kind = selector_kind(path)
    module, class_name = _CLASSES[kind]
    try:
        found: type[Selector] = getattr(import_module(module), class_name)
    except ImportError as error:
        by = f"{path}: a selector of kind {kind} needs"
        raise CheckpointError(missing(by, error.name or "more libraries", "embed")) from None
    selector = found.load(path, embedder)
    selector.calibrator = _calibrator(path)
    return selector


def agent_vote(agents: Reliabilities, options: MethodOptions) -> FittedVote:
    """The vote by meaning that weighs agents, with the confidence that ships."""
    vote = FittedVote.of_agents(agents, options.form)
    vote.calibrator = _calibrator()
    return vote


_CLASSES = {
    EVIDENCE: ("tracerank.evidence.selector", "EvidenceSelector"),
    TRACE: ("tracerank.trace.selector", "TraceSelector"),
    "vote": ("tracerank.votes.fitted_vote", "FittedVote"),
}
"""Kind of folder to module and class: names, because some bring torch."""


def _calibrator(folder: Path | None = None) -> Calibrator:
    """The calibration of a folder, or what ships."""
    from tracerank.evidence.confidence import read_confidence, shipped_confidence

    return (folder and read_confidence(folder)) or shipped_confidence()


def _checked_row(name: str, options: MethodOptions) -> MethodRow:
    """The row of a method, of a folder or of a plug-in; refuses what cannot be built with these options."""
    row = _row(name.strip())
    if options.answers == LONG and name.strip() in METHODS and name.strip() != EVIDENCE:
        raise UsageError(f"--answers {LONG}: reports are chosen by --method {EVIDENCE}; {name} compares short answers")
    if row.needs_chat and options.chat is None:
        raise UsageError(f"--chat URL#MODEL is needed for {name}: the address of a chat server and its model's name")
    return row


def _row(name: str) -> MethodRow:
    if name in METHODS:
        return METHODS[name]
    if is_folder(name):
        existing_folder(name)
        return MethodRow(f"of {name}", partial(fitted_method, name))
    if (plugin := plugins(METHOD_GROUP).get(name)) is not None:
        return MethodRow(f"of {plugin.distribution}", partial(plugged_method, plugin))
    if (instead := _instead(name)) is not None:
        raise UsageError(f"the method {name!r} was removed: {instead}")
    known = (*METHODS, *plugins(METHOD_GROUP))
    raise UsageError(f"no method or folder is called {name!r}{did_you_mean(name, known)}; known are {', '.join(known)}")


def is_folder(name: str) -> bool:
    """Whether a word that is not a method's name is a folder, or was meant to be one."""
    return name not in METHODS and "=" not in name and ("/" in name or Path(name).is_dir())


def is_fitted(name: str) -> bool:
    """Whether a method comes from a folder, of the package or of the user."""
    return name in (EVIDENCE, TRACE) or is_folder(name)


def _instead(name: str) -> str | None:
    """What to use instead of a method of an earlier version; None: there was none of this name."""
    _, _, folder = name.partition("=")
    if folder:
        return f"use --method {folder}"
    kind, _, rest = name.partition("-")
    equality, _, form = rest.partition("-")
    if kind == "majority" and equality in EQUALITIES and form in ("", *FORMS):
        return f"use --method majority --equality {equality}{form and f' --form {form}'}"
    return _REMOVED.get(name)


_REMOVED = {
    "majority-containment": "use --method majority --equality default",
    **dict.fromkeys(("verifier-graded", "verifier-tournament"), "use --method verifier"),
    **{f"{name}-paper": f"use --method {name}" for name in ("solagg", "summagg", "aggagent")},
    **dict.fromkeys(
        ("selector", "meaning", "default", "shipped", "browsing", "features", "stack", "trace-plus", "gated"),
        f"use --method {EVIDENCE}",
    ),
}


def plugged_method(plugin: Plugin, options: MethodOptions) -> Method:
    """The method that a plug-in makes of the options."""
    method: Method = plugin.made(("name", "decide"), options)
    return method


def methods_named(names: Sequence[str], options: MethodOptions | None = None) -> list[Method]:
    """The methods of several names, each once, because records go by the name.

    A folder's method goes by the name that the user gave it. Everything is checked before anything is loaded.
    """
    options = options or MethodOptions()
    rows = {name: _checked_row(name, options) for name in names}
    if twice := [name for name in rows if names.count(name) > 1]:
        raise UsageError(f"--method: {twice[0]} is named twice")
    taken: dict[str, tuple[str, Method]] = {}
    for name, row in rows.items():
        method = row.build(options)
        method = method if name in METHODS or method.name == name else Called(method, name)
        other, _ = taken.setdefault(method.name, (name, method))
        if other != name:
            raise UsageError(f"--method: {other} and {name} are both called {method.name}; evaluate them separately")
    return [method for _, method in taken.values()]


def escalating(
    methods: Mapping[str, Method], second: str, below: float | None, options: MethodOptions | None = None
) -> list[Method]:
    """The methods, by name, that state a confidence, each with a second one behind it that is asked below ``below``."""
    if below is None:
        raise UsageError(f"--escalate {second} needs --below P: the confidence below which it is asked")
    able = [method for name, method in methods.items() if has_confidence(name)]
    if not able:
        known = ", ".join(one for one in METHODS if has_confidence(one))
        raise UsageError(f"--escalate: no method that was named states a confidence; these do: {known}")
    [other] = methods_named([second], options)
    return [Escalating(method, other, below) for method in able]


def fitted_by(names: Iterable[str]) -> FittedOn:
    """The questions that any of the fitted methods among these was fitted on."""
    return reduce(or_, [fitted_on(name) for name in names if is_fitted(name)], FittedOn())


def method_identity(name: str) -> str:
    """A method as a run remembers it: a fitted one by the digest of its folder."""
    return f"{name}={selector_digest(name)}" if is_fitted(name) else name


def has_confidence(name: str) -> bool:
    """Whether decisions of a method carry a confidence; those of a plug-in may."""
    return _row(name.strip()).has_confidence


def _majority(options: MethodOptions) -> Method:
    return MajorityVote(_GROUPINGS[options.equality], options.form or FORMS[0], _calibrator())


def _weighted(options: MethodOptions, kind: str, sources: Sequence[ConfidenceSource]) -> Method:
    concurrency = 1
    if options.chat is not None:
        asked = _asking("asked_confidence", "AskedConfidence", options)
        sources, concurrency = (*sources, asked), CONCURRENCY
    grouping, form = _GROUPINGS[options.equality], options.form or FORMS[0]
    return WeightedVote(sources, grouping, form, concurrency, kind, _calibrator())


def fitted_method(folder: str = EVIDENCE, options: MethodOptions | None = None) -> Method:
    """The fitted method in a folder; all but the paper's network decide long answers as reports."""
    options = options or MethodOptions()
    selector = load_selector(folder, options.encoder)
    selector = selector if options.form is None else selector.of_form(options.form)
    return selector if options.answers == SHORT or selector.kind == TRACE else ByLength(selector, options.answers)


def _asking(module: str, class_name: str, options: MethodOptions) -> Any:
    """What asks the chat model of the options, within their room: a class of ``tracerank.chat``; replies are cached."""
    from tracerank.endpoints.chat_cache import CachedChat
    from tracerank.endpoints.chat_http import HttpChat, chat_config

    found = getattr(import_module(f"tracerank.chat.{module}"), class_name)
    chat = CachedChat(HttpChat(chat_config(options.chat or "", options.chat_time)), default_reply_folder())
    return found(chat, found.room.within(options.chat_context, options.chat_tokens))


def _asking_row(about: str, module: str, class_name: str) -> MethodRow:
    return MethodRow(about, partial(_asking, module, class_name), needs_chat=True, has_confidence=False)


_plain = partial(MethodRow, has_confidence=False)
METHODS: Mapping[str, MethodRow] = MappingProxyType(
    {
        "single": _plain("the first rollout", lambda _: SingleRollout()),
        "random": _plain("any rollout, drawn by --seed", lambda options: RandomRollout(options.seed)),
        "fewest-tools": _plain("the rollout with the fewest tool calls", lambda _: FewestTools()),
        "majority": MethodRow("the commonest answer, by --equality; 'I don't know' has no vote", _majority),
        "majority-paper": MethodRow(
            "the paper's: 'I don't know' has one", lambda _: MajorityVote(ExactGroups(), FORMS[0], _calibrator())
        ),
        "weighted": MethodRow(
            "votes weighed by confidence, asked of --chat where it is not stated",
            partial(_weighted, kind="weighted", sources=READ_SOURCES),
        ),
        "weighted-asked": MethodRow(
            "all confidences asked, as in the paper",
            partial(_weighted, kind="weighted-asked", sources=()),
            needs_chat=True,
        ),
        EVIDENCE: MethodRow(
            "the selector that ships: the meaning that votes and evidence make likeliest",
            partial(fitted_method, EVIDENCE),
        ),
        TRACE: MethodRow(
            "the paper's network, trained on generated pools; or name the folder of one",
            partial(fitted_method, TRACE),
        ),
        "verifier": _asking_row("what a chat model judges best, one by one", "verifier", "Verifier"),
        "solagg": _asking_row("an answer written from all solutions", "solagg", "SolAgg"),
        "summagg": _asking_row("an answer written from a report on each", "solagg", "SummAgg"),
        "aggagent": _asking_row("an answer of an agent that reads the rollouts", "aggagent", "AggAgent"),
        "oracle": _plain("the right answer where labels give it: a bound", lambda _: Oracle()),
    }
)
"""In the order of tables and help: without training, then trained, then those that ask a chat model, then the bound."""
