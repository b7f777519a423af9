"""``hushbandits train ID``: train a policy that can then play as an agent."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.report.terminal import escape, print_table
from hushbandits.bench.spec.parts import Component
from hushbandits.cli.console import Several, by_owner, make_console
from hushbandits.core import Params


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
    """Train a policy that all agents of an env share; sb3:FOLDER names the trained agent.

    Stable-Baselines3 or evolution strategies train the policy. In the folder of --out, card.json has the options of the
    training and the returns on held-out episodes, and weights.npz has plain arrays. Playing the policy does not need
    PyTorch. Each evaluation writes a checkpoint; --resume continues an interrupted training from the last checkpoint,
    with other episodes. Install 'hushbandits[sb3]' first. Start with this example, which takes a minute:

      hushbandits train CoopNetwork-v0 --steps 50000 --set env.n_agents=4 --set env.horizon=100 --out runs/ppo
      hushbandits run quickstart-network --agents sb3:runs/ppo --out runs/with-ppo

    With --wrappers, a policy observes messages after the wrappers. With maskable-ppo, masks exclude actions without
    effect:

      hushbandits train CoopNetwork-v0 --wrappers Huber --set Huber.rate=0.1 --set env.horizon=100 --out runs/huber
      hushbandits train DPMASE-v0 --algo maskable-ppo --set env.horizon=500 --set env.n_agents=16 --out runs/votes
      hushbandits train CoopNetwork-v0 --set task.agent_id=true --set algo.gamma=0.9 --set env.horizon=100 --out runs/id

    Parameters
    ----------
    id
        Id of an env, such as CoopNetwork-v0; see hushbandits list envs.
    out
        Folder of the policy: a new folder, or with --resume the folder of an interrupted training.
    algo
        Algorithm. maskable-ppo needs sb3-contrib; es (evolution strategies) needs only 'hushbandits[es]', and its
        policy plays with any number of arms and agents.
    steps
        Minimum number of steps of single agents; a step of R runs with M agents counts as R·M.
    seed
        Seed; uninterrupted trainings with the same seed give identical results.
    runs
        R, the number of runs played in parallel.
    set
        A parameter: env.n_agents=4 of the env, task.agent_id=true of the observations and actions,
        algo.learning_rate=1e-3 of the algorithm, algo.net_arch=[32,32] of its network, Huber.rate=0.1 of a wrapper.
        With algo.policy=equivariant, the policy plays with any number of arms and agents.
    wrappers
        A wrapper; messages pass several wrappers in the given order.
    evaluations
        Number of evaluations on held-out episodes; each writes a checkpoint.
    held_out
        Number of episodes per evaluation; these episodes are never used for training.
    resume
        Continue the training in --out.
    logger
        Write training and held-out returns to TensorBoard (one file in OUT/tensorboard), MLflow or Weights & Biases, if
        installed; the latter two read their environment variables.
    """
    from rich.progress import Progress

    from hushbandits.learning.train import train as trained

    given = by_owner(set, ("env", "task", "algo", *wrappers))
    uses = [Component.from_dict({**given[name], "type": name}) for name in wrappers]
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

        stated = trained(
            id, out, algo=algo, steps=steps, seed=seed, runs=runs, env=given["env"], wrappers=uses, task=given["task"],
            hyper=given["algo"], evaluations=evaluations, held_out=held_out, resume=resume, logger=logger,
            notify=notify,
        )  # fmt: skip
    _show(stated)
    print(f"{out}: play it as sb3:{out}, such as hushbandits run NAME --agents sb3:{out}")
    return 0


def _show(stated: Params) -> None:
    """Print the returns on held-out episodes, and the returns of a uniform policy."""
    training = stated["training"]
    names = list(training["curve"][-1]["metrics"])
    rows, points = [], [(f"{point['steps']:,} steps", point) for point in training["curve"]]
    for name, point in [*points, ("uniform play", training["random"])]:
        values = (point["metrics"].get(metric) for metric in names)
        reached = f"{point['return']:.4g} ± {1.96 * (point['se'] or 0.0):.2g}"
        rows.append([name, reached, *("" if value is None else f"{value:.4g}" for value in values)])
    title = f"{stated['algorithm']} in {stated['env']['type']}, held-out episodes"
    print_table(make_console(), title, ["", "return", *names], rows, named=1, left=(0,))
