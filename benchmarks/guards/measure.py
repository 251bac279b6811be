"""Precision and recall of the guards on texts written for them, and how many honest ones they touch.

`python benchmarks/guards/measure.py [DATA_FOLDER]` needs no server. With a folder of datasets, the rule
about instructions is run over every turn and passage (`turns.jsonl`, `corpus.jsonl`) in it.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fluxmem_graph.embedding import HashingEmbedder, TransformerEmbedder
from fluxmem_graph.ingest.claims import Claim, claim_of
from fluxmem_graph.ingest.instructions import reads_like_instructions
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.settings import GuardSettings

FOLDER = Path(__file__).parent


def rows(path: Path) -> list[dict[str, Any]]:
    """Read a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def measured(judged: Iterable[tuple[str, bool, bool]]) -> tuple[dict[str, float], list[str]]:
    """Return figures from (text, bad, flagged), and the texts that were judged wrongly."""
    found = list(judged)
    flagged = [bad for _, bad, flag in found if flag]
    caught = sum(flagged)
    figures = {
        "honest": sum(not bad for _, bad, _ in found),
        "bad": sum(bad for _, bad, _ in found),
        "precision": caught / len(flagged) if flagged else 1.0,
        "recall": caught / max(1, sum(bad for _, bad, _ in found)),
    }
    wrong = [f"{'missed' if bad else 'flagged'}: {text}" for text, bad, flag in found if bad != flag]
    return figures, wrong


def instructions(name: str) -> list[tuple[str, bool, bool]]:
    """Judge the texts of a file by the rules about instructions."""
    return [
        (row["text"], row["bad"], bool(reads_like_instructions(row["text"])))
        for row in rows(FOLDER / f"{name}.jsonl")
    ]


def contradicts(claim: Claim | None, verified: Claim | None) -> bool:
    """Tell what the store's guard asks by a query (see writes.py): one form, and exactly one other value.

    Two that differ in more, such as day and amount, are about two events.
    """
    if claim is None or verified is None or claim.form != verified.form:
        return False
    return sum(one != other for one, other in zip(claim.values, verified.values, strict=True)) == 1


def claims() -> list[tuple[str, bool, bool]]:
    """Judge whether the second text contradicts the first."""
    return [
        (
            f"{row['verified']} / {row['text']}",
            row["bad"],
            contradicts(claim_of(row["text"]), claim_of(row["verified"])),
        )
        for row in rows(FOLDER / "claims.jsonl")
    ]


def drift(embedder: Embedder) -> list[tuple[str, bool, bool]]:
    """Judge whether the last rewriting is too far from the first text."""
    judged = []
    for row in rows(FOLDER / "drift.jsonl"):
        first, last = embedder.embed([row["first"], row["rewrites"][-1]])
        judged.append((row["rewrites"][-1], row["bad"], float(first @ last) < GuardSettings().drift))
    return judged


def main() -> None:
    """Print a table, then what was judged wrongly, then the share of honest texts touched."""
    suites = {
        "instructions": instructions("instructions"),
        "instructions, written after the rules": instructions("instructions-later"),
        "contradictions": claims(),
        "drift, hashing": drift(HashingEmbedder()),
        "drift, all-MiniLM-L6-v2": drift(TransformerEmbedder("all-MiniLM-L6-v2")),
    }
    print("| guard | honest | bad | precision | recall |\n|---|---|---|---|---|")
    for name, judged in suites.items():
        figures, _ = measured(judged)
        print(
            f"| {name} | {figures['honest']:.0f} | {figures['bad']:.0f} "
            f"| {figures['precision']:.2f} | {figures['recall']:.2f} |"
        )
    for name, judged in suites.items():
        for line in measured(judged)[1]:
            print(f"{name}: {line}")
    for folder in sys.argv[1:]:
        for name in ("turns", "corpus"):
            files = sorted(Path(folder).rglob(f"{name}.jsonl"))
            touch(f"{name} under {folder}", [row for file in files for row in rows(file)])


def touch(name: str, found: list[dict[str, Any]]) -> None:
    """Print how many rows of data the rules about instructions flag."""
    texts = [" ".join(str(row.get(key) or "") for key in ("text", "content")) for row in found]
    flagged = [(text, why) for text in texts if (why := reads_like_instructions(text))]
    if texts:
        print(f"{name}: {len(flagged)} of {len(texts)} flagged ({len(flagged) / len(texts):.3%})")
    for text, why in flagged[:20]:
        print(f"  {why}: {text[:300]!r}")


if __name__ == "__main__":
    main()
