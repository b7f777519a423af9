"""How the site is built: ``python -m sphinx -W docs site`` (extra ``docs``)."""

import sys
import tomllib
from pathlib import Path

import hushbandits

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))
#: A release sets it in pyproject.toml.
SOURCE = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf8"))["project"]["urls"]["Source"]

project = "hushbandits"
author = "the founders of hushbandits"
version = release = hushbandits.__version__

extensions = [
    "myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax",
    "sphinx_copybutton", "heads", "notebooks", "tables",
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
    # Of an alias's right side.
    ("py:class", "collections.abc.Callable"),
    ("py:class", "gymnasium.spaces.space.Space"),
]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
highlight_language = "none"
# The copy button leaves out prompts and output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
# Colab opens notebooks of a branch on GitHub: that of the published site.
colab = (
    SOURCE.replace("github.com", "colab.research.google.com/github") + "/blob/gh-pages" if "github" in SOURCE else ""
)

html_theme = "pydata_sphinx_theme"
html_title = "hushbandits"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
templates_path = ["_templates"]
html_sidebars = {page: [] for page in ("index", "start", "search", "genindex")}  # nothing to list beside them
html_context = {"edit_page_url_template": SOURCE + "/edit/main/docs/{{ file_name }}"}
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "use_edit_page_button": True,
    "secondary_sidebar_items": {"**": ["page-toc", "notebook", "edit-this-page"], "index": []},
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": True,
}
copyright = "the founders of hushbandits, MIT licence"
