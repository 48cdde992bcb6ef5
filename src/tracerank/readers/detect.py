"""Which reader a record needs: the table of formats by name, and recognition by content.

File names are never looked at. The order of the table matters: the more specific format is asked first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from tracerank.errors import ReadError, UsageError
from tracerank.plugins import READER_GROUP, Plugin, plugins
from tracerank.readers.base import Reader, Record
from tracerank.readers.files.containers import parts_of_pool
from tracerank.readers.files.field_map import proposed_map
from tracerank.readers.files.own_records import asks_itself, dump_in, unwrapped
from tracerank.readers.files.records import PATIENCE, RecordAt
from tracerank.readers.formats.anthropic_messages import AnthropicReader
from tracerank.readers.formats.atif import ATIFReader
from tracerank.readers.formats.browsing import BrowsingReader
from tracerank.readers.formats.canonical import CanonicalReader
from tracerank.readers.formats.chat import ChatReader, is_conversation
from tracerank.readers.formats.crewai_output import CrewAIReader
from tracerank.readers.formats.dspy_history import DSPyReader
from tracerank.readers.formats.evaluation_runs import BrowseCompPlusReader, HotpotAgentReader
from tracerank.readers.formats.flashrag import FlashRAGReader
from tracerank.readers.formats.general import GeneralReader, tells_run
from tracerank.readers.formats.inspect_eval import InspectReader
from tracerank.readers.formats.langchain_messages import LangChainReader
from tracerank.readers.formats.mirothinker import MiroThinkerReader
from tracerank.readers.formats.openai_agents import OpenAIAgentsReader
from tracerank.readers.formats.openai_responses import OpenAIResponsesReader
from tracerank.readers.formats.plain import PlainReader
from tracerank.readers.formats.r1_searcher import R1SearcherReader
from tracerank.readers.formats.react import ReactReader
from tracerank.readers.formats.search_r1 import SearchR1Reader
from tracerank.readers.formats.smolagents_memory import SmolagentsReader
from tracerank.readers.formats.tongyi import TongyiReader
from tracerank.readers.formats.webqa import WebQAReader
from tracerank.readers.telemetry.reader import TelemetryReader

AUTO = "auto"

_CHAT = ChatReader()
_PLAIN = PlainReader()
_GENERAL = GeneralReader()
_WEBQA = WebQAReader()
_BROWSING = BrowsingReader()
_IN_ORDER: tuple[Reader, ...] = (
    CanonicalReader(),
    InspectReader(),
    TelemetryReader(),
    _WEBQA,
    R1SearcherReader(),
    HotpotAgentReader(),
    MiroThinkerReader(),
    CrewAIReader(),
    DSPyReader(),
    SmolagentsReader(),
    FlashRAGReader(),
    BrowseCompPlusReader(),
    TongyiReader(),  # before Search-R1, whose answer tag it shares
    SearchR1Reader(),
    _BROWSING,
    ATIFReader(),
    OpenAIAgentsReader(),
    OpenAIResponsesReader(),
    AnthropicReader(),
    LangChainReader(),
    _CHAT,  # after every more specific list of messages
    ReactReader(),
)
READERS: Mapping[str, Reader] = MappingProxyType({reader.name: reader for reader in (*_IN_ORDER, _GENERAL, _PLAIN)})
"""All by name; the general one is asked last about a record, the last one about a file that is none of the others'."""

_BY_FILE = (_WEBQA, _BROWSING)
"""Formats with marks of their own: a record with the fields of the one before, and these marks, is of the same."""

_KEYS_SHOWN = 12
_JSON_STARTS = ("[", "{")


def reader_named(name: str) -> Reader:
    """The reader of a format; if it is none of ours, that of a plug-in."""
    if name in READERS:
        return READERS[name]
    others = plugins(READER_GROUP)
    if name not in others:
        raise UsageError(f"unknown reader {name!r}; known are {', '.join((AUTO, *READERS, *others))}")
    return plugged_reader(others[name])


def plugged_reader(plugin: Plugin) -> Reader:
    """The reader that a plug-in declares: an object, or a class that is called."""
    reader: Reader = plugin.made(("name", "recognises", "parse"))
    return reader


def detect(record: Record) -> Reader | None:
    """The reader that recognises the record, if any; what is nested too deeply is nobody's."""
    try:
        for reader in _IN_ORDER:
            if reader.recognises(record):
                return reader
        return _GENERAL if parts_of_pool(record) is None and _GENERAL.recognises(record) else None
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
    before: Reader | None = None
    fields: frozenset[str] = frozenset()
    for item in records:
        record = item.value
        if before is not None and record.keys() == fields and before.recognises(record):
            reader: Reader | None = before
        else:
            reader = detect(record)
            before, fields = (reader, frozenset(record)) if reader in _BY_FILE else (None, fields)
        parts = rollouts_in(item) if reader is None else None
        for part in (item,) if parts is None else parts:
            yield _of_dump(part, reader if parts is None else detect(part.value))


def _of_dump(item: RecordAt, reader: Reader | None) -> tuple[Reader | None, RecordAt]:
    """The record, or the dump that it is only a wrapping of, with its reader."""
    if reader is not None and reader is not _GENERAL:
        for value in item.value.values():
            if type(value) is str and value.startswith(_JSON_STARTS):
                break
        else:
            return reader, item
    dump = dump_in(item.value)
    if dump is None or (reader not in (None, _GENERAL) and not (dump.is_text and "messages" not in dump.record)):
        return reader, item
    inner = unwrapped(item.value, dump)
    found = None if inner is None else detect(inner)
    if found is None and reader is None and inner is not None and is_conversation(inner):
        found = _CHAT  # a run without a single call
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
    if any(is_conversation(item.value) for item in waiting):
        return _CHAT
    if any(_PLAIN.recognises(item.value) for item in waiting):
        return _PLAIN
    if any(tells_run(item.value) for item in waiting):
        return _GENERAL
    raise ReadError(_unrecognised(waiting[0]))


def _unrecognised(item: RecordAt) -> str:
    keys = [str(key) for key in item.value]
    shown = ", ".join(keys[:_KEYS_SHOWN]) + (", …" if len(keys) > _KEYS_SHOWN else "")
    fitting = str(proposed_map(item.value))
    return (
        f"{item.source}: no known format, the record has the keys: {shown or '(none)'}; "
        + (f"try --map {fitting}; " if fitting else "")
        + f"known formats: {', '.join(READERS)} (docs/file-formats.md), or pass a Reader of your own"
    )
