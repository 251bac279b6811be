"""The wheel holds all that the commands need."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import fluxmem_graph
from fluxmem_graph import FluxMem, Settings
from tests.integration.conftest import Tenants

CHECKOUT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        env={"PATH": os.environ["PATH"], **environment},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment's folder of programs, with our packages from the wheel alone."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ("-m", "build", "--wheel", "--no-isolation", "--outdir", folder, CHECKOUT)
    run(sys.executable, *build, HOME=str(folder))
    [wheel] = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False)
    programs = folder / "venv" / "bin"
    pip = (sys.executable, "-m", "pip", "--python", programs / "python")
    run(*pip, "install", "--no-deps", "--no-index", wheel, HOME=str(folder))
    [packages] = (folder / "venv").glob("lib/python*/site-packages")
    # The dependencies of the environment that runs the tests; its own link to the checkout is not followed.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return programs


def test_the_packages_come_from_the_wheel(installed: Path) -> None:
    code = "import fluxmem_graph, fluxmem_cli; print(fluxmem_graph.__file__, fluxmem_cli.__file__)"
    for file in run(installed / "python", "-c", code).split():
        assert Path(file).is_relative_to(installed.parent)


def test_version_prints_the_version(installed: Path) -> None:
    assert fluxmem_graph.__version__ in run(installed / "fluxmem", "--version")


def test_the_learned_policy_that_comes_with_it_is_loaded(installed: Path, tmp_path: Path) -> None:
    code = "from importlib.resources import files; print(files('fluxmem_graph.policies') / 'default.json')"
    assert Path(run(installed / "python", "-c", code).strip()).is_relative_to(installed.parent)
    shown = json.loads(run(installed / "fluxmem", "policy", "show", "--json", HOME=str(tmp_path)))
    assert (shown["seeds"], shown["embedder"]) == ("0 1 2 3 4", "all-MiniLM-L6-v2")


def test_what_is_for_browser_lies_in_it(installed: Path) -> None:
    code = "from fluxmem_cli import server; print(server.browser_file(''), *server.browser_queries())"
    folder, *queries = run(installed / "python", "-c", code).split()
    assert Path(folder).is_relative_to(installed.parent) and "why.cypher" in queries
    assert (Path(folder) / "fluxmem.grass").is_file()


def test_a_search_finds_what_was_added(
    installed: Path, tenant: Tenants, server_settings: Settings, tmp_path: Path
) -> None:
    memory: FluxMem = tenant()
    password = server_settings.neo4j_password
    assert server_settings.neo4j_uri and password
    environment = {
        "NEO4J_URI": server_settings.neo4j_uri,
        "NEO4J_PASSWORD": password.get_secret_value(),
        "FLUXMEM_EMBEDDER": "hashing",
        "HOME": str(tmp_path),
    }
    program, place = installed / "fluxmem", ("--namespace", memory.namespace)
    run(program, "add", "Ada drinks green tea.", *place, **environment)
    assert "green tea" in run(program, "search", "Who drinks tea?", *place, **environment)
