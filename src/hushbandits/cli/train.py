"""``hushbandits train ID``: a policy that learns, and plays wherever an agent does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.declare.parts import Use
from hushbandits.bench.report.terminal import escape, print_table
from hushbandits.cli.console import Several, by_owner, make_console
from hushbandits.core import Params

__all__ = ["train"]


def train(
    id: Annotated[Positional[str], arg(metavar="ID")],
    out: Path,
    algo: Annotated[str, arg(metavar="ppo|a2c|maskable-ppo|es")] = "ppo",
    steps: int = 100_000,
    seed: int = 0,
    runs: int = 16,
    set: Annotated[Several, arg(metavar="KEY=VALUE")] = (),
    wrappers: Annotated[Several, arg(metavar="NAME")] = (),
    evaluations: int = 10,
    held_out: int = 32,
    resume: bool = False,
    logger: Annotated[str | None, arg(metavar="tensorboard|mlflow|wandb")] = None,
) -> int:
    """Train a policy that all agents of an env share; sb3:FOLDER then plays it.

    Stable-Baselines3 or evolution strategies train it. The folder of --out then is an agent: sb3:FOLDER stands wherever
    an agent's name may. It holds card.json (what was trained how, with the curve on held-out episodes beside uniform
    play) and weights.npz, plain arrays, and is played without PyTorch. After each evaluation a checkpoint is written:
    a training that was stopped goes on from there with --resume, in other episodes. Needs pip install
    'hushbandits[sb3]'. Begin with (a minute):

      hushbandits train CoopNetwork-v0 --steps 50000 --set env.n_agents=4 --set env.horizon=100 --out runs/ppo
      hushbandits run quickstart-network --agents sb3:runs/ppo --out runs/with-ppo

    What was trained behind wrappers sees what they let through; masks are for votes and servers that count for nothing:

      hushbandits train CoopNetwork-v0 --wrappers Huber --set Huber.rate=0.1 --set env.horizon=100 --out runs/huber
      hushbandits train DPMASE-v0 --algo maskable-ppo --set env.horizon=500 --set env.n_agents=16 --out runs/votes
      hushbandits train CoopNetwork-v0 --set task.agent_id=true --set algo.gamma=0.9 --set env.horizon=100 --out runs/id

    Parameters
    ----------
    id
        An env, such as CoopNetwork-v0; hushbandits list envs.
    out
        Folder of the policy: a new one, or with --resume that of the same training.
    algo
        maskable-ppo comes from sb3-contrib; es, evolution strategies, needs 'hushbandits[es]' alone, and its policy
        plays with any number of arms and agents.
    steps
        Steps of single agents, at least: R runs of M agents make R·M of them at once.
    seed
        Of everything: two trainings with one seed that nobody stops end with the same bits.
    runs
        R, the runs that are played at once.
    set
        A parameter (repeatable): env.n_agents=4 of the env, task.agent_id=true of what the learner sees and does,
        algo.learning_rate=1e-3 of the algorithm, algo.net_arch=[32,32] of its network, Huber.rate=0.1 of a wrapper;
        algo.policy=equivariant: one small net scores each choice, and plays with any number of arms and agents.
    wrappers
        A wrapper on messages' way, outermost first (repeatable).
    evaluations
        How often held-out episodes are played, and a checkpoint is written.
    held_out
        Episodes of an evaluation; no training episode is among them.
    resume
        Go on with the training in --out.
    logger
        Write the returns of episodes, and of held-out ones, to one file of events in OUT/tensorboard, to MLflow or to
        Weights & Biases, where these are installed; they go by their own variables of the environment.
    """
    from rich.progress import Progress

    from hushbandits.learning.train import train as trained

    given = by_owner(set, ("env", "task", "algo", *wrappers))
    uses = [Use.from_dict({**given[name], "use": name}) for name in wrappers]
    console = make_console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        whole = bar.add_task("steps", total=steps)

        def notify(done: int, training: Params | None) -> None:
            bar.update(whole, completed=done)
            if training is not None:
                point = training["curve"][-1]
                values = {"return": point["return"], **point["metrics"]}
                line = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
                console.print(f"{done:,} steps: {escape(line)}", highlight=False)

        told = trained(
            id, out, algo=algo, steps=steps, seed=seed, runs=runs, env=given["env"], wrappers=uses, task=given["task"],
            hyper=given["algo"], evaluations=evaluations, held_out=held_out, resume=resume, logger=logger,
            notify=notify,
        )  # fmt: skip
    _show(told)
    print(f"{out}: play it as sb3:{out}, such as hushbandits run NAME --agents sb3:{out}")
    return 0


def _show(told: Params) -> None:
    """Print the held-out curve beside uniform play."""
    training = told["training"]
    names = list(training["curve"][-1]["metrics"])
    rows = []
    for name, point in [
        *((f"{p['steps']:,} steps", p) for p in training["curve"]),
        ("uniform play", training["random"]),
    ]:
        values = (point["metrics"].get(metric) for metric in names)
        reached = f"{point['return']:.4g} ± {1.96 * (point['se'] or 0.0):.2g}"
        rows.append([name, reached, *("" if value is None else f"{value:.4g}" for value in values)])
    title = f"{told['algorithm']} in {told['env']['use']}, held-out episodes"
    print_table(make_console(), title, ["", "return", *names], rows, named=1, left=(0,))
