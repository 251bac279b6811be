"""From files to memories: readers, checks of values, and names in texts."""

from fluxmem_graph.ingest.dumps import read_dump
from fluxmem_graph.ingest.options import ReadNotes, ReadOptions, parse_map
from fluxmem_graph.ingest.paths import read_path
from fluxmem_graph.ingest.rows import Item

__all__ = ["Item", "ReadNotes", "ReadOptions", "parse_map", "read_dump", "read_path"]
