"""Settings of the whole suite."""

import os
from collections.abc import Iterator

import pytest

# Before torch is imported anywhere: several test processes share few cores, and waiting threads would spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real language models one after the other: two at once would share the cores and take four times as long."""
    for item in items:
        if item.path.stem.endswith("_llama"):
            item.add_marker(pytest.mark.xdist_group("llama"))


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
def slept() -> list[float]:
    """Seconds of every wait of a client; nobody waits."""
    return []
