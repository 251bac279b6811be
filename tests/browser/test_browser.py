"""Neo4j Browser of the embedded server: log in, drop our style and the saved queries on it, see the graph."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from fluxmem_cli.server import browser_file
from fluxmem_graph import FluxMem, Settings
from fluxmem_graph.server import EmbeddedServer
from tests.browser.conftest import NAMESPACE

pytestmark = [pytest.mark.browser, pytest.mark.slow]
QUERIES = sorted(path.name for path in browser_file("").glob("*.cypher"))
LABELS = {
    "namespace": {"Semantic", "Episodic", "Procedural"},
    "runs": {"Episodic", "Step"},
    "why": {"Episodic", "Step", "Semantic"},
    "learning": {"Semantic", "Episodic", "Operation"},
    "skills": {"Episodic", "Procedural"},
    "versions": {"Episodic", "Procedural"},
    "names": {"Semantic", "Entity"},
    "today": {"Operation", "Semantic", "Episodic", "Procedural"},
}
SEMANTIC, EPISODIC, PROCEDURAL = "#4C8EDA", "#F79767", "#57A773"


@pytest.fixture(scope="module")
def browser(server_settings: Settings, example: FluxMem, page: Page) -> Page:
    """Browser, logged in as the guide says, with our style and the namespace of the example."""
    server = EmbeddedServer(server_settings)
    page.goto(str(server.status().browser_url))
    user, password = server.credentials()
    page.get_by_test_id("username").fill(user)
    page.get_by_test_id("password").fill(password)
    page.get_by_test_id("connect").click()
    expect(page.get_by_text("You are connected as user")).to_be_visible()
    drop(page, browser_file("fluxmem.grass"))
    expect(page.get_by_test_id("frame").first).to_contain_text("node.Procedural")
    command(page, f":param namespace => '{NAMESPACE}'")
    expect(page.get_by_test_id("frame").first).to_contain_text(NAMESPACE)
    return page


def command(page: Page, text: str) -> None:
    """Type a line into the editor and run it."""
    page.get_by_test_id("activeEditor").click()
    page.keyboard.insert_text(text)
    page.get_by_test_id("editor-Run").click()


def drop(page: Page, file: Path) -> None:
    """Let a file fall on the page, as from a file manager."""
    given = [file.name, file.read_text(encoding="utf-8")]
    held = page.evaluate_handle(
        """([name, text]) => {
            const held = new DataTransfer();
            held.items.add(new File([text], name));
            return held;
        }""",
        given,
    )
    page.dispatch_event(".filedrop", "drop", {"dataTransfer": held})


def shown(page: Page, query: str) -> Locator:
    """Run a saved query, and return its frame once nodes are drawn in it."""
    command(page, ":clear")
    expect(page.get_by_test_id("frame")).to_have_count(0)
    drop(page, browser_file(query))
    page.locator(".filedrop-paste-in-editor").click()
    page.get_by_test_id("editor-Run").click()
    frame = page.get_by_test_id("frame")
    expect(frame.locator("g.node").first).to_be_visible()
    return frame


def test_every_saved_query_has_its_labels_here() -> None:
    assert {name.removesuffix(".cypher") for name in QUERIES} == set(LABELS)


@pytest.mark.parametrize("query", QUERIES)
def test_a_saved_query_draws_what_it_says(browser: Page, query: str) -> None:
    frame = shown(browser, query)
    for label in LABELS[query.removesuffix(".cypher")]:
        expect(frame.get_by_test_id(f"property-details-overview-node-label-{label}")).to_be_visible()


def test_the_three_layers_have_their_colours(browser: Page, pictures: Path) -> None:
    frame = shown(browser, "namespace.cypher")
    for colour in (SEMANTIC, EPISODIC, PROCEDURAL):
        assert frame.locator(f"g.node circle[fill='{colour}']").count() > 0
    # The picture is taken when the nodes have come to rest.
    browser.wait_for_timeout(5000)
    frame.screenshot(path=pictures / "browser.png")
