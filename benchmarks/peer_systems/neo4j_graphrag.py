"""neo4j-graphrag: nodes written in batches, `upsert_vectors`, and VectorRetriever or HybridRetriever."""

import sys
from collections.abc import Sequence

import neo4j
from neo4j_graphrag.indexes import (
    create_fulltext_index,
    create_vector_index,
    upsert_vectors,
)
from neo4j_graphrag.retrievers import HybridRetriever, VectorRetriever

from benchmarks.peer_systems.serving import serve, server_login

LABEL, BATCH = "GraphragTurn", 512
CREATE = f"""UNWIND $rows AS row
CREATE (turn:{LABEL} {{id: row.id, text: row.text}})
RETURN elementId(turn) AS id"""


class Graphrag:
    """One index of vectors and, for `hybrid`, one of words."""

    def __init__(self, kind: str) -> None:
        uri, user, password = server_login()
        self.driver = neo4j.GraphDatabase.driver(uri, auth=(user, password))
        self.label, self.hybrid = f"{LABEL}{kind.title()}", kind == "hybrid"
        self.vector_index, self.word_index = f"graphrag_{kind}_vector", f"graphrag_{kind}_words"
        self.retriever: VectorRetriever | HybridRetriever | None = None

    def index(self, turns: Sequence[dict[str, str]], vectors: Sequence[list[float]]) -> None:
        """Create the indexes the first time, then nodes and their vectors in batches."""
        if self.retriever is None:
            self._create_indexes(len(vectors[0]))
        create = CREATE.replace(LABEL, self.label)
        for start in range(0, len(turns), BATCH):
            batch = list(turns[start : start + BATCH])
            rows = self.driver.execute_query(create, rows=batch).records
            upsert_vectors(
                self.driver, [row["id"] for row in rows], "embedding", list(vectors[start : start + BATCH])
            )

    def _create_indexes(self, dimension: int) -> None:
        create_vector_index(
            self.driver,
            self.vector_index,
            self.label,
            "embedding",
            dimension,
            "cosine",
            fail_if_exists=False,
        )
        if self.hybrid:
            create_fulltext_index(self.driver, self.word_index, self.label, ["text"], fail_if_exists=False)
        self.driver.execute_query("CALL db.awaitIndexes()")
        if self.hybrid:
            self.retriever = HybridRetriever(
                self.driver, self.vector_index, self.word_index, return_properties=["id"]
            )
        else:
            self.retriever = VectorRetriever(self.driver, self.vector_index, return_properties=["id"])

    def search(self, question: str, vector: list[float], top_k: int) -> list[str]:
        """Ask the retriever."""
        assert self.retriever is not None
        asked = {"query_text": words(question)} if self.hybrid else {}
        found = self.retriever.get_search_results(query_vector=vector, top_k=top_k, **asked)
        return [record["node"]["id"] for record in found.records]

    def clear(self) -> None:
        """Delete the nodes."""
        self.driver.execute_query(f"MATCH (turn:{self.label}) DETACH DELETE turn")


def words(question: str) -> str:
    """Return the question without Lucene's syntax, which the retriever would pass on."""
    return "".join(letter if letter.isalnum() or letter.isspace() else " " for letter in question)


if __name__ == "__main__":
    serve(Graphrag(sys.argv[1]))
