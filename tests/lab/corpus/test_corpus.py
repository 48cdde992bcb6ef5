"""Building, opening and searching an index."""

import gzip
import json
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.lab.shelves import RIVERS, corpus_of, write_rows
from tracerank.errors import CorpusError, UsageError
from tracerank.lab.corpus.build import build_corpus
from tracerank.lab.corpus.index import Corpus
from tracerank.readers.base import Problem


def titles(corpus: Corpus, query: str, k: int = 3) -> list[str]:
    return [passage.title for passage in corpus.search(query, k)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(tmp_path_factory.mktemp("corpus"), RIVERS)


def test_a_search_finds_by_words_titles_and_stems(corpus: Corpus) -> None:
    first, *_ = corpus.search("who charted the Velm River?")
    assert (first.title, first.document, first.url) == ("Velm River", "0", "https://corpus.local/doc/0")
    assert first.text == RIVERS[0]["text"]
    assert titles(corpus, "lighthouses") == ["Tarrow"]
    assert titles(corpus, "OSTRA hill")[0] == "Ostra hills"
    scores = [passage.score or 0 for passage in corpus.search("river", 9)]
    assert scores == sorted(scores, reverse=True)


def test_ranking_equals_a_full_sort(tmp_path: Path) -> None:
    rng = Random(1)
    rows = [{"text": " ".join(rng.choices("abcdefghij", k=rng.randrange(3, 30)))} for _ in range(700)]
    corpus = corpus_of(tmp_path, rows)
    for query in ("c", "d e f", "g h i j b c"):
        everything = corpus.search(query, 10_000)
        numbers = [int(passage.document) for passage in everything]
        ranked = [(-(passage.score or 0), number) for passage, number in zip(everything, numbers, strict=True)]
        assert ranked == sorted(ranked)  # ties go to the earlier passage
        for k in (1, 3, 10, 64):
            assert corpus.search(query, k) == everything[:k]


def test_passages_keep_their_document_and_order(tmp_path: Path) -> None:
    text = " ".join(f"Čas {number} of the log was quiet." for number in range(100))
    corpus = corpus_of(tmp_path, [{"title": "Log", "text": text, "id": "log"}, *RIVERS])
    parts = [corpus.passage(number) for number in range(len(corpus))]
    own = [part for part in parts if part.document == "log"]
    assert len(own) > 5
    starts = [text.index(part.text) for part in own]
    assert starts == sorted(starts)
    assert corpus.document(0).text == text


def test_bad_rows_are_dropped_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    rows: list[Any] = [RIVERS[0], {"title": "x"}, {"text": ""}, {"text": "a", "title": 3}, {"text": "a", "id": [1]}, 5]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"text": "odd", "url": "ftp://x"}\nbroken\n')
    problems: list[Problem] = []
    info = build_corpus([path], tmp_path / "index", on_problem=problems.append)
    assert [problem.source.rpartition(":")[2] for problem in problems] == ["2", "3", "4", "5", "6", "7", "8"]
    assert "'text' is null; expected the document's text, the row was dropped" in problems[0].reason
    assert "the document was given https://corpus.local/doc/6" in problems[5].reason
    assert (info.documents, info.dropped) == (2, 6)


def test_ids_that_restart_in_each_file_stay_distinct_and_copies_are_left_out(tmp_path: Path) -> None:
    one = write_rows(tmp_path / "one.jsonl", [row | {"id": number} for number, row in enumerate(RIVERS)])
    other = tmp_path / "other.jsonl.gz"
    rows = [RIVERS[1] | {"id": 0}, {"id": 0, "text": "Another."}, {"id": 0, "text": "A third."}, {"text": "No id."}]
    other.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    info = build_corpus([one, other], tmp_path / "index")
    corpus = Corpus(tmp_path / "index")
    assert (info.documents, info.copies) == (7, 1)
    ids = [corpus.document(number).id for number in range(7)]
    assert len(set(ids)) == 7
    assert ids[:4] == ["0", "1", "2", "3"]


def test_equal_documents_give_equal_fingerprints(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "docs.jsonl", RIVERS)
    one, same = (build_corpus([path], tmp_path / name) for name in "ab")
    write_rows(path, RIVERS[1:])
    other = build_corpus([path], tmp_path / "c")
    assert one == same
    assert one.fingerprint != other.fingerprint


def test_an_index_is_replaced_only_on_demand_and_nothing_else_ever(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "docs.jsonl", RIVERS)
    build_corpus([path], tmp_path / "index")
    with pytest.raises(UsageError, match="--force"):
        build_corpus([path], tmp_path / "index")
    write_rows(path, RIVERS[:1])
    assert build_corpus([path], tmp_path / "index", force=True).documents == 1
    assert len(Corpus(tmp_path / "index")) == 1
    with pytest.raises(UsageError, match="holds other files"):
        build_corpus([path], tmp_path, force=True)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["docs.jsonl", "index"]


def test_a_build_that_ends_early_leaves_the_old_index_and_no_half_one(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "docs.jsonl", RIVERS)
    build_corpus([path], tmp_path / "index")

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_corpus([path], tmp_path / "index", force=True, on_document=interrupt)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["docs.jsonl", "index"]
    assert titles(Corpus(tmp_path / "index"), "lighthouse") == ["Tarrow"]


@pytest.mark.parametrize("name", ["texts.sqlite", "bm25/data.csc.index.npy"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_index_says_so(tmp_path: Path, name: str, damage: str) -> None:
    corpus_of(tmp_path, RIVERS)
    path = tmp_path / "index" / name
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CorpusError, match="build the index again"):
        Corpus(tmp_path / "index")


def test_a_corpus_is_shared_by_threads(corpus: Corpus) -> None:
    wanted = corpus.search("Ada Korn charted rivers")
    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda: results.append({corpus.search("Ada Korn charted rivers") for _ in range(50)}))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [{wanted}] * 4
