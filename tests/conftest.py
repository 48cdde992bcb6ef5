"""Settings of the whole suite."""

import os
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from typing import TypeVar

import hypothesis
import pytest

# Before torch is imported anywhere: several test processes share few cores, and waiting threads would spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A deadline for each example would measure how busy the machine is.
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real language models one after the other: two at once would share the cores and take four times as long."""
    for item in items:
        if item.path.stem.endswith("_llama"):
            item.add_marker(pytest.mark.xdist_group("llama"))


# ``make test-base`` runs in an environment without extras: there, and nowhere else, what needs one is skipped.
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
IN_THE_BASE = os.environ.get("TRACERANK_BASE") == "1"


def _absent_library(error: BaseException | None) -> str | None:
    """The library of an extra whose absence has led to this error."""
    from tracerank.extras import EXTRA_OF  # not earlier: it may bring numpy, which reads OMP_NUM_THREADS

    while error is not None:
        library = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
        if library in EXTRA_OF and find_spec(library) is None:
            return library
        error = error.__cause__ or error.__context__
    return None


def _forgive(report: Report, error: BaseException | None, where: str) -> Report:
    if IN_THE_BASE and report.failed and (library := _absent_library(error)):
        report.outcome = "skipped"
        report.longrepr = (where, 0, f"Skipped: the base has no {library}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    call: pytest.CallInfo[object] | None = getattr(report, "call", None)
    return _forgive(report, call.excinfo.value if call and call.excinfo else None, str(collector.path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    return _forgive(report, call.excinfo.value if call.excinfo else None, str(item.path))


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither use nor fill the developer's cache of vectors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACERANK_CACHE", str(tmp_path_factory.mktemp("cache") / "vectors"))
        yield


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests never send the developer's keys anywhere."""
    monkeypatch.delenv("TRACERANK_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of every wait between attempts; none is waited for."""
    from tracerank.endpoints import client

    waits: list[float] = []
    monkeypatch.setattr(client, "sleep_using_event", lambda stop: waits.append)
    return waits
