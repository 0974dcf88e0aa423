"""Sphinx settings of the documentation site: ``make docs``. Needs no network, no data and no screen."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]

# examples draw into files, and nothing waits for a display or spreads over cores that others use
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import facereject  # noqa: E402

project = "facereject"
author = "the facereject authors"
copyright = author
version = release = facereject.__version__

extensions = [
    "api_pages",
    "mathml",
    "myst_parser",
    "numpydoc",
    "plain_docstrings",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_ext", "examples", "gallery/**/*.ipynb", "gallery/**/*.json"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

# names in single backticks become links where they name something, and stay words where they do not
default_role = "autolink"
autosummary_generate = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "subsection_order": ["examples/faces", "examples/any_predictor"],
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "show_signature": False,
    # what an example wants to show it prints; "<RiskCoverageDisplay object at ...>" says nothing
    "capture_repr": (),
    "min_reported_time": 0,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = f"facereject {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
