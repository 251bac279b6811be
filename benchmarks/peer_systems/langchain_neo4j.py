"""langchain-neo4j: Neo4jVector with hybrid search, fed through `add_embeddings`."""

from collections.abc import Sequence

from langchain_core.embeddings import Embeddings
from langchain_neo4j import Neo4jVector

from benchmarks.peer_systems.serving import serve, server_login

LABEL = "LangchainTurn"


class NoEmbeddings(Embeddings):
    """Tells the dimension, which Neo4jVector asks for; all vectors are given."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Refuse: every document comes with its vector."""
        raise NotImplementedError

    def embed_query(self, text: str) -> list[float]:
        """Return a vector of the right length."""
        del text
        return [1.0] + [0.0] * 383


class Langchain:
    """One Neo4jVector of type hybrid."""

    def __init__(self) -> None:
        self.store: Neo4jVector | None = None

    def index(self, turns: Sequence[dict[str, str]], vectors: Sequence[list[float]]) -> None:
        """Add all turns in one call; the first time, create the store with its indexes."""
        texts = [turn["text"] for turn in turns]
        ids = [turn["id"] for turn in turns]
        metadatas = [{"turn": turn["id"]} for turn in turns]
        if self.store is not None:
            self.store.add_embeddings(texts, list(vectors), metadatas=metadatas, ids=ids)
            return
        uri, user, password = server_login()
        self.store = Neo4jVector.from_embeddings(
            list(zip(texts, vectors, strict=True)),
            NoEmbeddings(),
            metadatas=metadatas,
            ids=ids,
            url=uri,
            username=user,
            password=password,
            index_name="langchain_vector",
            keyword_index_name="langchain_words",
            node_label=LABEL,
            search_type="hybrid",
        )

    def search(self, question: str, vector: list[float], top_k: int) -> list[str]:
        """Ask with the vector and the text."""
        assert self.store is not None
        found = self.store.similarity_search_with_score_by_vector(vector, k=top_k, query=question)
        return [document.metadata["turn"] for document, _ in found]

    def clear(self) -> None:
        """Delete the nodes."""
        if self.store is not None:
            self.store.query(f"MATCH (turn:{LABEL}) DETACH DELETE turn")


if __name__ == "__main__":
    serve(Langchain())
