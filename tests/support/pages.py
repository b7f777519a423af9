"""The written pages: those at the root, and those of the site that are not generated."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = sorted(p for p in (ROOT / "docs").rglob("*.md") if "made" not in p.parts)


def title(page):
    """Return a page's path from the root."""
    return str(page.relative_to(ROOT))
