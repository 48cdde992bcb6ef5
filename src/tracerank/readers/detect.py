"""Which reader a record needs: the table of formats by name, and recognition by content.

File names are never looked at. The order of the table matters: the more specific format is asked first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from tracerank.errors import ReadError, UsageError, did_you_mean
from tracerank.plugins import READER_GROUP, Plugin, plugins
from tracerank.readers.base import GENERAL, Reader, Record, RecordAt
from tracerank.readers.runs.containers import asks_itself, dump_in, parts_of_pool, unwrapped
from tracerank.readers.sources.field_map import is_decision, proposed_map
from tracerank.readers.sources.json_lines import PATIENCE

AUTO = "auto"

_WALKED = "formats.walked:ROWS"
_HOMES: Mapping[str, str] = MappingProxyType(
    {
        "canonical": "formats.canonical:CanonicalReader",
        "inspect": "formats.inspect_eval:InspectReader",
        "telemetry": "spans.reader:TelemetryReader",
        "webqa": "formats.webqa:WebQAReader",
        "r1-searcher": "formats.marked:R1SearcherReader",
        "hotpot-agent": "formats.evaluation_runs:HotpotAgentReader",
        "mirothinker": "formats.tagged_messages:MiroThinkerReader",
        "crewai": "formats.crewai_output:CrewAIReader",
        "dspy": "formats.dspy_history:DSPyReader",
        "smolagents": "formats.smolagents_memory:SmolagentsReader",
        "flashrag": "formats.evaluation_runs:FlashRAGReader",
        "browsecomp-plus": _WALKED,
        "tongyi": "formats.tagged_messages:TongyiReader",  # before Search-R1, whose answer tag it shares
        "search-r1": "formats.marked:SearchR1Reader",
        "browsing": "formats.browsing:BrowsingReader",
        "atif": "formats.atif:ATIFReader",
        # One module reads these by shape and says whose messages they are.
        **dict.fromkeys(("openai-agents", "openai-responses", "anthropic", "langchain", "openai-chat"), _WALKED),
        "react": "formats.react:ReactReader",
        GENERAL: _WALKED,
        "plain": "formats.plain:PlainReader",
    }
)
"""The general one is asked last about a record, the last one about a file that is none of the others'."""
_WITH_SIGNS = tuple(name for name in _HOMES if _HOMES[name] != _WALKED and name not in ("react", "plain"))
CANONICAL, _CHAT, _PLAIN = "canonical", "openai-chat", "plain"


class _Readers(Mapping[str, Reader]):
    """The readers of the table by name, each imported when it is first asked for: most files need but one or two."""

    def __init__(self) -> None:
        self._made: dict[str, Reader] = {}

    def __getitem__(self, name: str) -> Reader:
        found = self._made.get(name)
        if found is None:
            module, _, kind = _HOMES[name].partition(":")
            made = getattr(import_module(f"tracerank.readers.{module}"), kind)
            made = made() if isinstance(made, type) else made[name]
            found = self._made.setdefault(name, made)  # two threads may come at once, and readers are compared
        return found

    def __contains__(self, name: object) -> bool:
        return name in _HOMES

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


READERS: Mapping[str, Reader] = _Readers()
"""All by name."""

_BY_FILE = ("webqa", "browsing")
"""Formats with marks of their own: a record with the fields of an earlier one, and these marks, is of the same."""
_MAX_FIELDS = 64
"""Sets of fields of a file that are remembered."""

_KEYS_SHOWN = 12
_JSON_STARTS = ("[", "{")


def reader_named(name: str) -> Reader:
    """The reader of a format; if it is none of ours, that of a plug-in."""
    if name in READERS:
        return READERS[name]
    others = plugins(READER_GROUP)
    if name not in others:
        known = (AUTO, *READERS, *others)
        raise UsageError(f"unknown reader {name!r}{did_you_mean(name, known)}; known are {', '.join(known)}")
    return plugged_reader(others[name])


def plugged_reader(plugin: Plugin) -> Reader:
    """The reader that a plug-in declares: an object, or a class that is called."""
    reader: Reader = plugin.made(("name", "recognises", "parse"))
    return reader


def detect(record: Record) -> Reader | None:
    """The reader that recognises the record, if any; none does where it is nested too deeply."""
    try:
        for name in _WITH_SIGNS:
            if READERS[name].recognises(record):
                return READERS[name]
        from tracerank.readers.formats.walked import vendor_of

        if vendor := vendor_of(record):
            return READERS[vendor]
        if READERS["react"].recognises(record):
            return READERS["react"]
        general = READERS[GENERAL]
        return general if parts_of_pool(record) is None and general.recognises(record) else None
    except RecursionError:
        return None


def assign_readers(records: Iterable[RecordAt]) -> Iterator[tuple[Reader, RecordAt]]:
    """A reader for each record of one file: its own, else that of the first record that was recognised."""
    usual: Reader | None = None
    waiting: list[RecordAt] = []
    for found, item in _detected(records):
        reader = found or usual
        if reader is None:
            waiting.append(item)
            if len(waiting) < PATIENCE:
                continue
            usual = _reader_of_plain(waiting)
        elif usual is None:
            usual = reader
            waiting.append(item)
        else:
            yield reader, item
            continue
        yield from ((usual, early) for early in waiting)
        waiting.clear()
    if waiting:
        usual = _reader_of_plain(waiting)
        yield from ((usual, early) for early in waiting)


def _detected(records: Iterable[RecordAt]) -> Iterator[tuple[Reader | None, RecordAt]]:
    """Each record with the reader that recognises it; a pool in one record is taken apart first."""
    known: dict[frozenset[str], Reader] = {}
    own = READERS[CANONICAL]
    for item in records:
        if item.parsed is not None:
            yield own, item
            continue
        record, fields = item.value, frozenset(item.value)
        reader = known.get(fields)
        if reader is None or not reader.recognises(record):
            reader = detect(record)
            if reader is not None and reader.name in _BY_FILE and len(known) < _MAX_FIELDS:
                known[fields] = reader
        parts = rollouts_in(item) if reader is None else None
        for part in (item,) if parts is None else parts:
            yield _of_dump(part, reader if parts is None else detect(part.value))


def _is_general(reader: Reader | None) -> bool:
    return reader is not None and reader.name == GENERAL


def _of_dump(item: RecordAt, reader: Reader | None) -> tuple[Reader | None, RecordAt]:
    """The record, or the dump that it is only a wrapping of, with its reader."""
    if reader is not None and not _is_general(reader):
        for value in item.value.values():
            if type(value) is str and value.startswith(_JSON_STARTS):
                break
        else:
            return reader, item
    dump = dump_in(item.value)
    is_known = reader is not None and not _is_general(reader)
    if dump is None or (is_known and not (dump.is_text and "messages" not in dump.record)):
        return reader, item
    inner = unwrapped(item.value, dump)
    found = None if inner is None else detect(inner)
    if found is None and reader is None and inner is not None and _is_conversation(inner):
        found = READERS[_CHAT]  # a run without a single call
    # By shape the whole is read as well, with all that stands around the dump.
    if inner is None or found is None or (found is reader and asks_itself(item.value) and not dump.is_whole):
        return reader, item
    return found, RecordAt(inner, item.source, item.size)


def taken_apart(records: Iterable[RecordAt], reader: Reader) -> Iterator[RecordAt]:
    """The records for a reader that was named, pools in one record taken apart unless it knows them."""
    for item in records:
        parts = None if reader.recognises(item.value) else rollouts_in(item)
        yield from (item,) if parts is None else parts


def rollouts_in(item: RecordAt) -> list[RecordAt] | None:
    """The rollouts of a pool that is one record; None: it is none."""
    parts = parts_of_pool(item.value)
    if parts is None:
        return None
    size = item.size // len(parts)
    return [RecordAt(part.value, item.source + part.place, size) for part in parts]


def _reader_of_plain(waiting: Sequence[RecordAt]) -> Reader:
    """Conversations without a single call say too little to be recognised one by one, but what else could they be?"""
    from tracerank.readers.formats.walked import tells_run

    if decision := next((item for item in waiting if is_decision(item.value)), None):
        raise ReadError(_unrecognised(decision))
    if any(_is_conversation(item.value) for item in waiting):
        return READERS[_CHAT]
    if any(READERS[_PLAIN].recognises(item.value) for item in waiting):
        return READERS[_PLAIN]
    if any(tells_run(item.value) for item in waiting):
        return READERS[GENERAL]
    raise ReadError(_unrecognised(waiting[0]))


def _is_conversation(record: Record) -> bool:
    from tracerank.readers.formats.walked import is_conversation

    return is_conversation(record)


def _unrecognised(item: RecordAt) -> str:
    if is_decision(item.value):
        return (
            f"{item.source}: a decision, as tracerank select writes them, and no rollout; give the files that were "
            "decided on (tracerank report reads evaluations)"
        )
    keys = [str(key) for key in item.value]
    shown = ", ".join(keys[:_KEYS_SHOWN]) + (", …" if len(keys) > _KEYS_SHOWN else "")
    fitting = str(proposed_map(item.value))
    return (
        f"{item.source}: no known format, the record has the keys: {shown or '(none)'}; "
        + (f"try --map {fitting}; " if fitting else "")
        + f"known formats: {', '.join(READERS)} (docs/reference/formats.md), or pass a Reader of your own"
    )
