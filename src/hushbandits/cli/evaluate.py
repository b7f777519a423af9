"""``hushbandits evaluate ID AGENT ...``: what agents reach in one env, without an experiment or a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.compare import compare
from hushbandits.bench.evaluate import evaluate as evaluated
from hushbandits.bench.report.compared import heads, notes, rows
from hushbandits.bench.report.tables import columns, summaries, written
from hushbandits.bench.report.terminal import print_table
from hushbandits.bench.results import Results
from hushbandits.bench.runner.batch import numbers_of, prepare
from hushbandits.bench.runner.options import RunOptions
from hushbandits.cli.console import Several, bad_input_is_a_sentence, escape, make_console, noted, of_env_and_agent
from hushbandits.core.ground.validate import choice

__all__ = ["evaluate"]


def evaluate(
    id: Annotated[Positional[str], arg(metavar="ID")],
    agents: Annotated[Positional[tuple[str, ...]], arg(metavar="NAME|MODULE:CLASS ...")] = (),
    runs: int = 20,
    seed: int = 0,
    jobs: int = 1,
    metric: str | None = None,
    set: Annotated[Several, arg(metavar="KEY=VALUE")] = (),
    wrappers: Annotated[Several, arg(metavar="NAME|MODULE:CLASS")] = (),
) -> int:
    """Play agents in one env; show what each reaches, with 95 % intervals, and the differences of all pairs.

    It is hb.evaluate of each, and hb.compare of all: the same numbers, whatever --jobs. All agents meet the same arms,
    graphs and rewards. Nothing is written; hushbandits run keeps what it plays, and can be stopped. Examples:

      hushbandits evaluate CoopNetwork-v0 Multi-UCB UCB1 --runs 50 --set env.graph=grid --set env.n_agents=9
      hushbandits evaluate DPMASE-Train-v0 Gap-Vote ES-DPMASE sb3:runs/mine --metric correct
      hushbandits evaluate DistDP-Train-v0 Dist-DP-SE --set agent.epsilon=0.5

    Parameters
    ----------
    id
        An environment; see hushbandits list envs.
    agents
        Who plays, all seats: registered ones, policies that were trained (sb3:FOLDER), or your own.
    runs
        Of each agent.
    seed
        Seeds the runs.
    jobs
        Processes; -1: one per core.
    metric
        Only this one, which all agents have; default: all of one number a run, and the first of all agents is compared.
    set
        A parameter of the env, or of every agent, such as env.n_agents=8 or agent.epsilon=0.5 (repeatable).
    wrappers
        On messages' way, outermost first (repeatable).
    """
    with bad_input_is_a_sentence():
        env, given = of_env_and_agent(set)
        if not agents:
            raise ValueError(f"no agent is named: hushbandits evaluate {id} AGENT …, such as UCB1")
        if twice := [agent for agent in agents if agents.count(agent) > 1]:
            raise ValueError(f"agents: {twice[0]} is named twice")
        with noted():
            # a slip in the last name is told before the first one plays
            met = [prepare(id, agent, 1, env, given, wrappers) for agent in agents]
            if metric is not None:
                offered = [numbers_of(*both) for both in met]
                choice("metric", metric, [name for name in offered[0] if all(name in one for one in offered)])
            options = RunOptions(jobs, checkpoints=())
            found = [evaluated(id, agent, runs, seed, env, given, wrappers, options) for agent in agents]
        asked = [metric] if metric is not None else []
        console = make_console()
        body = [
            [row.cell.line, row.metric, str(row.runs), *map(written, row.numbers)]
            for result in found
            for row in summaries(result.configurations, asked)
        ]
        faced = ", ".join(
            f"{name} {value}" for name, value in found[0].configurations[0].faced.items() if name != "env"
        )
        print_table(console, f"{id}{faced and f': {faced}'}", columns(()), body, named=1, left=(0, 1))
        if len(found) > 1:
            compared = compare(*found, metric=(asked or _of_all(found))[0])
            print_table(console, compared.metric, heads(compared.level), rows(compared), named=2, left=(0, 1))
            for note in notes(compared):
                console.print(escape(note))
    return 0


def _of_all(found: Sequence[Results]) -> list[str]:
    """Metrics of one number a run that all results have."""
    first, *others = ([name for c in r.configurations for name in c.metrics()] for r in found)
    return [name for name in first if all(name in names for names in others)]
