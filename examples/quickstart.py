"""The loop of an agent: recall before a step, report after it, and be reminded the next time."""

from fluxmem_graph import FluxMem

TASK = "Which athlete in medals.csv has the most medals?"


def main() -> None:
    """Store two facts and one run, and print what the same task brings back."""
    with FluxMem.connect(namespace="quickstart") as memory:
        memory.add("medals.csv has one row per athlete and games.", title="medals.csv", source="notes")
        memory.add("The last row of medals.csv sums all athletes.", title="medals.csv", source="notes")

        episode = memory.start_episode(TASK)
        recalled = memory.activate(TASK, top_k=5)
        memory.step(episode, TASK, "sum gold, silver and bronze by athlete", activated=recalled.facts)
        memory.feedback(episode, 1.0, "right", used=[hit.id for hit in recalled.facts])
        memory.end_episode(episode, success=1.0, outcome="A-17")

        print(memory.context(TASK, budget=500))


if __name__ == "__main__":
    main()
