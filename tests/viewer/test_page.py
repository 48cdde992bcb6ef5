"""The page as bytes: what may run is named by digest, and no data can end the element that holds it."""

import base64
import hashlib
import json
import re
from importlib import resources

from hypothesis import given
from hypothesis import strategies as st

from tests.mixed import mixed_pools
from tests.viewer.markup import Elements, unpacked
from tests.viewer.pages import bridge_pool, hostile_pool, page_of, voted
from tracerank.viewer.page import SCRIPTS, STYLES, About, page_parts, safe_json

ASSETS = resources.files("tracerank.viewer").joinpath("assets")


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_exactly_the_pages_own_script_and_style_may_run() -> None:
    elements = Elements(page_of(voted([bridge_pool()])))
    texts = elements.texts
    policy = elements.policy()
    assert f"script-src {digest(texts['script'])};" in policy
    assert f"style-src {digest(texts['style'])};" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert not any(name.startswith("on") or name == "style" for _, attrs in elements.found for name in attrs)


def test_hostile_data_adds_no_element_and_comes_back_as_it_was() -> None:
    questions = voted([hostile_pool()])
    plain, hostile = Elements(page_of(voted([bridge_pool()]))), Elements(page_of(questions))
    assert [tag for tag, _ in hostile.found] == [tag for tag, _ in plain.found]
    texts = hostile.texts
    assert unpacked(texts["question-0"]) == json.loads(json.dumps(questions[0]))
    listed = json.loads(texts["list-data"])["questions"]
    assert [entry["id"] for entry in listed] == [questions[0]["id"]]
    assert len(listed[0]["question"]) <= 240


@given(st.text())
def test_json_in_the_page_is_ascii_without_markup_and_reads_back(text: str) -> None:
    written = safe_json({"text": text + "</script><!--&\u2028\u2029\ud800"})
    assert written.isascii()
    assert not set("<>&") & set(written)
    assert json.loads(written)["text"].startswith(text)


def test_the_same_questions_give_the_same_bytes() -> None:
    questions = voted([bridge_pool()])
    assert page_of(questions) == page_of(questions)
    assert len(list(page_parts(iter(questions), About("pools.jsonl", "majority")))) == 3


def test_scripts_build_elements_from_text_only() -> None:
    names = {path.name for path in ASSETS.iterdir()}
    assert names == {*SCRIPTS, *STYLES, "page.html"}
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|</script|fetch\("
    )
    for name in (*SCRIPTS, *STYLES):
        assert not forbidden.search(ASSETS.joinpath(name).read_text(encoding="utf-8")), name


def test_agents_are_counted_where_pools_mix_several() -> None:
    pools = mixed_pools(10, {"able": 1.0, "poor": 0.0})
    listed = json.loads(Elements(page_of(voted(pools))).texts["list-data"])
    rows = {agent: counts for agent, *counts in listed["agents"]}
    assert (rows["able"][0], rows["able"][2:], rows["poor"][2:]) == (10, [10, 10.0], [10, 0.0])
    assert rows["able"][1] + rows["poor"][1] == 10
    assert json.loads(Elements(page_of(voted([bridge_pool()]))).texts["list-data"])["agents"] == []
