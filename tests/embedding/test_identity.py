"""Whether two encoders make the same vectors."""

import numpy as np
import pytest

from tests.builders import pool
from tests.embedding.test_local import qwen3_folder
from tracerank.embedding.base import REFERENCE_TEXTS, EncoderIdentity, HashEmbedder, agreement, identify
from tracerank.embedding.load import embedder_for, load_embedder
from tracerank.errors import CheckpointError, EmbeddingError
from tracerank.trace.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from tracerank.trace.net import TraceNet
from tracerank.trace.recipe import WEBQA_RECIPE, NetConfig
from tracerank.trace.selector import TraceSelector

WIDTH = 32


class Elsewhere(HashEmbedder):
    """The same model behind another name, a little or very different."""

    def __init__(self, noise: float) -> None:
        super().__init__(WIDTH)
        self.name = "http://host/v1#hash"
        self.noise = noise

    def embed(self, texts: list[str]) -> np.ndarray:
        vectors = super().embed(texts)
        return vectors + self.noise * np.random.default_rng(0).standard_normal(vectors.shape).astype(np.float32)


def checkpoint() -> Checkpoint:
    net = TraceNet(NetConfig(WIDTH, hidden=16, layers=1, feed_forward=32), WEBQA_RECIPE)
    return Checkpoint(net.eval(), identify(HashEmbedder(WIDTH)))


def test_an_encoder_is_known_by_its_vectors_and_not_by_its_name() -> None:
    assert len(checkpoint().encoder.reference_vectors) == len(REFERENCE_TEXTS)
    assert TraceSelector(checkpoint(), Elsewhere(0.001)).decide(pool("a", "b")).answer in ("a", "b")
    with pytest.raises(CheckpointError, match=r"cosine 0\.\d{3} on the reference texts, 0\.99 is needed"):
        TraceSelector(checkpoint(), Elsewhere(0.5))
    with pytest.raises(CheckpointError, match="64 wide"):
        TraceSelector(checkpoint(), HashEmbedder(64))


def test_the_identity_survives_saving(tmp_path) -> None:
    made = checkpoint()
    save_checkpoint(made, tmp_path)
    assert load_checkpoint(tmp_path).encoder == made.encoder


def test_a_cut_model_in_a_folder_is_found_again(tmp_path) -> None:
    qwen3_folder(tmp_path / "tiny")
    made = identify(load_embedder(str(tmp_path / "tiny"), dims=32))
    again = embedder_for(made)
    assert (again.name, again.width) == (made.name, 32)
    assert agreement(made, again) == pytest.approx(1.0)


def test_a_folder_that_is_gone_names_the_way_out(tmp_path) -> None:
    identity = EncoderIdentity("tiny@0000", 32, spec=str(tmp_path / "gone"))
    with pytest.raises(EmbeddingError, match=r"the checkpoint's own encoder: .*gone: no such folder.*--encoder"):
        embedder_for(identity)


def test_a_server_is_found_again_by_address_model_and_dimensions() -> None:
    made = load_embedder("http://localhost:1/v1#tiny", dims=16)
    again = embedder_for(EncoderIdentity(made.name, 16, spec=made.spec, dims=made.dims))
    assert again.name == made.name == "http://localhost:1/v1#tiny#16"
