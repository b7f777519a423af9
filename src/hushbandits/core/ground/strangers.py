"""What somebody else wrote: code, and texts that a terminal shows."""

from __future__ import annotations

import unicodedata

_PACKAGE = __name__.partition(".")[0]


def printable(text: object) -> str:
    """Return a text so that a terminal shows it and does not obey it: what steers is written as its number.

    Line ends and tabs stay; escapes, other controls, marks that turn the direction, and half characters do not.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in _STEERING else _number(c) for c in text)


#: Categories of controls, formats, surrogates, private and unassigned characters, and of line separators.
_STEERING = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _number(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def ships(code: object) -> bool:
    """Whether a class or function is code of this package; what has no module (a ``partial``) is not."""
    return str(getattr(code, "__module__", "")).partition(".")[0] == _PACKAGE
