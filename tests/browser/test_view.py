"""The page of `fluxmem view` in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, Request

from fluxmem_cli.view import to_page
from fluxmem_graph import FluxMem
from fluxmem_graph.types import Picture, PictureNode

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HOSTILE = "</script><script>window.ran = true</script><img src=x onerror='window.ran = true'>"


def opened(page: Page, picture: Picture, file: Path) -> list[str]:
    """Open the page of a picture from its file, wait until it is drawn, and return what it asked for."""
    file.write_text(to_page(picture), encoding="utf-8")
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    page.goto(file.as_uri())
    page.locator("canvas").first.wait_for()
    page.wait_for_timeout(4000)
    page.remove_listener("request", note)
    return asked


def drawn(page: Page) -> int:
    """Return how many colours the drawing has: one where nothing is drawn."""
    return int(
        page.evaluate(
            """() => Math.max(...[...document.querySelectorAll('canvas')].map(canvas => {
                const context = canvas.getContext('2d');
                if (!context || !canvas.width) return 0;
                const image = context.getImageData(0, 0, canvas.width, canvas.height);
                return new Set(new Uint32Array(image.data.buffer)).size;
            }))"""
        )
    )


def test_the_page_draws_nodes_and_loads_nothing_else(
    page: Page, example: FluxMem, tmp_path: Path, pictures: Path
) -> None:
    asked = opened(page, example.picture(), tmp_path / "view.html")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert drawn(page) > 5
    for kind in ("semantic", "episodic", "procedural"):
        assert page.get_by_text(kind, exact=True).count() > 0
    page.screenshot(path=pictures / "view.png")


def test_an_empty_page_draws_nothing(page: Page, tmp_path: Path) -> None:
    opened(page, Picture((), ()), tmp_path / "empty.html")
    assert drawn(page) <= 2


def test_a_stored_script_does_not_run(page: Page, tmp_path: Path) -> None:
    nodes = tuple(PictureNode(f"{HOSTILE}{n}", "semantic", HOSTILE, HOSTILE, HOSTILE) for n in range(3))
    opened(page, Picture(nodes, ()), tmp_path / "hostile.html")
    assert drawn(page) > 2
    # What is pointed at and clicked shows its texts.
    for x in range(340, 941, 60):
        for y in range(200, 601, 60):
            page.mouse.click(x, y)
    page.wait_for_timeout(500)
    assert page.evaluate("window.ran") is None
