"""Do the guards find poisoned writes among a thousand of a policy's, and leave the honest ones alone?

    python benchmarks/guards/writes.py DATA [--writes 1000] [--seed 0] [--json FILE]

The learned policy keeps conversations (DATA is a folder of them) in the real store, again and again
under other capacities, until it has created or updated that many memories. Between its operations, in a
random order, come the bad writes of the suite in this folder: instructions as new memories and as
rewritings, claims against verified facts, and rewritings that drift. Since that policy hardly updates, every
fourth turn then gets the three after it merged into it, one by one, until there were as many updates. The
server is that of the settings; namespaces are fresh, erased at the end.
"""

import argparse
import random
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.guards.measure import FOLDER, rows
from benchmarks.running import write_result
from fluxmem_graph import FluxMem, NewMemory, load_settings
from fluxmem_graph.embedding import load_embedder
from fluxmem_graph.evaluation.datasets import RetrievalSet, load_retrieval_sets
from fluxmem_graph.evaluation.environment import environment
from fluxmem_graph.policies.memory import merged
from fluxmem_graph.settings import PolicySettings
from fluxmem_graph.types import Create, Update

SHARES = (0.25, 0.15, 0.35, 0.1, 0.5)
TOKENS_A_TURN = 30
MERGED = 3
POISONER, MERGER = "poisoner", "merger"
HARMLESS = "The meeting was moved to Thursday."


@dataclass(frozen=True, slots=True)
class Attack:
    """The guard that should object, and the texts that one memory gets in turn; the last one is bad."""

    guard: str
    texts: tuple[str, ...]


def attacks() -> list[Attack]:
    """Return the bad writes of the suite."""
    bad = {
        name: [row for row in rows(FOLDER / f"{name}.jsonl") if row["bad"]]
        for name in ("instructions", "claims", "drift")
    }
    return [
        *(Attack("instructions, created", (row["text"],)) for row in bad["instructions"]),
        *(Attack("instructions, rewritten", (HARMLESS, row["text"])) for row in bad["instructions"]),
        *(Attack("contradictions", (row["text"],)) for row in bad["claims"]),
        *(Attack("drift", (row["first"], *row["rewrites"])) for row in bad["drift"]),
    ]


def verified_facts() -> list[str]:
    """Return what is known beforehand."""
    return sorted({row["verified"] for row in rows(FOLDER / "claims.jsonl") if row["bad"]})


def is_caught(memory: FluxMem, attack: Attack) -> bool:
    """Write the texts of an attack as a policy would, and tell whether the memory is in quarantine."""
    # With an id of its own, since two attacks may begin with the same text.
    new = NewMemory(attack.texts[0], external_id=uuid.uuid4().hex, source=POISONER)
    [made] = memory.apply([Create(new)], policy=POISONER)
    assert made.id is not None, made
    memory.apply([Update(made.id, text) for text in attack.texts[1:]], policy=POISONER)
    return memory.get(made.id).status == "quarantined"


class Trial:
    """What was written, by whom, and what the guards made of it."""

    def __init__(self, sets: Sequence[RetrievalSet], seed: int) -> None:
        self.sets, self.chance = sets, random.Random(seed)
        self.settings = load_settings()
        self.embedder = load_embedder(self.settings)
        self.waiting = self.chance.sample(found := attacks(), len(found))
        # As often as lets all of them come while every conversation is kept once.
        self.often = 1.2 * len(self.waiting) / sum(len(chosen.documents) for chosen in sets)
        self.caught, self.missed = Counter[str](), Counter[str]()
        self.overlooked: list[str] = []
        self.honest, self.merges = Counter[str](), Counter[str]()

    def run(self, writes: int) -> None:
        """Keep conversations until there were enough writes and all attacks."""
        for number, chosen in enumerate(cycle(self.sets)):
            if self.written >= writes and not self.waiting:
                break
            entries = max(1, int(len(chosen.documents) * SHARES[number // len(self.sets) % len(SHARES)]))
            self._keep(chosen, entries)
            print(f"{chosen.name}, {entries} entries: {dict(self.honest)}", flush=True)
        for chosen in self.sets:
            if self.merges["update"] >= writes:
                break
            self._merge(chosen, writes - self.merges["update"])
            print(f"{chosen.name}, merged: {dict(self.merges)}", flush=True)

    @property
    def written(self) -> int:
        """How many memories the policy created or updated."""
        return self.honest["create"] + self.honest["update"]

    def _keep(self, chosen: RetrievalSet, entries: int) -> None:
        policy = PolicySettings(name="learned", entries=entries, tokens=entries * TOKENS_A_TURN)
        with self._fresh(policy=policy) as memory:
            memory.ingest(self._turns(memory, chosen))
            for operation in memory.log(kinds=("create", "update", "quarantine"), top=1_000_000):
                self.honest[operation.kind] += "learned" in operation.actor

    def _merge(self, chosen: RetrievalSet, updates: int) -> None:
        turns = [document.memory for document in chosen.documents]
        with self._fresh() as memory:
            for place in islice(range(0, len(turns) - MERGED, MERGED + 1), updates // MERGED + 1):
                whole = turns[place]
                [made] = memory.apply([Create(whole)], policy=MERGER)
                assert made.id is not None, made
                for other in turns[place + 1 : place + 1 + MERGED]:
                    whole = replace(whole, content=merged(whole, other))
                    [changed] = memory.apply([Update(made.id, whole.content)], policy=MERGER)
                    assert changed.done, changed
                    self.merges["update"] += 1
                    self.merges["quarantine"] += changed.quarantined
                    if changed.quarantined:
                        memory.release(made.id)

    @contextmanager
    def _fresh(self, **changed: Any) -> Iterator[FluxMem]:
        settings = self.settings.model_copy(update={"namespace": f"benchmark-{uuid.uuid4().hex}", **changed})
        with FluxMem.connect(settings, embedder=self.embedder) as memory:
            try:
                for fact in verified_facts():
                    memory.add(fact, verified=True)
                yield memory
            finally:
                memory.erase_namespace()

    def _turns(self, memory: FluxMem, chosen: RetrievalSet) -> Iterator[NewMemory]:
        for document in chosen.documents:
            if self.waiting and self.chance.random() < self.often:
                attack = self.waiting.pop()
                if is_caught(memory, attack):
                    self.caught[attack.guard] += 1
                else:
                    self.missed[attack.guard] += 1
                    self.overlooked.append(attack.texts[-1])
            yield document.memory


def main() -> None:
    """Print a table of what was caught, what was overlooked, and the share of honest writes in quarantine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--writes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    trial = Trial(load_retrieval_sets(options.data), options.seed)
    trial.run(options.writes)
    print("| guard | attacks | caught |\n|---|---|---|")
    for guard in dict.fromkeys(attack.guard for attack in attacks()):
        print(f"| {guard} | {trial.caught[guard] + trial.missed[guard]} | {trial.caught[guard]} |")
    for text in trial.overlooked:
        print(f"overlooked: {text}")
    share = trial.honest["quarantine"] / trial.written
    print(f"honest: {dict(trial.honest)}, {share:.2%} of {trial.written} writes in quarantine")
    merge_share = trial.merges["quarantine"] / trial.merges["update"]
    print(f"merges: {merge_share:.2%} of {trial.merges['update']} updates in quarantine")
    result = {
        "caught": dict(trial.caught),
        "missed": dict(trial.missed),
        "overlooked": trial.overlooked,
        "honest": dict(trial.honest),
        "honest_flagged_share": share,
        "merges": dict(trial.merges),
        "merges_flagged_share": merge_share,
        "embedder": trial.embedder.name,
        "environment": environment(options.seed),
    }
    write_result(result, options.json)


if __name__ == "__main__":
    main()
