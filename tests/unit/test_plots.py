"""What the pictures of an evaluation show."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.evaluation.plots import check_matplotlib, learning_figure, refinement_figure, save_png

REFINEMENT: dict[str, Any] = {
    "rounds": [0.5, 0.7, 0.9],
    "paging": [0.5, 0.6, 0.65],
    "requery": [0.5, 0.65, 0.8],
    "questions": 20,
}
LEARNING: dict[str, Any] = {
    "seen": {"learning": 0.8, "frozen": 0.7, "questions": 12},
    "unseen": {"learning": 0.6, "frozen": 0.61, "questions": 8},
    "second_pass": {"learning": 0.9, "frozen": 0.65, "questions": 20},
    "curve": [
        {"share": 0.5, "learning": 0.65, "frozen": 0.66},
        {"share": 1.0, "learning": 0.8, "frozen": 0.68},
    ],
}
PNG = b"\x89PNG\r\n\x1a\n"


def test_refinement_is_a_line_per_system_over_the_rounds() -> None:
    [axes] = refinement_figure(REFINEMENT).axes
    drawn = {str(line.get_label()): np.array(line.get_ydata()).tolist() for line in axes.get_lines()}
    assert drawn == {
        "refinement": REFINEMENT["rounds"],
        "paging": REFINEMENT["paging"],
        "requery": REFINEMENT["requery"],
    }
    assert [int(tick) for tick in axes.get_xticks()] == [0, 1, 2]
    assert "20 questions" in axes.get_title()


def test_learning_is_a_curve_along_the_pass_and_bars_per_group() -> None:
    along, groups = learning_figure(LEARNING).axes
    drawn = {str(line.get_label()): np.array(line.get_xydata()).tolist() for line in along.get_lines()}
    assert drawn == {"frozen": [[0.5, 0.66], [1.0, 0.68]], "learning": [[0.5, 0.65], [1.0, 0.8]]}
    bars = [bar for bar in groups.patches if isinstance(bar, Rectangle)]
    assert [bar.get_height() for bar in bars] == [0.7, 0.61, 0.65, 0.8, 0.6, 0.9]
    named = [label.get_text() for label in groups.get_xticklabels()]
    assert named == ["seen evidence\n(12)", "unseen evidence\n(8)", "second pass\n(20)"]


@pytest.mark.parametrize("figure", [refinement_figure(REFINEMENT), learning_figure(LEARNING)])
def test_a_figure_is_written_as_png(figure: Any, tmp_path: Path) -> None:
    file = tmp_path / "curve"
    save_png(figure, file)
    assert file.read_bytes().startswith(PNG)


def test_a_missing_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigurationError, match=r"fluxmem-graph\[plots\]"):
        check_matplotlib()
