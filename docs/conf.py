"""Sphinx settings. ``make docs`` builds the site with warnings as errors."""

from __future__ import annotations

import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib
from sphinx_gallery.sorting import FileNameSortKey

matplotlib.use("agg")
# Examples are small: one thread is faster than many, and the pictures do not depend on the machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import fairask

project = "fairask"
author = "The fairask developers"
copyright = "2026, the fairask developers"
version = release = fairask.__version__

extensions = [
    "api_pages",
    "pictures",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
]
exclude_patterns = [
    "_build",
    "_templates",
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
    "gallery/**/*.md5",
    "**/GALLERY_HEADER.rst",
]
templates_path = ["_templates"]
root_doc = "index"
nitpicky = False
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "deflist", "attrs_block"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# PyTorch is too large for the site's environment. Where it is missing, the example of PANDA is shown and not run; tests run it.
NEEDS_TORCH = "" if find_spec("torch") else r"(?!17_panda)"

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_" + NEEDS_TORCH,
    "within_subsection_order": FileNameSortKey,
    "nested_sections": False,
    "doc_module": ("fairask", "fairask_studio"),
    "reference_url": {"fairask": None, "fairask_studio": None},
    "backreferences_dir": "api/backreferences",
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 10,
    "write_computation_times": False,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "plot_gallery": "True",
}

# `make lite`: the examples that need the core alone also run in the reader's browser, with the wheel of this checkout.
NOT_IN_BROWSER = ("plot_17", "plot_24", "plot_5", "plot_6")


def for_browser(notebook: dict[str, object], path: str) -> None:
    """Begin a notebook by installing fairask, or by saying that it cannot run in a browser."""
    if not Path(path).name.startswith(NOT_IN_BROWSER):
        code = "import piplite\n\nawait piplite.install(['fairask', 'matplotlib'])"
        cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": [code]}
    else:
        text = "This example needs files or a server: it does not run in a browser."
        cell = {"cell_type": "markdown", "metadata": {}, "source": [text]}
    notebook["cells"].insert(0, cell)  # type: ignore[attr-defined]


if os.environ.get("FAIRASK_DOCS_LITE"):
    extensions.append("jupyterlite_sphinx")
    # Newer versions keep the name of a folder of contents; the gallery links to paths without it.
    jupyterlite_content_dir = "jupyterlite_contents"
    sphinx_gallery_conf["jupyterlite"] = {
        "use_jupyter_lab": True,
        "notebook_modification_function": for_browser,
    }

html_theme = "pydata_sphinx_theme"
html_title = "fairask"
html_favicon = "_static/mark.svg"
html_static_path = ["_static"]
html_extra_path = ["llms.txt"]
html_css_files = ["site.css"]
html_js_files = ["folds.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "fairask", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# What examples warn about is part of what they show; what the tools below warn about is not.
warnings.filterwarnings("ignore", category=DeprecationWarning, module="sphinx")
