"""Adding something takes as few places as CONTRIBUTING.md says: one of each kind is added to a copy of the package."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.trial import TrialCopy

FIELD_NOTES = '''"""Field notes, an invented format: what was looked up, what was seen there, what was concluded."""

from tracerank.pools.types import Evidence, Question, Rollout, Search
from tracerank.readers.base import Parsed, Record, reject


class FieldNotesReader:
    """One rollout a notebook."""

    name = "field-notes"

    def recognises(self, record: Record) -> bool:
        """By its notebook."""
        return "notebook" in record and "wondered" in record

    def parse(self, record: Record, source: str) -> Parsed:
        """The notes as a rollout."""
        question = Question(record["wondered"], record["wondered"])
        if not isinstance(record["notebook"], list):
            reject("'notebook': expected a list", question)
        searches = tuple(
            Search(note["looked_up"], tuple(Evidence(seen, rank=rank) for rank, seen in enumerate(note["saw"], 1)))
            for note in record["notebook"]
        )
        return Parsed(question, Rollout(0, record["concluded"], searches, source=source), is_numbered=False)
'''


@pytest.fixture
def copy(tmp_path: Path) -> TrialCopy:
    return TrialCopy(tmp_path)


def lines(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_a_new_format_in_one_file_is_read_by_inspect(copy: TrialCopy, tmp_path: Path) -> None:
    copy.write("readers/formats/field_notes.py", FIELD_NOTES)
    imported = "from tracerank.readers.formats.evaluation_runs import BrowseCompPlusReader, HotpotAgentReader"
    copy.insert("readers/detect.py", imported, "from tracerank.readers.formats.field_notes import FieldNotesReader")
    copy.insert("readers/detect.py", "_IN_ORDER: tuple[Reader, ...] = (", "    FieldNotesReader(),")
    assert copy.touched == {"readers/formats/field_notes.py", "readers/detect.py"}
    notes = [{"looked_up": "tallest tree", "saw": ["Hyperion is 116 m tall.", "Redwoods are tall."]}]
    written = lines(
        tmp_path / "notes.jsonl",
        {"wondered": "Which tree is tallest?", "notebook": notes, "concluded": "Hyperion"},
        {"wondered": "Which tree is tallest?", "notebook": [], "concluded": "General Sherman"},
        {"wondered": "Which tree is tallest?", "notebook": 3, "concluded": "?"},
    )
    found = json.loads(copy.run("inspect", written, "--json", "--quiet"))
    assert found["formats"] == {"field-notes": 3}
    assert (found["searches"], found["evidence"], found["answers"]) == (1, 2, 2)
    assert next(iter(found["problems"].values()))["count"] == 1
    assert "field-notes" in copy.run("inspect", "--help")
    [decision] = copy.run("select", written, "--method", "majority", "--quiet").splitlines()
    assert json.loads(decision)["answer"] == "Hyperion"


def asked_by(tool: str, arguments: dict[str, str], returned: str) -> dict[str, Any]:
    """A chat in which an agent makes one call."""
    call = {"id": "1", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    return {
        "question": "Who was first?",
        "messages": [
            {"role": "user", "content": "Who was first?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": returned},
            {"role": "assistant", "content": "Answer: Ada"},
        ],
    }


def test_a_new_tool_name_is_one_word_in_one_row(copy: TrialCopy, tmp_path: Path) -> None:
    chat = lines(tmp_path / "chat.jsonl", asked_by("ask_the_oracle", {"about": "Ada"}, "Ada was the first of all."))
    assert json.loads(copy.run("inspect", chat, "--json", "--quiet"))["searches"] == 0
    copy.insert("readers/calls/tool_calls.py", "    search=_names(", '        "ask_the_oracle",')
    assert json.loads(copy.run("inspect", chat, "--json", "--quiet"))["searches"] == 1


def test_a_new_text_layout_is_one_function_and_one_row(copy: TrialCopy, tmp_path: Path) -> None:
    returned = "@@ Ada wrote the first program.\n@@ Charles built the engine."
    chat = lines(tmp_path / "chat.jsonl", asked_by("web_search", {"query": "first"}, returned))
    assert json.loads(copy.run("inspect", chat, "--json", "--quiet"))["evidence"] == 1
    module = "readers/calls/text_layouts.py"
    copy.insert(module, "_LAYOUTS = (", "    _Layout(lambda text: text.split('@@ ')[1:]),")
    assert copy.touched == {module}
    assert json.loads(copy.run("inspect", chat, "--json", "--quiet"))["evidence"] == 2


def test_an_addition_to_a_place_that_is_gone_fails(copy: TrialCopy) -> None:
    with pytest.raises(AssertionError, match="what does CONTRIBUTING say"):
        copy.insert("readers/detect.py", "NO_SUCH_TABLE = (", "    1,")
    with pytest.raises(AssertionError, match="a file of its own"):
        copy.write("readers/formats/chat.py", "")
