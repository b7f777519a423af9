"""What agents learn to say through a noisy channel that they pay for: the results of docs/learned-messages.md.

Run: ``python -m benchmarks messages FOLDER`` (needs the extra sb3).  It trains the policies that FOLDER lacks, as their
``card.json`` says by a command of ``hushbandits train``, chooses the best hand rule at each budget on episodes of its
own, plays everybody on the same fresh episodes, writes ``learned-messages.json``, draws ``learned-messages.png`` there,
and prints the table.
"""

import json
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import t

import hushbandits as hb
from hushbandits.baselines.sb3_choices import rule
from hushbandits.envs.network.priced import PRICES
from hushbandits.learning.train import train

ID, BUDGETS, SEEDS = "PricedNetwork-Train-v0", (1.0, 3.0, 10.0), range(5)
#: Master seeds of the episodes on which hand rules are chosen, and of those on which everybody is played.
CHOOSING, PLAYING = 2, 1
PPO = {
    "policy": "equivariant", "net_arch": [], "ent_coef": 0.0, "learning_rate": 0.01, "n_steps": 100, "gamma": 1.0,
    "gae_lambda": 0.95, "batch_size": 12_800,
}  # fmt: skip
#: Where a rule speaks: from which round on, and in how many rounds of messages.
SPOKEN = ((10, 1), (10, 2), (10, 3), (20, 1), (20, 2), (40, 1))
WEIGHTS = (0.001, 0.003, 0.01, 0.03, 0.1)
EACH_ROUND = {"message_rounds": tuple(range(1, 101))}
SILENCE = {"say": "nothing"}, {"max_hops": 0}
STANDARD = [({"say": "report", "weight": weight / 3}, EACH_ROUND) for weight in WEIGHTS]
FAMILY = [
    ({"say": say, "first": first, "times": times, "weight": weight}, {})
    for say, (first, times), weight in product(("vote", "sure", "means"), SPOKEN, WEIGHTS)
]


def trained(folder, budget, seed):
    """Return the folder of a training; train if it is missing."""
    out = folder / f"epsilon-{budget:g}-{seed}"
    if not (out / "card.json").exists() or not json.loads((out / "card.json").read_text())["training"]["complete"]:
        train(
            ID, out, algo="ppo", steps=2_000_000, seed=seed, runs=64, env={"epsilon": budget},
            task={"reward_source": "oracle"}, hyper=PPO, evaluations=2, held_out=200,
            resume=(out / "card.json").exists(),
            notify=lambda steps, training: print(out.name, steps, flush=True) if training else None,
        )  # fmt: skip
    return out


def start(folder, like):
    """Return the folder of the policy at 0 steps, with the card of the training `like`."""
    out = folder / f"start-{like.name}"
    out.mkdir(exist_ok=True)
    (out / "card.json").write_bytes((like / "card.json").read_bytes())
    np.savez(out / "weights.npz", **{"head.weight": rule("priced"), "head.bias": np.zeros(2)})
    return out


def play(agent, budget, runs, seed, params=(), env=()):
    """Return regret, return (less what is charged), spent ε and bits of every run."""
    results = hb.evaluate(
        ID, agent, runs=runs, seed=seed, env={"epsilon": budget, **dict(env)}, agent_kwargs=dict(params)
    )
    found = {name: results.final(name).astype(float) for name in ("regret", "epsilon", "bits")}
    # the mean return of an agent but for the best arm's mean, which is the same for all
    found["cost"] = found["regret"] / 16 + sum(price * found[name] for name, price in PRICES.items())
    return found


def chosen(rules, budget):
    """Return the rule with the least cost on the episodes for choosing, after a first look at 200 of them."""
    few = [play("Noisy-Vote", budget, 200, CHOOSING, *its)["cost"].mean() for its in rules]
    best = np.argsort(few)[:5]
    return rules[min(best, key=lambda i: play("Noisy-Vote", budget, 1_000, CHOOSING, *rules[i])["cost"].mean())]


def summed(found):
    """Return the mean of each number over runs, and half of its 95 % interval."""
    return {name: [x.mean(), 1.96 * x.std(ddof=1) / len(x) ** 0.5] for name, x in found.items()}


def over_seeds(each):
    """Return the mean of each number over training seeds, and half of its 95 % interval."""
    out = {"seeds": [{name: x.mean() for name, x in one.items()} for one in each]}
    for name in each[0]:
        means = np.array([one[name].mean() for one in each])
        out[name] = [means.mean(), t.ppf(0.975, len(means) - 1) * means.std(ddof=1) / len(means) ** 0.5]
    return out


def study(folder, runs=1_000):
    """Return the results of everybody at each budget, by name."""
    out = {}
    for budget in BUDGETS:
        folders = [trained(folder, budget, seed) for seed in SEEDS]
        report, hand = chosen(STANDARD, budget), chosen(FAMILY, budget)
        by_hand = play("Noisy-Vote", budget, runs, PLAYING, *hand)
        by_learners = [play(f"sb3:{each}", budget, runs, PLAYING) for each in folders]
        found = {
            "silence": summed(play("Noisy-Vote", budget, runs, PLAYING, *SILENCE)),
            "standard report": summed(play("Noisy-Vote", budget, runs, PLAYING, *report)) | {"rule": report[0]},
            "best hand rule": summed(by_hand) | {"rule": hand[0]},
            "start": summed(play(f"sb3:{start(folder, folders[0])}", budget, runs, PLAYING)),
            "learned": over_seeds(by_learners),
        }
        less = {k: np.mean([one[k] for one in by_learners], 0) - by_hand[k] for k in ("regret", "epsilon", "cost")}
        found["learned less the best hand rule"] = summed(less)  # run by run: the episodes are the same
        curves = [json.loads((each / "card.json").read_text())["training"]["curve"] for each in folders]
        found["learned"]["curve"] = [
            [point["steps"], *(float(np.mean([c[i]["metrics"][m] for c in curves])) for m in ("regret", "epsilon"))]
            for i, point in enumerate(curves[0])
        ]
        out[f"{budget:g}"] = found
        for name, its in found.items():
            cells = [f"{its[k][0]:.3g} ± {its[k][1]:.2g}" for k in ("regret", "epsilon", "cost")]
            print(f"| {budget:g} | {name} | {' | '.join(cells)} | {its.get('rule', '')}", flush=True)
    return out


def draw(results, path):
    """Draw regret over spent ε: a line through the budgets for each player."""
    figure, panel = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    for color, name in enumerate(("standard report", "best hand rule", "start", "learned")):
        its = [found[name] for found in results.values()]
        x, y = ([one[key][0] for one in its] for key in ("epsilon", "regret"))
        panel.errorbar(x, y, [one["regret"][1] for one in its], fmt="o-", color=f"C{color}", label=name, capsize=3)
    for found in results.values():
        seeds = found["learned"]["seeds"]
        panel.plot([one["epsilon"] for one in seeds], [one["regret"] for one in seeds], ".", color="C3", alpha=0.5)
    silent = next(iter(results.values()))["silence"]["regret"]
    panel.axhspan(silent[0] - silent[1], silent[0] + silent[1], color="0.85")
    panel.axhline(silent[0], color="0.4", linestyle="--", label="silence")
    panel.set(xlabel="ε that an agent spends in a run", ylabel="regret of 16 agents in 100 rounds", xscale="log")
    panel.set_xticks([1, 3, 10], ["1", "3", "10"])
    panel.minorticks_off()
    panel.legend(frameon=False)
    figure.savefig(path, dpi=120)


def main(folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    results = study(folder)
    (folder / "learned-messages.json").write_text(json.dumps(results, indent=1) + "\n")
    draw(results, folder / "learned-messages.png")
