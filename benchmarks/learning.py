"""Results of trained policies on held-out seeds: the tables of docs/learning.md.

Run: ``python -m benchmarks learning`` (a minute or two) plays the built-in policies, each beside the rule of its
setting and uniform play, on the same episodes, and prints the table of built-in policies.

``python -m benchmarks learning FOLDER [ID ...]`` (needs the extra es; an hour or two of one core for all ids) runs
the study over five training seeds.  It trains the missing policies in FOLDER with ``hushbandits train``, draws
``learning.png`` there, and plays all policies on the same fresh episodes: at the size of their training, and for the
three short ids at twice the number of arms and agents.

``python -m benchmarks learning FOLDER ppo [ID ...]`` (needs the extra sb3; about 20 minutes) does so for PPO in the
short ids, and prints the scores of trained policies, of the rule where training starts, and of the other agents; also
in the hard ids of the setting, where it plays the policies of the short id.

``python -m benchmarks learning FOLDER horizon [ID ...]`` (needs the extra sb3; about half an hour) trains PPO from
random weights in the short ids, for each policy, use of the horizon and discount, and prints the scores.
"""

import json
import subprocess
import sys
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import t

import hushbandits as hb
from hushbandits.adapters.learners import HORIZONS
from hushbandits.baselines.sb3_choices import SCALE
from hushbandits.baselines.sb3_choices import rule as weights

SEEDS = range(5)
HELD_OUT = 500
#: Seed of the fresh episodes: not used for training or for tuning a rule; features were chosen after a look at some.
SEED = 1


class Studied(NamedTuple):
    """Study of an id: its training, its scores, the other agents with parameters, the number of fresh episodes."""

    how: tuple[str, ...]
    metrics: tuple[str, ...]
    others: dict[str, dict[str, float]]  # the rule of its setting first, tuned for the id
    runs: int
    twice: dict[str, int]  # twice the size, if it is played there too


_REGRET, _VERDICTS = ("regret",), ("return", "correct", "rounds")
_BLOCKS = ("--runs", "128", "--set", "algo.sigma=0.5")
_VOTES = ("--steps", "60000000", "--runs", "256", "--set", "algo.sigma=0.2")
_PULLS = ("--steps", "60000000", "--runs", "256", "--set", "algo.sigma=0.3")
STUDY = {
    "DPMASE-Train-v0": Studied(
        ("--steps", "30000000", "--runs", "512", "--set", "algo.sigma=0.2"), _VERDICTS,
        {"Gap-Vote": {}, "Random": {}, "MaskablePPO-DPMASE": {}}, 4_000, {"n_arms": 6, "n_agents": 8},
    ),
    "CoopNetwork-Train-v0": Studied(
        ("--steps", "40000000", "--runs", "512", "--set", "algo.sigma=0.2"), _REGRET,
        {"Index-TS": {}, "Dec-TS": {}, "PPO-CoopNetwork": {}}, 4_000, {"n_arms": 10, "n_agents": 8},
    ),
    "DistDP-Train-v0": Studied(
        ("--steps", "1000000", "--runs", "256", "--set", "algo.sigma=0.5"), _REGRET,
        {"Commit-Blocks": {}, "Dist-DP-SE": {}, "PPO-DistDP": {}}, 2_000, {"n_arms": 6, "n_agents": 2},
    ),
    "DPMASE-Train-Wide-v0": Studied(_VOTES, _VERDICTS, {"Gap-Vote": {"c": 0.2, "min_pulls": 12}}, 1_000, {}),
    "DPMASE-Train-Uneven-v0": Studied(_VOTES, _VERDICTS, {"Gap-Vote": {"c": 0.2, "min_pulls": 5}}, 1_000, {}),
    "CoopNetwork-Train-Grid-v0": Studied(_PULLS, _REGRET, {"Index-TS": {"sigma": 0.1, "prior": 0.5}}, 1_000, {}),
    "CoopNetwork-Train-Lossy-v0": Studied(_PULLS, _REGRET, {"Index-TS": {"sigma": 0.05, "prior": 0.75}}, 1_000, {}),
    "DistDP-Train-Lossy-v0": Studied(
        (*_BLOCKS, "--steps", "3000000"), _REGRET, {"Commit-Blocks": {"block": 32}}, 1_000, {},
    ),
    "DistDP-Train-Tight-v0": Studied(
        (*_BLOCKS, "--steps", "10000000"), _REGRET, {"Commit-Blocks": {"block": 96}}, 1_000, {},
    ),
}  # fmt: skip


def _ppo(algo, steps, runs, n_steps, rate, gamma, policy="equivariant", arch="[]", **more):
    hyper = {"gamma": gamma, "ent_coef": 0.0, "learning_rate": rate, "n_steps": n_steps, **more}
    settings = [f"algo.{key}={value}" for key, value in {"policy": policy, "net_arch": arch, **hyper}.items()]
    sizes = ("--steps", str(steps), "--runs", str(runs))
    return ("--algo", algo, *sizes, *(word for setting in settings for word in ("--set", setting)))


#: Trainings of PPO in the short ids.
PPO = {
    "CoopNetwork-Train-v0": _ppo("ppo", 400_000, 128, 50, 0.0003, 0.99),
    "DPMASE-Train-v0": _ppo("maskable-ppo", 400_000, 256, 50, 0.0003, 1.0),
    "DistDP-Train-v0": _ppo("ppo", 200_000, 256, 16, 0.001, 1.0),
}

#: Trainings from random weights, and the uses of the horizon and discounts with which each is done.
RANDOM = {
    "CoopNetwork-Train-v0": ("ppo", 400_000, 64, 50, 0.003),
    "DPMASE-Train-v0": ("maskable-ppo", 400_000, 64, 50, 0.003),
    "DistDP-Train-v0": ("ppo", 200_000, 128, 16, 0.003),
}
CELLS = tuple(product(HORIZONS, (0.99, 1.0)))

#: Built-in policies: their training id, their score, and the rule beside them.
SHIPPED = {
    "ES-CoopNetwork": ("CoopNetwork-Train-v0", "regret", "Index-TS"),
    "PPO-CoopNetwork": ("CoopNetwork-Train-v0", "regret", "Index-TS"),
    "ES-DPMASE": ("DPMASE-Train-v0", "correct", "Gap-Vote"),
    "MaskablePPO-DPMASE": ("DPMASE-Train-v0", "correct", "Gap-Vote"),
    "ES-DistDP": ("DistDP-Train-v0", "regret", "Commit-Blocks"),
    "ES-DistDP-Tight": ("DistDP-Train-Tight-v0", "regret", "Commit-Blocks"),
    "PPO-DistDP": ("DistDP-Train-v0", "regret", "Commit-Blocks"),
}
RUNS = 400


def trained(id, seed, folder, how=None):
    """Return the folder of a training; train if it is missing or incomplete."""
    out = folder / f"{id}-{seed}"
    card = out / "card.json"
    if not (card.exists() and json.loads(card.read_text())["training"]["complete"]):
        how = how or ("--algo", "es", *STUDY[id].how)
        how = [*how, "--seed", str(seed), "--evaluations", "4", "--held-out", str(HELD_OUT)]
        subprocess.run([sys.executable, "-m", "hushbandits", "train", id, *how, "--out", str(out)], check=True)
    return out


@cache
def played(id, agent, params, runs, env):
    """Return the results of every run; `params` and `env` as pairs."""
    results = hb.evaluate(id, agent, runs=runs, seed=SEED, env=dict(env), agent_kwargs=dict(params))
    return {metric: results.final(metric).astype(float) for metric in STUDY[id].metrics if metric != "return"}


def scores(id, agent, metric, runs, env):
    """Return a metric of every run, or the return in exploration: the verdict minus the share of rounds used."""
    params = STUDY[id].others.get(agent, {})
    found = played(id, agent, tuple(params.items()), runs, tuple(env.items()))
    if metric != "return":
        return found[metric]
    return 2.0 * found["correct"] - 1.0 - found["rounds"] / hb.make_batched(id, 1).horizon


def said(values):
    """Return a mean and the half-width of its 95 % interval over runs."""
    return f"{values.mean():.3g} ± {1.96 * values.std(ddof=1) / len(values) ** 0.5:.2g}"


def over_seeds(found):
    """Return the mean over training seeds, of which `found` has the runs, and the half-width of its 95 % interval."""
    means = np.array([values.mean() for values in found])
    half = t.ppf(0.975, len(means) - 1) * means.std(ddof=1) / len(means) ** 0.5
    return f"{means.mean():.3g} ± {half:.2g}"


def row(id, folders, metric, runs, env, others):
    """Return a line of a table: each training seed, the mean of the five with its interval, and the others."""
    found = [scores(id, f"sb3:{folder}", metric, runs, env) for folder in folders]
    cells = [id, *(f"{name}={value}" for name, value in env.items()), metric, " ".join(map(said, found))]
    cells += [over_seeds(found), *(f"{o} {said(scores(id, o, metric, runs, env))}" for o in others)]
    return f"| {' | '.join(cells)} |"


def curves(folder, all_folders):
    """Draw the curves on held-out seeds: a thin line per training seed, and the rule of that setting dashed."""
    figure, panels = plt.subplots(
        -(-len(all_folders) // 3), 3, figsize=(11, 3.4 * -(-len(all_folders) // 3)), layout="constrained"
    )
    for panel, (id, folders) in zip(panels.flat, all_folders.items(), strict=False):
        study = STUDY[id]
        metric, rule = study.metrics[0], next(iter(study.others))
        shown = [json.loads((out / "card.json").read_text())["training"]["curve"] for out in folders]
        for curve in shown:
            values = [point[metric] if metric == "return" else point["metrics"][metric] for point in curve]
            panel.plot([point["steps"] for point in curve], values, color="C0", alpha=0.6, linewidth=1)
        there = scores(id, rule, metric, study.runs, {}).mean()
        panel.axhline(there, color="0.3", linestyle="--", linewidth=1, label=rule)
        panel.set(title=id, xlabel="agent-steps of training", ylabel=metric)
        panel.xaxis.set_major_formatter(lambda x, _: f"{x / 1e6:g}M")
        panel.legend(fontsize=7, frameon=False)
    for panel in panels.flat[len(all_folders) :]:
        panel.set_axis_off()
    figure.savefig(folder / "learning.png", dpi=120)


def gradients(folder, *ids):
    """Print the scores of PPO's policies in their training id and in the hard ids, beside those at 0 steps."""
    for id in ids or PPO:
        folders = [trained(id, seed, folder, PPO[id]) for seed in SEEDS]
        start, setting = folder / f"{id}-start", hb.make_team(f"sb3:{folders[0]}").setting
        start.mkdir(exist_ok=True)
        (start / "card.json").write_bytes((folders[0] / "card.json").read_bytes())
        first = {"head.weight": SCALE * weights(setting)[None], "head.bias": np.zeros(1)}
        np.savez(start / "weights.npz", **first)
        env = {"permute_arms": True} if setting == "network" else {}
        for there in sorted((there for there in STUDY if there.startswith(id[:6])), key=len):  # the short id first
            for metric in STUDY[there].metrics:
                others = [f"sb3:{start}", *STUDY[there].others]
                print(row(there, folders, metric, 1_000, env, others), flush=True)


def horizons(folder, *ids):
    """Print the scores of PPO from random weights with each use of the horizon and each discount."""
    print(
        f"| id | policy | score | {' | '.join(f'{horizon}, γ = {gamma:g}' for horizon, gamma in CELLS)} |", flush=True
    )
    for id, policy in product(ids or RANDOM, ("equivariant", "mlp")):
        found = {metric: [] for metric in STUDY[id].metrics}
        for horizon, gamma in CELLS:
            how = _ppo(*RANDOM[id], gamma, policy, "[32]", horizon=horizon)
            folders = [trained(id, seed, folder / f"{policy}-{horizon}-{gamma:g}", how) for seed in SEEDS]
            for metric, cells in found.items():
                cells.append(over_seeds([scores(id, f"sb3:{out}", metric, 1_000, {}) for out in folders]))
        for metric, cells in found.items():
            print(f"| `{id}` | {policy} | {metric} | {' | '.join(cells)} |", flush=True)


def shipped():
    """Print the table of built-in policies: as they are, deterministic, and with messages sent after the reward."""

    @cache
    def cell(id, metric, agent, **how):
        results = hb.evaluate(id, agent, runs=RUNS, seed=SEED, agent_kwargs=how)
        return said(results.final(metric).astype(float))

    print(
        "| agent | default | `deterministic=True` | `two_phase=True` | the rule | `Random` |\n|---|---|---|---|---|---|"
    )
    for agent, (id, metric, rule) in SHIPPED.items():
        own = [cell(id, metric, agent), cell(id, metric, agent, deterministic=True)]
        own.append(
            "" if id.startswith("DistDP") else cell(id, metric, agent, two_phase=True)
        )  # there both are one game
        others = f"`{rule}` {cell(id, metric, rule, **STUDY[id].others[rule])}", cell(id, metric, "Random")
        print(f"| `{agent}`, {metric} | {' | '.join([*own, *others])} |", flush=True)


def main(folder=None, *ids):
    if folder is None:
        shipped()
        return
    if ids[:1] in (("ppo",), ("horizon",)):
        (gradients if ids[0] == "ppo" else horizons)(Path(folder) / ids[0], *ids[1:])
        return
    folder, ids = Path(folder), ids or tuple(STUDY)
    if strange := [id for id in ids if id not in STUDY]:
        raise SystemExit(f"{strange[0]!r} is not studied here: there are {', '.join(STUDY)}")
    all_folders = {id: [trained(id, seed, folder) for seed in SEEDS] for id in ids}
    curves(folder, all_folders)
    for id, folders in all_folders.items():
        study = STUDY[id]
        for metric in study.metrics:
            print(row(id, folders, metric, study.runs, {}, study.others), flush=True)
        for metric in study.metrics if study.twice else ():
            print(row(id, folders, metric, 1_000, study.twice, list(study.others)[:1]), flush=True)
