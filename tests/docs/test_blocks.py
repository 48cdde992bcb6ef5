"""Blocks and commands are found in documents as a reader would find them."""

import pytest

from tests.docs.blocks import MARKS, PAGES, ROOT, blocks_in, blocks_of, commands_in, unmarked_commands


def test_commands_are_found_with_and_without_a_mark() -> None:
    marked, unmarked, tree = blocks_in(
        "```sh\nls\n```\nand\n```\ntracerank --version  # one\n```\n```\nsrc/\n  a\n```\n"
    )
    assert [block.is_shell for block in (marked, unmarked, tree)] == [True, True, False]
    assert [block.line for block in (marked, unmarked, tree)] == [1, 5, 8]


def test_what_stands_right_below_is_what_a_block_prints() -> None:
    first, _, last, _ = blocks_in("```sh\na\n```\n\n```text\nb\n```\n```sh\nc\n```\nwords\n```text\nd\n```\n")
    assert (first.printed, last.printed) == ("b\n", None)


def test_a_block_in_a_list_loses_its_indent() -> None:
    [block] = blocks_in("- so:\n\n  ```sh\n  ls \\\n    -a\n  ```\n")
    assert block.text == "ls \\\n  -a\n"


def test_a_command_goes_on_after_a_backslash_in_quotes_and_to_the_end_of_a_here_document() -> None:
    text = "# first\na \\\n  b  # why\n\ncat > x <<'END'\n{\"a\": 1}\nEND\ncurl -d '{\n}' http://h#m  # it's\nd\n"
    assert commands_in(text) == [
        "a \\\n  b  # why",
        "cat > x <<'END'\n{\"a\": 1}\nEND",
        "curl -d '{\n}' http://h#m  # it's",
        "d",
    ]


def test_commands_where_nobody_runs_them_are_found() -> None:
    text = "```text\ntracerank select FILE… [options]\nmake test\n```\n\n    pip install x\n\nThe `make test` line.\n"
    assert unmarked_commands(text) == ["page.md:3: make test", "page.md:6:     pip install x"]


@pytest.mark.parametrize("page", PAGES)
def test_no_command_of_a_document_hides_from_the_tests(page: str) -> None:
    assert unmarked_commands((ROOT / page).read_text(encoding="utf-8"), page) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_block_has_a_mark_that_the_tests_know(page: str) -> None:
    assert [block.place for block in blocks_of(page) if block.mark not in MARKS] == []


def test_a_column_of_commands_is_run() -> None:
    table = "| you have | run this | you get |\n|---|---|---|\n| logs | `tracerank stats logs` | counts |\n"
    assert [(block.line, block.text, block.is_shell) for block in blocks_in(table)] == [
        (3, "tracerank stats logs\n", True)
    ]
