"""``hushbandits evaluate ID AGENT ...``: evaluate agents in one env, without an experiment or a folder."""

from dataclasses import replace
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.comparison import compare
from hushbandits.bench.evaluate import evaluate as evaluated
from hushbandits.bench.evaluate import planned
from hushbandits.bench.report.tables import columns, summaries, written
from hushbandits.bench.report.terminal import print_table
from hushbandits.bench.runner.batch import numbers_of
from hushbandits.bench.runner.cost import estimate
from hushbandits.bench.runner.options import RunOptions
from hushbandits.bench.runner.pool import kept
from hushbandits.cli.console import Game, Players, make_console, parameters, print_pairs, say_cost
from hushbandits.core import choice


def evaluate(
    id: Annotated[Positional[str], arg(metavar="ID")],
    agents: Annotated[Positional[tuple[str, ...]], arg(metavar="NAME|MODULE:CLASS ...")] = (),
    runs: int = 20,
    jobs: int = 1,
    metric: str | None = None,
    dry_run: bool = False,
    game: Players = Game(),  # noqa: B008 - frozen
) -> int:
    """Evaluate agents in one env, and compare all pairs of agents.

    The command prints means with 95 % intervals, which hb.evaluate and hb.compare also return. All agents face the
    same arms, graphs and rewards. Nothing is saved; hushbandits run saves runs and can continue them. Examples:

      hushbandits evaluate CoopNetwork-v0 Multi-UCB UCB1 --runs 50 --set env.graph=grid --set env.n_agents=9
      hushbandits evaluate DPMASE-Train-v0 Gap-Vote ES-DPMASE sb3:runs/mine --metric correct
      hushbandits evaluate DistDP-Train-v0 Dist-DP-SE --set agent.epsilon=0.5
      hushbandits evaluate CoopNetwork-v0 Multi-UCB UCB --set UCB.sigma=0.4 --wrappers Huber --set Huber.rate=0.1

    Parameters
    ----------
    id
        Id of an env; see hushbandits list envs.
    agents
        Registered agents, trained policies (sb3:FOLDER) or user-defined agents.
    runs
        Number of runs of each agent.
    jobs
        Number of processes; -1: one per core.
    metric
        Print and compare only this metric, which all agents must have. Default: print all metrics with one number per
        run, and compare the first metric.
    dry_run
        Print runs, memory and CPU minutes, from short probes, and play nothing else.
    """
    if not agents:
        raise ValueError(f"name at least one agent, as in: hushbandits evaluate {id} UCB1")
    if twice := [agent for agent in agents if agents.count(agent) > 1]:
        raise ValueError(f"agents: {twice[0]} is named twice")
    options = RunOptions(jobs, checkpoints=())
    players = [*zip(agents, parameters(game, agents), strict=True)]
    # Check all names before the first agent plays.
    plans = [planned(id, agent, runs, game.seed, *given, options) for agent, given in players]
    offered = [numbers_of(*met) for _, met in plans]
    common = [name for name in offered[0] if all(name in names for names in offered)]
    asked = [] if metric is None else [choice("metric", metric, common)]
    tasks = [task for batches, _ in plans for task in batches]
    with kept():
        say_cost(estimate([(id, task) for task in tasks], replace(options, dry_run=dry_run)), table=dry_run)
        if dry_run:
            return 0
        found = [evaluated(id, agent, runs, game.seed, *given, options) for agent, given in players]
    lines = [one for result in found for one in result.configurations]
    body = [[row.cell.line, row.metric, str(row.runs), *map(written, row.numbers)] for row in summaries(lines, asked)]
    title = ": ".join(filter(None, (id, ", ".join(game.set))))
    print_table(make_console(), title, columns(()), body, named=1, left=(0, 1))
    if len(found) > 1:
        print_pairs(id, [compare(*found, metric=(asked or common)[0])])
    return 0
