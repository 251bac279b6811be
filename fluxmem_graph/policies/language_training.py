"""The same store and reward for a language model, through TRL's GRPOTrainer (extra `train`).

A model sees a window of a stream at once and answers with the operations for each of its chunks. They are
applied in order to an empty store under a capacity, and the reward is the recall of the window's questions.
The only importer of trl and datasets.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.llm.structured import BrokenAnswer, parse_answer
from fluxmem_graph.policies.features import Chunk
from fluxmem_graph.policies.language import ADVICE, OPERATIONS_TEXT, Operations, to_operations
from fluxmem_graph.policies.memory import Capacity, TaskMemory
from fluxmem_graph.policies.policy import Stream
from fluxmem_graph.policies.recall import Exam
from fluxmem_graph.retrieval.fencing import fenced

# The clipping, scaling and penalty of the learned policy, as TRL names them.
GRPO_OPTIONS: dict[str, Any] = {"scale_rewards": "none", "beta": 0.0, "epsilon": 0.2, "epsilon_high": 0.28}


class Steps(BaseModel):
    """Operations for every chunk of a window, in order."""

    model_config = ConfigDict(extra="forbid")

    steps: list[Operations]


@dataclass(frozen=True, slots=True)
class Window:
    """A few chunks of a stream, the questions that they answer, and the capacity of the store."""

    chunks: tuple[Chunk, ...]
    exam: Exam
    capacity: Capacity

    def prompt(self) -> str:
        """Return the task and the chunks as text."""
        lines = [
            "You keep the memory of an assistant. Questions will be asked later; only what is in memory "
            f"can answer them. For each of the {len(self.chunks)} chunks, in order, say what is done: "
            'answer with {"steps": [{"operations": [...]}, ...]}. '
            f"An operation is {OPERATIONS_TEXT}. New memories are named m1, m2 and so on. {ADVICE}",
            f"Memory holds at most {self.capacity.entries} entries and {self.capacity.tokens} tokens.",
        ]
        lines += [fenced("chunk", c.memory.content, speaker=c.memory.speaker) for c in self.chunks]
        return "\n".join(lines)

    def reward(self, words: str) -> float:
        """Return what the exam gives, 0..1, after the operations in a model's words; 0 if they hold none."""
        try:
            steps = parse_answer(words, Steps).steps
        except BrokenAnswer:
            return 0.0
        memory = TaskMemory(self.capacity)
        for chunk, step in zip(self.chunks, steps, strict=False):
            memory.apply(to_operations(step, chunk.memory), chunk)
        return self.exam.reward(list(memory.entries.values()))


def windows(stream: Stream, length: int, share: float) -> list[Window]:
    """Cut a stream into windows of `length` chunks; one whose chunks answer no question alone is left out."""
    found = []
    for start in range(0, len(stream.chunks), length):
        chunks = stream.chunks[start : start + length]
        inside = {chunk.id for chunk in chunks}
        asked = [question for question in stream.exam.questions if question.evidence <= inside]
        if asked:
            texts = {chunk.id: chunk.memory for chunk in chunks}
            exam = Exam(asked, texts, stream.exam.weights, stream.exam.reader)
            found.append(Window(chunks, exam, Capacity.share(chunks, share)))
    return found


def rewards_of(found: Sequence[Window]) -> Callable[..., list[float | None]]:
    """Return the reward function that TRL calls; the column `window` says which one a completion is for."""

    def recall(completions: Sequence[Any], window: Sequence[int], **_: Any) -> list[float | None]:
        pairs = zip(completions, window, strict=True)
        return [found[place].reward(_words(completion)) for completion, place in pairs]

    return recall


def _words(completion: Any) -> str:
    return completion if isinstance(completion, str) else str(completion[-1]["content"])


def language_trainer(
    model: Any, tokenizer: Any, found: Sequence[Window], *, chat: bool = True, **options: Any
) -> Any:
    """Return a `trl.GRPOTrainer` over windows; call its `train()`.

    `model` is a name, path or transformers model; `options` are those of `trl.GRPOConfig`. With `chat` the
    prompt is a user's message, for models with a chat template. Raises ConfigurationError without TRL.
    """
    try:
        from datasets import Dataset
        from trl.trainer.grpo_config import GRPOConfig
        from trl.trainer.grpo_trainer import GRPOTrainer
    except ImportError as error:
        raise ConfigurationError(
            "training a language model needs TRL, which is in the extra `train`: "
            "pip install 'fluxmem-graph[train]'"
        ) from error
    if not found:
        raise ConfigurationError("no window answers a question alone; make the windows longer")
    prompts = [window.prompt() for window in found]
    rows = {
        "prompt": [[{"role": "user", "content": prompt}] if chat else prompt for prompt in prompts],
        "window": list(range(len(found))),
    }
    return GRPOTrainer(
        model=model,
        reward_funcs=rewards_of(found),
        args=GRPOConfig(**{**GRPO_OPTIONS, **options}),
        train_dataset=Dataset.from_dict(rows),
        processing_class=tokenizer,
    )
