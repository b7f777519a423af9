"""Learning curves over five training seeds: a figure and a table of docs/learning.md.

Run: ``python -m benchmarks learning [FOLDER]`` (needs the extra sb3; about ten minutes).  It trains what FOLDER
(``runs/learning``) lacks with ``hushbandits train``, and draws ``learning.png`` there.
"""

import json
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import t

import hushbandits as hb

SEEDS = range(5)
HELD_OUT = 64
#: Of each id: how it is trained, what it is scored by, and the agents that it is held against.
STUDY = {
    "DPMASE-Train-v0": (
        ["--algo", "maskable-ppo", "--steps", "400000", "--num-envs", "32"], "correct", ("Random", "Central"),
    ),
    "CoopNetwork-Train-v0": (
        ["--algo", "ppo", "--steps", "400000", "--num-envs", "32"], "regret", ("Random", "UCB1", "Dec-TS"),
    ),
    "DistDP-Train-v0": (
        ["--algo", "ppo", "--steps", "200000", "--num-envs", "64"], "regret", ("Random", "Dist-DP-SE"),
    ),
}  # fmt: skip


def trained(id, seed, folder):
    """The curve of a training, which is made where it is missing."""
    out = folder / f"{id}-{seed}"
    if not (out / "policy.json").exists():
        how = [*STUDY[id][0], "--seed", str(seed), "--evaluations", "10", "--held-out", str(HELD_OUT)]
        subprocess.run([sys.executable, "-m", "hushbandits.cli", "train", id, *how, "--out", str(out)], check=True)
    return json.loads((out / "policy.json").read_text())["training"]["curve"]


def band(values):
    """Mean and 95 % t-interval over the training seeds, by checkpoint."""
    mean = values.mean(0)
    half = t.ppf(0.975, len(values) - 1) * values.std(0, ddof=1) / np.sqrt(len(values))
    return mean, half


def main(folder="runs/learning"):
    folder = Path(folder)
    figure, panels = plt.subplots(1, len(STUDY), figsize=(11, 3.4), layout="constrained")
    for panel, (id, (_, metric, agents)) in zip(panels, STUDY.items(), strict=True):
        curves = [trained(id, seed, folder) for seed in SEEDS]
        steps = np.array([point["steps"] for point in curves[0]])
        values = np.array([[point["metrics"][metric] for point in curve] for curve in curves], float)
        mean, half = band(values)
        panel.plot(steps, mean, color="C0", label=f"trained, {len(curves)} seeds")
        panel.fill_between(steps, mean - half, mean + half, color="C0", alpha=0.25, linewidth=0)
        panel.plot(steps, values.T, color="C0", alpha=0.35, linewidth=0.8)
        lines = [f"trained {mean[-1]:.3g} ± {half[-1]:.2g} (seeds: {', '.join(f'{v:.3g}' for v in values[:, -1])})"]
        for agent, style in zip(agents, ("--", "-.", ":"), strict=False):
            score = hb.evaluate(id, agent, runs=400, seed=0, progress=False).final(metric).mean()
            panel.axhline(score, color="0.3", linestyle=style, linewidth=1, label=agent)
            lines.append(f"{agent} {score:.3g}")
        panel.set(title=id, xlabel="agent-steps of training", ylabel="share correct" if metric == "correct" else metric)
        panel.set_ylim(bottom=0)
        panel.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:.0f}k")
        panel.legend(fontsize=7, frameon=False)
        print(f"| {id} | {metric} | {' | '.join(lines)} |")
    figure.savefig(folder / "learning.png", dpi=120)
