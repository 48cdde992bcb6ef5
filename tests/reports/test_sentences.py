"""Where sentences and claims begin and end, by offsets into the report as it was written."""

import pytest

from tracerank.reports.sentences import MAX_SENTENCE, masked, sentences, shown
from tracerank.reports.statements import read_report


def cut(report: str) -> list[str]:
    plain = masked(report)
    return [shown(plain, span) for span in sentences(report, plain)]


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ("Dr. J. Smith met him. They left at 5 p.m. alone.", ["Dr. J. Smith met him.", "They left at 5 p.m. alone."]),
        ("It rose by 3.5 percent. Then it fell again.", ["It rose by 3.5 percent.", "Then it fell again."]),
        ('He said "it is over." She left the room.', ['He said "it is over."', "She left the room."]),
        ("It opened late [1, 2]. It closed early.[^3]", ["It opened late.", "It closed early."]),
        ("See [the **long** page](https://a.org/b) for more.", ["See the long page for more."]),
        ("- one point here\n2. another point\n> a quoted point", ["one point here", "a quoted point"]),
        ("# A title of words\nText below the title.", ["Text below the title."]),
        ("A first long line\n\n## Sources\n1. A page of that name https://a.org", ["A first long line"]),
        ("Before the code.\n```\nprint(each for each)\n```\nIt ends here.", ["Before the code.", "It ends here."]),
        ("| city | people | year |\n|---|---|---|\n| Aa | 4,100 | 1949 |", ["city people year", "Aa 4,100 1949"]),
        ("这座桥于一九四九年建成。它横跨奥恩河，非常著名。", ["这座桥于一九四九年建成。", "它横跨奥恩河，非常著名。"]),
        ("Too short.", []),
    ],
)  # fmt: skip
def test_a_report_is_cut_into_sentences(report: str, expected: list[str]) -> None:
    assert cut(report) == expected


def test_offsets_are_those_of_the_report_as_written() -> None:
    report = "Intro of *three* words [1].\r\n- The **span** is 212 m [2](https://a.org), the [deck](https://b.org) 9 m."
    for sentence in read_report(report).sentences:
        written = report[sentence.span.start : sentence.span.end]
        assert written[0].isalpha()
        assert written.endswith(".")
    assert len(masked(report)) == len(report)


def test_a_sentence_without_an_end_is_cut_between_words() -> None:
    pieces = cut("word " * 100_000)
    assert max(map(len, pieces)) <= MAX_SENTENCE
    assert set(" ".join(pieces).split()) == {"word"}


def test_clauses_keep_dates_whole_and_join_what_is_too_short_to_stand_alone() -> None:
    [sentence] = read_report(
        "He was born on July 23, 1904, in Frankfurt, Germany, and moved to Texas in 1929."
    ).sentences
    assert [[value.token for value in each.values] for each in sentence.statements] == [["@1904-7-23"], ["@1929"]]
