"""Parsed rollouts to pools, streaming: which rollouts belong together, how they are numbered, what is a duplicate.

Knows no file format. A pool stays open until a window of other questions' records has passed; nothing good is ever
dropped, and what had to be changed is reported.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from types import MappingProxyType
from typing import NamedTuple

from tracerank.answers.exact import normalize_answer, normalize_text
from tracerank.errors import MalformedRollout, ReadError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.readers.agent_names import agent_of
from tracerank.readers.base import GENERAL, Parsed, Problem, Reader, Record, RecordAt, UnreadableRollout
from tracerank.readers.sources.record_fields import decoded, goes_by_bare_id

WINDOW_BYTES = 64 * 2**20
"""A pool is closed when more bytes than this of other questions' records were read since it began."""

MAX_SAMPLE_ID = 2**53
"""Beyond, tables and browsers hold no whole number: such an id is none."""

Report = Callable[[Problem], None]

_LOOSE = frozenset(
    (
        *("anthropic", "langchain", "openai-agents", "openai-chat", "openai-responses"),
        *("smolagents", "crewai", "dspy", GENERAL),
    )
)
"""Readers of runs that no data set has numbered."""
_KNOWING = frozenset(("atif", "inspect", "mirothinker", "smolagents"))
"""Readers of calls whose tools may not be known; those that go by shape say so themselves."""


class ScatteredPool(ReadError):
    """A question whose pool was already given out: its rollouts stand too far from each other to be streamed."""


class Placed(NamedTuple):
    """A parsed rollout, where it stood and how many bytes it took."""

    parsed: Parsed
    source: str
    size: int
    reading: str = ""
    """The reader that made it, and how sure it is where it went by shape."""
    is_unasked: bool = False
    """The log does not say what was asked, which has been reported."""
    record: Record = MappingProxyType({})
    """Of a rollout whose question is still to be named: it may name its run."""
    is_bare: bool = False
    """The question goes by the record's mere ``id``, which may be that of the run."""


def parse_record(reader: Reader, item: RecordAt, report: Report) -> Placed | None:
    """The record as a rollout; an unreadable one keeps its place in its pool, if that is known."""
    source = item.source
    if item.parsed is not None:
        return Placed(item.parsed, source, item.size, reader.name)
    try:
        parsed = reader.parse(item.value, source)
        is_bare = parsed.rollout.problem is None and not any(search.evidence for search in parsed.rollout.searches)
        if is_bare and reader.name in _KNOWING:
            parsed = _with_loss(parsed, item)
        if parsed.loss:
            report(Problem(source, parsed.loss))
        reading = f"{GENERAL} ({parsed.confidence} confidence)" if parsed.confidence else reader.name
        return _placed(parsed, item, reading, is_loose=reader.name in _LOOSE)
    except UnreadableRollout as error:
        report(Problem(source, f"{error}; the rollout keeps its place but cannot be chosen"))
        broken = Rollout(error.sample_id or 0, None, problem=str(error), source=source)
        is_loose = reader.name in _LOOSE
        return _placed(Parsed(error.question, broken, error.sample_id is not None), item, is_loose=is_loose)
    except MalformedRollout as error:
        report(Problem(source, f"{error}; the record was dropped"))
    except RecursionError:
        report(Problem(source, "nested too deeply; the record was dropped"))
    except ReadError as error:
        raise ReadError(f"{source}: {error}") from None
    return None


def _placed(parsed: Parsed, item: RecordAt, reading: str = "", *, is_loose: bool) -> Placed:
    """``is_loose``: of a format in which an ``id`` may be anything's; others say that it is the question's."""
    if parsed.rollout.agent is None and (agent := agent_of(item.value)) is not None:
        parsed = replace(parsed, rollout=replace(parsed.rollout, agent=agent))
    if parsed.question.id:
        is_bare = is_loose and "id" in item.value and goes_by_bare_id(item.value, parsed.question)
        return Placed(parsed, item.source, item.size, reading, is_bare=is_bare)
    return Placed(parsed, item.source, item.size, reading, record=item.value)


def _with_loss(parsed: Parsed, item: RecordAt) -> Parsed:
    """A rollout without evidence, with what its record holds that was not understood."""
    from tracerank.readers.walk import read_anything

    return replace(parsed, loss=parsed.loss or read_anything(decoded(item.value)).not_understood(parsed.rollout))


def group(
    placed: Iterable[Placed],
    report: Report,
    window_bytes: int | None = WINDOW_BYTES,
) -> Iterator[Pool]:
    """Pools in order of first appearance; ``window_bytes=None`` holds all of them until the end."""
    grouping = _Grouping(report, window_bytes)
    for item in _together(placed, report):
        grouping.add(item)
        while grouping.has_passed():
            yield grouping.close()
    while grouping.open:
        yield grouping.close(is_over=True)


def _together(placed: Iterable[Placed], report: Report) -> Iterator[Placed]:
    """The rollouts, those of a question that has a bare ``id`` under the first such id that its words came with."""
    first: dict[int, str] = {}
    is_reported = False
    for item in placed:
        question = item.parsed.question
        if item.is_bare and question.text:
            # A data set may have a question twice that means something else each time: the references differ.
            wanted = sorted(map(normalize_answer, question.references))
            identity = first.setdefault(digest_of("\0".join((normalize_text(question.text), *wanted))), question.id)
            if identity != question.id:
                item = item._replace(parsed=replace(item.parsed, question=replace(question, id=identity)))
                if not is_reported:
                    report(Problem(item.source, _SEVERAL_IDS))
                is_reported = True
        yield item


_SEVERAL_IDS = (
    "the same question stands under several values of 'id', which are taken for those of runs: its rollouts are one "
    "pool (--map question_id=id keeps them apart)"
)


class _Entry(NamedTuple):
    """What a pool keeps of a placed rollout."""

    rollout: Rollout
    is_numbered: bool
    source: str


@dataclass(slots=True)
class _Open:
    """A pool that may still receive rollouts."""

    key: str
    """Question id in the records."""
    id: str
    """Question id of the pool: the key, or ``key~2`` for another question under the same id."""
    text: str
    source: str
    """Where its first rollout stood."""
    start: int
    """Bytes read before it began."""
    count: int
    """Records read before it began."""
    own: int = 0
    """Bytes of its own records."""
    dataset: str | None = None
    references: tuple[str, ...] = ()
    entries: list[_Entry] = field(default_factory=list)
    has_conflict: bool = False
    is_unasked: bool = True
    """That it has no text has been reported."""


_Variants = dict[str | None, _Open]
"""Open pools of one id by what ``_heard`` makes of their texts; one without a text is alone: any text joins it."""


def _heard(text: str) -> str | None:
    """A question's text in the form that is compared; None: it has none."""
    return normalize_text(text) if text else None


def _about(variants: _Variants, text: str) -> _Open | None:
    """The pool among those of one id that a rollout with this text belongs to: without a text, the first."""
    first = next(iter(variants.values()))
    if not text or not first.text or text == first.text:
        return first
    return variants.get(_heard(text))


class _Grouping:
    """The open pools, and a few bytes about each closed one."""

    def __init__(self, report: Report, window_bytes: int | None) -> None:
        self.open: OrderedDict[str, _Open] = OrderedDict()  # by the ids of the pools
        self._report = report
        self._window = window_bytes
        self._variants: dict[str, _Variants] = {}
        self._numbers: dict[str, int] = {}  # id that several questions share -> the last number given to one
        self._closed = Digests()  # a pool's id, with its text -> records before it
        self._bytes = 0
        self._count = 0

    def add(self, item: Placed) -> None:
        parsed = item.parsed
        pool = self._pool_of(parsed.question, item.source)
        pool.entries.append(_Entry(parsed.rollout, parsed.is_numbered, item.source))
        pool.own += item.size
        pool.is_unasked = pool.is_unasked and item.is_unasked
        self._bytes += item.size
        self._count += 1

    def _pool_of(self, question: Question, source: str) -> _Open:
        """The pool that a rollout belongs to, which takes over what is said about the question."""
        variants = self._variants.get(question.id)
        pool = _about(variants, question.text) if variants else None
        if pool is None:
            pool = self._begin(question, source)
        if question.text and not pool.text:
            pool.text = question.text
            self._variants[question.id] = {_heard(pool.text): pool}
        pool.dataset = pool.dataset or question.dataset
        if question.references != pool.references and question.references:
            self._take_references(pool, question.references, source)
        return pool

    def has_passed(self) -> bool:
        """Whether the window has passed over the oldest pool."""
        if self._window is None or not self.open:
            return False
        oldest = next(iter(self.open.values()))
        return self._bytes - oldest.start - oldest.own > self._window

    def close(self, *, is_over: bool = False) -> Pool:
        """The oldest pool, settled; ``is_over``: nothing is added any more, so it need not be remembered."""
        _, pool = self.open.popitem(last=False)
        if is_over:
            return _settle(pool, self._report)
        variants = self._variants[pool.key]
        del variants[_heard(pool.text)]
        if not variants:
            del self._variants[pool.key]
        if self._window is not None:
            self._closed.add(pool.key, pool.count, normalize_text(pool.text))
            if pool.id != pool.key:
                self._closed.add(pool.id, pool.count)
        return _settle(pool, self._report)

    def _begin(self, question: Question, source: str) -> _Open:
        self._refuse_return(question, source)
        number = self._numbers.get(question.id, 1)
        name = question.id if number == 1 else f"{question.id}~{number}"
        while name in self.open or name in self._closed:
            number += 1
            name = f"{question.id}~{number}"
        if number > 1:
            self._numbers[question.id] = number
            reason = f"question id {question.id!r} was used before for another question; this one is kept as {name!r}"
            self._report(Problem(source, reason))
        pool = self.open[name] = _Open(question.id, name, question.text, source, self._bytes, self._count)
        self._variants.setdefault(question.id, {})[_heard(question.text)] = pool
        return pool

    def _refuse_return(self, question: Question, source: str) -> None:
        if question.id not in self._closed:
            return
        earlier = self._closed.get_with(question.id, normalize_text(question.text))
        if earlier is None:
            earlier = self._closed.get_with(question.id, "") if question.text else self._closed.get(question.id)
        if earlier is not None and self._window is not None:
            raise ScatteredPool(
                f"{source}: question {question.id!r} comes back after its pool was closed: it began with record "
                f"{earlier + 1} of the input and more than {_size(self._window)} of other questions followed; "
                "bring its rollouts together with `tracerank convert FILE -o grouped.jsonl` "
                "or use tr.read_pools(FILE), which hold everything in memory"
            )

    def _take_references(self, pool: _Open, references: tuple[str, ...], source: str) -> None:
        if not pool.references:
            pool.references = references
            return
        given, known = ({*map(normalize_answer, each)} for each in (references, pool.references))
        if given != known and not pool.has_conflict:
            pool.has_conflict = True
            reason = f"question {pool.id!r} has other references than at {pool.source}; the first ones are used"
            reason += " (if they are the agents' answers: --map answer=FIELD)"
            self._report(Problem(source, reason))


def _size(count: int) -> str:
    return f"{count // 2**20} MiB" if count >= 2**20 else f"{count} bytes"


def _settle(pool: _Open, report: Report) -> Pool:
    if not pool.text.strip() and not pool.is_unasked:
        report(Problem(pool.source, f"question {pool.id!r} has no text; expected it in at least one of its rollouts"))
    rollouts: list[Rollout] = []
    for sample_id, entry in _numbered(pool, report):
        rollout = entry.rollout
        if sample_id != rollout.sample_id or rollout.source is None:
            rollout = replace(rollout, sample_id=sample_id, source=rollout.source or entry.source)
        rollouts.append(rollout)
    return Pool(Question(pool.id, pool.text, pool.references, pool.dataset), tuple(rollouts))


def _numbered(pool: _Open, report: Report) -> Iterator[tuple[int, _Entry]]:
    """Every rollout with a sample id of its own: given ids first, then free ones in file order, then above all."""
    given: dict[int, _Entry] = {}
    unnumbered: list[_Entry] = []
    clashing: list[_Entry] = []
    rivals: dict[Rollout, _Entry] = {}  # where an id is used twice, all that use it, as they are wherever they stood
    for entry in pool.entries:
        sample_id = entry.rollout.sample_id
        if entry.is_numbered and abs(sample_id) > MAX_SAMPLE_ID:
            report(Problem(entry.source, f"sample id {sample_id:.3g} is too large; the rollout gets a free one"))
        if not entry.is_numbered or abs(sample_id) > MAX_SAMPLE_ID:
            unnumbered.append(entry)
            continue
        holder = given.setdefault(sample_id, entry)
        if holder is entry:
            continue
        rivals.setdefault(replace(holder.rollout, source=None), holder)
        same = rivals.setdefault(replace(entry.rollout, source=None), entry)
        if same is not entry:
            report(Problem(entry.source, f"rollout {sample_id} repeats {same.source}; the repetition was dropped"))
        elif holder.rollout.problem is not None and entry.rollout.problem is None:
            # A retry of a broken rollout: the good one takes the place.
            given[sample_id] = entry
            clashing.append(holder)
        else:
            clashing.append(entry)
    yield from given.items()
    free = 0
    used = set(given)
    for entry in unnumbered:
        while free in used:
            free += 1
        used.add(free)
        yield free, entry
    for above, entry in enumerate(clashing, max(used, default=-1) + 1):
        old = entry.rollout.sample_id
        holder = given[old]
        report(Problem(entry.source, f"rollout {old} differs from {holder.source} with the same id; it is now {above}"))
        yield above, entry


# ---- what is remembered of closed pools

_LOW = 2**32 - 1


class Digests:
    """Names with a number each, of which the first one given stays.

    By digests, so that each takes some hundred bytes however long it is. Two of 10^8 names share a digest once in some
    thousand runs.
    """

    def __init__(self) -> None:
        self._known: dict[int, int] = {}  # the number, and behind it 32 bits of the detail's digest

    def __contains__(self, name: str) -> bool:
        return digest_of(name) in self._known

    def get(self, name: str) -> int | None:
        """The number of a name; None: it was not met."""
        found = self._known.get(digest_of(name))
        return None if found is None else found >> 32

    def get_with(self, name: str, detail: str) -> int | None:
        """The number of a name that was given with this detail."""
        found = self._known.get(digest_of(name), 0)
        return found >> 32 if found and found & _LOW == digest_of(detail) & _LOW else self.get(f"{name}\0{detail}")

    def add(self, name: str, number: int = 0, detail: str = "") -> None:
        """Remember a name with a detail, unless both are known."""
        value = number << 32 | digest_of(detail) & _LOW
        if self._known.setdefault(digest_of(name), value) & _LOW != value & _LOW:
            self._known.setdefault(digest_of(f"{name}\0{detail}"), value)


def digest_of(text: str) -> int:
    """Eight bytes."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")
