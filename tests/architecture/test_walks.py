"""A newcomer can follow a command through the package: how many files one question passes on its way."""

from pathlib import Path

import pytest

from tests.architecture.walks import walk_of, walk_of_script
from tests.worlds import generate_pools
from tracerank.pools.canonical import write_pools

MOST_FILES_OF_SELECT = 35


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("walks") / "pools.jsonl"
    write_pools(path, generate_pools(2, seed=5, k=4))
    return path


def test_selecting_with_the_shipped_selector_passes_few_files(pools: Path, tmp_path: Path) -> None:
    walk = walk_of(["select", pools, "--quiet"], tmp_path)
    assert walk[0] == "cli/__init__.py"
    assert {"readers/formats/canonical.py", "selectors/features/model.py", "pools/pool.py"} <= set(walk)
    assert len(walk) <= MOST_FILES_OF_SELECT, "\n" + "\n".join(walk)


def test_a_file_that_is_only_imported_is_not_on_the_walk(tmp_path: Path) -> None:
    assert walk_of_script("import tracerank.readers", tmp_path) == []
    walk = walk_of_script("import tracerank\ntracerank.abstains('I do not know')", tmp_path)
    assert walk[:2] == ["answers/abstentions.py", "answers/text_keys.py"]
    assert "readers/detect.py" not in walk


def test_a_command_that_fails_is_no_walk(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no such file"):
        walk_of(["select", tmp_path / "missing.jsonl"], tmp_path)
