"""The final tables as LaTeX, for a paper: means and medians with their 95 % intervals."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import TextIO

from hushbandits.bench.declare.spec import Experiment
from hushbandits.bench.judge.line import lines
from hushbandits.bench.judge.stats import Interval
from hushbandits.bench.play.store import Store
from hushbandits.bench.show.tables import Row, columns, number, summaries
from hushbandits.core.ground.strangers import printable

__all__ = ["tex", "write_tables"]

#: What is a command to LaTeX, also behind the end of a row (``[``, ``*``), or is missing in its usual fonts.
_SIGNS = {
    **{c: f"\\{c}" for c in "#$%&_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\char34{}", "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}", "[": "{[}", "]": "{]}", "*": "{*}",
    "·": r"\textperiodcentered{}", "×": r"$\times$", "−": "$-$", "±": r"$\pm$", "∞": r"$\infty$", "≤": r"$\leq$",
    "≥": r"$\geq$", "≈": r"$\approx$", "→": r"$\to$", "–": r"\textendash{}", "—": r"\textemdash{}", "…": r"\ldots{}",
    "’": "'", "‘": "`",
    "“": "``", "”": "''", "√": r"$\surd$", "²": r"\textsuperscript{2}", "³": r"\textsuperscript{3}",
    "\N{NO-BREAK SPACE}": "~", "ε": r"$\varepsilon$", "ς": r"$\varsigma$", "ο": "o",
}  # fmt: skip


def tex(text: object) -> str:
    r"""Return the text as LaTeX writes it: nothing in it is a command, and Greek letters stand in math.

    Examples
    --------
    >>> print(tex("DP_SE, ε = 50 %"))
    DP\_SE, $\varepsilon$ = 50 \%
    """
    written = "".join(_SIGNS.get(c) or _greek(c) for c in " ".join(printable(text).split()))
    return re.sub("-(?=-)", "-{}", written)  # two hyphens are no dash


def _greek(letter: str) -> str:
    name = unicodedata.name(letter, "").split()
    if len(name) != 4 or name[0] != "GREEK" or name[2] != "LETTER":
        return letter
    command = {"LAMDA": "lambda"}.get(name[3], name[3].lower())
    if name[1] == "SMALL":
        return rf"$\{command}$"
    # Capitals that look like Latin ones have no command.
    latin = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧ", "ABEZHIKMNOPTX", strict=True))
    return rf"$\mathrm{{{latin[letter]}}}$" if letter in latin else rf"$\{command.capitalize()}$"


def _written(value: float | Interval | None) -> str:
    r"""Return a number in math, of four figures, or an interval; a dash for none, and for too few runs.

    Examples
    --------
    >>> _written(-1234567.8), _written(1e-05), _written(math.inf), _written(math.nan)
    ('$-1{,}234{,}568$', '$1 \\times 10^{-5}$', '$\\infty$', '--')
    """
    if isinstance(value, tuple):
        return "--" if value == (-math.inf, math.inf) else f"[{_written(value[0])}, {_written(value[1])}]"
    if value is None or math.isnan(value):
        return "--"
    if math.isinf(value):
        return r"$\infty$" if value > 0 else r"$-\infty$"
    digits, _, power = number(value).partition("e")
    digits = digits.replace(",", "{,}")
    return rf"${digits} \times 10^{{{int(power)}}}$" if power else f"${digits}$"


def write_tables(store: Store, out: TextIO) -> None:
    r"""Write a table for each experiment of a store; a paper needs ``\usepackage{booktabs}`` for them."""
    for i, experiment in enumerate(store.experiments):
        out.write("\n" if i else "% \\usepackage{booktabs}\n")
        _table(store, experiment, out)


def _table(store: Store, experiment: Experiment, out: TextIO) -> None:
    swept = list(experiment.sweep)
    out.write(
        f"% {printable(experiment.name)}: means with Student's interval, medians with that of order statistics,\n"
    )
    out.write("% rates with Clopper and Pearson's\n")
    out.write(f"\\begin{{tabular}}{{l{'r' * len(swept)}lrrrrr}}\n\\toprule\n")
    out.write(" & ".join(map(tex, columns(swept))) + " \\\\\n\\midrule\n")
    before = None
    for row in summaries(lines(store, experiment), experiment.metrics):
        out.write(" & ".join(_row(row, swept, row.cell is not before)) + " \\\\\n")
        before = row.cell
    out.write("\\bottomrule\n\\end{tabular}\n")


def _row(row: Row, swept: list[str], fresh: bool) -> list[str]:
    point = [row.cell.point[name] for name in swept]
    names = [tex(row.cell.line), *map(_value, point)] if fresh else [""] * (1 + len(swept))
    return [*names, tex(row.label), *map(_written, (row.runs, *row.numbers))]


def _value(value: object) -> str:
    """A swept value as it was given: no figure of it is rounded away."""
    return f"${value!r}$" if type(value) is int else tex(value)
