"""Scripts that part words by nothing: characters, terms, numerals."""

import unicodedata

import pytest

from tracerank.answers.scripts import (
    counted_words,
    has_unspaced,
    is_unspaced,
    likely_words,
    parted,
    split_words,
    terms_held,
    terms_of,
)
from tracerank.answers.text_keys import fold, plain_numerals


def characters(text: str) -> list[str]:
    return split_words(parted(unicodedata.normalize("NFKD", text.lower())))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2024年東京オリンピック", ["2024", "年", "東", "京", "オ", "リ", "ン", "ピ", "ッ", "ク"]),
        ("ｶﾞﾗｽ・がらす", ["ガ", "ラ", "ス", "が", "ら", "す"]),
        ("서울은 수도", ["서", "울", "은", "수", "도"]),
        ("ที่กรุง", ["ที่", "ก", "รุ", "ง"]),
        ("၂၀၂၄ ခု", ["2024", "ခု"]),
        ("佐々木，「二〇二四」。", ["佐", "々", "木", "2024"]),
        ("A社とB社", ["a", "社", "と", "b", "社"]),
    ],
)
def test_each_character_with_its_marks_is_a_word(text: str, words: list[str]) -> None:
    assert characters(text) == words


def test_thousands_stay_whole_before_a_character() -> None:
    assert parted("約1,000円") == " 約 1,000 円 "
    assert parted("๑,๐๐๐ คน").split() == ["1,000", "คน"]


def test_terms_are_pairs_of_syllables_and_three_letters_of_one_script() -> None:
    assert terms_of(characters("東京都のオリンピ NHK 年")) == [
        "東 京",
        "京 都",
        "の",
        "オ リ ン",
        "リ ン ピ",
        "nhk",
        "年",
    ]


def test_a_line_holds_every_term_of_its_pieces() -> None:
    held = terms_held(" 富 士 山 の 高 さ は 3776 m ")
    assert {"山", "士 山", "高", "さ は", "3776", "m"} <= held
    assert "山 の" not in held  # no term crosses a change of script


def test_runs_across_two_words_are_left_out_where_texts_know_better() -> None:
    frequencies = {"東 京": 3, "京 首": 1, "首 都": 2, "都 谁": 0}
    assert likely_words(list("東京首都谁"), lambda term: frequencies.get(term, 0)) == ["東 京", "首 都"]


def test_words_are_counted_as_a_reader_would() -> None:
    assert counted_words(["new", "york"]) == 2
    assert counted_words(["2024", *"東京都"]) == 2
    assert counted_words(list("レオナルド")) == 2


def test_a_text_is_of_such_a_script_when_most_of_it_is() -> None:
    assert is_unspaced("iPhoneを発表した人物は")
    assert has_unspaced("Sōryū (蒼龍) was a carrier")
    assert not is_unspaced("Sōryū (蒼龍) was a carrier")
    assert not has_unspaced("Москва, القاهرة, दिल्ली, Αθήνα, תל אביב, Zürich")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("二〇二四年五月十八日", "2024年5月18日"),
        ("一九四五年", "1945年"),
        ("十二月三十一日", "12月31日"),
        ("٢٠١٨ ۲۰۱۸ २०१८ ๒๐๑๘", "2018 2018 2018 2018"),
        ("三四郎", "三四郎"),
        ("二千三百四十五", "二千三百四十五"),
        ("第一日本", "第一日本"),
    ],
)
def test_numerals_become_plain_where_they_are_clear(text: str, plain: str) -> None:
    assert plain_numerals(text) == plain
    assert plain_numerals(plain) == plain


def test_full_width_is_folded() -> None:
    assert fold("２０１８年　Ｐａｒｉｓ（仏）") == "2018年 Paris(仏)"
