"""What the README tells a newcomer to type works."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracerank.cli import demo as demo_module
from tracerank.cli.app import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo has run, with fewer questions, which are the first of the many."""
    folder = tmp_path_factory.mktemp("readme")
    demo_module.TRAINED_QUESTIONS, demo_module.HELD_OUT_QUESTIONS = 60, 60
    result = CliRunner().invoke(app, ["demo", "-o", str(folder / "runs" / "demo"), "--quiet"])
    assert result.exit_code == 0, result.output
    return folder


def test_the_demo_replaces_the_training_data_of_another_version(demo: Path) -> None:
    manifest = demo / "runs/demo/checkpoint/training/examples/manifest.json"
    manifest.write_text(manifest.read_text().replace('"source": "', '"source": "older '))
    result = CliRunner().invoke(app, ["demo", "-o", str(demo / "runs" / "demo"), "--quiet"])
    assert result.exit_code == 0, result.output


def test_the_demo_says_that_its_world_is_generated_and_shows_what_evaluate_measures(demo: Path) -> None:
    shown = CliRunner().invoke(app, ["demo", "-o", str(demo / "runs" / "demo"), "--quiet"]).stdout
    assert "generated questions that no selector has seen" in shown
    shown = shown.partition("2. Generated questions")[2]
    labels = {"checkpoint": ("trace-plus", "TRACE over marks"), "checkpoint-paper": ("trace", "TRACE as in the paper")}
    for folder, network in labels.items():
        files = [str(demo / "runs/demo/pools.jsonl"), "--checkpoint", str(demo / "runs/demo" / folder)]
        result = CliRunner().invoke(app, ["evaluate", *files, "-k", "8", "--json"])
        assert result.exit_code == 0, result.output
        accuracy = dict(re.findall(r'"method": "([\w-]+)".*?"accuracy": ([\d.]+)', result.stdout, re.DOTALL))
        for method, label in (("majority", "vote"), network, ("oracle", "best possible")):
            assert re.search(rf"{label}.* {100 * float(accuracy[method]):.1f} ", shown)


def test_every_file_that_the_readme_links_exists() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_module_of_the_paper_map_exists() -> None:
    text = (ROOT / "docs/paper-map.md").read_text(encoding="utf-8")
    for path in re.findall(
        r"`((?:tests|answers|pools|readers|methods|selectors|evaluation|fitting|agents)/[\w/]+\.py)`", text
    ):
        assert (ROOT / path).exists() or (ROOT / "src/tracerank" / path).exists(), path
