"""Texts as unit vectors."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.embedding import HashingEmbedder, RemoteEmbedder, TransformerEmbedder, load_embedder
from fluxmem_graph.embedding.transformer import stored_dimension
from fluxmem_graph.embedding.vectors import unit_rows
from fluxmem_graph.embedding.windows import cut
from fluxmem_graph.errors import ConfigurationError, EmbeddingError
from fluxmem_graph.protocols import Embedder, FloatMatrix
from fluxmem_graph.settings import load_settings

AWKWARD = ["", " ", "\u200b", "!", "😀", "我喜欢健身", "a" * 20_000, "word " * 4_000, "I like kites."]


def assert_unit_rows(rows: FloatMatrix, count: int, dimension: int) -> None:
    assert rows.shape == (count, dimension)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


@pytest.fixture(scope="module")
def minilm() -> TransformerEmbedder:
    return TransformerEmbedder("all-MiniLM-L6-v2", batch_size=4)


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("hashing", "hashing-384"),
        ("openai:small", "openai:small"),
        ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
        ("sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
        ("some/folder", "some/folder"),
    ],
)
def test_settings_choose_the_embedder(setting: str, name: str) -> None:
    settings = load_settings(embedder=setting, openai_base_url="http://127.0.0.1:9/v1")
    assert load_embedder(settings).name == name


@pytest.mark.parametrize("setting", ["", "openai:", "openai:small"])
def test_settings_that_name_no_usable_embedder_are_refused(setting: str) -> None:
    with pytest.raises(ConfigurationError):
        load_embedder(load_settings(embedder=setting))


def test_name_and_dimension_are_known_without_loading_torch() -> None:
    script = (
        "import sys; from fluxmem_graph.embedding import load_embedder;"
        "from fluxmem_graph.settings import load_settings;"
        "embedder = load_embedder(load_settings(embedder='all-MiniLM-L6-v2'));"
        "print(embedder.name, embedder.dimension, 'torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["all-MiniLM-L6-v2", "384", "False"]


def test_an_unknown_model_names_the_setting(tmp_path: Path) -> None:
    embedder = TransformerEmbedder(str(tmp_path / "no-such-model"))
    with pytest.raises(EmbeddingError, match="setting embedder"):
        embedder.embed(["x"])


def test_stored_dimension_is_only_trusted_for_plain_pooling(tmp_path: Path) -> None:
    assert stored_dimension(tmp_path) is None
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True})
    )
    modules = [{"type": "x.Transformer", "path": ""}, {"type": "x.Pooling", "path": "pool"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    assert stored_dimension(tmp_path) == 8
    (tmp_path / "modules.json").write_text(json.dumps([*modules, {"type": "x.Dense", "path": "dense"}]))
    assert stored_dimension(tmp_path) is None


@given(st.lists(st.text(), max_size=4))
def test_hashing_gives_equal_unit_rows_for_equal_texts(texts: list[str]) -> None:
    embedder = HashingEmbedder()
    rows = embedder.embed(texts)
    assert_unit_rows(rows, len(texts), 384)
    np.testing.assert_array_equal(rows, HashingEmbedder().embed(texts))


def test_hashing_puts_shared_words_near() -> None:
    query, near, far = HashingEmbedder().embed(["red kites", "the kites are red", "an owl hoots"])
    assert query @ near > query @ far + 0.2
    fitness, tea, query = HashingEmbedder().embed(["我喜欢健身", "我喜欢普洱茶", "健身"])
    assert query @ fitness > query @ tea


@pytest.mark.model
def test_awkward_texts_have_unit_rows(minilm: TransformerEmbedder) -> None:
    assert_unit_rows(minilm.embed(AWKWARD), len(AWKWARD), 384)
    assert_unit_rows(minilm.embed([]), 0, 384)


@pytest.mark.model
def test_the_dimension_in_the_files_is_the_models_own(minilm: TransformerEmbedder) -> None:
    assert minilm.dimension == minilm._loaded_dimension() == 384


@pytest.mark.model
def test_the_order_of_texts_and_their_batch_do_not_matter(minilm: TransformerEmbedder) -> None:
    texts = [f"{'very ' * (n % 7)}long text number {n}" for n in range(30)]
    together = minilm.embed(texts)
    single = np.concatenate([minilm.embed([text]) for text in texts])
    np.testing.assert_allclose(together, single, atol=1e-5)
    assert minilm.embed(["a dog"])[0] @ minilm.embed(["a puppy"])[0] > 0.7


@pytest.mark.model
def test_a_long_text_is_the_mean_of_its_chunks(minilm: TransformerEmbedder) -> None:
    tail = "The password is swordfish. " * 40
    text = "Kites fly in the wind over the hill. " * 60 + tail
    model = minilm._model()
    pieces = cut(text, model.tokenizer, model.max_seq_length)
    assert len(pieces) > 1
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    expected = unit_rows(minilm.embed(pieces).mean(axis=0, keepdims=True))
    np.testing.assert_allclose(minilm.embed([text]), expected, atol=1e-5)
    query = minilm.embed(["What is the password?"])[0]
    head_only = minilm.embed([text[:500]])[0]
    assert query @ minilm.embed([text])[0] > query @ head_only + 0.1


@pytest.mark.model
@pytest.mark.parametrize(
    "text", ["antidisestablishmentarianism" * 400, "健身" * 900, "a b " * 1000, "word\n" * 700]
)
def test_pieces_fit_the_window(text: str, minilm: TransformerEmbedder) -> None:
    model = minilm._model()
    pieces = cut(text, model.tokenizer, model.max_seq_length)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    for piece in pieces:
        assert len(model.tokenizer(piece)["input_ids"]) <= 256


@pytest.mark.model
def test_threads_share_one_model(minilm: TransformerEmbedder) -> None:
    other = TransformerEmbedder("all-MiniLM-L6-v2")
    expected = minilm.embed(["kites"])
    rows: list[FloatMatrix] = []
    threads = [
        threading.Thread(target=lambda one=one: rows.append(one.embed(["kites"])))
        for one in [minilm, other] * 3
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) == 6
    for row in rows:
        np.testing.assert_allclose(row, expected, atol=1e-5)
    assert minilm._model() is other._model()


Handle = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]
Serve = Callable[[Handle], str]


def vectors(texts: list[str], dimension: int = 3) -> dict[str, Any]:
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": [float(len(text)), *[0.0] * (dimension - 2), 1.0],
        }
        for index, text in enumerate(texts)
    ]
    return {
        "object": "list",
        "model": "m",
        "data": data[::-1],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


def served(batches: list[int]) -> Handle:
    def handle(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        batches.append(len(body["input"]))
        return 200, vectors(body["input"])

    return handle


def test_an_endpoint_is_asked_in_batches_and_answers_in_any_order(serve: Serve) -> None:
    batches: list[int] = []
    url = serve(served(batches))
    embedder: Embedder = RemoteEmbedder("m", base_url=url, batch_size=2)
    assert batches == []
    rows = embedder.embed(["a", "bbbb", "", "cc", "d" * 15_000])
    assert_unit_rows(rows, 5, 3)
    assert batches == [1, 2, 2, 2]
    assert rows[1][0] > rows[3][0] > rows[0][0]
    assert list(rows[2]) == [1, 0, 0]


def test_the_dimension_takes_one_call(serve: Serve) -> None:
    batches: list[int] = []
    url = serve(served(batches))
    embedder = RemoteEmbedder("m", base_url=url)
    assert (embedder.dimension, embedder.dimension) == (3, 3)
    assert batches == [1]


@pytest.mark.parametrize(
    "answer",
    [vectors(["a", "b"]), vectors(["a"]), vectors(["a", "b", "c", "d"]), vectors(["a", "b", "c"], 4)],
)
def test_vectors_that_do_not_fit_are_an_error(answer: dict[str, Any], serve: Serve) -> None:
    def handle(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return 200, vectors(body["input"]) if len(body["input"]) == 1 else answer

    url = serve(handle)
    with pytest.raises(EmbeddingError):
        RemoteEmbedder("m", base_url=url).embed(["a", "b", "c"])


@pytest.mark.parametrize("status", [400, 401, 404])
def test_an_endpoint_that_fails_is_an_error_without_the_key(status: int, serve: Serve) -> None:
    settings = load_settings(embedder="openai:m", openai_api_key="sk-very-secret-key")

    def handle(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return status, {"error": {"message": "bad key sk-very-secret-key"}}

    url = serve(handle)
    embedder = load_embedder(settings.model_copy(update={"openai_base_url": url}))
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(["x"])
    assert "secret" not in str(caught.value)


def test_rows_that_are_no_numbers_are_an_error() -> None:
    with pytest.raises(EmbeddingError):
        unit_rows([[1.0, float("nan")]])
