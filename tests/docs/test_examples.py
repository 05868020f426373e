"""Examples of the gallery: the quick ones run here, all of them in ``make docs`` (workflow docs.yml)."""

import pytest

from tests.docs.test_pages import ROOT

EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))
#: A second or two each. The site's environment has no PyTorch, so the example of PANDA runs here alone.
QUICK = (
    "plot_10",
    "plot_17",
    "plot_41",
    "plot_45",
)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::fairask.errors.FairaskWarning"
)  # advice to users is no fault of an example
@pytest.mark.parametrize("name", QUICK)
def test_an_example_runs_and_draws(name, tmp_path, monkeypatch):
    import matplotlib.pyplot as plt

    if name == "plot_17":
        pytest.importorskip("torch")
    (path,) = [path for path in EXAMPLES if path.name.startswith(name)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    exec(compile(path.read_text("utf-8"), path.name, "exec"), {"__name__": "example"})
    assert plt.get_fignums()
    plt.close("all")


def test_every_example_is_in_a_section_of_the_gallery():
    sections = {path.parent for path in (ROOT / "examples").glob("*/GALLERY_HEADER.rst")}
    assert not [path.name for path in EXAMPLES if path.parent not in sections]


def test_the_workflow_runs_all_examples_and_fails_with_them():
    conf = (ROOT / "docs" / "conf.py").read_text("utf-8")
    assert '"plot_gallery": "True"' in conf
    assert '"only_warn_on_example_error": False' in conf
    workflow = (ROOT / ".github" / "workflows" / "docs.yml").read_text("utf-8")
    assert "pull_request:" in workflow
    assert "run: make docs" in workflow
