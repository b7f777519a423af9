"""The pictures of docs/gallery.md: ``python -m benchmarks gallery FOLDER [NAME ...]``.

It plays the commands of docs/images/gallery/commands.json, or those of the names only, each into a separate folder of
FOLDER, where an interrupted one continues; then it replaces the gallery's figures by the new ones.
"""

import json
import subprocess
import sys
from pathlib import Path

from PIL import Image

IMAGES = Path(__file__).parents[1] / "docs" / "images" / "gallery"


def main(folder, *names):
    """Play, and convert the figures."""
    commands = json.loads((IMAGES / "commands.json").read_text(encoding="utf8"))
    for name in names or commands:
        out = Path(folder) / name
        words = commands[name].split()[1:]
        subprocess.run([sys.executable, "-m", "hushbandits", *words, "--out", str(out)], check=True)
        with Image.open(out / f"{name}.png") as drawn:
            drawn.convert("RGB").save(IMAGES / f"{name}.webp", quality=85, method=6)
