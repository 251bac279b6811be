"""What counts as a word, and BM25 scores that can't go wrong."""

import string
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.retrieval.sparse import Bm25Index, tokenize, words


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The runners were running", ["runner", "run"]),
        ("CAROLINE'S kayak", ["carolin", "kayak"]),
        ("Caroline\u2019s", ["carolin"]),
        ("I'm sure she'll say what's up, don't you?", ["sure", "say"]),
        ("get_user_details(id=42)", ["get", "user", "detail", "id", "42"]),
        ("Café CAFÉ Cafe\u0301", ["café", "café", "café"]),
        ("Straße \uff21\uff22\uff23", ["strass", "abc"]),
        ("Москва-река", ["москва", "река"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("東京都に行く", ["東京", "京都", "都に", "に行", "行く"]),
        ("犬 loves GPT4犬", ["犬", "love", "gpt4", "犬"]),
        ("ラーメン", ["ラー", "ーメ", "メン"]),
        ("O'Brien in May", ["o'brien", "may"]),
        ("?! ... 🙂", []),
        ("", []),
    ],
)
def test_terms_of_a_text(text: str, terms: list[str]) -> None:
    assert tokenize(text) == terms


def test_words_keep_stop_words_and_endings() -> None:
    assert words("The Runner\u2019s kayaks: 東京都") == ["the", "runner", "s", "kayaks", "東京", "京都"]


def test_an_index_over_words_tells_forms_apart() -> None:
    assert Bm25Index(["red kayaks", "red kayak"], words).scores("kayak").argmax() == 1
    assert Bm25Index(["red kayaks", "red canoe"], words).scores("kayak").tolist() == [0, 0]


def test_the_returned_terms_are_the_callers_own() -> None:
    tokenize("one kayak").append("changed")
    assert tokenize("one kayak") == ["one", "kayak"]


def test_stemming_is_safe_across_threads() -> None:
    letters = string.ascii_lowercase
    words = [f"{a}{b}{c}nesses" for a in letters for b in "aeiou" for c in letters]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(tokenize, words))
    expected = snowballstemmer.stemmer("english").stemWords(words)
    assert found == [[word] for word in expected]


def scored(query: str, texts: list[str]) -> list[float]:
    return [float(score) for score in Bm25Index(texts).scores(query)]


def test_a_rarer_shared_term_scores_higher() -> None:
    texts = ["kayak trip", "city trip", "city walk", "city lights"]
    scores = scored("kayak city", texts)
    assert scores[0] > scores[1] > 0
    assert scored("kayak", texts)[1:] == [0.0, 0.0, 0.0]


def test_word_forms_match_each_other() -> None:
    assert scored("painting", ["She painted a sunrise", "Nothing here"])[0] > 0


@pytest.mark.parametrize("texts", [["red kayak"], ["red kayak"] * 2, ["red kayak"] * 50])
def test_a_term_in_every_text_still_counts_in_favour(texts: list[str]) -> None:
    scores = scored("kayak", texts)
    assert min(scores) > 0
    assert len(set(scores)) == 1


@pytest.mark.parametrize(
    ("query", "texts"),
    [("kayak", []), ("", ["kayak"]), ("the of", ["kayak"]), ("?", ["kayak"]), ("kayak", ["", "!!"])],
)
def test_nothing_to_match_scores_nothing(query: str, texts: list[str]) -> None:
    assert scored(query, texts) == [0.0] * len(texts)


@given(st.text(), st.lists(st.text(), max_size=6))
def test_any_text_gets_one_finite_score_that_is_never_negative(query: str, texts: list[str]) -> None:
    scores = scored(query, texts)
    assert len(scores) == len(texts)
    assert all(0 <= score < float("inf") for score in scores)


@given(st.text())
def test_terms_do_not_depend_on_how_accents_are_encoded(text: str) -> None:
    assert tokenize(unicodedata.normalize("NFD", text)) == tokenize(unicodedata.normalize("NFC", text))
