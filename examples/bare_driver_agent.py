"""The loop of an agent on the bare driver: only `neo4j` and the server's own procedures.

Any language that has a driver can do the same. `fluxmem status` and `fluxmem browser --show-password` tell:

    NEO4J_URI=bolt://127.0.0.1:7687 NEO4J_PASSWORD=... python examples/bare_driver_agent.py
"""

import os
from typing import Any

import neo4j

NAMESPACE = os.environ.get("FLUXMEM_NAMESPACE", "bare-driver")
TASK = "Which athlete in medals.csv has the most medals?"
FACTS = [
    {"content": "medals.csv has one row per athlete and games.", "source": "notes"},
    {"content": "The last row of medals.csv sums all athletes.", "source": "notes"},
]


def main() -> None:
    """Store two facts, run a task once with feedback, and print what the same task then brings back."""
    login = (os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ["NEO4J_PASSWORD"])
    with neo4j.GraphDatabase.driver(os.environ["NEO4J_URI"], auth=login) as driver:
        # A key of its own makes the second run of this file find the first one's facts.
        facts = [fact | {"key": fact["content"]} for fact in FACTS]
        call(driver, "CALL fluxmem.create($namespace, $facts)", facts=facts)
        episode = call(
            driver,
            "CALL fluxmem.createEpisodes($namespace, [{task: $task}]) YIELD id RETURN id",
            task=TASK,
        )[0]["id"]
        recalled = call(driver, "CALL fluxmem.activate($namespace, $task)", task=TASK)
        # No embedding is given, so words and links answer alone.
        activated = [
            {"id": hit["id"], "rank": rank, "score": hit["score"], "sparse": hit["sparse"]}
            for rank, hit in enumerate(recalled, start=1)
        ]
        call(
            driver,
            "CALL fluxmem.step($namespace, $episode, $task, 'sum by athlete, without row 11', $activated)",
            episode=episode,
            task=TASK,
            activated=activated,
        )
        used = [hit["id"] for hit in recalled if hit["layer"] == "semantic"]
        call(
            driver,
            "CALL fluxmem.feedback($namespace, $episode, 1.0, 'right', $used)",
            episode=episode,
            used=used,
        )
        call(driver, "CALL fluxmem.endEpisode($namespace, $episode, 1.0, 'A-17')", episode=episode)

        ids = [hit["id"] for hit in call(driver, "CALL fluxmem.activate($namespace, $task)", task=TASK)]
        prompt = call(driver, "CALL fluxmem.context($namespace, $ids, $task)", ids=ids, task=TASK)
        print(prompt[0]["context"])
        for link in call(driver, "CALL fluxmem.links($namespace)"):
            print(f"{link['type']} {link['weight']:.2f} {link['name']}")


def call(driver: neo4j.Driver, text: str, **parameters: Any) -> list[neo4j.Record]:
    """Run one procedure of the server in a transaction of its own."""
    return driver.execute_query(text, parameters | {"namespace": NAMESPACE}).records


if __name__ == "__main__":
    main()
