"""What a user may write for an encoder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracerank.embedding.load import load_embedder
from tracerank.errors import EmbeddingError


def test_names_without_a_model_give_their_embedders() -> None:
    assert load_embedder("hash-64").width == 64
    assert load_embedder("hash-64", dims=64).name == "hash-64"


def test_an_address_gives_the_embedder_of_a_server_and_its_model() -> None:
    embedder = load_embedder("http://localhost:8080/v1#bge-m3", dims=128, is_cached=False)
    assert embedder.name == "http://localhost:8080/v1#bge-m3#128"
    assert load_embedder("http://localhost:8080", is_cached=False).name == "http://localhost:8080/v1#default"


@pytest.mark.parametrize(
    ("spec", "dims", "words"),
    [
        ("hash-64", 32, "always 64 wide"),
        ("", None, "no encoder is called ''"),
        ("nonsense", None, "no encoder is called 'nonsense'"),
        ("default", 0, "dims must be at least 1"),
    ],
)
def test_what_is_no_encoder_or_no_width_is_refused(spec: str, dims: int | None, words: str) -> None:
    with pytest.raises(EmbeddingError, match=words):
        load_embedder(spec, dims)


def test_a_folder_that_is_missing_or_no_model_is_named(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(EmbeddingError, match="nowhere: no such folder"):
        load_embedder(str(tmp_path / "nowhere"))
    with pytest.raises(EmbeddingError, match=r"not a model; expected a folder with modules\.json or config\.json"):
        load_embedder(str(tmp_path))


def test_importing_the_loaders_leaves_torch_out() -> None:
    script = "import sys, tracerank.embedding.load, tracerank.embedding.local; sys.exit('torch' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    assert subprocess.run([sys.executable, "-c", script], env=environment, timeout=60).returncode == 0
