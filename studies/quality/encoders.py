"""Which encoder ranks gold passages first: ``OMP_NUM_THREADS=1 python -m studies.quality.encoders [COUNT] [NAME…]``.

COUNT questions each of HotpotQA and MuSiQue outside the test split, each over the passages of its own context: the mean
reciprocal rank of the first gold one, and how often the first is gold; then a handful of questions in other languages,
written by hand; and texts that a second of processor time encodes. ``multilingual`` tells e5 that all are queries,
``multilingual-passage`` that all are passages, ``multilingual-roles`` which are; our selectors know no roles.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

import numpy as np
from rich.console import Console
from rich.table import Table

from studies.shipped_weights.lexical_data import rows_of, split_of
from tracerank.embedding.base import Embedder
from tracerank.embedding.load import load_embedder
from tracerank.embedding.multilingual import MultilingualEmbedder, Role

SETS = ("hotpotqa", "musique")
COUNT = 300
TIMED = 100
"""Passages whose encoding is timed."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """A question and the passages to rank."""

    question: str
    passages: tuple[str, ...]
    gold: frozenset[int]
    """Places of the passages that support the answer."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """Who encodes the question, and who the passages."""

    question: "Remembering"
    passage: "Remembering"


class Remembering:
    """An embedder that encodes each text once, whichever rows of the table ask."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._known: dict[str, np.ndarray] = {}

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        fresh = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(fresh, self.embedder.embed(fresh), strict=True))
        return np.stack([self._known[text] for text in texts])


@cache
def _named(name: str) -> Remembering:
    return Remembering(load_embedder(name, is_cached=False))


@cache
def _of_role(role: Role) -> Remembering:
    return Remembering(MultilingualEmbedder(role))


ENCODERS: Mapping[str, Callable[[], Encoder]] = {
    "default": lambda: Encoder(_named("default"), _named("default")),
    "multilingual": lambda: Encoder(_of_role("query"), _of_role("query")),
    "multilingual-passage": lambda: Encoder(_of_role("passage"), _of_role("passage")),
    "multilingual-roles": lambda: Encoder(_of_role("query"), _of_role("passage")),
}


def contexts(name: str) -> Iterator[Ranking]:
    """The questions of a set outside the test split, with their own contexts."""
    texts = {row["id"]: f'(Title: "{row["title"]}") {row["text"]}' for row in rows_of(f"{name}_corpus")}
    for row in rows_of(f"{name}_questions"):
        places = [number for number in row.get("ctx_ids") or () if number in texts]
        gold = frozenset(place for place, number in enumerate(places) if number in row["gold_ids"])
        if split_of(row["question"]) != "test" and row.get("all_gold_present", True) and gold:
            yield Ranking(row["question"], tuple(texts[number] for number in places), gold)


# A question and the passage that answers it; the other passages of the language are its rivals.
_WRITTEN: Mapping[str, Sequence[tuple[str, str]]] = {
    "Chinese": (
        ("谁发明了活字印刷术？", "北宋时期，毕昇发明了泥活字，这是世界上最早的活字印刷。"),
        ("长江流入哪个海？", "长江全长约6300公里，在上海附近注入东海。"),
        ("《红楼梦》的作者是谁？", "曹雪芹创作的这部长篇小说描写了贾府的兴衰。"),
        ("中国第一颗人造卫星什么时候发射？", "1970年4月24日，东方红一号由长征一号火箭送入轨道。"),
    ),
    "Korean": (
        ("한글은 누가 만들었나요?", "세종대왕은 1443년에 훈민정음을 창제하였다."),
        ("한국에서 가장 높은 산은 무엇인가?", "제주도에 있는 한라산은 높이가 1,947미터이다."),
        ("서울 올림픽은 언제 열렸나요?", "1988년 9월 제24회 하계 올림픽이 잠실에서 개막하였다."),
        ("김치는 무엇으로 만드나요?", "배추를 소금에 절이고 고춧가루와 마늘을 넣어 발효시킨다."),
    ),
    "Thai": (
        ("เมืองหลวงของประเทศไทยคืออะไร", "กรุงเทพมหานครเป็นศูนย์กลางการปกครองและเศรษฐกิจของไทย"),
        ("แม่น้ำสายใดไหลผ่านกรุงเทพ", "เจ้าพระยาเกิดจากแม่น้ำปิง วัง ยม และน่าน ไหลลงสู่อ่าวไทย"),
        ("ต้มยำกุ้งใส่อะไรบ้าง", "น้ำซุปปรุงด้วยตะไคร้ ใบมะกรูด ข่า พริก และกุ้ง"),
        ("ใครเป็นผู้ประดิษฐ์อักษรไทย", "พ่อขุนรามคำแหงทรงคิดลายสือไทยขึ้นใน พ.ศ. 1826"),
    ),
    "German": (
        ("Wer komponierte die Neunte Sinfonie?", "Ludwig van Beethoven vollendete das Werk mit Schlusschor 1824."),
        ("Welcher Berg ist der höchste Deutschlands?", "Die Zugspitze im Wettersteingebirge misst 2962 Meter."),
        ("Wann fiel die Berliner Mauer?", "Am 9. November 1989 wurden die Grenzübergänge der Stadt geöffnet."),
        ("Woraus wird Sauerkraut gemacht?", "Fein gehobelter Weißkohl wird gesalzen und gärt mehrere Wochen."),
    ),
}


def written() -> Iterator[tuple[str, Ranking]]:
    """Questions in other languages, each among the passages of its language."""
    for language, pairs in _WRITTEN.items():
        passages = tuple(passage for _, passage in pairs)
        for place, (question, _) in enumerate(pairs):
            yield language, Ranking(question, passages, frozenset({place}))


def first_ranks(encoder: Encoder, rankings: Sequence[Ranking]) -> list[int]:
    """The rank of the first gold passage of each, from 1."""
    questions = encoder.question.embed([each.question for each in rankings])
    passages = encoder.passage.embed([passage for each in rankings for passage in each.passages])
    parts = np.split(passages, np.cumsum([len(each.passages) for each in rankings])[:-1])
    found = []
    for each, question, own in zip(rankings, questions, parts, strict=True):
        order = np.argsort(-(own @ question), kind="stable").tolist()
        found.append(1 + next(rank for rank, place in enumerate(order) if place in each.gold))
    return found


def shown(ranks: Sequence[int]) -> str:
    return f"{np.mean([1 / rank for rank in ranks]):.3f} / {100 * np.mean([rank == 1 for rank in ranks]):.1f}"


def texts_per_second(encoder: Encoder, texts: Sequence[str]) -> float:
    """Of processor time: another process may be at work, too."""
    embedder = encoder.passage.embedder
    embedder.embed(list(texts[: TIMED // 10]))
    begun = time.process_time()
    embedder.embed(list(texts))
    return len(texts) / (time.process_time() - begun)


def main(count: int, names: Sequence[str]) -> None:
    console = Console(width=140)
    sets = {name: list(islice(contexts(name), count)) for name in SETS}
    timed = list(dict.fromkeys(p for each in sets[SETS[0]] for p in each.passages))[-TIMED:]
    table = Table(title=f"MRR of the first gold passage / first is gold, in %; {count} questions a set")
    for title in ("encoder", *sets, *_WRITTEN, "texts/s"):
        table.add_column(title)
    for name in names:
        encoder = ENCODERS[name]()
        cells = [shown(first_ranks(encoder, rankings)) for rankings in sets.values()]
        by_language = [[each for language, each in written() if language == wanted] for wanted in _WRITTEN]
        cells += [shown(first_ranks(encoder, rankings)) for rankings in by_language]
        table.add_row(name, *cells, f"{texts_per_second(encoder, timed):.1f}")
        console.print(name, *cells)  # a row takes minutes
    console.print(table)


if __name__ == "__main__":
    given = sys.argv[1:]
    wanted = int(given.pop(0)) if given and given[0].isdigit() else COUNT
    main(wanted, given or list(ENCODERS))
