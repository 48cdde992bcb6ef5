"""What a user may write for an encoder."""

import subprocess
import sys
from pathlib import Path

import pytest

from tracerank.embedding.base import BlankEmbedder, HashEmbedder, identify
from tracerank.embedding.load import embedder_for, load_embedder
from tracerank.errors import EmbeddingError


def test_names_without_a_model_give_their_embedders() -> None:
    assert load_embedder("hash-64").width == 64
    assert load_embedder("hash-64", dims=64).name == "hash-64"
    assert load_embedder("sha256-4096").name == "sha256-4096"
    assert load_embedder("blank").embed(["a", "another text"]).tolist() == [[1.0], [1.0]]


def test_weights_that_look_at_no_text_take_no_other_encoder() -> None:
    blank = identify(BlankEmbedder())
    assert all(embedder_for(blank, wanted).name == "blank" for wanted in (None, "hash-8", HashEmbedder(8)))


def test_a_hash_embedder_is_not_cut() -> None:
    with pytest.raises(EmbeddingError, match="always 64 wide"):
        load_embedder("hash-64", dims=32)


def test_an_address_gives_the_embedder_of_a_server_and_its_model() -> None:
    embedder = load_embedder("http://localhost:8080/v1#bge-m3", dims=128, is_cached=False)
    assert embedder.name == "http://localhost:8080/v1#bge-m3#128"
    assert load_embedder("http://localhost:8080", is_cached=False).name == "http://localhost:8080/v1#default"


@pytest.mark.parametrize("spec", ["", "  "])
def test_an_empty_name_lists_the_choices(spec: str) -> None:
    with pytest.raises(EmbeddingError, match="no encoder is called"):
        load_embedder(spec)


def test_a_width_below_one_is_refused() -> None:
    with pytest.raises(EmbeddingError, match="dims must be at least 1"):
        load_embedder("default", dims=0)


def test_a_folder_that_is_missing_or_no_model_is_named(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(EmbeddingError, match="nowhere: no such folder"):
        load_embedder(str(tmp_path / "nowhere"))
    with pytest.raises(EmbeddingError, match=r"not a model; expected a folder with modules\.json or config\.json"):
        load_embedder(str(tmp_path))


def test_importing_the_loaders_leaves_torch_out() -> None:
    script = "import sys, tracerank.embedding.load, tracerank.embedding.local; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], env=_environment(), timeout=60).returncode == 0


def _environment() -> dict[str, str]:
    import os

    return os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
