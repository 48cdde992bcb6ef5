"""Figures: what is in them, not how they look."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from tracerank.errors import UsageError
from tracerank.evaluation import plots
from tracerank.evaluation.plots import draw_accuracy_by_cost, draw_accuracy_by_k, draw_gain_by_k
from tracerank.evaluation.report import CostPoint, Curve


def curve(method: str, *accuracy: float) -> Curve:
    ks = tuple(2**n for n in range(len(accuracy)))
    return Curve(method, ks, accuracy, tuple(a - 0.05 for a in accuracy), tuple(a + 0.05 for a in accuracy))


def texts(path: Path) -> list[str]:
    return [element.text or "" for element in ElementTree.parse(path).iter() if element.tag.endswith("}text")]


def test_every_line_is_named_and_names_are_escaped(tmp_path: Path) -> None:
    curves = [curve("trace", 0.3, 0.5), curve("<script>$x_", 0.3, 0.4), curve("oracle", 0.3, 0.9)]
    svg, png = draw_accuracy_by_k(curves, "title", tmp_path)
    assert {"TRACE", "<script>$x_", "oracle", "title"} <= set(texts(svg))
    assert "<script>" not in svg.read_text()
    assert png.read_bytes().startswith(b"\x89PNG")


def test_gains_are_drawn_around_the_baseline_with_their_bands(tmp_path: Path) -> None:
    svg, _ = draw_gain_by_k([curve("trace = gated", -0.01, 0.04), curve("weighted", 0.0, 0.01)], "title", tmp_path)
    assert {"trace = gated", "weighted", "gain, points"} <= set(texts(svg))


def test_methods_named_together_keep_the_colour_of_the_one_that_has_one() -> None:
    together, alone = plots._colours(["gated = majority", "other"])
    assert together == plots._colours(["majority"])[0] != alone


def test_the_same_figures_give_the_same_bytes(tmp_path: Path) -> None:
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        draw_accuracy_by_k([curve("trace", 0.3, 0.5)], "t", folder)
    assert (tmp_path / "a" / "accuracy_by_k.svg").read_bytes() == (tmp_path / "b" / "accuracy_by_k.svg").read_bytes()


def test_dots_are_named_with_times_in_units(tmp_path: Path) -> None:
    svg, _ = draw_accuracy_by_cost([CostPoint("majority", 1e-4, 0.4), CostPoint("solagg", 12.0, 0.45)], "t", tmp_path)
    assert {"majority", "solagg"} <= set(texts(svg))
    assert any(text.endswith(" ms") for text in texts(svg))


def test_a_single_point_and_a_single_k_can_be_drawn(tmp_path: Path) -> None:
    draw_accuracy_by_k([curve("trace", 0.3)], "t", tmp_path)
    draw_accuracy_by_cost([CostPoint("trace", 1.0, 0.5)], "t", tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_labels_of_equal_lines_are_moved_apart() -> None:
    heights = plots._spread([(1.0, 0.5), (1.0, 0.5), (1.0, 0.5), (1.0, 0.9)], [1.0] * 4)
    assert heights[3] == 0.9
    low, middle, high = sorted(heights[:3])
    assert min(high - middle, middle - low) > 0.04
    assert plots._spread([(0.0, 0.5), (0.9, 0.5)], [0.2, 0.2]) == [0.5, 0.5]
    assert plots._spread([(0.0, 0.5), (0.9, 0.5)], [1.0, 0.2]) != [0.5, 0.5]  # the left one's name is long


def test_without_matplotlib_the_way_to_get_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r"^plots need matplotlib; install it: .* -m pip install "):
        draw_accuracy_by_k([curve("trace", 0.3)], "t", tmp_path)
