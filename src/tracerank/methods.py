"""Every method by name: the one table from words to what decides on a pool, and the one loader of fitted folders.

A folder of any kind may stand wherever a name may. Help, error messages and what a run remembers of its methods come
from the table. Heavy libraries are imported when their row is built.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tracerank.cache_folders import default_reply_folder
from tracerank.errors import CheckpointError, UsageError
from tracerank.extras import missing
from tracerank.plugins import METHOD_GROUP, Plugin, plugins
from tracerank.pools.correctness import correctness
from tracerank.votes.answer_groups import MEANING, AnswerGrouping, DefaultGroups, ExactGroups, MeaningGroups
from tracerank.votes.base import Calibrator, Method
from tracerank.votes.explanation import Called
from tracerank.votes.folders import CONFIDENCE, SHIPPED, FittedOn, existing_folder, fitted_on, selector_digest
from tracerank.votes.folders import selector_kind as kind_in
from tracerank.votes.selector import EmbedderChoice, Selector
from tracerank.votes.simple import FewestTools, Oracle, RandomRollout, SingleRollout
from tracerank.votes.voting import FORMS, MajorityVote, WithoutAbstentions
from tracerank.votes.weighted import READ_SOURCES, WeightedVote

if TYPE_CHECKING:
    from tracerank.chat.asked_confidence import AskedConfidence
    from tracerank.chat.asking import Room
    from tracerank.endpoints.chat import ChatModel

EVIDENCE, TRACE = SHIPPED, "trace"
CONCURRENCY = 4
"""Requests to a chat server under way at once, about one question."""


class EqualityName(StrEnum):
    """Levels at which a vote takes two answers for one."""

    EXACT = "exact"
    DEFAULT = "default"
    MEANING = MEANING
    SEMANTIC = "semantic"
    LLM = "llm"


class FormName(StrEnum):
    """Which wording of the chosen answer is returned."""

    COMMONEST = "commonest"
    SHORTEST = "shortest"
    LONGEST = "longest"
    FIRST = "first"


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """Options of methods; each method uses those that concern it."""

    encoder: str | None = None
    """For vectors; None: the one that a network was trained with."""
    allow_encoder_mismatch: bool = False
    equality: EqualityName = EqualityName.EXACT
    """When a vote takes two answers for one."""
    form: FormName | None = None
    """Which wording of the chosen answer is returned; None: the method's own."""
    count_abstentions: bool = False
    """Whether "I don't know" has a vote, as in the paper."""
    seed: int = 0
    """Of random draws."""
    chat: str | None = None
    """``URL#MODEL`` of the model that compares answers, states confidences, judges or aggregates."""
    chat_context: int | None = None
    """Tokens that the chat model holds; None: enough for what the paper allows."""
    chat_tokens: int | None = None
    """Tokens of a chat model's reply; None: as many as suit the method."""
    chat_time: str | None = None
    """Seconds that a chat server may take, as ``--chat-time`` has them; changes no decision."""

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
    model: Callable[[MethodOptions], str | None] = lambda _: None
    """The model that decides: a digest, a chat model or an encoder by name; None: rules alone."""
    needs_chat: bool = False
    has_confidence: bool = True


def load_method(name: str = EVIDENCE, options: MethodOptions | None = None) -> Method:
    """The method of a name or a folder, ready to decide."""
    return checked_row(name, options or MethodOptions()).build(options or MethodOptions())


def load_selector(
    folder: str | Path = SHIPPED, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
) -> Selector:
    """The fitted method in a folder, of any kind; one that reads vectors takes its own encoder by default.

    Vectors of an encoder that is loaded here are kept in the cache on disk; an embedder object is used as it is.
    """
    place = existing_folder(folder)
    kind = kind_in(place)
    module, class_name = _CLASSES[kind]
    try:
        found: type[Selector] = getattr(import_module(module), class_name)
    except ImportError as error:
        by = f"{place}: a selector of kind {kind} needs"
        raise CheckpointError(missing(by, error.name or "more libraries", "embed")) from None
    selector = found.load(place, embedder, allow_encoder_mismatch=allow_encoder_mismatch)
    selector.calibrator = _calibrator(place)
    return selector


_CLASSES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        EVIDENCE: ("tracerank.evidence.selector", "EvidenceSelector"),
        TRACE: ("tracerank.trace.selector", "TraceSelector"),
        "vote": ("tracerank.votes.fitted_vote", "FittedVote"),
    }
)
"""Kind of folder to module and class: names, because some bring torch."""


def _calibrator(folder: Path | None = None) -> Calibrator:
    """The calibration of a folder, or what ships."""
    from tracerank.evidence.confidence import read_confidence, shipped_confidence

    own = read_confidence(folder) if folder is not None and (folder / CONFIDENCE).exists() else None
    return own or shipped_confidence()


def checked_row(name: str, options: MethodOptions) -> MethodRow:
    """The row of a method, of a folder or of a plug-in; refuses what cannot be built with these options."""
    row = _row(name.strip())
    if row.needs_chat and options.chat is None:
        raise UsageError(f"--chat URL#MODEL is needed for {name}: the address of a chat server and its model's name")
    return row


def _row(name: str) -> MethodRow:
    if name in METHODS:
        return METHODS[name]
    if is_folder(name):
        existing_folder(name)
        return MethodRow(f"of {name}", partial(_fitted, name), partial(_fitted_model, name))
    if (plugin := plugins(METHOD_GROUP).get(name)) is not None:
        return MethodRow(f"of {plugin.distribution}", partial(plugged_method, plugin), lambda _: plugin.distribution)
    if (instead := _instead(name)) is not None:
        raise UsageError(f"the method {name!r} was removed: {instead}")
    known = ", ".join((*METHOD_NAMES, *plugins(METHOD_GROUP)))
    raise UsageError(f"no method or folder is called {name!r}; known are {known}")


def is_folder(name: str) -> bool:
    """Whether a word that is not a method's name is a folder, or was meant to be one."""
    return name not in METHODS and "=" not in name and ("/" in name or Path(name).is_dir())


def _instead(name: str) -> str | None:
    """What to use in place of a method of an earlier version; None: there was none of this name."""
    _, _, folder = name.partition("=")
    if folder:
        return f"use --method {folder}"
    if name in _REMOVED:
        return _REMOVED[name]
    kind, _, rest = name.partition("-")
    equality, _, form = rest.partition("-")
    if kind == "majority" and equality == "containment":
        return "use --method majority --equality default"
    if kind == "majority" and equality in list(EqualityName) and form in ("", *FORMS):
        return f"use --method majority --equality {equality}{form and f' --form {form}'}"
    if rest == "paper" and kind in ("solagg", "summagg", "aggagent"):
        return f"use --method {kind}: `counts` of a decision says where the paper's rules found no answer"
    return None


_NO_BETTER = "it was never surely better than evidence"
_REMOVED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("selector", "meaning", "default", "shipped"), f"use --method {EVIDENCE}"),
        "browsing": f"{_NO_BETTER} on real rollouts; use --method {EVIDENCE}",
        **dict.fromkeys(("features", "stack", "trace-plus", "gated"), f"{_NO_BETTER}; use --method {EVIDENCE}"),
        **dict.fromkeys(("verifier-graded", "verifier-tournament"), "use --method verifier"),
    }
)


def plugged_method(plugin: Plugin, options: MethodOptions) -> Method:
    """The method that a plug-in makes of the options."""
    method: Method = plugin.made(("name", "decide"), options)
    return method


def methods_named(names: str | Iterable[str], options: MethodOptions | None = None) -> list[Method]:
    """The methods of several names, or of one text with commas; each once, because records go by the name.

    A folder's method goes by the name that the user gave it. Everything is checked before anything is loaded.
    """
    options = options or MethodOptions()
    parts = names.split(",") if isinstance(names, str) else names
    wanted = [part.strip() for part in parts if part.strip()]
    if not wanted:
        raise UsageError("--method: expected a name or a folder, for example majority")
    rows = [checked_row(name, options) for name in wanted]
    built: list[Method] = []
    for name, row in zip(wanted, rows, strict=True):
        if wanted.count(name) > 1:
            raise UsageError(f"--method: {name} is named twice")
        method = row.build(options)
        built.append(method if name in METHODS or method.name == name else Called(method, name))
    taken: dict[str, str] = {}
    for name, method in zip(wanted, built, strict=True):
        if (other := taken.setdefault(method.name, name)) != name:
            raise UsageError(f"--method: {other} and {name} are both called {method.name}; evaluate them separately")
    return built


def fitted_by(names: Iterable[str]) -> FittedOn:
    """The questions that any of the fitted methods among these was fitted on."""
    found = FittedOn()
    for name in names:
        if name == EVIDENCE or is_folder(name):
            found |= fitted_on(name)
    return found


def method_identity(name: str) -> str:
    """A method as a run remembers it: a fitted one by the digest of its folder."""
    return f"{name}={selector_digest(name)}" if name == EVIDENCE or is_folder(name) else name


def model_of(name: str, options: MethodOptions) -> str | None:
    """The model that decides under a name: a folder by its digest, or a chat model; None: rules alone."""
    return _row(name.strip()).model(options)


def has_confidence(name: str) -> bool:
    """Whether decisions of a method carry a confidence; those of a plug-in may."""
    return _row(name.strip()).has_confidence


def _majority(options: MethodOptions) -> Method:
    return MajorityVote(_grouping(options), options.form or FORMS[0], _calibrator())


def _majority_paper(options: MethodOptions) -> Method:
    return MajorityVote(ExactGroups(), FORMS[0], _calibrator())


def _weighted(options: MethodOptions, kind: str, is_asked: bool) -> Method:
    read = () if is_asked else READ_SOURCES
    sources = (*read, asked_confidence(options)) if options.chat is not None else read
    concurrency = CONCURRENCY if options.chat is not None else 1
    return WeightedVote(sources, _grouping(options), options.form or FORMS[0], concurrency, kind, _calibrator())


def _fitted(folder: str, options: MethodOptions) -> Method:
    selector = load_selector(folder, options.encoder, allow_encoder_mismatch=options.allow_encoder_mismatch)
    return selector if options.form is None else selector.of_form(options.form)


def _fitted_model(folder: str, options: MethodOptions) -> str | None:
    return " ".join(filter(None, (selector_digest(folder), options.encoder)))


def _no_network(options: MethodOptions) -> Method:
    raise UsageError(
        f"--method {TRACE}: no trained network comes with tracerank; name the folder of one, as `tracerank train` "
        "writes it: --method FOLDER"
    )


def _grouping(options: MethodOptions) -> AnswerGrouping:
    if options.equality is EqualityName.EXACT:
        return ExactGroups() if options.count_abstentions else WithoutAbstentions()
    if options.count_abstentions:
        raise UsageError(f"--count-abstentions is the paper's rule, for --equality exact, not {options.equality}")
    return _GROUPINGS[options.equality](options)


def _semantic(options: MethodOptions) -> AnswerGrouping:
    from tracerank.embedding.load import load_embedder
    from tracerank.votes.semantic_groups import SemanticGroups

    return SemanticGroups(load_embedder(options.encoder or "default"))


def _llm(options: MethodOptions) -> AnswerGrouping:
    if options.chat is None:
        raise UsageError("--equality llm needs --chat URL#MODEL: the address of a chat server and its model's name")
    from tracerank.chat.llm_groups import LlmGroups

    return LlmGroups(chat_of(options), room_within(LlmGroups.room, options))


_GROUPINGS: Mapping[EqualityName, Callable[[MethodOptions], AnswerGrouping]] = MappingProxyType(
    {
        EqualityName.DEFAULT: lambda _: DefaultGroups(),
        EqualityName.MEANING: lambda _: MeaningGroups(),
        EqualityName.SEMANTIC: _semantic,
        EqualityName.LLM: _llm,
    }
)


def chat_of(options: MethodOptions) -> "ChatModel":
    """The chat model of the options; replies are cached on disk."""
    from tracerank.endpoints.chat_cache import CachedChat
    from tracerank.endpoints.chat_http import HttpChat, chat_config

    return CachedChat(HttpChat(chat_config(options.chat or "", options.chat_time)), default_reply_folder())


def room_within(room: "Room", options: MethodOptions) -> "Room":
    """The room within the context and the tokens of the options."""
    return room.within(options.chat_context, options.chat_tokens)


def asked_confidence(options: MethodOptions) -> "AskedConfidence":
    """The source that asks the chat model of the options."""
    from tracerank.chat.asked_confidence import AskedConfidence

    return AskedConfidence(chat_of(options), room_within(AskedConfidence.room, options))


def _verifier(options: MethodOptions) -> Method:
    from tracerank.chat.verifier import Verifier

    return Verifier(chat_of(options), room_within(Verifier.room, options))


def _solagg(options: MethodOptions) -> Method:
    from tracerank.chat.solagg import SolAgg

    return SolAgg(chat_of(options), room_within(SolAgg.room, options))


def _summagg(options: MethodOptions) -> Method:
    from tracerank.chat.solagg import SummAgg

    return SummAgg(chat_of(options), room_within(SummAgg.room, options))


def _aggagent(options: MethodOptions) -> Method:
    from tracerank.chat.aggagent import AggAgent

    return AggAgent(chat_of(options), room_within(AggAgent.room, options))


def _chat_model(options: MethodOptions) -> str | None:
    return options.chat


def _equality_model(options: MethodOptions) -> str | None:
    return {EqualityName.LLM: options.chat, EqualityName.SEMANTIC: options.encoder}.get(options.equality)


def _asking(about: str, build: Callable[[MethodOptions], Method], has_confidence: bool = False) -> MethodRow:
    return MethodRow(about, build, _chat_model, needs_chat=True, has_confidence=has_confidence)


METHODS: Mapping[str, MethodRow] = MappingProxyType(
    {
        "single": MethodRow("the first rollout", lambda _: SingleRollout(), has_confidence=False),
        "random": MethodRow(
            "any rollout, drawn by --seed", lambda options: RandomRollout(options.seed), has_confidence=False
        ),
        "fewest-tools": MethodRow(
            "the rollout with the fewest tool calls", lambda _: FewestTools(), has_confidence=False
        ),
        "majority": MethodRow(
            "the commonest answer, by --equality; 'I don't know' has no vote", _majority, _equality_model
        ),
        "majority-paper": MethodRow("the paper's: 'I don't know' has one", _majority_paper),
        "weighted": MethodRow(
            "votes weighed by confidence, asked of --chat where it is not stated",
            partial(_weighted, kind="weighted", is_asked=False),
            _chat_model,
        ),
        "weighted-asked": _asking(
            "all confidences asked, as in the paper",
            partial(_weighted, kind="weighted-asked", is_asked=True),
            has_confidence=True,
        ),
        EVIDENCE: MethodRow(
            "the selector that ships: the meaning that votes and evidence make likeliest",
            partial(_fitted, EVIDENCE),
            partial(_fitted_model, EVIDENCE),
        ),
        TRACE: MethodRow("a trained TRACE network: name its folder", _no_network),
        "verifier": _asking("what a chat model judges best, one by one", _verifier),
        "solagg": _asking("an answer written from all solutions", _solagg),
        "summagg": _asking("an answer written from a report on each", _summagg),
        "aggagent": _asking("an answer of an agent that reads the rollouts", _aggagent),
        "oracle": MethodRow(
            "the right answer where labels give it: a bound", lambda _: Oracle(correctness), has_confidence=False
        ),
    }
)
"""In the order of tables and help: without training, then trained, then those that ask a chat model, then the bound."""

METHOD_NAMES: Sequence[str] = tuple(METHODS)
METHOD_HELP = "; ".join(f"{name} ({row.about})" for name, row in METHODS.items())
