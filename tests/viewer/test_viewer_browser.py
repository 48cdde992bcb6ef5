"""The page in headless Chromium: open, filter, choose, hover, keys, colours, narrow screens, large pools."""

import re
from typing import Any
from urllib.parse import quote

import pytest

from tests.builders import pool, pool_of, ranked, rollout
from tests.viewer.pages import SCRIPT, bridge_pool, explained, many_questions, voted, wide_pool
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING
from tracerank.viewer.question_data import question_data
from tracerank.votes.base import Decision
from tracerank.votes.explanation import explain_stream as reasoned

try:
    from playwright.sync_api import expect
except ImportError:  # the browser fixture then says so
    expect = None


@pytest.fixture(scope="module")
def world() -> list[dict[str, Any]]:
    return explained(list(iter_world(PAPER["webqa"], 40, seed=5, k=6)))


@pytest.fixture(scope="module")
def bridge() -> list[dict[str, Any]]:
    return explained([bridge_pool()], BROWSING)


def test_the_page_opens_from_disk_with_the_first_question(open_page, keep, world) -> None:
    page = open_page(world)
    expect(page.locator("h1")).to_have_text(world[0]["question"])
    expect(page.locator("#count")).to_have_text("40 questions")
    expect(page.locator(".candidate")).to_have_count(
        len({r["group"] for r in world[0]["rollouts"] if r["score"] is not None})
    )
    expect(page.locator(".lane")).to_have_count(6)
    assert page.title().endswith("· tracerank")
    keep(page)


def test_filters_and_words_narrow_the_list(open_page, world) -> None:
    page = open_page(world)
    differs = [q for q in world if not q["agrees"]]
    right = [q for q in differs if q["selected"]["right"] == 1]
    wrong = [q for q in differs if q["selected"]["right"] == 0]
    assert right
    assert wrong
    chip = page.locator("[data-filter=differs]")
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#count")).to_have_text(f"{len(differs)} of 40 questions")
    page.locator("[data-filter=right]").click()
    expect(page.locator("#count")).to_have_text(f"{len(right)} of 40 questions")
    page.locator("[data-filter=wrong]").click()
    expect(page.locator("#count")).to_have_text(f"{len(wrong)} of 40 questions")
    page.locator("[data-filter=wrong]").click()
    chip.click()
    page.locator("#search").fill("no such words anywhere")
    expect(page.locator(".list .empty")).to_contain_text("No question fits")
    page.get_by_role("button", name="Show all").click()
    page.locator("[data-filter=low]").click()
    low = [q for q in world if q["confidence"]["value"] < 0.5]
    expect(page.locator("#count")).to_have_text(f"{len(low)} of 40 questions")


def test_a_question_is_chosen_by_a_click_and_kept_in_the_address(open_page, world) -> None:
    page = open_page(world)
    page.locator("#row-3").click()
    expect(page.locator(".crumb.id")).to_have_text(world[3]["id"])
    expect(page.locator("#row-3")).to_have_attribute("aria-selected", "true")
    assert page.url.endswith("#/4")
    for address in ("#/9", f"#id={quote(world[8]['id'], safe='')}"):
        expect(open_page(world, address=address).locator(".crumb.id")).to_have_text(world[8]["id"])


def test_hovering_evidence_lights_it_up_everywhere_and_draws_its_links(open_page, keep, bridge) -> None:
    page = open_page(bridge)
    shared = page.locator(".lane[data-sample='0'] .card").first
    shared.scroll_into_view_if_needed()
    shared.hover()
    text = shared.get_attribute("data-text")
    expect(page.locator(".card.lit")).to_have_count(3)  # in #0, #1 and the dropped #3
    assert {card.get_attribute("data-text") for card in page.locator(".card.lit").all()} == {text}
    expect(page.locator(".card.kin")).to_have_count(1)
    expect(page.locator(".lane[data-sample='2'] .card.kin")).to_have_count(1)
    assert page.locator(".link.text.lit").count() >= 1
    assert page.locator(".link.document.lit").count() >= 1
    expect(page.locator(".reason.lit").first).to_be_visible()
    keep(page)
    page.locator("#search").hover()
    expect(page.locator(".lit")).to_have_count(0)


def test_the_shipped_selector_shows_what_holds_the_answer_and_what_set_it_apart(open_page, keep) -> None:
    ((pool, explanation),) = reasoned(load_selector(), [bridge_pool()])
    data = question_data(pool, explanation)
    page = open_page([data], method="features")
    expect(page.locator(".respect")).to_have_count(len(data["reasons"]))
    expect(page.locator(".respect .number").first).to_have_text(f"+{data['reasons'][0]['gain']:.2f}")
    selected = next(rollout for rollout in data["rollouts"] if rollout["sample"] == data["selected"]["sample"])
    held = {seen["text"] for s in selected["searches"] for seen in s["evidence"] if seen["weight"]}
    shown = [int(row.get_attribute("data-text")) for row in page.locator(".why > .strongest .reason").all()]
    assert set(shown) == held
    expect(page.locator(".why > .strongest mark").first).to_have_text(re.compile("ines tarrow", re.IGNORECASE))
    expect(page.locator(".legend")).to_contain_text("holds the answer")
    keep(page)


def test_an_unsure_question_shows_what_evidence_is_missing(open_page, keep) -> None:
    texts = ranked("composer of Orfeo", "Monteverdi, composer of Orfeo, died in Venice.")
    hostile = rollout(f"Mantua {SCRIPT}", ranked("composer of Orfeo", "Cremona."))
    rollouts = (rollout("Venice", texts), rollout("Venice", texts), hostile, rollout("Dresden"))
    page = open_page(voted([pool_of(*rollouts, question="Where did the teacher of Heinrich Schütz die?")]))
    panel = page.locator(".missing")
    expect(panel.locator("h2")).to_have_text("What is missing")
    lines = panel.locator("li").all_inner_texts()
    assert any(line.startswith("No text holds the answer Dresden") and "given by #3" in line for line in lines)
    assert any(line.startswith("No query asked for Heinrich Schütz") for line in lines)
    assert any(line.startswith("Most rollouts repeat the query composer of Orfeo") for line in lines)
    assert SCRIPT in "".join(lines)
    assert panel.locator("script, img").count() == 0
    panel.scroll_into_view_if_needed()
    keep(page)
    sure = voted([pool("Venice", "Venice", "Venice", "Rome")])
    assert sure[0]["missing"] is None
    expect(open_page(sure).locator(".missing")).to_have_count(0)


def test_keys_walk_the_lanes_and_enter_opens_the_evidence_with_all_that_saw_it(open_page, bridge) -> None:
    page = open_page(bridge)
    expect(page.locator(".lane").first).to_be_attached()
    page.keyboard.press("l")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("h")
    expect(page.locator(".lane").nth(0)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    dialog = page.locator("#details")
    expect(dialog.locator(".whole-text")).to_have_text("The bridge was opened in 1931 by the mayor of Aldwater.")
    expect(dialog.locator(".seen-by summary")).to_contain_text("Seen by 4 rollouts")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_keys_move_search_open_and_close(open_page, world) -> None:
    page = open_page(world)
    expect(page.locator(".crumb.id")).to_have_text(world[0]["id"])
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".crumb.id")).to_have_text(world[2]["id"])
    page.keyboard.press("k")
    expect(page.locator(".crumb.id")).to_have_text(world[1]["id"])
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("jk")
    expect(page.locator("#search")).to_have_value("jk")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator("#list")).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()


def brightness(page: Any) -> float:
    colour = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


def test_colours_follow_the_system_until_they_are_chosen(open_page, keep, world) -> None:
    page = open_page(world, color_scheme="dark")
    expect(page.locator("h1")).to_be_visible()
    assert brightness(page) < 60
    keep(page)
    page.keyboard.press("t")
    assert brightness(page) > 200
    page.locator("#theme").click()
    assert brightness(page) < 60


def test_a_narrow_screen_shows_list_and_question_in_turn_without_scrolling_sideways(open_page, keep, world) -> None:
    page = open_page(world, width=390)
    expect(page.locator("#list")).to_be_visible()
    expect(page.locator("#main")).to_be_hidden()
    keep(page, "list")
    page.locator("#row-1").click()
    expect(page.locator("h1")).to_be_visible()
    expect(page.locator("#list")).to_be_hidden()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert page.evaluate("() => document.querySelector('.main').scrollWidth") <= 390
    keep(page, "question")
    page.locator(".lanes-section").scroll_into_view_if_needed()
    keep(page, "lanes")
    page.get_by_role("button", name="Back to the list").click()
    expect(page.locator("#list")).to_be_visible()


def test_many_questions_open_with_little_work(open_page, keep) -> None:
    page = open_page(many_questions(500))
    expect(page.locator("#count")).to_have_text("500 questions")
    expect(page.locator(".lane .card").first).to_be_attached()
    assert page.locator(".row").count() < 60
    page.locator("#list").evaluate("box => { box.scrollTop = box.scrollHeight }")
    expect(page.locator("#row-499")).to_be_visible()
    keep(page)


def test_large_pools_fill_only_the_lanes_in_view(open_page, keep) -> None:
    page = open_page(explained([wide_pool(64, 50)]))
    expect(page.locator(".lane")).to_have_count(64)
    expect(page.locator(".lane .card").first).to_be_visible()
    assert page.locator(".card").count() < 800, "of 3,200"
    scroller = page.locator(".lanes")
    page.locator(".main").evaluate("box => { box.scrollTop = box.scrollHeight }")
    scroller.evaluate("box => { box.scrollTop = 600; box.scrollLeft = box.scrollWidth }")
    expect(page.locator(".lane").last.locator(".card")).to_have_count(50)
    expect(page.locator(".lane").last.locator(".lane-head")).to_be_in_viewport()
    expect(page.locator(".lane").first.locator(".card")).to_have_count(0)
    assert page.locator(".link").count() <= 400
    keep(page)


def test_a_written_answer_and_a_method_without_weights_say_so(open_page) -> None:
    class Writer:
        name = "writer"

        def decide(self, pool: Pool) -> Decision:
            return Decision(pool.question.id, "The mayor", None, note="written from all of them")

    page = open_page(voted([bridge_pool()], Writer()), method="writer")
    expect(page.locator(".why")).to_contain_text("newly written")
    expect(page.locator(".question-head")).to_contain_text("written from all of them")
    page = open_page(voted([bridge_pool()]), method="majority")
    expect(page.locator(".why .lead").last).to_contain_text("weighs no evidence")
    expect(page.locator(".why > .strongest .reason").first).to_contain_text("also in 1 other rollout")
    expect(page.locator(".comparison")).to_contain_text("The ferryman")


def test_a_pool_without_candidates_and_an_empty_page_have_something_to_say(open_page) -> None:
    nobody = Pool(bridge_pool().question, bridge_pool().rollouts[3:])
    page = open_page(explained([nobody], BROWSING))
    expect(page.locator(".candidates .empty")).to_contain_text("No rollout can be chosen")
    expect(page.locator(".why .empty")).to_contain_text("Nothing was selected")
    expect(page.locator(".lane.is-dropped")).to_have_count(1)
    expect(open_page([]).locator("#main")).to_contain_text("There are no questions")
