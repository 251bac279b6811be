"""LlamaIndex with a long-term memory: a chat engine with facts from a retriever, and a history that stays.

    pip install 'fluxmem-graph[llamaindex]'

The model is scripted, so that the example needs no key; give the engine a real one.
"""

from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM

from fluxmem_graph import FluxMem
from fluxmem_graph.integrations.llamaindex import FluxMemChatMemory, FluxMemRetriever


def main() -> None:
    """Answer one question with a scripted model and print the session."""
    answer = ChatMessage("At nine, from pier 4.", role="assistant")
    model = MockFunctionCallingLLM(response_generator=lambda _, **__: answer, is_chat_model=True)
    with FluxMem.connect(namespace="llamaindex") as memory:
        memory.add("Boats leave pier 4 at nine.", source="timetable.md", metadata={"kind": "timetable"})
        retriever = FluxMemRetriever(memory, top_k=3, where={"kind": "timetable"})
        history = FluxMemChatMemory(memory=memory, session_id="trip")
        history.reset()

        engine = ContextChatEngine.from_defaults(retriever, llm=model, memory=history)
        engine.chat("When do boats leave?")
        for message in history.get_all():
            print(f"{message.role.value}: {message.content}")


if __name__ == "__main__":
    main()
