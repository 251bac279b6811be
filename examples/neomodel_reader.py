"""A memory as objects: only the neomodel classes, to read and to follow links.

`fluxmem demo` loads what it reads, and `fluxmem browser --show-password` prints the login:

    NEO4J_URI=bolt://127.0.0.1:7687 NEO4J_PASSWORD=... python examples/neomodel_reader.py
"""

import os
from urllib.parse import quote

import neomodel

from fluxmem_graph.graph.models import Episodic, Procedural, Semantic

NAMESPACE = os.environ.get("FLUXMEM_NAMESPACE", "demo")


def main() -> None:
    """Print runs with what their steps had in mind, what supported them, and the skills made of them."""
    user = os.environ.get("NEO4J_USERNAME", "neo4j")
    scheme, address = os.environ["NEO4J_URI"].split("://")
    login = f"{user}:{quote(os.environ['NEO4J_PASSWORD'], safe='')}"
    neomodel.get_config().database_url = f"{scheme}://{login}@{address}"
    for run in Episodic.nodes.filter(namespace=NAMESPACE).order_by("started_at"):
        print(f"{run.task} (success {run.success})")
        for step in sorted(run.steps, key=lambda step: step.index):
            print(f"  {step.index} {step.action[:60]!r} with {len(step.activated)} memories in mind")
    for fact in Semantic.nodes.filter(namespace=NAMESPACE).order_by("name"):
        for run in fact.supports:
            link = fact.supports.relationship(run)
            print(f"{fact.content!r} supported {run.task!r}, weight {link.weight:.2f}")
    for skill in Procedural.nodes.filter(namespace=NAMESPACE, status="active"):
        print(f"{skill.name}, version {skill.version}, of {len(skill.distilled_from)} runs")


if __name__ == "__main__":
    main()
