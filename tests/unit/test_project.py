"""Files that nobody imports: their structure."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_compose_mounts_the_procedures_and_is_healthy_only_when_it_answers() -> None:
    service = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]["neo4j"]
    assert service["image"].startswith("neo4j:2026.")
    assert any(volume.endswith(":/plugins:ro") for volume in service["volumes"])
    assert service["healthcheck"]["test"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_statements_hold_no_defaults_of_their_own_but_those_of_the_settings() -> None:
    from fluxmem_graph.settings import RetrievalSettings

    defaults = RetrievalSettings().model_dump()
    for name in ("activate", "spread"):
        text = (ROOT / "cypher" / "procedures" / f"{name}.cypher").read_text(encoding="utf-8")
        found = re.findall(r"coalesce\(\$options\.(\w+), ([\d.]+)\)", text)
        assert found
        for option, value in found:
            assert float(value) == defaults[option], f"{option} in {name}.cypher"


def test_the_settings_page_has_every_weight_with_its_default() -> None:
    from fluxmem_graph.settings import RetrievalSettings

    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    printed = {
        name: float(value) for name, value in re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", page, re.MULTILINE)
    }
    assert printed == {name: float(value) for name, value in RetrievalSettings().model_dump().items()}


def test_the_pool_of_both_doors_is_one_text() -> None:
    procedures = ROOT / "cypher" / "procedures"
    blocks = []
    for name in ("activate", "candidates"):
        text = (procedures / f"{name}.cypher").read_text(encoding="utf-8")
        start, end = text.index("CALL (voices, meaning) {"), text.index("  // Of what learning alone brings")
        blocks.append(text[start:end])
    assert blocks[0] == blocks[1]


def test_the_past_of_one_memory_and_of_many_end_a_quarantine_by_the_same_operations() -> None:
    cypher = ROOT / "cypher"
    ways = (cypher / "procedures" / "past.cypher", cypher / "queries" / "internal.pastVersion.cypher")
    kinds = [re.search(r"decided\.kind IN (\[.*?\])", way.read_text(encoding="utf-8")) for way in ways]
    assert kinds[0] and kinds[1] and kinds[0][1] == kinds[1][1]


def test_the_ranking_of_skills_of_both_doors_is_one_text() -> None:
    procedures = ROOT / "cypher" / "procedures"
    blocks = []
    for name in ("activate", "spread"):
        text = (procedures / f"{name}.cypher").read_text(encoding="utf-8")
        start = text.index("CALL (episodes, settled) {")
        blocks.append(text[start : text.index("RETURN collect(best) AS skills", start)])
    assert blocks[0] == blocks[1]
