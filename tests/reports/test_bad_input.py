"""Texts that are no ordinary reports cost bounded time and end in a decision."""

import time

import pytest

from tests.reports.texts import FULL, PROMPT, SECOND
from tracerank.reports.comparison import compare_reports
from tracerank.reports.sentences import MAX_CHARACTERS

SECONDS = 4.0
"""CPU time; each takes a fraction of it on an idle core."""
WORDS = [f"word{number % 997} of {number % 13} things" for number in range(30_000)]
CHINESE = "这座桥于1949年5月12日建成，横跨奥恩河。" * 400
HOSTILE = {
    "5 MB": f"{FULL} {' '.join(WORDS)}. " * 6,
    "one sentence": " ".join(WORDS),
    "one word": "a" * 1_000_000,
    "a table": "| a | b |\n|---|---|\n" + "".join(f"| row {row} | {row * 7} |\n" for row in range(2_000)),
    "code": "```python\n" + "for index in range(10):\n    print(index)\n" * 2_000 + "```",
    "code without an end": "```\n" + "x = 1\n" * 20_000,
    "one sentence, again and again": "The bridge was opened in 1949 by Ida Brandt. " * 3_000,
    "Chinese": CHINESE,
    "brackets": "[" * 100_000,
    "emphasis": "*_" * 100_000,
    "full stops": ". " * 100_000,
    "abbreviations": "Dr. " * 50_000,
    "numbers": " ".join(str(number) for number in range(20_000)),
    "control characters": "\x00\ud800\u202e text of the bridge " * 2_000,
    "line breaks": "\r\n" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_any_text_is_compared_in_bounded_time(name: str) -> None:
    begin = time.process_time()
    compared = compare_reports(PROMPT, [HOSTILE[name], SECOND, FULL, HOSTILE[name]])
    assert time.process_time() - begin < SECONDS
    assert compared.chosen is not None


def test_what_is_cut_off_is_named() -> None:
    compared = compare_reports(PROMPT, ["word of text. " * 40_000, FULL])
    assert f"of #0 only the first {MAX_CHARACTERS:,} characters are compared" in compared.note


def test_the_time_grows_with_the_length_of_the_reports() -> None:
    def seconds(count: int) -> float:
        reports = [
            f"{' '.join(WORDS[number::7][:count])}. {SECOND}".replace(" things word5", ". Word5") for number in range(4)
        ]
        begin = time.process_time()
        compare_reports(PROMPT, reports)
        return time.process_time() - begin

    seconds(200)
    assert seconds(3_200) < 24 * max(seconds(400), 0.02)  # eight times the words; all pairs would take 64 times


def test_chinese_reports_are_compared_by_their_characters() -> None:
    one = "这座桥于1949年5月12日由市长主持通车，横跨奥恩河。博物馆位于旧收费站内，展出桥梁模型。"
    two = "市长主持了通车典礼，这座桥于1949年通车，横跨奥恩河。"
    other = "这座桥于1942年由市长主持通车，横跨奥恩河。"
    claims = compare_reports("介绍一下凯塞尔大桥", [one, two, other]).of(0)
    assert any(claim.others for claim in claims)
