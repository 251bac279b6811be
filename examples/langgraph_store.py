"""A LangGraph node with a long-term memory: what one thread learns, the next one is told.

pip install 'fluxmem-graph[langgraph]'
"""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from fluxmem_graph import FluxMem
from fluxmem_graph.integrations.langgraph import FluxMemStore


class State(TypedDict):
    """What a user says, and what the assistant answers."""

    said: str
    answer: str


def assistant(state: State, *, store: BaseStore) -> dict[str, str]:
    """Answer from what was said before, and keep what is said now; a scripted model for the example."""
    path = ("users", "ada")
    known = [item.value["text"] for item in store.search(path, query=state["said"], limit=1)]
    store.put(path, state["said"], {"text": state["said"]}, index=["text"])
    return {"answer": f"You told me: {known[0]}" if known else "I will keep that in mind."}


def main() -> None:
    """Run two threads of one graph and print their answers."""
    with FluxMem.connect(namespace="langgraph") as memory:
        graph = StateGraph(State).add_node(assistant)
        graph.add_edge(START, "assistant").add_edge("assistant", END)
        app = graph.compile(store=FluxMemStore(memory))
        for said in ("I like red boats.", "Which boats do I like?"):
            print(app.invoke({"said": said, "answer": ""})["answer"])


if __name__ == "__main__":
    main()
