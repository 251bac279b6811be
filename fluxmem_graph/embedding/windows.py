"""Cutting a text into pieces that fit a model's window."""

import math
from typing import Any


def cut(text: str, tokenizer: Any, window: int | None) -> list[str]:
    """Split a text into pieces of about equal length, each at most `window` tokens with the special ones.

    Every character but white space between pieces is kept. Pieces end at a word's end where a word fits.
    """
    # A token is at least one byte, so a short text needs no tokenizing.
    if window is None or len(text.encode()) <= window - 2:
        return [text]
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    spans = [(start, end) for start, end in encoded["offset_mapping"] if end > start]
    room = max(1, window - tokenizer.num_special_tokens_to_add())
    if len(spans) <= room:
        return [text]
    room = math.ceil(len(spans) / math.ceil(len(spans) / room))
    pieces, first = [], 0
    while first < len(spans):
        last = _word_end(spans, first, min(first + room, len(spans)))
        pieces.append(text[spans[first][0] : spans[last - 1][1]])
        first = last
    return pieces


def _word_end(spans: list[tuple[int, int]], first: int, stop: int) -> int:
    # A word cut in two can take more tokens than it did whole, and would then be truncated.
    for place in range(stop, first + 1, -1):
        if place == len(spans) or spans[place][0] > spans[place - 1][1]:
            return place
    return stop
