"""LangChain's retriever and chat history over one namespace."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from fluxmem_graph.client import FluxMem
from fluxmem_graph.integrations.conversations import Conversation


class FluxMemRetriever(BaseRetriever):
    """Finds the facts that answer a query; a document has the fact's id, and its origin as metadata."""

    memory: FluxMem
    top_k: int = 10
    where: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        return [
            Document(
                page_content=hit.content,
                id=hit.id,
                metadata={**hit.metadata, "source": hit.source, "speaker": hit.speaker, "score": hit.score},
            )
            for hit in self.memory.search(query, top_k=self.top_k, where=self.where)
        ]


class FluxMemChatHistory(BaseChatMessageHistory):
    """The messages of one session; each is also a fact that any session of the namespace can recall."""

    def __init__(self, memory: FluxMem, session_id: str) -> None:
        self._conversation = Conversation(memory, "langchain", session_id)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages, oldest first."""
        return messages_from_dict(self._conversation.items())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages in order, in one transaction."""
        self._conversation.append(
            (_text(message), message.name or message.type, message_to_dict(message)) for message in messages
        )

    def clear(self) -> None:
        """Forget the session's messages."""
        self._conversation.clear()


def _text(message: BaseMessage) -> str:
    """Return what is said, or for a message of tool calls alone what they are."""
    text = str(message.text)
    return text if text.strip() else json.dumps(message_to_dict(message)["data"], default=str)
