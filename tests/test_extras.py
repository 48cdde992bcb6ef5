"""Extras: what each brings, and the command that adds it to a clone, a wheel or anything else."""

import json
import shlex
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.test_architecture import BASE_LIBRARIES
from tracerank.errors import CorpusError
from tracerank.extras import EXTRA_OF, install_command, missing_library, needed, requirements_of

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = [
    *PROJECT["dependencies"],
    *(
        f'{line.partition(";")[0]}; {line.partition(";")[2]} and extra == "{extra}"'.replace(";  and", ";")
        for extra, lines in PROJECT["optional-dependencies"].items()
        for line in lines
    ),
]
"""The project's requirements as a wheel states them."""


@dataclass(frozen=True)
class Installed:
    """A distribution as far as it is asked."""

    direct_url: str | None
    requires: list[str] | None = None

    def read_text(self, name: str) -> str | None:
        return self.direct_url if name == "direct_url.json" else None


def command_for(monkeypatch: pytest.MonkeyPatch, origin: Mapping[str, Any] | None, extra: str = "readers") -> list[str]:
    """The arguments of pip where the package came from there."""
    own = Installed(origin and json.dumps(origin), DECLARED)
    beside = Installed(None, DECLARED)  # the egg-info that a build leaves beside the sources
    monkeypatch.setattr(metadata, "distributions", lambda name: [beside, own])
    python, *rest = shlex.split(install_command(extra))
    assert (python, rest[:3]) == (sys.executable, ["-m", "pip", "install"])
    return rest[3:]


def test_an_editable_clone_is_installed_again_with_its_pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = tmp_path / "my clone"
    clone.mkdir()
    origin = {"url": clone.as_uri(), "dir_info": {"editable": True}}
    assert command_for(monkeypatch, origin) == ["-e", f"{clone}[readers]"]
    (clone / "constraints.txt").touch()
    assert command_for(monkeypatch, origin) == ["-c", f"{clone}/constraints.txt", "-e", f"{clone}[readers]"]
    assert command_for(monkeypatch, {**origin, "dir_info": {}})[2:] == [f"{clone}[readers]"]


def test_a_wheel_is_installed_again_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "tracerank-1-py3-none-any.whl"
    wheel.touch()
    assert command_for(monkeypatch, {"url": wheel.as_uri(), "archive_info": {}}) == [f"{wheel}[readers]"]


@pytest.mark.parametrize("origin", [None, {"url": "file:///no/such/tracerank.whl"}, {"url": "https://host/x.whl"}])
def test_what_came_from_elsewhere_gets_the_libraries_themselves(
    origin: Mapping[str, Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command_for(monkeypatch, origin) == PROJECT["optional-dependencies"]["readers"]


def test_code_that_was_never_installed_is_a_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "distributions", lambda name: [])
    assert install_command("serve").endswith(shlex.join(["-c", f"{ROOT}/constraints.txt", "-e", f"{ROOT}[serve]"]))


def test_the_libraries_of_an_extra_include_those_of_the_extras_in_it() -> None:
    assert requirements_of("train", DECLARED) == requirements_of("embed", DECLARED)
    whole = requirements_of("all", DECLARED)
    assert len(whole) == len(set(whole))
    assert set(whole) == {line for extra in set(EXTRA_OF.values()) for line in requirements_of(extra, DECLARED)}


def test_conditions_other_than_the_extra_stay() -> None:
    assert requirements_of("x", ["a; sys_platform != 'win32' and extra == 'x'"]) == ["a; sys_platform != 'win32'"]
    assert requirements_of("x", ['a; (python_version < "3.12" or sys_platform == "win32") and extra == "x"']) == [
        'a; (python_version < "3.12" or sys_platform == "win32")'
    ]


def test_only_networks_bring_torch() -> None:
    extras_of_users = {*EXTRA_OF.values(), "train", "all"}
    with_torch = {name for name in extras_of_users if any("torch" in line for line in requirements_of(name, DECLARED))}
    assert with_torch == {"embed", "train", "all"}


def test_the_project_asks_for_what_the_rules_call_the_base() -> None:
    assert {line.partition(">")[0] for line in PROJECT["dependencies"]} == set(BASE_LIBRARIES)


def test_every_library_is_in_the_extra_that_it_is_said_to_be_in() -> None:
    names = {"Stemmer": "pystemmer", "huggingface_hub": "sentence-transformers", "tokenizers": "sentence-transformers"}
    names |= {"transformers": "sentence-transformers", "pydantic": "fastapi"}  # they come with these
    for library, extra in EXTRA_OF.items():
        wanted = names.get(library, library.replace("_", "-"))
        assert any(line.lower().startswith(wanted) for line in requirements_of(extra, DECLARED)), library


def test_a_missing_library_raises_the_error_that_was_asked_for() -> None:
    asked = pytest.raises(CorpusError, match=r"^searching needs bm25s; install it: .*lab.*$")
    with asked as found, needed("searching needs", "lab", CorpusError):
        raise ModuleNotFoundError(name="bm25s.stopwords")
    assert "\n" not in str(found.value)


def test_only_optional_libraries_are_explained() -> None:
    line = missing_library(ModuleNotFoundError(name="torch.nn"))
    assert line is not None
    assert line.startswith("this needs torch; install it: ")
    assert missing_library(ModuleNotFoundError(name="tracerank.nonsense")) is None
    assert missing_library(ImportError("a broken library")) is None
