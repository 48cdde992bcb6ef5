"""The public names: one list, in the stub that type checkers read, from which each is imported when it is used."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tracerank

STUB = Path(tracerank.__file__).with_suffix(".pyi")


def test_the_stub_exports_what_it_imports() -> None:
    names = [
        name for line in ast.parse(STUB.read_text()).body if isinstance(line, ast.ImportFrom) for name in line.names
    ]
    assert all(name.asname == name.name for name in names)  # in a stub, only `as` exports
    assert sorted(name.name for name in names) == tracerank.__all__


@pytest.mark.parametrize("name", tracerank.__all__)
def test_a_public_name_is_found_at_its_place(name: str) -> None:
    assert getattr(tracerank, name).__name__ == name


def test_a_name_that_is_not_there_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tracerank.nothing  # type: ignore[attr-defined]
    for name, module in tracerank._MOVED.items():
        assert hasattr(import_module(f"tracerank.{module}"), name)
        with pytest.raises(AttributeError, match=f"import it from tracerank.{module}"):
            getattr(tracerank, name)
    assert dir(tracerank) == sorted([*tracerank.__all__, "__version__"])


def test_importing_the_package_imports_none_of_its_modules() -> None:
    script = "import sys, tracerank; print([name for name in sys.modules if name.startswith('tracerank.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
