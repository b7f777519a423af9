"""What a terminal or a pipe can take: letters that its encoding lacks, and readers that have gone."""

from __future__ import annotations

import codecs
import os
import sys
import unicodedata

__all__ = ["let_go", "spell_out"]

_ALIKE = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ϵ": "epsilon", "η": "eta", "ξ": "xi",
    "σ": "sigma", "τ": "tau", "≥": ">=", "≤": "<=", "∞": "inf", "−": "-", "–": "-", "—": "-", "·": "-", "×": "x",
    "→": "->", "●": "*", "○": "o", "‘": "'", "’": "'", "“": '"', "”": '"', "─": "-", "━": "-", "╸": "-", "╺": "-",
    "│": "|", "┃": "|", "√": "sqrt",
}  # fmt: skip


def _ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_ALIKE.get(c) or _bare(c) or "?" for c in lacking), error.end


def _bare(letter: str) -> str:
    """The letter without its accents, or its plain form, if that is ASCII."""
    return unicodedata.normalize("NFKD", letter).replace("\u2044", "/").encode("ascii", "ignore").decode()


codecs.register_error("hushbandits.ascii", _ascii)


def spell_out() -> None:
    """Let standard output and error write what their encoding lacks as ASCII letters, or ``?``.

    Examples
    --------
    >>> "ε ≥ ½, é, 猫".encode("ascii", "hushbandits.ascii")
    b'epsilon >= 1/2, e, ?'
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="hushbandits.ascii")


def let_go() -> None:
    """Flush standard output; if nobody takes it any more, keep the interpreter from trying again as it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
