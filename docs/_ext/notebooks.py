"""Each tutorial as a notebook: examples become cells without prompts, and a cell writes each file that a page shows."""

import doctest
import re
from pathlib import Path

import jupytext

DOCS = Path(__file__).parents[1]
MADE = DOCS / "_static" / "notebooks"
INSTALL = """```python
import importlib.util

if importlib.util.find_spec("hushbandits") is None:
    %pip install --quiet "hushbandits[bench,es,secagg]"
```
"""


def notebook(text):
    """Return a page's notebook as JSON; links to other pages become plain words."""

    def cell(block):
        source = "".join(example.source for example in doctest.DocTestParser().get_examples(block[1]))
        return f"```python\n{source}```"

    text = re.sub(r"```pycon\n(.*?)```", cell, text, flags=re.S)
    text = re.sub(r"```\w+\n# (\w+\.\w+)\n", r"```python\n%%writefile \1\n", text)
    text = re.sub(r"\[([^]]+)\]\((?!http)[^)]+\)", r"\1", text)
    title, body = text.split("\n", 1)
    made = jupytext.reads(f"{title}\n\n{INSTALL}{body}", "md")
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return jupytext.writes(made, "ipynb")


def write(app):
    """Write the notebooks, where the site's static files are."""
    MADE.mkdir(parents=True, exist_ok=True)
    for page in (DOCS / "tutorials").glob("*.md"):
        if page.stem != "index":
            (MADE / f"{page.stem}.ipynb").write_text(notebook(page.read_text(encoding="utf8")), encoding="utf8")


def link(app, pagename, templatename, context, doctree):
    """Tell a tutorial's template its notebook, and where Colab finds it."""
    folder, _, name = pagename.rpartition("/")
    if folder == "tutorials" and name != "index":
        context["notebook"], context["colab"] = f"_static/notebooks/{name}.ipynb", app.config.colab


def setup(app):
    """Make the notebooks before the pages are read."""
    app.add_config_value("colab", "", "html")
    app.connect("builder-inited", write)
    app.connect("html-page-context", link)
    return {"parallel_read_safe": True}
