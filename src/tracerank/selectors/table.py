"""Every method by name: the one table from words to what decides on a pool, learned or not.

Help, error messages and what an evaluation remembers of its methods are made from the table. It stands above the votes
and the aggregators because it names the learned methods, too. Whatever is heavy is imported when its row is built.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tracerank.chat.named import (
    aggagent,
    asked_confidence,
    bounded_by,
    chat_of,
    solagg,
    summagg,
    verifier,
)
from tracerank.errors import UsageError
from tracerank.plugins import METHOD_GROUP, Plugin, plugins
from tracerank.pools.correctness import correctness
from tracerank.votes.answer_groups import (
    CONTAINMENT,
    MEANING,
    AnswerGrouping,
    ContainmentGroups,
    DefaultGroups,
    ExactGroups,
    MeaningGroups,
)
from tracerank.votes.base import Method, Sure
from tracerank.votes.explanation import Called
from tracerank.votes.selector import (
    DEFAULT,
    SHIPPED,
    FittedOn,
    existing_folder,
    fitted_on,
    folder_of,
    load_selector,
    selector_digest,
    selector_kind,
)
from tracerank.votes.simple import FewestTools, Oracle, RandomRollout, SingleRollout
from tracerank.votes.voting import FORMS, MajorityVote, WithoutAbstentions

SELECTOR = "selector"
"""The method that is whatever a folder holds."""
CONCURRENCY = 4
"""Requests to a chat server under way at once, about one question."""


class EqualityName(StrEnum):
    """Levels at which a vote takes two answers for one."""

    EXACT = "exact"
    DEFAULT = "default"
    CONTAINMENT = CONTAINMENT
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
    """What the user said about methods, whichever he chose."""

    checkpoint: str | None = None
    """Folder of a trained selector, or the name of a shipped one; None: the shipped one, where a row allows it."""
    encoder: str | None = None
    """None: the checkpoint's own."""
    allow_encoder_mismatch: bool = False
    equality: EqualityName = EqualityName.EXACT
    chat: str | None = None
    """``URL#MODEL`` of the model that compares answers, states confidences, judges or aggregates."""
    seed: int = 0
    """Of what is drawn at random."""
    chat_context: int | None = None
    """Tokens that the chat model holds; None: enough for what the paper allows."""
    count_abstentions: bool = False
    """Whether "I don't know" has a vote, as in the paper."""
    form: FormName | None = None
    """Which wording of the chosen meaning is returned; None: the method's own."""
    chat_tokens: int | None = None
    """Tokens of a chat model's reply; None: as many as suit what is asked."""
    chat_time: str | None = None
    """Seconds that a chat server may take, as ``endpoints/spelling.py`` reads them; decides nothing."""

    def identity(self) -> dict[str, Any]:
        """What a run remembers of them: all that can change a decision."""
        found = asdict(replace(self, checkpoint=selector_digest(self.checkpoint)))
        del found["chat_time"]
        if self.chat_tokens is None:  # nor do runs from before there was such an option
            del found["chat_tokens"]
        return found


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One method that can be named."""

    about: str
    """For the help: what it chooses, in a few words."""
    build: Callable[[MethodOptions], Method]
    needs: str | None = None
    """The field of the options that must be given; None: none."""
    takes_folder: bool = False
    """Whether a trained selector may be named behind it."""
    model: Callable[[MethodOptions], str | None] = lambda _: None
    """Which model decides: a selector by its digest, a chat model or an encoder by name; None: rules alone."""
    tells: bool = True
    """Whether its decisions carry a confidence."""


_NEEDS: Mapping[str, str] = MappingProxyType(
    {
        "checkpoint": "--checkpoint FOLDER is needed to select with {name}; --method majority works without",
        "chat": "--chat URL#MODEL is needed for {name}: the address of a chat server and its model's name",
    }
)


def method_named(name: str, options: MethodOptions | None = None) -> Method:
    """The method, with its checkpoint loaded if it needs one.

    ``NAME=FOLDER`` gives it one of its own; a folder, or the name of a shipped selector, is whatever that holds.
    """
    name, options = checked_options(name, options or MethodOptions())
    return _row(name).build(options)


def checked_options(name: str, options: MethodOptions) -> tuple[str, MethodOptions]:
    """The bare name and its own options, refused if what it needs is missing or its folder is of another kind."""
    name, options = own_options(name, options)
    row = _row(name)
    if row.needs is not None and getattr(options, row.needs) is None:
        raise UsageError(_NEEDS[row.needs].format(name=name))
    if row.takes_folder:
        folder = options.checkpoint or DEFAULT
        existing_folder(folder)
        if name != SELECTOR and (found := selector_kind(folder)) != name:
            raise UsageError(
                f"{folder}: holds a selector of kind {found}, not {name}; write {folder} itself in place of {name}"
            )
    return name, options


def own_options(name: str, options: MethodOptions) -> tuple[str, MethodOptions]:
    """The bare name, and the options with the folder that may stand behind it or in its place."""
    whole = name.strip()
    name, has_folder, folder = whole.partition("=")
    if name not in METHODS and _is_folder(whole):
        return SELECTOR, replace(options, checkpoint=whole)
    row = _row(name, whole)
    if not has_folder:
        return name, options
    if not row.takes_folder or not folder:
        taking = ", ".join(other for other, row in METHODS.items() if row.takes_folder)
        raise UsageError(f"{name}={folder}: only {taking} take a folder after the name")
    return name, replace(options, checkpoint=folder)


def _row(name: str, whole: str | None = None) -> MethodRow:
    """The row of a method, ours or a plug-in's; ``whole`` is what the user wrote."""
    if name in METHODS:
        return METHODS[name]
    if (plugin := plugins(METHOD_GROUP).get(name)) is None:
        known = ", ".join((*METHOD_NAMES, *plugins(METHOD_GROUP)))
        raise UsageError(f"no method or folder is called {whole or name!r}; known are {known}")
    return MethodRow(f"of {plugin.distribution}", partial(plugged_method, plugin), model=lambda _: plugin.distribution)


def plugged_method(plugin: Plugin, options: MethodOptions) -> Method:
    """The method that a plug-in makes of the options."""
    method: Method = plugin.made(("name", "decide"), options)
    return method


def _is_folder(name: str) -> bool:
    """Whether a word that is no method's is a folder, or was meant to be one."""
    return name in SHIPPED or "/" in name or Path(name).is_dir()


def called(name: str) -> str | None:
    """What tables call a selector: what the user called it; None: the method knows its name, of votes with equality."""
    bare = name.strip().partition("=")[0]
    if bare in METHODS:
        return bare if METHODS[bare].takes_folder else None
    return name.strip()  # of a plug-in's method, too: it may call itself like one of ours


def methods_named(text: str, options: MethodOptions | None = None) -> list[Method]:
    """The methods of a list such as ``majority,trace,checkpoints/mine``; each once, because records go by the name.

    All that can be refused without loading is refused before anything is loaded.
    """
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise UsageError(f"--methods {text!r}: expected names separated by commas, for example majority,trace")
    rows = [_row(checked_options(name, options or MethodOptions())[0]) for name in names]
    taken: dict[str, str] = {}
    for name in names:
        if (own := called(name)) is not None:
            _take(taken, name, own)
    built: dict[int, Method] = {}
    # Selectors last: they may take long to load, and the others may be refused while they are built.
    for place in sorted(range(len(names)), key=lambda place: rows[place].takes_folder):
        method, own = method_named(names[place], options), called(names[place])
        if own is None:
            _take(taken, names[place], method.name)
        built[place] = method if own in (None, method.name) else Called(method, own or "")
    return [built[place] for place in range(len(names))]


def _take(taken: dict[str, str], name: str, own: str) -> None:
    if own in taken:
        raise UsageError(
            f"--methods: {taken[own]} and {name} are both called {own}; name one, or the folder itself in place of "
            f"{SELECTOR}=FOLDER, or evaluate into a folder each, and report both"
        )
    taken[own] = name


def unused_checkpoint(names: Sequence[str], options: MethodOptions) -> bool:
    """Whether a folder is given that none of the methods looks at."""
    if options.checkpoint is None:
        return False
    given = folder_of(options.checkpoint).resolve()
    own = [used for row, used in (own_options(name, options) for name in names) if _row(row).takes_folder]
    return all(folder_of(used.checkpoint or DEFAULT).resolve() != given for used in own)


def fitted_by(names: Iterable[str], options: MethodOptions) -> FittedOn:
    """The questions that any of the selectors among these methods was fitted on."""
    found = FittedOn()
    for name in names:
        row, own = own_options(name, options)
        if _row(row).takes_folder:
            found |= fitted_on(own.checkpoint or DEFAULT)
    return found


def method_identity(name: str) -> str:
    """A method as an evaluation remembers it: one with a checkpoint of its own by what that holds."""
    _, own = own_options(name, MethodOptions())
    return name.strip() if own.checkpoint is None else f"{called(name)}={selector_digest(own.checkpoint)}"


def model_of(name: str, options: MethodOptions) -> str | None:
    """The model that decides under a name: a checkpoint by its digest, or a chat model; None: rules alone."""
    name, options = own_options(name, options)
    return _row(name).model(options)


def tells_confidence(name: str) -> bool:
    """Whether decisions of a method carry a confidence; of a plug-in's they may."""
    return _row(own_options(name, MethodOptions())[0]).tells


def _majority(options: MethodOptions) -> Method:
    return MajorityVote(_grouping(options), options.form or FORMS[0], _sure())


def _of_form(grouping: AnswerGrouping, form: str, options: MethodOptions) -> Method:
    return MajorityVote(grouping, form, _sure())


def _sure() -> Sure:
    from tracerank.selectors.meaning.confidence import shipped_confidence

    return shipped_confidence()


def _weighted(options: MethodOptions) -> Method:
    from tracerank.votes.weighted_vote import READ_SOURCES, WeightedVote

    if options.chat is None:
        return WeightedVote(READ_SOURCES, _grouping(options), sure=_sure())
    sources = (*READ_SOURCES, asked_confidence(options))
    return WeightedVote(sources, _grouping(options), concurrency=CONCURRENCY, sure=_sure())


def _weighted_asked(options: MethodOptions) -> Method:
    from tracerank.votes.weighted_vote import WeightedVote

    sources = [asked_confidence(options)]
    return WeightedVote(sources, _grouping(options), concurrency=CONCURRENCY, kind="weighted-asked", sure=_sure())


def _selector(options: MethodOptions) -> Method:
    """The checkpoint's selector; the shipped one when none is given."""
    folder = options.checkpoint or DEFAULT
    selector = load_selector(folder, options.encoder, allow_encoder_mismatch=options.allow_encoder_mismatch)
    return selector if options.form is None else selector.of_form(options.form)


def _grouping(options: MethodOptions) -> AnswerGrouping:
    if options.equality is EqualityName.EXACT:
        return ExactGroups() if options.count_abstentions else WithoutAbstentions()
    if options.count_abstentions:
        raise UsageError(f"--count-abstentions is the paper's rule, for --equality exact, not {options.equality}")
    return _GROUPINGS[options.equality](options)


def _semantic(options: MethodOptions) -> AnswerGrouping:
    from tracerank.embedding.load import load_embedder
    from tracerank.votes.judged_groups import SemanticGroups

    return SemanticGroups(load_embedder(options.encoder or "default"))


def _llm(options: MethodOptions) -> AnswerGrouping:
    if options.chat is None:
        raise UsageError("--equality llm needs --chat URL#MODEL: the address of a chat server and its model's name")
    from tracerank.votes.judged_groups import LlmConfig, LlmGroups

    return LlmGroups(chat_of(options), config=bounded_by(LlmConfig(), options))


_GROUPINGS: Mapping[EqualityName, Callable[[MethodOptions], AnswerGrouping]] = MappingProxyType(
    {
        EqualityName.DEFAULT: lambda _: DefaultGroups(),
        EqualityName.CONTAINMENT: lambda _: ContainmentGroups(),
        EqualityName.MEANING: lambda _: MeaningGroups(),
        EqualityName.SEMANTIC: _semantic,
        EqualityName.LLM: _llm,
    }
)


def _selector_model(options: MethodOptions) -> str | None:
    return " ".join(filter(None, (selector_digest(options.checkpoint), options.encoder)))


def _chat_model(options: MethodOptions) -> str | None:
    return options.chat


def _equality_model(options: MethodOptions) -> str | None:
    models = {EqualityName.LLM: options.chat, EqualityName.SEMANTIC: options.encoder}
    return models.get(options.equality)


def _votes_by(grouping: AnswerGrouping, forms: Sequence[str]) -> dict[str, MethodRow]:
    """A row per form that is returned of the largest group."""
    plain = f"majority-{grouping.name}"
    rows = {plain: MethodRow(f"majority with --equality {grouping.name}", partial(_of_form, grouping, forms[0]))}
    return rows | {
        f"{plain}-{form}": MethodRow(f"its {form} form", partial(_of_form, grouping, form)) for form in forms[1:]
    }


def _fitted(kind: str, about: str) -> dict[str, MethodRow]:
    """A row for selectors of one kind."""
    return {kind: MethodRow(about, _selector, "checkpoint", True, _selector_model)}


def _asking(
    name: str, about: str, build: Callable[[MethodOptions], Method], tells: bool = False
) -> dict[str, MethodRow]:
    """A row for what asks a chat model."""
    return {name: MethodRow(about, build, "chat", model=_chat_model, tells=tells)}


def _aggregating(name: str, about: str, build: Callable[..., Method]) -> dict[str, MethodRow]:
    """A row for what writes the answer, and one by the paper's rules alone."""
    strict = "the same by the paper's rules: asked once, what they do not find stays empty"
    return {**_asking(name, about, build), **_asking(f"{name}-paper", strict, partial(build, is_strict=True))}


METHODS: Mapping[str, MethodRow] = MappingProxyType(
    {
        "single": MethodRow("the first rollout", lambda _: SingleRollout(), tells=False),
        "random": MethodRow("any rollout, drawn by --seed", lambda options: RandomRollout(options.seed), tells=False),
        "fewest-tools": MethodRow("the rollout with the fewest tool calls", lambda _: FewestTools(), tells=False),
        "majority": MethodRow(
            "the commonest answer, by --equality; 'I don't know' has no vote", _majority, model=_equality_model
        ),
        "majority-paper": MethodRow("the paper's: 'I don't know' has one", partial(_of_form, ExactGroups(), FORMS[0])),
        **_votes_by(DefaultGroups(), FORMS),
        **_votes_by(ContainmentGroups(), FORMS[:2]),
        **_votes_by(MeaningGroups(), FORMS),
        "weighted": MethodRow(
            "votes weighed by confidence, asked of --chat where it is not stated", _weighted, model=_chat_model
        ),
        **_asking("weighted-asked", "all confidences asked, as in the paper", _weighted_asked, tells=True),
        SELECTOR: MethodRow(
            "whatever --checkpoint holds, or the shipped selector; a folder itself, default or browsing may stand here",
            _selector,
            takes_folder=True,
            model=_selector_model,
        ),
        **_fitted("trace", "TRACE"),
        **_fitted("meaning", "a selector by meaning, such as the shipped one"),
        **_fitted("trace-plus", "TRACE of the preset plus"),
        **_fitted("features", "a feature selector"),
        **_fitted("stack", "TRACE and features together"),
        **_asking("verifier", "what a chat model judges best, one by one", verifier),
        **_aggregating("solagg", "an answer written from all solutions", solagg),
        **_aggregating("summagg", "an answer written from a report on each", summagg),
        **_aggregating("aggagent", "an answer of an agent that reads the rollouts", aggagent),
        "oracle": MethodRow(
            "the right answer where labels tell it: a bound", lambda _: Oracle(correctness), tells=False
        ),
    }
)
"""In the order of tables and help: no training, then trained, then what asks a chat model, then the bound."""

METHOD_NAMES = tuple(METHODS)
METHOD_HELP = "; ".join(f"{name} ({row.about})" for name, row in METHODS.items())
