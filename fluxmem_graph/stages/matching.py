"""Stage III, matching: which cluster of runs continues which skill."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from fluxmem_graph.operations.skills import Lineage


@dataclass(frozen=True, slots=True)
class Match:
    """A cluster and the skill that it continues, if any.

    `sources` are ids of all runs behind the next version, `added` those that no version has yet. A skill
    without a cluster has no sources.
    """

    lineage: Lineage | None
    sources: tuple[str, ...]
    added: tuple[str, ...]
    retire: str = ""
    """Why the skill has to go."""


def match(
    clusters: Sequence[Sequence[str]], lineages: Sequence[Lineage], alive: Collection[str]
) -> list[Match]:
    """Return one match per cluster, then those of skills that lost their runs, maybe to another one.

    A cluster continues the skill with which it shares most runs, if that is half of either; a skill in use or
    waiting comes before a retired one. Runs of a skill that became noise stay with it. `alive` are the ids of
    all episodes that there are.
    """
    existing = frozenset(alive)
    place_of = {run: place for place, cluster in enumerate(clusters) for run in cluster}
    chosen = _assign(clusters, lineages, place_of)
    found = []
    for place, cluster in enumerate(clusters):
        lineage = chosen.get(place)
        known = lineage.sources if lineage else frozenset()
        kept = {run for run in known & existing if place_of.get(run, place) == place}
        found.append(Match(lineage, tuple(sorted(kept.union(cluster))), tuple(sorted({*cluster} - known))))
    continued = {lineage.skill_id for lineage in chosen.values()}
    for lineage in lineages:
        if (
            lineage.live
            and lineage.skill_id not in continued
            and (reason := _lost(lineage, clusters, chosen, existing))
        ):
            found.append(Match(lineage, (), (), reason))
    return found


def _assign(
    clusters: Sequence[Sequence[str]], lineages: Sequence[Lineage], place_of: Mapping[str, int]
) -> dict[int, Lineage]:
    pairs = []
    for lineage in lineages:
        shared: dict[int, int] = {}
        for run in lineage.sources:
            if run in place_of:
                shared[place_of[run]] = shared.get(place_of[run], 0) + 1
        pairs += [
            (not lineage.live, -count, lineage.skill_id, place, lineage)
            for place, count in shared.items()
            if 2 * count >= min(len(clusters[place]), len(lineage.sources))
        ]
    chosen: dict[int, Lineage] = {}
    taken: set[str] = set()
    for _, _, skill_id, place, lineage in sorted(pairs, key=lambda pair: pair[:4]):
        if place not in chosen and skill_id not in taken:
            chosen[place] = lineage
            taken.add(skill_id)
    return chosen


def _lost(
    lineage: Lineage, clusters: Sequence[Sequence[str]], chosen: dict[int, Lineage], alive: frozenset[str]
) -> str:
    """Return why a skill that no cluster continues has to go; empty if its runs only became noise."""
    if not lineage.sources:
        return ""
    if not lineage.sources & alive:
        return "its runs are gone"
    for place, winner in chosen.items():
        if 2 * len(lineage.sources.intersection(clusters[place])) >= len(lineage.sources):
            return f"its runs joined skill {winner.skill_id}"
    return ""
