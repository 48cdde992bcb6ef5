"""Short texts are read once, long ones each time: what anybody may send is not kept."""

from tracerank.answers.text_keys import bounded_cache


def test_only_short_texts_are_remembered_and_only_so_many() -> None:
    read: list[str] = []

    @bounded_cache(2, 10)
    def upper(text: str, other: str = "") -> str:
        read.append(text)
        return text.upper()

    assert [upper(text) for text in ("a", "a", "b", "a")] == ["A", "A", "B", "A"]
    assert read == ["a", "b"]
    upper("x" * 11), upper("x" * 11), upper("a", "y" * 10), upper("a", "y" * 10)
    assert read[2:] == ["x" * 11, "x" * 11, "a", "a"]
    upper("c"), upper("b")
    assert read[6:] == ["c", "b"]
    assert upper.__name__ == "upper"
