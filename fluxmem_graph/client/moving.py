"""A namespace as a file."""

from os import PathLike
from pathlib import Path

from fluxmem_graph.client.base import Connected
from fluxmem_graph.operations.moving import Import, Progress
from fluxmem_graph.operations.replay import Replay
from fluxmem_graph.types import Imported, Replayed


class Moving(Connected):
    """The part of the façade that moves a namespace."""

    def export(self, path: str | PathLike[str], progress: Progress | None = None) -> int:
        """Write all of this namespace to a file of JSON Lines and return the number of lines.

        Raises NotFound for a namespace that holds nothing, or Conflict when somebody wrote meanwhile.
        """
        return self._export().to_file(Path(path), progress)

    def import_file(
        self, path: str | PathLike[str], *, merge: bool = False, progress: Progress | None = None
    ) -> Imported:
        """Store an export in this namespace, its ids and its log as they were.

        Raises InvalidInput or EmbedderMismatch before anything is written, or Conflict for a namespace that
        holds something, unless `merge`.
        """
        state = self.schema
        job = Import(self.database, self.namespace, state.embedding_model, state.dimension)
        return job.from_file(Path(path), merge=merge, progress=progress)

    def replay(self, target: str, progress: Progress | None = None) -> Replayed:
        """Rebuild this namespace from its log in another one, and compare: clocks and vectors left out.

        Raises NotFound, InvalidInput, or Conflict for a target that is there or a log that can't be replayed.
        """
        return Replay(self.database, self._export(), self._export(target)).run(progress)
