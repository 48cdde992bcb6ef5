"""Calls in the code that smolagents writes."""

from typing import Any

from tracerank.readers.formats.smolagents_memory import Bindings, calls_in_code


def test_calls_are_read_from_code_without_running_it() -> None:
    def found(text: str, known: Bindings | None = None) -> list[tuple[str, list[Any]]]:
        return [(one.name, list(one.arguments.values())) for one in calls_in_code(text, known or {})]

    assert found('q = "x"\nprint(web_search(q), web_search(query=f"{q} y"))') == [
        ("web_search", ["x"]),
        ("web_search", ["x y"]),
    ]
    assert found("r = [web_search(q) for q in ('a', 'b')]") == [("web_search", ["a"]), ("web_search", ["b"])]
    assert found("web_search(q)", {"q": ("earlier",)}) == [("web_search", ["earlier"])]
    assert found("web_search(build())") == [("web_search", [])]
    assert found('print(search_library(topic="x"), shout("x"))') == [("search_library", ["x"]), ("shout", ["x"])]
    assert found('open("f"); re.search("a", t); t.find("x"); print("web_search(1)")') == []
    assert found("for q in [1:\n  web_search('broken')") == [("web_search", ["broken"])]
    assert found("(" * 10_000) == found("-" * 100_000) == found("\0") == []
