"""``hushbandits train ID``: a policy that learns, and plays wherever an agent does; ``policy-card`` describes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from hushbandits.bench.runner.errors import StoreError
from hushbandits.cli.console import Several, assignments, bad_input_is_a_sentence, escape, make_console
from hushbandits.core.ground.strangers import printable
from hushbandits.core.ground.types import Params

__all__ = ["policy_card", "train"]

_TABLES = {"env": "env", "task": "task", "algo": "hyper"}


def train(
    id: Annotated[Positional[str], arg(metavar="ID")],
    out: Path,
    algo: Annotated[str, arg(metavar="ppo|dqn|a2c|recurrent-ppo|maskable-ppo|es")] = "ppo",
    steps: int = 100_000,
    seed: int = 0,
    num_envs: int = 16,
    set: Annotated[Several, arg(metavar="KEY=VALUE")] = (),
    wrappers: Annotated[Several, arg(metavar="NAME")] = (),
    evaluations: int = 10,
    held_out: int = 32,
    resume: bool = False,
    logger: Annotated[str | None, arg(metavar="tensorboard|mlflow|wandb")] = None,
) -> int:
    """Train a policy with Stable-Baselines3 or evolution strategies; all agents of an env learn and play the same one.

    The folder of --out then is an agent: sb3:FOLDER stands wherever an agent's name may. It holds policy.json (what
    was trained how, with the curve on held-out episodes beside uniform play) and its weights as plain arrays, and is
    played without PyTorch. After each evaluation a checkpoint is written: a training that was stopped goes on with
    --resume, and ends as it would have, to the bit. Needs pip install 'hushbandits[sb3]'. Begin with (a minute):

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
        Folder of the policy; one that holds another training is refused.
    algo
        recurrent-ppo and maskable-ppo come from sb3-contrib; es, evolution strategies, needs 'hushbandits[es]' alone,
        and its policy plays with any number of arms and agents.
    steps
        Steps of single agents, at least: R runs of M agents make R·M of them at once.
    seed
        Of everything: two trainings with one seed end with the same bits.
    num_envs
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
    with bad_input_is_a_sentence():
        from hushbandits.learning.train import train as trained

        given = _asked(set, wrappers)
        try:
            with _progress(steps) as notify:
                told = trained(
                    id, out, algo=algo, steps=steps, seed=seed, num_envs=num_envs, evaluations=evaluations,
                    held_out=held_out, resume=resume, logger=logger, notify=notify, **given,
                )  # fmt: skip
        except KeyboardInterrupt:
            make_console(stderr=True).print(
                f"stopped; the last checkpoint is in {escape(str(out))}, and --resume goes on from there"
            )
            return 130
    _say(told, out)
    return 0


def policy_card(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER")],
    license: str | None = None,
    overwrite: bool = False,
) -> int:
    """Write FOLDER/README.md, a model card of a trained policy, so that the folder can be shared.

    It has the scores on held-out episodes beside uniform play, the command and the versions that made it, and the call
    that plays it; on top stand the fields that Hugging Face's hub reads. Nothing is uploaded. Example:

      hushbandits policy-card runs/ppo --license mit

    Parameters
    ----------
    folder
        Of hushbandits train.
    license
        What the card names as its licence, as the hub spells it; default: none.
    overwrite
        Replace a README.md that is there.
    """
    with bad_input_is_a_sentence():
        from hushbandits.core.ground.files import replacing
        from hushbandits.learning.card import card

        text, path = card(folder, license), folder / "README.md"
        if path.exists() and not overwrite:
            raise ValueError(f"{path} exists already; --overwrite replaces it")
    try:
        with replacing(path) as file:
            file.write(text)
    except OSError as error:
        raise StoreError(f"cannot write to {path}: {(error.strerror or str(error)).lower()}") from None
    print(printable(path))
    return 0


def _asked(set: tuple[str, ...], wrappers: tuple[str, ...]) -> Params:
    """What --set and --wrappers say, as `hushbandits.learning.train.train` takes it."""
    from hushbandits.bench.declare.spec import Use

    tables: dict[str, dict[str, object]] = {prefix: {} for prefix in (*_TABLES, *wrappers)}
    for key, value in assignments("--set", set).items():
        prefix, dot, name = key.rpartition(".")
        if not dot or prefix not in tables:
            raise ValueError(f"--set {key}={value}: {key!r} must begin with {', '.join(f'{p}.' for p in tables)}")
        tables[prefix][name] = value
    uses = [Use.from_dict({**tables[name], "use": name}) for name in wrappers]
    return {"wrappers": uses, **{name: tables[prefix] for prefix, name in _TABLES.items()}}


@contextmanager
def _progress(steps: int) -> Iterator[Callable[[int, Params | None], None]]:
    """A bar of steps on a terminal, with what the last evaluation found; elsewhere a line per evaluation."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = make_console(stderr=True)
    columns = BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("steps ·"), TimeRemainingColumn()
    told = TextColumn("left · [cyan]{task.description}")
    with Progress(*columns, told, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=steps)

        def notify(done: int, training: Params | None) -> None:
            line = "" if training is None else _line(training["curve"][-1])
            bar.update(task, completed=min(done, steps), description=escape(line) if line else None)
            if line and not sys.stderr.isatty():
                console.print(f"{done:,} steps: {escape(line)}", highlight=False)

        yield notify


def _line(point: Params) -> str:
    values = {"return": point["return"], **point["metrics"]}
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())


def _say(told: Params, out: Path) -> None:
    """The held-out curve as a table, and how to play the policy."""
    from rich.table import Table

    training = told["training"]
    names = list(training["curve"][-1]["metrics"])
    table = Table("", "return", *names, title=f"{told['algorithm']} in {told['env']['use']}, held-out episodes")
    lines = [(f"{point['steps']:,} steps", point) for point in training["curve"]]
    for name, point in [*lines, ("uniform play", training["random"])]:
        values = [point["metrics"].get(metric) for metric in names]
        table.add_row(
            name, f"{point['return']:.4g} ± {1.96 * (point['se'] or 0.0):.2g}",
            *("" if value is None else f"{value:.4g}" for value in values),
        )  # fmt: skip
    make_console().print(table)
    print(f"{out}: play it as sb3:{out}, such as hushbandits run NAME --agents sb3:{out}")
