"""A real browser without windows, and the example as the demo loads it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from fluxmem_cli.demo import load_example
from fluxmem_graph import FluxMem, Settings

NAMESPACE = "demo"


@pytest.fixture(scope="session")
def example(server_settings: Settings) -> Iterator[FluxMem]:
    with FluxMem.connect(server_settings.model_copy(update={"namespace": NAMESPACE})) as memory:
        load_example(memory)
        yield memory
        memory.erase_namespace()


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    # Not for the whole run: Playwright keeps an event loop running, and others could start none.
    executable = shutil.which("chromium")
    if executable is None:
        pytest.fail("there is no chromium; `make setup` as root installs it, else `apt-get install chromium`")
    with sync_playwright() as playwright:
        # The sandbox needs rights that a container does not have; only our own pages are opened.
        chromium = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(120_000)
        yield page
        chromium.close()


@pytest.fixture(scope="session")
def pictures(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: into the docs when the person who runs the tests asks for it."""
    from tests.conftest import PICTURES

    return Path(PICTURES) if PICTURES else tmp_path_factory.mktemp("pictures")
