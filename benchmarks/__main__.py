"""``python -m benchmarks``: measure the cost of a pull, compare it with a saved table, or run a named benchmark."""

import argparse
import ast
import os
import sys
from importlib import import_module
from pathlib import Path

#: Other benchmarks: modules with a `main` that takes the words behind their name.
SCRIPTS = (
    "peers",
    "views",
    "resets",
    "network",
    "observer",
    "feedback",
    "harness",
    "reference",
    "board",
    "gallery",
    "scale",
    "scores",
    "tuned",
    "learning",
    "messages",
    "coverage",
    "verdicts",
    "reasons",
    "archive",
    "vetting",
    "outside",
    "losses",
    "same",
    "linear",
    "typed",
)

_HELP = """\
Without a name: play small runs of every setting and print the cost of a pull, in nanoseconds of CPU time and as a
multiple of a hand-written compiled loop for the same game (benchmarks/loops). Cells take turns in one process and the
best turn counts, so that load affects all alike: ratios are comparable between days and between machines of one kind.
This takes a minute, and another one or two for compilation.

  python -m benchmarks             the table
  python -m benchmarks --compare   the table, and ratios that differ by more than a tenth from benchmarks/ratios.json
  python -m benchmarks --write     write benchmarks/ratios.json, after an intended change of speed

Exit code: 0; 1 if --compare finds a changed ratio; 2 for invalid arguments.

With a name (and its arguments), the numbers of another page:

"""


def scripts():
    """Yield each name with the first line of its docstring."""
    for name in SCRIPTS:
        shown = ast.get_docstring(ast.parse(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf8")))
        yield f"  python -m benchmarks {name:<12}{shown.splitlines()[0].partition(': ``')[0].rstrip('.')}"


def parser():
    """Return the parser of the table's options."""
    made = argparse.ArgumentParser(
        "python -m benchmarks", description=_HELP + "\n".join(scripts()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    made.add_argument("--compare", action="store_true", help="report changed ratios, and exit with 1 if there are any")
    made.add_argument("--write", action="store_true", help="save the table for later comparisons")
    made.add_argument("--turns", type=int, default=12, metavar="N", help="number of turns; the best counts (12)")
    return made


def main(words):
    """Print the table, or run the named benchmark; return the exit code."""
    if words and words[0] in SCRIPTS:
        import_module(f"benchmarks.{words[0]}").main(*words[1:])
        return 0
    if words and not words[0].startswith("-"):
        parser().error(f"no benchmark is named {words[0]!r}: there are {', '.join(SCRIPTS)}")
    asked = parser().parse_args(words)
    if asked.turns < 1:
        parser().error(f"--turns {asked.turns} must be at least 1")
    os.environ["OMP_NUM_THREADS"] = (
        "1"  # set before NumPy is imported: threads of its linear algebra would count and depend on the load
    )
    from benchmarks import ratios
    from benchmarks.cells import CELLS

    found = ratios.measured(CELLS, asked.turns)
    print(ratios.table(found))
    shown = list(ratios.moved(found, ratios.read()["cells"])) if asked.compare else []
    for sentence in shown:
        print(sentence)
    if asked.write:
        ratios.write(found)
    return 1 if shown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
