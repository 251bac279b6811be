"""LlamaIndex's retriever and chat memory over a memory."""

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.llms import ChatMessage, TextBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import MetadataMode
from llama_index.core.tools import RetrieverTool, ToolSelection

from fluxmem_graph import FluxMem
from fluxmem_graph.integrations.llamaindex import FluxMemChatMemory, FluxMemRetriever
from tests.integration.conftest import Tenants

CALL = ToolSelection(tool_id="call-1", tool_name="recall", tool_kwargs={"input": "When do boats leave?"})
SPOKEN = [
    ChatMessage("When do boats leave?"),
    ChatMessage(role="assistant", additional_kwargs={"tool_calls": [CALL.model_dump()]}),
    ChatMessage("at nine", role="tool", additional_kwargs={"tool_call_id": "call-1"}),
    ChatMessage(role="assistant", blocks=[TextBlock(text="At nine."), TextBlock(text="From pier 4.")]),
    ChatMessage("The pier is closed.", role="system"),
]


class Scripted(MockFunctionCallingLLM):
    """Gives answers in order and keeps what it was asked."""

    def __init__(self, *answers: ChatMessage) -> None:
        asked: list[str] = []
        left = list(answers)

        def answer(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
            asked.append("\n".join(str(message.content) for message in messages))
            return left.pop(0)

        super().__init__(response_generator=answer, is_chat_model=True)
        self._asked = asked

    @property
    def asked(self) -> list[str]:
        return self._asked


def said(text: str, **more: Any) -> ChatMessage:
    return ChatMessage(text, role="assistant", **more)


def test_a_retriever_gives_nodes_with_the_facts_id_and_origin(memory: FluxMem) -> None:
    stored = memory.add("Boats leave pier 4 at nine.", source="notes.md", metadata={"town": "Bergen"})
    memory.add("Boats of Oslo leave pier 1.", metadata={"town": "Oslo"})
    retriever = FluxMemRetriever(memory, top_k=1, where={"town": "Bergen"})
    [found] = retriever.retrieve("When do boats leave?")
    assert (found.node_id, found.text) == (stored.id, "Boats leave pier 4 at nine.")
    assert found.metadata == {"town": "Bergen", "source": "notes.md"}
    assert found.score and found.score > 0
    assert "None" not in found.get_content(MetadataMode.LLM)
    assert asyncio.run(retriever.aretrieve("When do boats leave?")) == [found]


def test_a_chat_engine_answers_from_facts_and_its_session_stays(memory: FluxMem) -> None:
    memory.add("Boats leave pier 4 at nine.", source="notes.md")
    model = Scripted(said("At nine."), said("Pier 4."))
    for question in ("When do boats leave?", "From where?"):
        history = FluxMemChatMemory(memory=memory, session_id="trip")
        ContextChatEngine.from_defaults(FluxMemRetriever(memory), llm=model, memory=history).chat(question)
    assert "Boats leave pier 4 at nine." in model.asked[0]
    assert "When do boats leave?\nAt nine.\nFrom where?" in model.asked[1]
    kept = FluxMemChatMemory(memory=memory, session_id="trip").get_all()
    assert [message.content for message in kept] == [
        "When do boats leave?", "At nine.", "From where?", "Pier 4."
    ]  # fmt: skip


def test_an_agent_recalls_through_the_retriever_and_keeps_its_session(memory: FluxMem) -> None:
    memory.add("Boats leave pier 4 at nine.")
    model = Scripted(said("", additional_kwargs={"tool_calls": [CALL]}), said("At nine."))
    recall = RetrieverTool.from_defaults(FluxMemRetriever(memory), name="recall", description="Facts.")
    history = FluxMemChatMemory(memory=memory, session_id="trip")

    async def work() -> str:
        agent = FunctionAgent(tools=[recall], llm=model, streaming=False)
        return str(await agent.run("When do boats leave?", memory=history))

    assert asyncio.run(work()) == "At nine."
    assert "Boats leave pier 4 at nine." in model.asked[1]
    assert [message.role.value for message in history.get_all()] == ["user", "assistant", "tool", "assistant"]


def test_a_history_gives_back_every_kind_of_message_in_order(memory: FluxMem) -> None:
    history = FluxMemChatMemory(memory=memory, session_id="trip")
    assert history.get_all() == []
    history.put_messages(SPOKEN)
    history.put(ChatMessage("Thank you."))
    assert FluxMemChatMemory.from_defaults(memory=memory, session_id="trip").get() == [
        *SPOKEN,
        ChatMessage("Thank you."),
    ]
    assert asyncio.run(history.aget("anything")) == history.get_all()
    history.set(SPOKEN[:1])
    assert history.get_all() == SPOKEN[:1]


def test_a_history_forgets_its_own_session_alone(memory: FluxMem, tenant: Tenants) -> None:
    history, other = (FluxMemChatMemory(memory=memory, session_id=name) for name in ("trip", "work"))
    for session in (history, other):
        session.put_messages(SPOKEN)
    assert FluxMemChatMemory(memory=tenant(), session_id="trip").get_all() == []
    history.reset()
    assert (history.get_all(), other.get_all()) == ([], SPOKEN)


def test_what_was_said_is_recalled_in_another_session(memory: FluxMem) -> None:
    FluxMemChatMemory(memory=memory, session_id="trip").put(ChatMessage("I like red boats."))
    [found] = FluxMemRetriever(memory).retrieve("Who likes red boats?")
    assert (found.text, found.metadata["speaker"]) == ("I like red boats.", "user")
    assert "blocks" not in found.get_content(MetadataMode.LLM)
