"""The same pool in another script: what is found in its evidence, and who is chosen."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.builders import pool_of, ranked, rollout
from tracerank.answers.english import words
from tracerank.evidence.table import COLUMNS, EvidenceTable, evidence_table
from tracerank.evidence.text import Line, content_words, words_of
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool

VOCABULARY = tuple(
    words(
        "amber anchor apple arrow autumn badger barrel basket beacon bottle branch bridge bronze butter button "
        "candle canyon carpet castle cellar cherry circle clover copper cotton cradle desert dragon eagle engine "
        "falcon feather fiddle forest garden ginger glacier hammer harbor helmet island jacket jungle kettle "
        "ladder lantern lemon marble meadow mirror needle orchard paddle pepper pigeon planet pocket quarry rabbit "
        "ribbon river saddle silver spider temple thunder timber tunnel turtle valley velvet violin walnut willow "
        "window winter"
    )
)
"""None of them says what is asked, none stands in another."""

Script = Callable[[Sequence[str]], str]
"""Writes English words."""

FILLING = 45
"""Words; more than a window reaches over in any script."""


def _syllables(first: int, count: int) -> Iterator[str]:
    """Strings of two and three characters in turn, of which no two share any."""
    characters = iter(range(first, first + 3 * count))
    return ("".join(chr(next(characters)) for _ in range(2 + place % 2)) for place in range(count))


def _letters(alphabet: str, size: int) -> Iterator[str]:
    """Strings over a small alphabet, not in its order."""
    found = ["".join(letters) for letters in product(alphabet, repeat=size)]
    return iter(Random(size).sample(found, len(VOCABULARY)))


def _written(names: Iterator[str], between: str = "") -> Script:
    map_of = dict(zip(VOCABULARY, names, strict=False))
    return lambda words: between.join(map_of[word] for word in words)


def english(words: Sequence[str]) -> str:
    return " ".join(words)


def full_width(words: Sequence[str]) -> str:
    return "\u3000".join("".join(chr(ord(letter) + 0xFEE0) for letter in word) for word in words)


SYLLABLES: dict[str, Script] = {
    "han": _written(_syllables(0x4E8C, len(VOCABULARY))),
    "hangul": _written(_syllables(0xAC00, len(VOCABULARY)), " "),
    "hangul without spaces": _written(_syllables(0xB000, len(VOCABULARY))),
}
LETTERS: dict[str, Script] = {
    "hiragana": _written(_letters("あいうえおがきぐけこさしすせそただちつてとなにぬねのはばぱひ", 3)),
    "katakana": _written(_letters("アイウエオカガキクケコサザシスセソタチツテトナニヌネノハヒパ", 3)),
    "thai": _written(_letters("กขคงจฉชซญดตถทธนบปผพมยรลวสหอ", 3)),
    "long thai": _written(_letters("กขคงจฉชซญดตถทธนบปผพมยรลวสหอ", 5)),
}
SCRIPTS = SYLLABLES | LETTERS


def random_pool(script: Script, seed: int) -> Pool:
    """Answers of equal length; the last stands near the question's words, the first far from them, others nowhere."""
    draw = Random(seed)
    shuffled = draw.sample(VOCABULARY, len(VOCABULARY))
    asked, free = shuffled[:5], shuffled[5:]
    size, count = draw.choice((1, 2)), draw.choice((2, 2, 3, 4))
    answers = [free[place * size : (place + 1) * size] for place in range(count)]

    def filling() -> list[str]:
        return draw.choices(free[count * size :], k=FILLING)

    spread = [word for each in draw.sample(asked, len(asked)) for word in (each, draw.choice(free[count * size :]))]
    near = [*spread, *answers[-1], *filling()]  # no run of the question's words
    far = [*asked, *filling(), *answers[0], *filling()]
    texts = [far, *(filling() for _ in answers[2:]), near]
    said = [
        rollout(script(answer), ranked(script(asked[:2]), script(text)))
        for answer, text in zip(answers, texts, strict=True)
    ]
    return pool_of(*said, question=script(asked))


def table_of(pool: Pool) -> EvidenceTable:
    return evidence_table(pool.question.text, pool.rollouts)


def columns(table: EvidenceTable, names: Sequence[str]) -> NDArray[np.float32]:
    """By the first rollout of a row: rows are in the order of the alphabet."""
    rows = sorted(range(len(table.rollouts)), key=lambda row: table.rollouts[row])
    return table.values[rows][:, [COLUMNS.index(name) for name in names]]


FOUND = words("log_votes vote_share searched_by_others")
NEAR = words("bridge_near chain_recall")
"""Counted by terms: a few letters may stand together by chance."""


@pytest.mark.parametrize("script", SCRIPTS)
def test_answers_are_found_and_chosen_as_in_english(script: str) -> None:
    choose = load_selector()
    for seed in range(60):
        pools = [random_pool(written, seed) for written in (english, SCRIPTS[script])]
        here, there = map(table_of, pools)
        assert np.array_equal(columns(there, FOUND), columns(here, FOUND)), seed
        if script in SYLLABLES:
            assert np.allclose(columns(there, NEAR), columns(here, NEAR), atol=1e-5), seed
        assert len({choose.decide(pool).sample_id for pool in pools}) == 1, seed


@pytest.mark.parametrize("script", LETTERS)
def test_few_letters_stand_together_by_chance(script: str) -> None:
    apart = []
    for seed in range(60):
        here, there = (table_of(random_pool(written, seed)) for written in (english, SCRIPTS[script]))
        apart.append(np.abs(columns(there, NEAR) - columns(here, NEAR)).ravel())
    assert np.mean(np.concatenate(apart)) < 0.02
    assert np.max(np.concatenate(apart)) < 0.5


def test_full_width_letters_are_letters() -> None:
    for seed in range(40):
        here, there = (table_of(random_pool(written, seed)) for written in (english, full_width))
        assert np.array_equal(there.values, here.values)


Told = tuple[str, str, str]
"""An answer, the query and the text of its rollout."""

REAL: dict[str, tuple[str, Told, Told]] = {
    "chinese, a person": (
        "《红楼梦》的作者是谁？",
        ("罗贯中", "红楼梦 作者", "《三国演义》是元末明初的长篇小说，作者罗贯中。"),
        ("曹雪芹", "红楼梦 作者", "《红楼梦》是清代的长篇小说，作者是曹雪芹，后四十回一般认为由他人续写。"),
    ),
    "japanese, a year in full width": (
        "富士山が最後に噴火したのは何年ですか。",
        ("1854年", "東海地震の年", "安政東海地震は1854年に発生した大地震である。"),
        ("1707年", "富士山 噴火", "富士山が最後に噴火したのは宝永四年で、西暦１７０７年の宝永大噴火である。"),
    ),
    "japanese, mixed with latin": (
        "iPhoneを2007年に発表した人物は誰？",
        ("ティム・クック", "Apple CEO", "ティム・クックは2011年からAppleのCEOを務める。"),
        (
            "スティーブ・ジョブズ",
            "iPhone 発表",
            "2007年1月、スティーブ・ジョブズがサンフランシスコでiPhoneを発表した。",
        ),
    ),
    "korean": (
        "대한민국에서 가장 높은 산은 무엇입니까?",
        ("지리산", "한국의 산", "지리산은 전라남도와 경상남도에 걸쳐 있는 국립공원이다."),
        ("한라산", "한국에서 가장 높은 산", "한라산은 제주도에 있으며 대한민국에서 가장 높은 산이다."),
    ),
    "thai": (
        "แม่น้ำสายใดยาวที่สุดในประเทศไทย",
        ("แม่น้ำน่าน", "แม่น้ำในภาคเหนือ", "แม่น้ำน่านไหลผ่านจังหวัดพิษณุโลกและจังหวัดพิจิตร"),
        ("แม่น้ำชี", "แม่น้ำที่ยาวที่สุด", "แม่น้ำชีเป็นแม่น้ำที่ยาวที่สุดในประเทศไทย มีต้นกำเนิดที่จังหวัดชัยภูมิ"),
    ),
}


@pytest.mark.parametrize("name", REAL)
def test_evidence_decides_between_two_votes_whatever_their_order(name: str) -> None:
    question, wrong, right = REAL[name]
    for told in ((wrong, right), (right, wrong)):
        pool = pool_of(*(rollout(a, ranked(query, text)) for a, query, text in told), question=question)
        decision = load_selector().decide(pool)
        assert decision.answer == right[0]
        assert max(decision.scores.values()) > 0.6


def test_a_question_is_repeated_where_characters_are_the_words_only_as_a_whole() -> None:
    question, texts = (
        "曹雪芹写的红楼梦一共有多少回",
        ("曹雪芹写的红楼梦一共有多少回 120回", "曹雪芹写的红楼梦 红楼梦一共有多少回 120回"),
    )
    found = [evidence_table(question, [rollout("120回", ranked("q", text))]).named(0) for text in texts]
    assert [row["chain_recall"] > 0 for row in found] == [False, True]


def test_accents_and_marks_of_spaced_scripts_part_words_as_ever() -> None:
    assert words_of("Sōryū's 1,000 Čapek") == ["soryu", "1000", "capek"]
    assert words_of("Москва́ — столица") == ["москва", "столица"]
    assert words_of("القاهرة ٢٠١٨") == ["القاهرة", "٢٠١٨"]


def test_a_latin_word_beside_other_characters_stands_alone() -> None:
    assert " apple " in Line(words_of("AppleのCEO")).text
    assert words_of("2024年東京") == ["2024", "年", "東", "京"]
    assert content_words(["2024", "年", "東", "京"]) == ["2024", "年 東", "東 京"]
