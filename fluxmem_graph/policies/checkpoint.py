"""Checkpoints of the learned policy: weights, scaling and where they came from, never a text."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.policies.features import CHUNK_FEATURES
from fluxmem_graph.policies.learned import LearnedPolicy, Network, shapes
from fluxmem_graph.policies.policy import Stream

FORMAT = 1
DEFAULT = "default.json"
# Weights are told apart up to this; more digits would only make the file longer.
DIGITS = 5
MARKED = 32
# A quarter of a stream has about eight; one or two may be courtesies that anybody says.
KNOWN_AGAIN = 4


@dataclass(frozen=True, slots=True)
class DataMark:
    """By which training data is known again: its SHA-256, and the lowest hashes of single chunks.

    The latter know it also with a few chunks more or less. Neither gives a text back.
    """

    name: str
    sha256: str
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One network per seed, the best on the training data first named by `best`.

    `shares` holds per seed the share of each operation in the first and last tenth of the training.
    """

    networks: tuple[Network, ...]
    seeds: tuple[int, ...]
    best: int
    command: str
    settings: Mapping[str, Any]
    embedder: str
    data: tuple[DataMark, ...]
    shares: Sequence[Mapping[str, Any]]
    version: str = ""

    def policy(self, place: int | None = None) -> LearnedPolicy:
        """Return the policy of one network, the best one if none is named."""
        which = self.best if place is None else place
        return LearnedPolicy(self.networks[which], f"{self.version}.{self.seeds[which]}")


def mark_data(stream: Stream) -> DataMark:
    """Return the mark of a stream's chunks."""
    hashes = [hashlib.sha256(chunk.memory.content.encode()).hexdigest() for chunk in stream.chunks]
    whole = hashlib.sha256("".join(hashes).encode()).hexdigest()
    return DataMark(stream.name, whole, tuple(sorted({found[:12] for found in hashes})[:MARKED]))


def holds_training_data(checkpoint: Checkpoint, stream: Stream) -> str | None:
    """Return the name of training data that a stream holds four marks of, or all of fewer; or None."""
    hashes = {hashlib.sha256(chunk.memory.content.encode()).hexdigest()[:12] for chunk in stream.chunks}
    for mark in checkpoint.data:
        if len(hashes.intersection(mark.marks)) >= min(KNOWN_AGAIN, len(mark.marks)):
            return mark.name
    return None


def save_checkpoint(checkpoint: Checkpoint, file: Path) -> None:
    """Write a checkpoint as JSON."""
    networks = [
        {
            "weights": {name: _rounded(values) for name, values in network.weights.items()},
            "mean": _rounded(network.mean),
            "deviation": _rounded(network.deviation),
        }
        for network in checkpoint.networks
    ]
    document = {
        "format": FORMAT,
        "command": checkpoint.command,
        "seeds": checkpoint.seeds,
        "best": checkpoint.best,
        "settings": checkpoint.settings,
        "embedder": checkpoint.embedder,
        "features": CHUNK_FEATURES,
        "data": [asdict(mark) for mark in checkpoint.data],
        "shares": checkpoint.shares,
        "networks": networks,
    }
    file.write_text(json.dumps(document) + "\n", encoding="utf-8")


def load_checkpoint(file: Path | None = None) -> Checkpoint:
    """Read a checkpoint, or the one that comes with the library. Raises ConfigurationError."""
    where = str(file) if file else "the default checkpoint"
    try:
        found = file.read_bytes() if file else files(__package__).joinpath(DEFAULT).read_bytes()
        document = json.loads(found)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{where} can't be read: {error}") from error
    try:
        if document["format"] != FORMAT or tuple(document["features"]) != CHUNK_FEATURES:
            raise ConfigurationError(f"{where} is of another version; train one with `fluxmem policy train`")
        return Checkpoint(
            networks=tuple(map(_network, document["networks"])),
            seeds=tuple(document["seeds"]),
            best=document["best"],
            command=document["command"],
            settings=document["settings"],
            embedder=document["embedder"],
            data=tuple(DataMark(m["name"], m["sha256"], tuple(m["marks"])) for m in document["data"]),
            shares=document["shares"],
            version=hashlib.sha256(found).hexdigest()[:8],
        )
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise ConfigurationError(f"{where} is no checkpoint of a policy ({error!r})") from error


def _network(document: Mapping[str, Any]) -> Network:
    weights = {name: np.asarray(values, np.float32) for name, values in document["weights"].items()}
    if {name: values.shape for name, values in weights.items()} != shapes():
        raise ValueError("weights of another shape")
    mean, deviation = (np.asarray(document[name], np.float32) for name in ("mean", "deviation"))
    return Network(weights, mean, deviation)


def _rounded(values: Any) -> Any:
    return np.round(np.asarray(values, np.float64), DIGITS).tolist()
