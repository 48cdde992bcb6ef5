"""Runs that write behind an address: a folder is a folder, whole files or none, wherever it lies."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Run
from tests.scale.s3_server import BUCKET, Files, serving
from tests.scale.tables import scattered, sharded
from tracerank.pools.pool import Pool
from tracerank.scale.decide_pools import DecidePools
from tracerank.scale.places import Place
from tracerank.scale.run import EngineOptions, select_on_engine

fsspec = pytest.importorskip("fsspec")
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")


@pytest.fixture(params=["here", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "here":
        yield Place(str(tmp_path / "out"))
        return
    yield Place("memory://out/of/here")
    fsspec.filesystem("memory").rm("/out", recursive=True)


def test_files_are_written_listed_read_and_removed(place: Place) -> None:
    assert place.names() == []
    place.write("run.json", b"{}")
    place.write("deep/a.bin", b"a")
    assert place.names() == ["deep/a.bin", "run.json"]
    assert place.names("deep") == ["deep/a.bin"]
    assert (place.exists("run.json"), place.exists("other"), place.read("deep/a.bin")) == (True, False, b"a")
    place.remove("deep")
    place.remove("never there")
    assert place.names() == ["run.json"]


def test_a_draft_that_failed_leaves_nothing(place: Place) -> None:
    place.write("a", b"old")

    def write_half() -> None:
        with place.draft("a") as path:
            path.write_bytes(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert place.read("a") == b"old"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Files]:
    """A bucket that this process and those it starts find under s3://."""
    s3fs = pytest.importorskip("s3fs")
    files: Files = {}
    with serving(files) as url:
        for name, value in {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
        }.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        yield files
    s3fs.S3FileSystem.clear_instance_cache()


def tables(files: Files) -> pa.Table:
    names = sorted(name for name in files if name.startswith("out/part-"))
    return pa.concat_tables(pq.read_table(pa.BufferReader(files[name])) for name in names)


def test_an_engine_reads_from_s3_and_writes_there(run: Run, pools: list[Pool], tmp_path: Path, store: Files) -> None:
    pytest.importorskip("daft")
    folder = sharded(tmp_path / "in", pools)
    store.update({f"in/{path.name}": path.read_bytes() for path in folder.iterdir()})
    source = f"s3://{BUCKET}/in/*.parquet"
    options = ("--method", "majority", "-q", "--engine")
    assert run("select", source, *options, "daft", "-o", f"s3://{BUCKET}/out").exit_code == 0
    assert run("select", source, *options, "local", "-o", tmp_path / "out.parquet").exit_code == 0
    assert tables(store).equals(pq.read_table(tmp_path / "out.parquet"))
    assert {"out/run.json", "out/plan.json", "out/manifest.json"} <= store.keys()
    del store["out/manifest.json"], store["out/part-00001.parquet"]
    before = store["out/part-00000.parquet"]
    assert run("select", source, *options, "daft", "-o", f"s3://{BUCKET}/out").exit_code == 0
    assert store["out/part-00000.parquet"] is before
    assert tables(store).equals(pq.read_table(tmp_path / "out.parquet"))


def test_rows_on_their_way_to_s3_are_gathered_on_this_machine(
    pools: list[Pool], tmp_path: Path, store: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("daft")
    monkeypatch.setenv("TRACERANK_CACHE", str(tmp_path / "cache" / "vectors"))
    source = scattered(tmp_path / "in", pools)
    options = EngineOptions("daft", 1, partitions=3)
    select_on_engine([source], f"s3://{BUCKET}/out", DecidePools("majority"), options)
    assert len(tables(store)) == 12
    assert not any("gathered" in name for name in store)
    assert not list((tmp_path / "cache").rglob("*.parquet"))
