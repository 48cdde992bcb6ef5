"""Canonical URLs: the official facts, what the default rules add, and idempotence."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.golden import needs_golden, unit_facts
from tracerank.pools.urls import DEFAULT, OFFICIAL, canonical_url, refine_url

MARKS = "http https HTTP :// // : @ / ? # % [ ] [::1] ( ) = & + ; h ex.org münchen.de %41 %2f %2F %7e %e9 %C3%A9 :80"
TEXTS = ":443 :0443 :99999 user userinfo-sha256- xn--a a é ß İ １ ／ ［ ％ 。 . .. ~"
OTHERS = ("\u212a", " ", "\t", "\x00", "\n", "\u00a0", "\u2028", "\ud800")
PIECES = st.sampled_from([*MARKS.split(" "), *TEXTS.split(" "), *OTHERS])
URLS = st.builds(
    "{}{}".format,
    st.sampled_from(["", "http://", "https://", "https://ex.org", "http://u:p@h:80/"]),
    st.lists(PIECES, max_size=8).map("".join),
)


@needs_golden
def test_the_official_rules_reproduce_every_recorded_fact() -> None:
    facts = unit_facts("canonical_url")
    assert {str(fact["input"]): canonical_url(fact["input"], OFFICIAL) for fact in facts} == {
        str(fact["input"]): fact["output"] for fact in facts
    }


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("https://ex.org:443/a", "https://ex.org/a"),
        ("http://ex.org:80/a", "http://ex.org/a"),
        ("http://ex.org:/a", "http://ex.org/a"),
        ("http://ex.org", "http://ex.org/"),
        ("http://ex.org?q=1", "http://ex.org/?q=1"),
        ("https://münchen.de/", "https://xn--mnchen-3ya.de/"),
        ("https://MÜNCHEN.de:443", "https://xn--mnchen-3ya.de/"),
    ],
)
def test_the_default_rules_join_what_the_official_ones_keep_apart(left: str, right: str) -> None:
    assert canonical_url(left) == canonical_url(right) == right
    assert canonical_url(left, OFFICIAL) != canonical_url(right, OFFICIAL)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("http://ex.org/", "https://ex.org/"),
        ("http://ex.org:443/", "http://ex.org/"),
        ("https://ex.org:80/", "https://ex.org/"),
        ("https://ex.org/a", "https://ex.org/a/"),
        ("https://ex.org/a%2Fb", "https://ex.org/a/b"),
        ("https://ex.org/?x=a%26b", "https://ex.org/?x=a&b"),
        ("https://user@ex.org/", "https://ex.org/"),
        ("https://user:@ex.org/", "https://user@ex.org/"),
        ("https://www.ex.org/", "https://ex.org/"),
    ],
)
def test_different_sources_stay_apart_under_all_rules(left: str, right: str) -> None:
    assert canonical_url(left) != canonical_url(right)
    assert canonical_url(left, OFFICIAL) != canonical_url(right, OFFICIAL)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://h/" + "a" * 65_526, "https://h/" + "a" * 65_526),
        ("https://" + "ü" * 80 + ".de/", "https://" + "ü" * 80 + ".de/"),  # a host that cannot be encoded
        ("https://[::1]:443/a", "https://[::1]/a"),
        ("https://ex.org/%41%7e%2f%5f", "https://ex.org/A~%2F_"),
        ("https://[2001:db8::80]/a", "https://[2001:db8::80]/a"),
    ],
)
def test_one_spelling_is_kept_of_long_urls_escapes_and_hosts(url: str, kept: str) -> None:
    assert canonical_url(url) == kept


def test_passwords_never_show() -> None:
    url = canonical_url("https://user:secret@ex.org/a")
    assert url is not None
    assert "secret" not in url
    assert canonical_url(url) == url


NO_ADDRESSES = (
    "",
    "x",
    "https://",
    "https://h/%zz",
    "https://h/?q=%zz",
    "https://h:99999/",
    "https://[x]@h[/",
    "ftp://h/",
)


@pytest.mark.parametrize("value", [None, 5, True, [], {}, *NO_ADDRESSES, "https://h/" + "a" * 65_527])
def test_what_is_no_web_address_has_no_canonical_form(value: object) -> None:
    assert canonical_url(value) is None


@given(URLS)
@example("https://［::1］/")
@example("https://[x]@h[/")
def test_canonical_urls_are_canonical(url: str) -> None:
    for rules in (DEFAULT, OFFICIAL):
        once = canonical_url(url, rules)
        if once is not None:
            assert canonical_url(once, rules) == once
            once.encode()


@given(URLS)
def test_the_default_form_can_be_had_from_the_official_one(url: str) -> None:
    lossless = canonical_url(url, OFFICIAL)
    assert canonical_url(url) == (None if lossless is None else refine_url(lossless, DEFAULT))
