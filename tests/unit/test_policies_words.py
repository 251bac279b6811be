"""Operations in a model's words: schema, tools and parser; training a model on them; runs as JSON Lines."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.llm import ScriptedLLM
from fluxmem_graph.llm.structured import BrokenAnswer
from fluxmem_graph.policies.baselines import Static
from fluxmem_graph.policies.language import (
    LLMPolicy,
    operations_schema,
    parse_operations,
    tool_definitions,
)
from fluxmem_graph.policies.language_training import language_trainer, windows
from fluxmem_graph.policies.memory import Capacity
from fluxmem_graph.policies.policy import Stream
from fluxmem_graph.policies.recall import Exam
from fluxmem_graph.policies.rollouts import operations_json, roll_out
from fluxmem_graph.types import AtomicOperation, Create, Delete, NewMemory, Note, Read, Update
from tests.unit.streams import stream

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
OPERATION = st.one_of(
    st.builds(Create, st.builds(NewMemory, TEXT), TEXT),
    st.builds(Read, TEXT, st.integers(1, 50), TEXT),
    st.builds(Update, TEXT, TEXT, TEXT),
    st.builds(Delete, TEXT, TEXT),
    st.builds(Note, TEXT, TEXT),
)


@given(st.lists(OPERATION, max_size=4))
def test_operations_are_the_same_after_writing_and_parsing(operations: list[AtomicOperation]) -> None:
    assert parse_operations(operations_json(operations, "the chunk")) == [*operations] or any(
        isinstance(o, Create) and o.memory.content == "the chunk" for o in operations
    )


def test_words_around_the_operations_are_passed_over() -> None:
    words = 'Here you are:\n```json\n{"operations": [{"operation": "delete", "id": "m1"}]}\n```'
    assert parse_operations(words) == [Delete("m1")]


@pytest.mark.parametrize(
    "words",
    [
        "keep it",
        "[]",
        '{"operations": [{"operation": "forget", "id": "m1"}]}',
        '{"operations": [{"operation": "update", "id": "m1"}]}',
        '{"operations": [{"operation": "delete", "id": ""}]}',
        '{"operations": [{"operation": "read", "query": "x", "top_k": "all"}]}',
        '{"operations": [{"operation": "create"}]}',
        '{"operations": [{"operation": "note", "text": "a", "text": "b"}]}',
    ],
)
def test_words_that_are_no_operations_are_refused(words: str) -> None:
    with pytest.raises(BrokenAnswer):
        parse_operations(words)


def test_a_chunk_gives_its_speaker_and_its_id_to_what_is_made_of_it() -> None:
    chunk = NewMemory("Ada: tea. Ben: jam.", external_id="D1:1", speaker="Ada")
    words = '{"operations": [{"operation": "create"}, {"operation": "create", "content": "Ben: jam."}]}'
    assert parse_operations(words, chunk) == [
        Create(chunk),
        Create(NewMemory("Ben: jam.", speaker="Ada")),
    ]


def test_there_is_a_schema_and_a_tool_for_every_operation() -> None:
    assert "operations" in operations_schema()["properties"]
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tool_definitions()}
    assert tools["memory_update"]["required"] == ["id", "content"]
    assert sorted(tools) == [f"memory_{name}" for name in ("create", "delete", "note", "read", "update")]
    assert "operation" not in tools["memory_create"]["properties"]


def test_a_run_is_exported_step_by_step_with_its_reward() -> None:
    found = stream(3)
    rollout = roll_out(Static(), found, Capacity(6, 10_000), run=2)
    rows = [json.loads(line) for line in rollout.lines()]
    assert [row["step"] for row in rows] == list(range(len(found.chunks)))
    assert {row["reward"] for row in rows} == {rollout.reward} and rollout.reward > 0
    assert rows[0]["run"] == 2
    assert parse_operations(rows[0]["completion"], found.chunks[0].memory)[0] == Create(
        found.chunks[0].memory, "create all"
    )
    assert found.chunks[0].memory.content in rows[0]["prompt"][1]["content"]


def test_a_step_at_which_the_model_failed_is_left_out_and_counted() -> None:
    found = stream(1)
    llm = ScriptedLLM([KEEP, "no", "still no", KEEP, KEEP])
    rollout = roll_out(LLMPolicy(llm), found, Capacity(6, 10_000))
    rows = [json.loads(line) for line in rollout.lines()]
    assert [row["step"] for row in rows] == [0, 2, 3] and rollout.failed == 1
    assert all(parse_operations(row["completion"], NewMemory("x")) for row in rows)


def window_stream() -> Stream:
    whole = stream(1)
    chunks = whole.chunks[1:3]
    return Stream("window", chunks, Exam(whole.exam.questions, {chunk.id: chunk.memory for chunk in chunks}))


SKIP, KEEP = '{"operations": []}', '{"operations": [{"operation": "create"}]}'


@pytest.mark.parametrize(("first", "second", "reward"), [(SKIP, KEEP, 1), (KEEP, SKIP, 0), (KEEP, KEEP, 0)])
def test_a_window_rewards_what_its_store_recalls(first: str, second: str, reward: float) -> None:
    [window] = windows(window_stream(), 2, 0.7)
    assert window.capacity.entries == 1
    assert window.reward(f'{{"steps": [{first}, {second}]}}') == reward
    assert window.reward("I would keep the second.") == 0


def test_windows_whose_chunks_answer_nothing_are_left_out() -> None:
    assert len(windows(stream(3), 4, 0.5)) == 3
    assert len(windows(stream(3), 2, 0.5)) == 3
    with pytest.raises(ConfigurationError, match="longer"):
        language_trainer(None, None, [])


@pytest.mark.slow
def test_a_tiny_language_model_learns_what_to_keep_by_trl(tmp_path: Path) -> None:
    """Its words are pieces of JSON, so that some of its first answers are operations by chance."""
    found = windows(window_stream(), 2, 0.7)
    model, tokenizer = tiny_model(
        [f'{{"steps": [{KEEP}, ', f'{{"steps": [{SKIP}, ', f"{KEEP}]}}", f"{SKIP}]}}"]
    )
    trainer = language_trainer(
        model,
        tokenizer,
        found,
        chat=False,
        output_dir=str(tmp_path),
        max_steps=12,
        num_generations=16,
        per_device_train_batch_size=16,
        max_completion_length=2,
        learning_rate=0.03,
        use_cpu=True,
        report_to=[],
        logging_steps=1,
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer.train()
    rewards = [row["reward"] for row in trainer.state.log_history if "reward" in row]
    assert len(rewards) == 12
    assert sum(rewards[-3:]) / 3 > sum(rewards[:3]) / 3 + 0.3


def tiny_model(pieces: list[str]) -> tuple[Any, Any]:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(0)
    vocabulary = {word: place for place, word in enumerate(("<pad>", "<eos>", "<unk>", *pieces))}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Split("\n", "isolated")
    words.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    return LlamaForCausalLM(config), tokenizer
