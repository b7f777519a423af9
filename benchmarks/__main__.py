"""``python -m benchmarks``: what a pull costs, and how that compares with before; and every other benchmark by name."""

import argparse
import ast
import os
import sys
from importlib import import_module
from pathlib import Path

#: The others, each a module with a `main`, which takes the words behind its name.
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
    "coverage",
    "verdicts",
    "reasons",
)

_HELP = """\
Without a name: play small games of every setting and print what a pull costs, in nanoseconds of CPU time and as a
multiple of the same game's loop by hand, compiled (benchmarks/loops.py); where there is none, of UCB1's. Cells take
turns in one process and the best turn counts, so that a busy machine hits all alike: ratios may be compared between
days, and between machines of one kind. About a minute, and another where nothing is compiled yet.

  python -m benchmarks             the table
  python -m benchmarks --compare   and which ratio has moved by more than a tenth since benchmarks/ratios.json was made
  python -m benchmarks --write     make benchmarks/ratios.json anew: once a change of speed is meant

Exit code: 0; 1 where --compare finds one that moved; 2 for a slip.

With a name (and its own words behind it), the numbers of another page:

"""


def scripts():
    """Each name and what its first line says it is."""
    for name in SCRIPTS:
        told = ast.get_docstring(ast.parse(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf8")))
        yield f"  python -m benchmarks {name:<12}{told.splitlines()[0].partition(': ``')[0].rstrip('.')}"


def parser():
    """The options of the table."""
    made = argparse.ArgumentParser(
        "python -m benchmarks", description=_HELP + "\n".join(scripts()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    made.add_argument("--compare", action="store_true", help="say which ratio moved, and exit with 1 where one did")
    made.add_argument("--write", action="store_true", help="save the table as the one to compare with")
    made.add_argument("--turns", type=int, default=12, metavar="N", help="turns of which the best counts (12)")
    return made


def main(words):
    """Print the table, or do what is named; return the exit code."""
    if words and words[0] in SCRIPTS:
        import_module(f"benchmarks.{words[0]}").main(*words[1:])
        return 0
    if words and not words[0].startswith("-"):
        parser().error(f"no benchmark is named {words[0]!r}: there are {', '.join(SCRIPTS)}")
    asked = parser().parse_args(words)
    if asked.turns < 1:
        parser().error(f"--turns {asked.turns} must be at least 1")
    os.environ["OMP_NUM_THREADS"] = (
        "1"  # before NumPy comes: threads of its algebra would count, and wait for the machine
    )
    from benchmarks import ratios
    from benchmarks.cells import CELLS

    found = ratios.measured(CELLS, asked.turns)
    print(ratios.table(found))
    told = list(ratios.moved(found, ratios.read()["cells"])) if asked.compare else []
    for sentence in told:
        print(sentence)
    if asked.write:
        ratios.write(found)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
