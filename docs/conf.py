"""How the site is built: ``python -m sphinx -W docs site`` (extra ``docs``)."""

import sys
from pathlib import Path

import hushbandits

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "hushbandits"
author = "the founders of hushbandits"
version = release = hushbandits.__version__

extensions = [
    "myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "tables",
]  # fmt: skip
exclude_patterns = ["_*", "README.md"]
default_role = "code"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
numpydoc_show_class_members = False
# What is documented as a parameter is one, and sections have their names, order and form.
numpydoc_validation_checks = {
    "PR02", "PR05", "PR06", "PR10", "RT02", "RT04", "RT05", "GL01", "GL03", "GL05", "GL06", "GL07", "GL10", "YD01",
}  # fmt: skip
nitpicky = True
# Bases of what is documented that have no page of their own.
nitpick_ignore = [
    ("py:class", "hushbandits.core.random.arms.Arms"),
    ("py:class", "hushbandits.envs.rounds.reports.Reports"),
    ("py:class", "hushbandits.envs.rounds.task.ArmTask"),
]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
highlight_language = "none"

html_theme = "pydata_sphinx_theme"
html_title = "hushbandits"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"index": [], "start": [], "gallery": []}  # they stand alone: nothing to list beside them
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": True,
}
copyright = "the founders of hushbandits, MIT licence"
