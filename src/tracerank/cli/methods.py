"""Methods by name: the one table from words on the command line to what settles a pool.

Help and error messages are made from the table. Whatever is heavy is imported when its row is built.
"""

import atexit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from tracerank.errors import UsageError
from tracerank.methods.answer_groups import CONTAINMENT, AnswerGrouping, ContainmentGroups, DefaultGroups, ExactGroups
from tracerank.methods.base import Method
from tracerank.methods.simple import FewestTools, Oracle, RandomRollout, SingleRollout
from tracerank.methods.voting import FORMS, MajorityVote, WithoutAbstentions
from tracerank.methods.weighted_vote import READ_SOURCES, WeightedVote

if TYPE_CHECKING:
    from tracerank.endpoints.chat import ChatModel
    from tracerank.endpoints.chat_http import HttpChat
    from tracerank.methods.weighted_vote import ConfidenceSource

CONCURRENCY = 4
"""Requests to a chat server under way at once, about one question."""


class EqualityName(StrEnum):
    """What ``--equality`` takes."""

    EXACT = "exact"
    DEFAULT = "default"
    CONTAINMENT = CONTAINMENT
    SEMANTIC = "semantic"
    LLM = "llm"


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """What the user said about methods, whichever he chose; all of it can change a decision."""

    checkpoint: str | None = None
    encoder: str | None = None
    """None: the checkpoint's own."""
    allow_encoder_mismatch: bool = False
    equality: EqualityName = EqualityName.EXACT
    chat: str | None = None
    """``URL#model`` of the model that compares answers, states confidences, judges or aggregates."""
    seed: int = 0
    """Of what is drawn at random."""
    chat_context: int | None = None
    """Tokens that the chat model holds; None: enough for what the paper allows."""
    count_abstentions: bool = False
    """Whether "I don't know" has a vote, as in the paper."""


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One method that can be named."""

    about: str
    """For the help: what it chooses, in a few words."""
    build: Callable[[MethodOptions], Method]
    needs: str | None = None
    """The field of the options that must be given; None: none."""

    @property
    def takes_folder(self) -> bool:
        """Whether a trained selector may be named behind it."""
        return isinstance(self.build, partial) and self.build.func is _selector


_NEEDS: Mapping[str, str] = MappingProxyType(
    {
        "checkpoint": "--checkpoint FOLDER is needed to select with {name}; --method majority works without",
        "chat": "--chat URL#MODEL is needed for {name}: the address of a chat server and its model's name",
    }
)


def method_named(name: str, options: MethodOptions) -> Method:
    """The method, with its checkpoint loaded if it needs one; ``NAME=FOLDER`` gives it one of its own."""
    name, options = own_options(name, options)
    row = METHODS[name]
    if row.needs is not None and getattr(options, row.needs) is None:
        raise UsageError(_NEEDS[row.needs].format(name=name))
    return row.build(options)


def own_options(name: str, options: MethodOptions) -> tuple[str, MethodOptions]:
    """The bare name, and the options with the folder that may stand behind it."""
    name, has_folder, folder = name.strip().partition("=")
    row = METHODS.get(name)
    if row is None:
        raise UsageError(f"no method is called {name!r}; known are {', '.join(METHOD_NAMES)}")
    if not has_folder:
        return name, options
    if not row.takes_folder or not folder:
        taking = ", ".join(other for other, row in METHODS.items() if row.takes_folder)
        raise UsageError(f"{name}={folder}: only {taking} take a folder after the name")
    return name, replace(options, checkpoint=folder)


def methods_named(text: str, options: MethodOptions) -> list[Method]:
    """The methods of a list such as ``majority,weighted,trace``; each once, because records go by the name."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise UsageError(f"--methods {text!r}: expected names separated by commas, for example majority,trace")
    built = [method_named(name, options) for name in names]
    made: dict[str, str] = {}
    for name, method in zip(names, built, strict=True):
        if method.name in made:
            raise UsageError(
                f"--methods: {made[method.name]} and {name} are both called {method.name}; name one, or evaluate into "
                "a folder each, and report both"
            )
        made[method.name] = name
    return built


def _majority(options: MethodOptions) -> Method:
    return MajorityVote(_grouping(options))


def _of_form(grouping: AnswerGrouping, form: str, options: MethodOptions) -> Method:
    return MajorityVote(grouping, form)


def _weighted(options: MethodOptions) -> Method:
    if options.chat is None:
        return WeightedVote(READ_SOURCES, _grouping(options))
    return WeightedVote((*READ_SOURCES, _asked_confidence(options)), _grouping(options), concurrency=CONCURRENCY)


def _weighted_asked(options: MethodOptions) -> Method:
    sources = [_asked_confidence(options)]
    return WeightedVote(sources, _grouping(options), concurrency=CONCURRENCY, kind="weighted-asked")


def _asked_confidence(options: MethodOptions) -> "ConfidenceSource":
    from tracerank.methods.weighted_vote import AskedConfidence

    return AskedConfidence(_cached_chat(options))


def _aggregator(name: str, options: MethodOptions) -> Method:
    from tracerank.methods.aggregation.aggagent import AggAgent, AggAgentConfig
    from tracerank.methods.aggregation.solagg import AggregationConfig, SolAgg, SummAgg
    from tracerank.methods.aggregation.verifier import Verifier, VerifierConfig

    writing, agent, judging = AggregationConfig(), AggAgentConfig(), VerifierConfig()
    if (context := options.chat_context) is not None:
        # A quarter for the reply; a word of others takes up to two tokens.
        reply, words = min(writing.max_tokens, context // 4), context // 4
        writing = replace(writing, max_tokens=reply, prompt_words=min(writing.prompt_words, words))
        agent = replace(agent, max_tokens=reply, token_cap=min(agent.token_cap, context - 2 * reply))
        judging = replace(
            judging,
            max_tokens=min(judging.max_tokens, reply),
            evidence_words=min(judging.evidence_words, words),
        )
    kinds: dict[str, Callable[[ChatModel], Method]] = {
        "solagg": lambda chat: SolAgg(chat, writing),
        "summagg": lambda chat: SummAgg(chat, writing),
        "aggagent": lambda chat: AggAgent(chat, agent),
        "verifier": lambda chat: Verifier(chat, judging),
    }
    return kinds[name](_cached_chat(options))


def _oracle(options: MethodOptions) -> Method:
    from tracerank.pools.correctness import correctness

    return Oracle(correctness)


def _selector(kind: str | None, options: MethodOptions) -> Method:
    """The checkpoint's selector, when it is what the name says; the shipped one when none is given."""
    from tracerank.selectors.load import DEFAULT, encoder_of, load_selector, selector_kind

    folder = options.checkpoint or DEFAULT
    found = selector_kind(folder)
    if kind is not None and found != kind:
        raise UsageError(f"{folder}: holds a selector of kind {found}, not {kind}; use --method selector")
    embedder = None
    if (identity := encoder_of(folder)) is not None:
        from tracerank.cli.encoders import encoder_for

        embedder = encoder_for(identity, options.encoder)
    return load_selector(folder, embedder, allow_encoder_mismatch=options.allow_encoder_mismatch)


def _grouping(options: MethodOptions) -> AnswerGrouping:
    if options.equality is EqualityName.EXACT:
        return ExactGroups() if options.count_abstentions else WithoutAbstentions()
    if options.count_abstentions:
        raise UsageError(f"--count-abstentions is the paper's rule, for --equality exact, not {options.equality}")
    if options.equality is EqualityName.DEFAULT:
        return DefaultGroups()
    if options.equality is EqualityName.CONTAINMENT:
        return ContainmentGroups()
    if options.equality is EqualityName.SEMANTIC:
        from tracerank.cli.encoders import encoder_named
        from tracerank.methods.judged_groups import SemanticGroups

        return SemanticGroups(encoder_named(options.encoder or "default"))
    if options.chat is None:
        raise UsageError("--equality llm needs --chat URL#model: the address of a chat server and its model's name")
    from tracerank.embedding.base import default_cache_folder
    from tracerank.methods.judged_groups import LlmGroups
    from tracerank.methods.verdicts import VerdictFile

    folder = default_cache_folder().parent
    folder.mkdir(parents=True, exist_ok=True)
    return LlmGroups(_http_chat(options), VerdictFile(folder / "verdicts.jsonl"))


def _cached_chat(options: MethodOptions) -> "ChatModel":
    """The chat model, asked the same only once, whoever asks."""
    from tracerank.embedding.base import default_cache_folder
    from tracerank.endpoints.chat_cache import CachedChat

    return CachedChat(_http_chat(options), default_cache_folder().parent / "chat")


def _http_chat(options: MethodOptions) -> "HttpChat":
    from tracerank.endpoints.chat_http import ChatConfig, HttpChat

    address, _, model = (options.chat or "").partition("#")
    chat = HttpChat(ChatConfig(address, model or "default"))
    atexit.register(chat.close)  # a process runs one command, and methods have no end of their own
    return chat


def _votes_by(grouping: AnswerGrouping, forms: Sequence[str]) -> dict[str, MethodRow]:
    """A row per form that is returned of the largest group."""
    plain = f"majority-{grouping.name}"
    rows = {plain: MethodRow(f"majority with --equality {grouping.name}", partial(_of_form, grouping, forms[0]))}
    return rows | {
        f"{plain}-{form}": MethodRow(f"its {form} form", partial(_of_form, grouping, form)) for form in forms[1:]
    }


METHODS: Mapping[str, MethodRow] = MappingProxyType(
    {
        "single": MethodRow("the first rollout", lambda _: SingleRollout()),
        "random": MethodRow("any rollout, drawn by --seed", lambda options: RandomRollout(options.seed)),
        "fewest-tools": MethodRow("the rollout with the fewest tool calls", lambda _: FewestTools()),
        "majority": MethodRow("the commonest answer, by --equality; 'I don't know' has no vote", _majority),
        "majority-paper": MethodRow("the paper's: 'I don't know' has one", lambda _: MajorityVote(ExactGroups())),
        **_votes_by(DefaultGroups(), FORMS),
        **_votes_by(ContainmentGroups(), FORMS[:2]),
        "weighted": MethodRow("votes weighed by confidence, asked of --chat where it is not stated", _weighted),
        "weighted-asked": MethodRow("all confidences asked, as in the paper", _weighted_asked, "chat"),
        "selector": MethodRow("whatever --checkpoint holds, or the shipped selector", partial(_selector, None)),
        "trace": MethodRow("TRACE", partial(_selector, "trace"), "checkpoint"),
        "trace-plus": MethodRow("TRACE of the preset plus", partial(_selector, "trace-plus"), "checkpoint"),
        "features": MethodRow("a feature selector", partial(_selector, "features"), "checkpoint"),
        "stack": MethodRow("TRACE and features together", partial(_selector, "stack"), "checkpoint"),
        "verifier": MethodRow("what a chat model judges best, one by one", partial(_aggregator, "verifier"), "chat"),
        "solagg": MethodRow("an answer written from all solutions", partial(_aggregator, "solagg"), "chat"),
        "summagg": MethodRow("an answer written from a report on each", partial(_aggregator, "summagg"), "chat"),
        "aggagent": MethodRow(
            "an answer of an agent that reads the rollouts", partial(_aggregator, "aggagent"), "chat"
        ),
        "oracle": MethodRow("the right answer where labels tell it: a bound", _oracle),
    }
)
"""In the order of tables and help: no training, then trained, then what asks a chat model, then the bound."""

METHOD_NAMES = tuple(METHODS)
METHOD_HELP = "; ".join(f"{name} ({row.about})" for name, row in METHODS.items())
