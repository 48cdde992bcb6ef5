"""Answers as people read them: one row each, in the shape that they were written in, a click from their rollouts."""

from tests.builders import pool, pool_of, rollout
from tests.viewer.pages import bridge_pool, voted

try:
    from playwright.sync_api import expect
except ImportError:  # the browser fixture then says so
    expect = None

PROGRAM = "def capital():\n    # of France\n    return 'Paris'"
REPORT = "# Report: the capital of France\n\nThe question is about capitals.\n\n- The capital is {}."


def test_rollouts_of_one_answer_are_one_row_that_opens(open_page, keep) -> None:
    page = open_page(voted([bridge_pool()]), method="majority")
    rows = page.locator(".candidate")
    expect(rows).to_have_count(2)
    expect(page.locator(".member").first).to_be_hidden()
    rows.first.click()
    expect(rows.first).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".member .candidate-answer")).to_have_text(["Ines Tarrow", "ines tarrow."])
    keep(page)
    page.locator(".member").nth(1).click()
    expect(page.locator(".lane[data-sample='1']")).to_be_focused()
    rows.first.click()
    expect(page.locator(".member").first).to_be_hidden()
    rows.nth(1).click()  # one rollout alone is shown at once
    expect(page.locator(".lane[data-sample='2']")).to_be_focused()


def test_code_keeps_its_lines_and_columns_and_is_no_heading(open_page, keep) -> None:
    width = 390
    made = pool_of(rollout(PROGRAM, label=1.0), rollout("Rome"), question=f"What does this print?\n\n{PROGRAM}")
    page = open_page(voted([made]), width=width, address="#/1")
    shown = page.locator(".fact.is-selected .fact-value")
    expect(shown).to_have_class("fact-value is-code")
    assert shown.evaluate("box => box.textContent") == PROGRAM
    assert shown.evaluate("box => getComputedStyle(box).whiteSpace") == "pre"
    assert page.evaluate("() => document.querySelector('.main').scrollWidth") <= width
    keep(page)


def test_answers_that_begin_alike_are_called_by_what_differs(open_page) -> None:
    programs = [rollout(PROGRAM.replace("Paris", city)) for city in ("Paris", "Lyon")]
    page = open_page(voted([pool_of(*programs)]))
    expect(page.locator(".candidate .candidate-answer")).to_have_text(["… return 'Paris'", "… return 'Lyon'"])
    expect(page.locator(".lane-answer").first).to_have_text("… return 'Paris'")
    beginning = "Westminster/Whitehall/SW1 is near"
    page = open_page(voted([pool(f"{beginning} Soho", f"{beginning} Pimlico")]))
    expect(page.locator(".candidate .candidate-answer")).to_have_text(["… Soho", "… Pimlico"])


def test_long_answers_are_called_by_what_they_come_down_to(open_page, keep) -> None:
    reports = [rollout(REPORT.format(city)) for city in ("Paris", "Lyon", "Nice")]
    page = open_page(voted([pool_of(*reports)]))
    expect(page.locator(".candidate .candidate-answer")).to_have_text(["Paris", "Lyon", "Nice"])
    expect(page.locator(".lane-answer").first).to_have_text("Paris")
    expect(page.locator(".row-selected")).to_have_text("Paris")
    expect(page.locator(".fact.is-selected .fact-value")).to_have_text("Paris")
    expect(page.locator(".fact.is-selected .fact-whole")).to_have_class("fact-whole is-lines")
    keep(page)
