"""The wheel: built, installed without extras into a clean environment outside the repository, and used there."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

import pytest

import tracerank

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
MEGABYTES = 200
"""What the package and everything that it needs may take on the disk."""


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command with nothing of this environment but where its packages come from."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    line = [str(part) for part in command]
    result = subprocess.run(line, cwd=cwd, env=kept, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, f"{shlex.join(line)}\n{result.stdout}\n{result.stderr}"
    return result


def pip(python: Path | str, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run(python, "-m", "pip", "-qq", "--disable-pip-version-check", *arguments, cwd=cwd)


def size_of(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TRACERANK_WHEEL, as `make wheel` sets it, or one built from a copy, so that no old build product gets into it."""
    if given := os.environ.get("TRACERANK_WHEEL"):
        return Path(given).resolve()
    folder = tmp_path_factory.mktemp("build")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "src/tracerank", folder / "src/tracerank", ignore=shutil.ignore_patterns("__pycache__"))
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "-w", folder / "dist", folder, cwd=folder)
    [made] = (folder / "dist").glob("*.whl")
    return made


def test_a_clean_environment_chooses_with_the_base_alone(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "venv", cwd=tmp_path)
    python, command = tmp_path / "venv/bin/python", tmp_path / "venv/bin/tracerank"
    before, begin = size_of(tmp_path / "venv"), time.perf_counter()

    pip(python, "install", "-c", ROOT / "constraints.txt", wheel, cwd=tmp_path)
    assert run(command, "--version", cwd=tmp_path).stdout == f"tracerank {tracerank.__version__}\n"
    records = ({"question": f"Capital of {n}?", "answers": ["Paris", "paris", "Rome"]} for n in range(20))
    (tmp_path / "pools.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    decided = run(command, "select", "pools.jsonl", "--quiet", cwd=tmp_path).stdout
    assert len(decided.splitlines()) == 20

    taken = (size_of(tmp_path / "venv") - before) / 2**20
    print(f"\nbase installed and first selection made in {time.perf_counter() - begin:.1f} s, {taken:.0f} MB on disk")
    assert taken < MEGABYTES
    absent = "import importlib.util as u; print([n for n in ('torch', 'scipy', 'fastapi') if u.find_spec(n)])"
    assert run(python, "-c", absent, cwd=tmp_path).stdout == "[]\n"

    # The command that is named for a missing extra is one that pip can follow.
    refused = subprocess.run([command, "serve"], cwd=tmp_path, capture_output=True, text=True)
    named = shlex.split(refused.stderr.partition("install it: ")[2])
    assert named == [str(python), "-m", "pip", "install", f"{wheel}[serve]"]
    assert "fastapi" in run(*named, "--dry-run", "--no-input", cwd=tmp_path).stdout


def test_the_wheel_tells_who_and_what_it_is(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "zipfile", "-e", wheel, tmp_path, cwd=tmp_path)
    [about] = tmp_path.glob("tracerank-*.dist-info/METADATA")
    text = about.read_text(encoding="utf-8")
    for field in (f"Version: {tracerank.__version__}", "Author: ", "Project-URL: ", "License-Expression: Apache-2.0"):
        assert f"\n{field}" in text
    assert (ROOT / "README.md").read_text(encoding="utf-8").strip() in text
    shipped = {path.relative_to(ROOT / "src") for path in (ROOT / "src/tracerank").rglob("*") if path.is_file()}
    kept = (path for path in shipped if not {"__pycache__", "lab"} & set(path.parts))
    left_out = {path for path in kept if not (tmp_path / path).exists()}
    assert not left_out


def test_the_wheel_comes_without_the_data_of_the_laboratory(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    assert any(name.startswith("tracerank/lab/") for name in names)
    assert not [name for name in names if name.startswith("tracerank/lab/") and not name.endswith((".py", ".txt"))]
