"""LlamaIndex's retriever and chat memory over one namespace."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemory
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import ConfigDict, Field

from fluxmem_graph.client import FluxMem
from fluxmem_graph.integrations.conversations import CONVERSATION, ITEM, Conversation


class FluxMemRetriever(BaseRetriever):
    """Finds the facts that answer a query; a node has the fact's id, and its origin as metadata."""

    def __init__(self, memory: FluxMem, *, top_k: int = 10, where: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._memory = memory
        self._top_k = top_k
        self._where = where or {}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._memory.search(query_bundle.query_str, top_k=self._top_k, where=self._where)
        # Models are shown the metadata too: what is not known would only be noise there.
        return [
            NodeWithScore(
                node=TextNode(
                    id_=hit.id,
                    text=hit.content,
                    metadata=hit.metadata | _known(source=hit.source, speaker=hit.speaker),
                    excluded_llm_metadata_keys=[CONVERSATION, ITEM],
                    excluded_embed_metadata_keys=[CONVERSATION, ITEM],
                ),
                score=hit.score,
            )
            for hit in found
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class FluxMemChatMemory(BaseMemory):
    """The messages of one session; each is also a fact that any session of the namespace can recall."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    memory: FluxMem = Field(exclude=True)
    session_id: str

    @classmethod
    def class_name(cls) -> str:
        """Name the class for LlamaIndex."""
        return "FluxMemChatMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> "FluxMemChatMemory":
        """Make one as the constructor does."""
        return cls(**kwargs)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: ARG002
        """Return all messages, oldest first; a retriever brings what the input is about."""
        return self.get_all()

    def get_all(self) -> list[ChatMessage]:
        """Return all messages, oldest first."""
        return [ChatMessage.model_validate(item) for item in self._conversation.items()]

    def put(self, message: ChatMessage) -> None:
        """Store a message."""
        self.put_messages([message])

    def put_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Store messages in order, in one transaction."""
        items = [(message, message.model_dump(mode="json")) for message in messages]
        self._conversation.append((_text(message, item), message.role.value, item) for message, item in items)

    def set(self, messages: Sequence[ChatMessage]) -> None:
        """Put these messages in the place of all that are there."""
        self._conversation.clear()
        self.put_messages(messages)

    def reset(self) -> None:
        """Forget the session's messages."""
        self._conversation.clear()

    @property
    def _conversation(self) -> Conversation:
        return Conversation(self.memory, "llamaindex", self.session_id)


def _known(**origin: str | None) -> dict[str, str]:
    return {name: value for name, value in origin.items() if value is not None}


def _text(message: ChatMessage, item: Mapping[str, Any]) -> str:
    """Return what is said, or for a message of tool calls alone what they are."""
    text = message.content or ""
    return text if text.strip() else json.dumps({"role": item["role"], "blocks": item["blocks"]})
