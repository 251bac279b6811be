"""LangChain with a long-term memory: facts from a retriever, and a chat history that stays.

pip install 'fluxmem-graph[langchain]'
"""

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage, SystemMessage

from fluxmem_graph import FluxMem
from fluxmem_graph.integrations.langchain import FluxMemChatHistory, FluxMemRetriever


def main() -> None:
    """Answer one question with a scripted model and print the session."""
    with FluxMem.connect(namespace="langchain") as memory:
        memory.add("Boats leave pier 4 at nine.", source="timetable.md", metadata={"kind": "timetable"})
        retriever = FluxMemRetriever(memory=memory, top_k=3, where={"kind": "timetable"})
        history = FluxMemChatHistory(memory, "trip")
        history.clear()

        model = FakeListChatModel(responses=["At nine, from pier 4."])
        history.add_message(HumanMessage("When do boats leave?"))
        facts = "\n".join(document.page_content for document in retriever.invoke("When do boats leave?"))
        history.add_message(model.invoke([SystemMessage(f"You know:\n{facts}"), *history.messages]))
        for message in history.messages:
            print(f"{message.type}: {message.text}")


if __name__ == "__main__":
    main()
