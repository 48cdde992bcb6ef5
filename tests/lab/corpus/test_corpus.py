"""Building, opening and searching an index."""

import gzip
import json
import pickle
import shutil
import sys
import threading
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.lab.shelves import RIVERS, corpus_of, hostile_row, write_rows
from tracerank.embedding.base import HashEmbedder, Vectors
from tracerank.embedding.cache import VectorCache
from tracerank.embedding.cached import CachedEmbedder
from tracerank.errors import CorpusError, UsageError
from tracerank.lab.corpus.base import PassageRule
from tracerank.lab.corpus.bm25 import TermReader
from tracerank.lab.corpus.build import build_corpus
from tracerank.lab.corpus.index import Corpus, Reranked
from tracerank.readers.files.records import Problem


def titles(corpus: Corpus, query: str, k: int = 3) -> list[str]:
    return [passage.title for passage in corpus.search(query, k)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(tmp_path_factory.mktemp("corpus"), RIVERS)


def test_a_search_finds_by_words_titles_and_stems(corpus: Corpus) -> None:
    first, *_ = corpus.search("who charted the Velm River?")
    assert (first.title, first.document, first.place, first.url) == ("Velm River", "0", 0, "https://corpus.local/doc/0")
    assert first.text == RIVERS[0]["text"]
    assert titles(corpus, "lighthouses") == ["Tarrow"]
    assert titles(corpus, "OSTRA hill")[0] == "Ostra hills"
    assert [passage.score for passage in corpus.search("river", 9)] == sorted(
        (passage.score for passage in corpus.search("river", 9)), reverse=True
    )


@pytest.mark.parametrize("query", ["", "   ", "the of and", "zebra", "…!?", "\ud800", "0" * 1000])
def test_a_query_without_known_words_finds_nothing(corpus: Corpus, query: str) -> None:
    assert corpus.search(query) == ()


def test_accents_do_not_matter(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [{"title": "Çelik", "text": "Erdem Çelik kept bees."}])
    assert titles(corpus, "celik") == titles(corpus, "C\u0327ELIK") == ["Çelik"]


def test_ties_go_to_the_earlier_passage_whatever_k(tmp_path: Path) -> None:
    rows = [{"title": f"t{number}", "text": "same words here"} for number in range(300)]
    corpus = corpus_of(tmp_path, [*rows, {"title": "best", "text": "same words here, same"}])
    for k in (1, 2, 5, 300):
        assert titles(corpus, "same", k) == ["best", *(row["title"] for row in rows[: k - 1])]
    assert len(corpus.search("same", 1000)) == 301


def test_ranking_equals_a_full_sort(tmp_path: Path) -> None:
    rng = Random(1)
    rows = [{"text": " ".join(rng.choices("abcdefghij", k=rng.randrange(3, 30)))} for _ in range(700)]
    corpus = corpus_of(tmp_path, rows)
    for query in ("c", "d e f", "g h i j b c"):
        everything = corpus.rank(query, 10_000)
        order = np.lexsort((everything.passages, -everything.scores))
        assert order.tolist() == list(range(len(order)))
        for k in (1, 3, 10, 64):
            assert corpus.rank(query, k).passages.tolist() == everything.passages[:k].tolist()


def test_passages_keep_their_document_and_place(tmp_path: Path) -> None:
    text = " ".join(f"Čas {number} of the log was quiet." for number in range(60))
    corpus = corpus_of(tmp_path, [{"title": "Log", "text": text, "id": "log"}, *RIVERS], PassageRule(50, 10))
    parts = [corpus.passage(number) for number in range(len(corpus))]
    own = [part for part in parts if part.document == "log"]
    assert [part.place for part in own] == list(range(len(own)))
    assert len(own) > 5
    assert all(part.text in text for part in own)
    assert parts[len(own)].place == 0
    assert corpus.document(0).text == text


def test_hostile_rows_are_stored_as_they_are(tmp_path: Path) -> None:
    rng = Random(3)
    rows = [hostile_row(rng) | {"id": number} for number in range(40)]
    corpus = corpus_of(tmp_path, rows)
    stored = {document.id: document.text for document in map(corpus.document, range(corpus.info.documents))}
    assert all(stored[key] == rows[int(key)]["text"].strip() for key in stored)


def test_rows_of_search_r1_corpora_are_read(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [{"id": "7", "contents": '"Velm River"\nIt rises in Ostra.'}])
    assert (corpus.document(0).title, corpus.document(0).text) == ("Velm River", "It rises in Ostra.")


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
    made = [
        build_corpus([path], tmp_path / name, PassageRule(words)) for name, words in (("a", 99), ("b", 99), ("c", 98))
    ]
    assert made[0] == made[1]
    assert made[0].fingerprint != made[2].fingerprint


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


def test_what_a_killed_build_left_is_no_index_and_in_nobodys_way(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "docs.jsonl", RIVERS)
    build_corpus([path], tmp_path / "index")
    shutil.move(tmp_path / "index", tmp_path / "index.part")
    (tmp_path / "index.part" / "index.json").unlink()
    with pytest.raises(CorpusError, match="no index"):
        Corpus(tmp_path / "index.part")
    build_corpus([path], tmp_path / "index")
    assert not (tmp_path / "index.part").exists()


def test_a_users_folder_with_the_name_of_a_left_over_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "index.part").mkdir()
    (tmp_path / "index.part" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other files"):
        build_corpus([write_rows(tmp_path / "docs.jsonl", RIVERS)], tmp_path / "index")
    assert (tmp_path / "index.part" / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["documents.bin", "documents.npy", "passages.npy", "addresses.npy", "bm25/data.csc.index.npy"]
)
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


@pytest.mark.parametrize("rows", [[{"title": "x"}], [{"text": "…"}]])
def test_a_corpus_without_words_is_refused(tmp_path: Path, rows: list[dict[str, str]]) -> None:
    path = tmp_path / "docs.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(CorpusError, match="no document"):
        build_corpus([path], tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_a_corpus_travels_to_other_processes_and_is_shared_by_threads(corpus: Corpus) -> None:
    other = pickle.loads(pickle.dumps(corpus))
    assert other.search("lighthouse") == corpus.search("lighthouse")
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


def test_texts_stay_on_disk_when_a_corpus_is_opened(tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    rows = ({"title": f"t{number}", "text": f"{number} {'velm' * 80_000}"} for number in range(60))  # 19 MB
    corpus_of(tmp_path, rows, PassageRule(4000, 0))
    process = psutil.Process()
    before = process.memory_info().rss
    reopened = Corpus(tmp_path / "index")
    assert reopened.info.documents == 60
    assert process.memory_info().rss - before < 5_000_000


def test_terms_are_lower_case_stems_without_stop_words() -> None:
    assert TermReader().terms("The Rivers, charted by Čapek's 3 surveyors!") == [
        "river",
        "chart",
        "capek",
        "s",
        "3",
        "surveyor",
    ]


def test_a_missing_library_is_named_with_the_line_that_installs_it(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bm25s", "Stemmer"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            with pytest.raises(CorpusError, match=rf"needs {name}; install it: .* -m pip install "):
                Corpus(corpus.folder)
            with pytest.raises(CorpusError, match=f"needs {name}"):
                build_corpus([write_rows(tmp_path / "docs.jsonl", RIVERS)], tmp_path / "index")


class Loves:
    """An embedder that likes one word."""

    name = "loves"
    width = 2

    def __init__(self, word: str) -> None:
        self.word = word

    def embed(self, texts: list[str]) -> Vectors:
        return np.array([[1.0, float(self.word in text)] for text in texts], np.float32)


def test_re_ranking_orders_the_first_passages_by_cosine(corpus: Corpus) -> None:
    assert titles(corpus, "Korn river") == ["Velm River", "Ada Korn"]
    reranked = Reranked(corpus, Loves("surveyor"), depth=5).search("Korn river surveyor", 2)
    assert [(passage.title, round(passage.score or 0, 3)) for passage in reranked] == [
        ("Ada Korn", 1.0),
        ("Velm River", 0.707),
    ]
    assert Reranked(corpus, Loves("surveyor"), depth=1).search("Velm river surveyor", 1)[0].title == "Velm River"
    assert Reranked(corpus, Loves("surveyor"), depth=5).search("zebra") == ()


def test_re_ranked_passages_are_embedded_once_ever(corpus: Corpus, tmp_path: Path) -> None:
    embedder = CachedEmbedder(HashEmbedder(16), VectorCache(tmp_path / "vectors"))
    for _ in range(3):
        found = Reranked(corpus, embedder).search("Korn river")
        assert len(found) == 2
    assert (embedder.misses, embedder.hits) == (3, 6)
