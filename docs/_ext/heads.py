"""What a page's head says, its pictures, and its link to the source."""

from html import escape

from docutils import nodes


def lazy(app, doctree):
    """Load each picture when it comes into view."""
    for image in doctree.findall(nodes.image):
        image["loading"] = "lazy"


def head(app, pagename, templatename, context, doctree):
    """Describe a page by its first paragraph; without a public source, a page has no link to edit it."""
    first = next(doctree.findall(nodes.paragraph), None) if doctree else None
    if first is not None:
        text = " ".join(first.astext().split())
        text = text if len(text) <= 160 else f"{text[:160].rpartition(' ')[0]} …"
        context["metatags"] = context.get("metatags", "") + f'<meta name="description" content="{escape(text)}">\n'
    if "/made/" in pagename or "example.org" in app.config.html_context["edit_page_url_template"]:
        context["page_source_suffix"] = ""


def setup(app):
    """Connect both."""
    app.connect("doctree-read", lazy)
    app.connect("html-page-context", head)
    return {"parallel_read_safe": True}
