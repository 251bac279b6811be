"""The OpenAI Agents SDK's session and tools over one namespace."""

import asyncio
import json
from typing import Any

from agents import FunctionTool, Session, TResponseInputItem, function_tool

from fluxmem_graph.client import FluxMem
from fluxmem_graph.integrations.conversations import Conversation


class FluxMemSession(Session):
    """The items of one conversation; each is also a fact that any session of the namespace can recall."""

    def __init__(self, memory: FluxMem, session_id: str) -> None:
        self.session_id = session_id
        self._conversation = Conversation(memory, "openai-agents", session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the last `limit` items, or all, oldest first."""
        items: list[Any] = await asyncio.to_thread(self._conversation.items)
        return items if limit is None else items[len(items) - limit if limit < len(items) else 0 :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store items in order, in one transaction."""
        turns = [(_text(item), str(item.get("role") or "tool"), dict(item)) for item in items]
        await asyncio.to_thread(self._conversation.append, turns)

    async def pop_item(self) -> TResponseInputItem | None:
        """Forget the last item and return it."""
        item: Any = await asyncio.to_thread(self._conversation.pop)
        return item  # type: ignore[no-any-return]

    async def clear_session(self) -> None:
        """Forget the conversation's items."""
        await asyncio.to_thread(self._conversation.clear)


def memory_tools(memory: FluxMem) -> list[FunctionTool]:
    """Return the tools `recall` and `remember` for an agent."""

    @function_tool
    async def recall(observation: str) -> str:
        """Return facts, similar past episodes and skills for a situation, as data with ids to cite.

        Args:
            observation: What you see, are asked, or want to know.
        """
        return (await asyncio.to_thread(memory.context, observation)).text

    @function_tool
    async def remember(content: str) -> str:
        """Store a fact for later and return its id.

        Args:
            content: One self-contained fact.
        """
        return (await asyncio.to_thread(memory.add, content)).id

    return [recall, remember]


def _text(item: Any) -> str:
    """Return what an item says, or for calls of tools and their like the whole item."""
    content = item.get("content")
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) and content.strip() else json.dumps(item, default=str)
