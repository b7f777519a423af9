"""Digests of source files."""

import functools
import hashlib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent  # the package's folder


@functools.cache
def source_digest(folder: Path = ROOT, pattern: str = "**/*.py", words: tuple[bytes, ...] = (b"",)) -> str:
    """Return the SHA-256 of names and contents of the files in `folder` that contain one of `words`."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob(pattern)):
        text = path.read_bytes()
        if any(word in text for word in words):
            digest.update(f"{path.relative_to(folder).as_posix()} {len(text)}\n".encode() + text)
    return digest.hexdigest()
