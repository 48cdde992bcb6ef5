"""Which evidence shares a document, decided over the rollouts given and nothing else."""

from dataclasses import replace

import pytest

from tracerank.pools.documents import document_keys, link_documents
from tracerank.pools.types import BROWSING, Document, Evidence, Rollout, Search, View
from tracerank.pools.urls import DEFAULT, OFFICIAL, UrlRules


def page(event: int, url: str | None = None, **fields: object) -> View:
    """An Open that returned a page with a complete header."""
    known: dict[str, object] = {
        "kind": "document",
        "url": url,
        "displayed": url,
        "header": "returned_document_header",
        "fallback": f"event:{event}",
    }
    return View(event, "open", None, event, True, **{**known, **fields})  # type: ignore[arg-type]


def bare(event: int, number: str) -> View:
    """An Open that returned ``Doc N`` without an address."""
    return page(event, number=number, header="doc_id_without_url_header")


def listing(event: int) -> View:
    return View(event, "search", None, event, True, fallback=f"event:{event}")


def find(event: int, parent: int | None) -> View:
    return View(event, "find", parent, event, True, fallback=f"event:{event if parent is None else parent}")


def continuation(event: int, parent: int | None, url: str | None = None, **fields: object) -> View:
    """An Open that names no target."""
    return replace(page(event, url, **fields), parent=parent, continues=True)


def rollout(sample_id: int, *views: View) -> Rollout:
    """One orphan search that saw every view."""
    seen = tuple(Evidence(f"text {view.event}", tool=view.tool, event=view.event) for view in views)
    return Rollout(sample_id, "answer", (Search(None, seen, 0),), setting=BROWSING, views=views)


def keys(*rollouts: Rollout, rules: UrlRules = DEFAULT) -> list[list[str]]:
    return [
        [seen.document.key for search in linked.searches for seen in search.evidence if seen.document is not None]
        for linked in link_documents(rollouts, rules)
    ]


def statuses(one: Rollout, rules: UrlRules = DEFAULT) -> list[str | None]:
    (linked,) = link_documents([one], rules)
    return [seen.status for search in linked.searches for seen in search.evidence]


def test_the_same_page_is_one_document_in_all_rollouts() -> None:
    assert keys(rollout(0, page(1, "https://ex.org/a")), rollout(1, page(7, "https://ex.org/a"))) == [
        ["url:https://ex.org/a"],
        ["url:https://ex.org/a"],
    ]


def test_evidence_learns_its_url_and_how_it_was_established() -> None:
    (linked,) = link_documents([rollout(0, page(1, "https://ex.org/a"))])
    (seen,) = linked.searches[0].evidence
    assert seen.document == Document("url:https://ex.org/a", verified=True, url="https://ex.org/a")
    assert (seen.url, seen.status) == ("https://ex.org/a", "returned_document_header")


def test_default_rules_drop_port_443_and_official_ones_keep_it() -> None:
    rollouts = rollout(0, page(1, "https://ex.org:443/a")), rollout(1, page(1, "https://ex.org/a"))
    assert keys(*rollouts) == [["url:https://ex.org/a"], ["url:https://ex.org/a"]]
    assert keys(*rollouts, rules=OFFICIAL) == [["url:https://ex.org:443/a"], ["url:https://ex.org/a"]]


def test_search_views_never_link_rollouts() -> None:
    again = page(1, kind="search", header="returned_search_view")
    assert keys(rollout(0, again, find(2, 1)), rollout(3, again)) == [
        ["search-view:0:1", "search-view:0:1"],
        ["search-view:3:1"],
    ]
    assert statuses(rollout(0, again)) == ["returned_search_view_identity"]


def test_a_find_view_inherits_its_parents_page() -> None:
    assert keys(rollout(0, page(1, "https://ex.org/a"), find(2, 1))) == [["url:https://ex.org/a"] * 2]
    assert statuses(rollout(0, page(1, "https://ex.org/a"), find(2, 1)))[1] == "find_inherits_source"


def test_a_find_view_without_a_parent_stays_unresolved() -> None:
    assert keys(rollout(4, find(2, None))) == [["unresolved:4:event:2"]]
    assert statuses(rollout(4, find(2, None))) == ["unresolved"]


def test_a_continuation_inherits_its_parents_page_when_it_shows_the_same_one() -> None:
    one = rollout(0, page(1, "https://ex.org/a"), continuation(2, 1, "https://ex.org/a"), continuation(3, 2))
    assert keys(one) == [["url:https://ex.org/a"] * 3]
    assert statuses(one)[1:] == ["open_inherits_source"] * 2


def test_a_continuation_may_display_its_parents_address_decoded() -> None:
    parent = page(1, "https://ex.org/a%2Fb", displayed="https://ex.org/a/b", url_field_agrees=True)
    for displayed in ("https://ex.org/a/b", "https://ex.org/a/b#part"):
        assert statuses(rollout(0, parent, continuation(2, 1, displayed)))[1] == "open_inherits_source"


@pytest.mark.parametrize("shown", [continuation(2, 1, "https://ex.org/b"), continuation(2, 1, kind="search")])
def test_a_continuation_that_shows_another_page_or_a_result_list_conflicts(shown: View) -> None:
    one = rollout(0, page(1, "https://ex.org/a"), shown)
    assert keys(one) == [["url:https://ex.org/a", "unresolved:0:event:2"]]
    assert statuses(one)[1] == "returned_view_conflicts_with_parent"


def test_an_open_of_another_target_speaks_for_itself() -> None:
    one = rollout(0, page(1, "https://ex.org/a"), replace(page(2, "https://ex.org/b"), parent=1))
    assert keys(one) == [["url:https://ex.org/a", "url:https://ex.org/b"]]


def test_a_continuation_without_a_verified_parent_speaks_for_itself() -> None:
    assert keys(rollout(0, continuation(2, None, "https://ex.org/b"))) == [["url:https://ex.org/b"]]


def test_a_port_left_out_by_the_default_rules_does_not_hide_a_decoded_address() -> None:
    parent = page(1, "https://ex.org:443/a%2Fb", displayed="https://ex.org:443/a/b", url_field_agrees=True)
    one = rollout(0, parent, continuation(2, 1, "https://ex.org:443/a/b"))
    assert keys(one) == [["url:https://ex.org/a%2Fb"] * 2]


def test_doc_n_is_resolved_only_by_an_unambiguous_header() -> None:
    named = rollout(0, page(1, "https://ex.org/a", number="7"))
    unnamed = rollout(1, bare(1, "7"), bare(2, "8"))
    torn = rollout(0, page(1, "https://ex.org/a", number="7"), page(2, "https://ex.org/b", number="7"))
    assert keys(torn, unnamed)[1] == keys(unnamed)[0] == ["unresolved:1:event:1", "unresolved:1:event:2"]
    assert keys(named, unnamed)[1] == ["url:https://ex.org/a", "unresolved:1:event:2"]
    (_, linked) = link_documents([named, unnamed])
    assert [seen.status for seen in linked.searches[0].evidence] == [
        "same_question_unique_doc_id_url_support",
        "doc_id_without_url_header",
    ]


def test_two_spellings_of_one_address_support_doc_n_under_the_rules_that_join_them() -> None:
    named = rollout(0, page(1, "https://ex.org", number="7"), page(2, "https://ex.org/", number="7"))
    assert keys(named, rollout(1, bare(1, "7")))[1] == ["url:https://ex.org/"]
    assert keys(named, rollout(1, bare(1, "7")), rules=OFFICIAL)[1] == ["unresolved:1:event:1"]


@pytest.mark.parametrize("flaw", [{"is_valid": False}, {"cursor": None}])
def test_an_invalid_view_establishes_nothing(flaw: dict[str, object]) -> None:
    flawed = replace(page(1, "https://ex.org/a", number="7"), **flaw)  # type: ignore[arg-type]
    assert keys(rollout(0, flawed), rollout(1, bare(1, "7"))) == [["unresolved:0:event:1"], ["unresolved:1:event:1"]]
    assert statuses(rollout(0, flawed)) == ["invalid_return_or_provenance"]
    assert statuses(rollout(0, flawed, find(2, 1)))[1] == "unresolved"


def test_the_call_knows_the_encoding_that_the_header_decoded() -> None:
    view = page(1, "https://ex.org/a/b", requested="https://ex.org/a%2Fb")
    assert keys(rollout(0, view)) == [["url:https://ex.org/a%2Fb"]]
    redirected = page(1, "https://ex.org/c", requested="https://ex.org/a%2Fb")
    assert keys(rollout(0, redirected)) == [["url:https://ex.org/c"]]


def test_unverified_views_of_one_requested_address_share_a_group() -> None:
    lost = {"kind": "unknown", "header": "missing_returned_header"}
    rollouts = (
        rollout(0, page(1, fallback="https://ex.org:443/a", **lost)),
        rollout(1, page(1, fallback="https://ex.org/a", **lost)),
    )
    assert keys(*rollouts) == [["unresolved:https://ex.org/a"]] * 2
    assert keys(*rollouts, rules=OFFICIAL) == [
        ["unresolved:https://ex.org:443/a"],
        ["unresolved:https://ex.org/a"],
    ]
    (linked, _) = link_documents(rollouts)
    document = linked.searches[0].evidence[0].document
    assert document is not None
    assert not document.verified


def test_rollouts_without_views_come_back_as_they_are() -> None:
    chunks = Rollout(0, "a", (Search("q", (Evidence("text", document=Document("mine")),)),))
    seen = Evidence("text", document=Document("mine"), event=99)
    elsewhere = Rollout(1, "a", (Search("q", (seen,)),), views=(listing(1),))
    linked = link_documents([chunks, elsewhere])
    assert linked[0] is chunks
    assert linked[1] is elsewhere


def test_linking_twice_changes_nothing() -> None:
    once = link_documents([rollout(0, page(1, "https://ex.org/a"), find(2, 1))])
    twice = link_documents(once)
    assert all(new is old for new, old in zip(twice, once, strict=True))


def test_keys_alone_are_those_of_the_linked_evidence_and_none_where_nothing_is_known() -> None:
    own = Evidence("chunk", document=Document("mine"))
    chunks = Rollout(1, "a", (Search("q", (own, Evidence("other"), Evidence("lost", event=9))),))
    browsed = rollout(0, page(1, "https://ex.org:443/a"), find(2, 1))
    assert document_keys([browsed, chunks]) == [["url:https://ex.org/a"] * 2, ["mine", None, None]]
    assert document_keys([browsed], OFFICIAL) == [["url:https://ex.org:443/a"] * 2]
