"""How a vector cache lays out its entries: keys, the record of an encoder, and iterating over them.

Neither opens files nor looks into vectors.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from tracerank.embedding.lmdb_file import LmdbFile, Transaction
from tracerank.errors import EmbeddingError

_RECORD, _VECTOR = b"\x00", b"\x01"  # first byte of a key
_PREFIX_BYTES = 8  # then whose: keeps an encoder's vectors together, so that they can be counted and pruned
_DIGEST_BYTES = 16
KEY_BYTES = 1 + _PREFIX_BYTES + _DIGEST_BYTES


@dataclass(frozen=True, slots=True)
class FingerprintRecord:
    """The vectors of one encoder."""

    fingerprint: str
    width: int
    count: int


def prefix_of(fingerprint: str) -> bytes:
    """The short form of a fingerprint in keys."""
    return hashlib.blake2b(fingerprint.encode("utf-8", "surrogatepass"), digest_size=_PREFIX_BYTES).digest()


def prefix_in(key: bytes) -> bytes:
    """Which encoder a vector's key names."""
    return key[1 : 1 + _PREFIX_BYTES]


def record_key(prefix: bytes) -> bytes:
    """Where an encoder's record is."""
    return _RECORD + prefix


def vector_keys(fingerprint: str, texts: Sequence[str]) -> Iterator[bytes]:
    """Kind, fingerprint, then the 16-byte BLAKE2b of (fingerprint, text)."""
    name = fingerprint.encode("utf-8", "surrogatepass")
    start = hashlib.blake2b(len(name).to_bytes(8, "little") + name, digest_size=_DIGEST_BYTES)
    head = _VECTOR + prefix_of(fingerprint)
    for text in texts:
        digest = start.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        yield head + digest.digest()


def read_record(transaction: Transaction, fingerprint: str) -> FingerprintRecord | None:
    """What is known of one encoder; None if nothing."""
    value = transaction.get(record_key(prefix_of(fingerprint)))
    return None if value is None else _parsed(value)


def _parsed(value: memoryview) -> FingerprintRecord:
    try:
        return FingerprintRecord(**json.loads(bytes(value)))
    except (ValueError, TypeError):
        raise EmbeddingError("the vector cache is damaged (a record of an encoder); delete its folder") from None


def put_records(transaction: Transaction, records: Iterable[FingerprintRecord]) -> None:
    """Store what is known of encoders."""
    for record in records:
        transaction.put(record_key(prefix_of(record.fingerprint)), json.dumps(asdict(record)).encode())


def read_records(transaction: Transaction) -> list[FingerprintRecord]:
    """All encoders, by fingerprint."""
    records = []
    for key, value in transaction.cursor().iternext():
        if bytes(key[:1]) != _RECORD:
            break
        records.append(_parsed(value))
    return sorted(records, key=lambda record: record.fingerprint)


def iterate_vectors(transaction: Transaction) -> Iterator[tuple[bytes, memoryview]]:
    """Every vector, by key, without a copy."""
    cursor = transaction.cursor()
    if cursor.set_range(_VECTOR):
        for key, value in cursor.iternext():
            yield bytes(key), value


def append_vectors(target: LmdbFile, entries: list[tuple[bytes, memoryview]]) -> None:
    """Store vectors whose keys follow all that are there: their pages are filled to the brim."""

    def put(transaction: Transaction) -> None:
        for key, value in entries:
            transaction.put(key, value, append=True)

    target.write(put)
