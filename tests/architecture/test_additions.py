"""Adding something takes as few places as CONTRIBUTING.md says: one of each kind is added to a copy of the package."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.trial import TrialCopy
from tests.builders import pool
from tracerank.pools.canonical import write_pools

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
    before = '        "canonical": "formats.canonical:CanonicalReader",'
    copy.insert("readers/detect.py", before, '        "field-notes": "formats.field_notes:FieldNotesReader",')
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


LOUDEST = '''"""The loudest answer, an invented method."""

from tracerank.methods.base import Decision
from tracerank.pools.pool import Pool


class Loudest:
    """The answer with the most capitals; the first of equals."""

    name = "loudest"

    def decide(self, pool: Pool) -> Decision:
        chosen = max(pool.rollouts, key=lambda rollout: sum(map(str.isupper, rollout.answer or "")))
        return Decision(pool.question.id, chosen.answer, chosen.sample_id)
'''


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    write_pools(tmp_path / "pools.jsonl", [pool("Rome", "OSLO", "Rome", "Bonn")])
    return tmp_path / "pools.jsonl"


def decided(copy: TrialCopy, *arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(copy.run("select", *arguments, "--quiet"))
    return found


def test_a_new_vote_is_a_module_and_a_row(copy: TrialCopy, answers: Path) -> None:
    copy.write("methods/loudest.py", LOUDEST)
    imported = "from tracerank.methods.base import Method, Sure"
    copy.insert("selectors/table.py", imported, "from tracerank.methods.loudest import Loudest")
    row = '        "loudest": MethodRow("the answer with the most capitals", lambda _: Loudest()),'
    first = '        "single": MethodRow("the first rollout", lambda _: SingleRollout(), tells=False),'
    copy.insert("selectors/table.py", first, row)
    assert copy.touched == {"methods/loudest.py", "selectors/table.py"}
    assert decided(copy, answers, "--method", "loudest")["answer"] == "OSLO"
    assert "loudest" in copy.run("select", "--help")


CONSTANT = '''"""A selector that always returns the same sample, an invented kind."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tracerank.methods.base import Decision
from tracerank.pools.pool import Pool
from tracerank.selectors.base import ABOUT, EmbedderChoice, Selector, read_description, write_description

FORMAT = "constant/1"


class ConstantSelector(Selector):
    """Returns the sample of this number."""

    kind = name = "constant"

    def __init__(self, sample: int) -> None:
        self.sample = sample

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        for pool in pools:
            chosen = pool.rollouts[self.sample]
            yield Decision(pool.question.id, chosen.answer, chosen.sample_id)

    def save(self, folder: str | Path) -> None:
        write_description(Path(folder) / ABOUT, {"format": FORMAT, "kind": self.kind, "sample": self.sample})

    @classmethod
    def load(
        cls, folder: str | Path, embedder: EmbedderChoice = None, *, allow_encoder_mismatch: bool = False
    ) -> "ConstantSelector":
        return cls(read_description(Path(folder) / ABOUT, FORMAT, "constant selector")["sample"])
'''


def test_a_new_kind_of_selector_is_a_module_and_a_row(copy: TrialCopy, answers: Path, tmp_path: Path) -> None:
    copy.write("selectors/constant.py", CONSTANT)
    row = '        "constant": ("tracerank.selectors.constant", "ConstantSelector"),'
    copy.insert("selectors/base.py", '        "vote": ("tracerank.selectors.gate.selector", "CalibratedVote"),', row)
    assert copy.touched == {"selectors/constant.py", "selectors/base.py"}
    folder = tmp_path / "saved"
    saving = f"from tracerank.selectors.constant import ConstantSelector; ConstantSelector(3).save({str(folder)!r})"
    copy.python("-c", saving)
    assert decided(copy, answers, "--checkpoint", folder)["answer"] == "Bonn"


def test_a_new_feature_is_a_row_and_its_count_and_what_was_fitted_before_decides_the_same(
    copy: TrialCopy, answers: Path
) -> None:
    before = copy.run("select", answers, "--quiet")
    after = '        ("capitals", FORM, "share of its words that begin with a capital"),'
    copy.insert("selectors/features/table.py", after, '        ("shouts", FORM, "whether it is all capitals"),')
    counted = "    columns |= shape(view, question)"
    copy.insert(
        "selectors/features/compute.py",
        counted,
        '    columns["shouts"] = [form.answer.isupper() for form in view.forms]',
    )
    assert len(copy.touched) == 2
    shown = (
        "from tracerank.readers import read_pools\nfrom tracerank.selectors.features.compute import feature_table\n"
        "from tracerank.selectors.features.table import NAMES\n"
        f"[pool] = read_pools({str(answers)!r})\n"
        "table = feature_table(pool.question.text, pool.rollouts)\n"
        "print(table.values[:, NAMES.index('shouts')].tolist())"
    )
    assert copy.python("-c", shown) == "[0.0, 1.0, 0.0]\n"
    assert copy.run("select", answers, "--quiet") == before


LETTERS = '''"""Counts of letters, an invented encoder."""

import numpy as np

from tracerank.embedding.base import Vectors


class LetterEmbedder:
    """One number a letter."""

    name = spec = "letters"
    fingerprint = "letters/1"
    width = 26

    def embed(self, texts: list[str]) -> Vectors:
        return np.array([[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts], np.float32)
'''


def test_a_new_encoder_is_a_module_and_a_row(copy: TrialCopy) -> None:
    copy.write("embedding/letters.py", LETTERS)
    copy.insert(
        "embedding/load.py",
        "    return LocalEmbedder(default_model_folder(), dims, DEFAULT_NAME, DEFAULT_NAME)",
        "\n\ndef _letters(dims: int | None) -> Embedder:\n"
        "    from tracerank.embedding.letters import LetterEmbedder\n\n    return LetterEmbedder()\n",
    )
    copy.insert("embedding/load.py", '        "default": _default,', '        "letters": _letters,')
    assert copy.touched == {"embedding/letters.py", "embedding/load.py"}
    shown = (
        "import tracerank as tr; print(tr.load_embedder('letters', is_cached=False).embed(['Abba'])[0, :2].tolist())"
    )
    assert copy.python("-c", shown) == "[2.0, 2.0]\n"
