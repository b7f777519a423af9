"""The first command's statements about its figures, counted again."""

from __future__ import annotations

import re

import numpy as np

from hushbandits.bench.runner.batch import Batch
from hushbandits.bench.spec.catalog import find
from hushbandits.bench.stats import bootstrap
from hushbandits.best_arm.private_elimination import epoch_length, radii

EXPLORATION, NETWORK, FEEDBACK = find("quickstart")


def finals(experiment):
    """Return the runs of every line as the command plays them from seed 0."""
    found = {}
    for cell in experiment.cells():
        found[cell.line] = Batch.of(cell, 0, range(experiment.runs)).play()[0]
    return found


def numbers(experiment):
    """Return every number of its readings, as written."""
    (reading,) = {figure.reading for figure in experiment.figures}
    return re.findall(r"(?<![A-Za-z])\d(?:[\d,.]*\d)?", reading)


def test_privacy_costs_rounds_and_there_are_two_modes():
    found = finals(EXPLORATION)
    rounds = {line: values["rounds"] for line, values in found.items()}
    private, bimodal, little, without = rounds.values()
    said = numbers(EXPLORATION)
    fast, slow = np.sort(bimodal)[:19], np.sort(bimodal)[19:]
    assert said[2:5] == ["0.25", f"{little.mean():,.0f}", f"{without.mean():,.0f}"]
    assert said[5:7] == ["0.05", f"{private.mean() / without.mean():.1f}"]
    assert said[7:] == [
        "0.1", "19", *(f"{x:,.0f}" for x in (fast.min(), fast.max())), "1", f"{slow.item():,.0f}",
        "64", "702", "0.245", "0.2", "19", "1", "2,485",
    ]  # fmt: skip
    first, second = epoch_length(10, 1, 0.1, 0.5), epoch_length(2, 2, 0.1, 0.5)
    assert (first, second) == (702, 2485)
    assert round(2 * sum(radii(10, 1, 0.1, 0.5, first)), 3) == 0.245
    # 64 agents vote 8 bad arms out, and five vote for the second best: in the slow runs the fifth came too late
    messages = found["DP-MASE ε = 0.1"]["messages"]
    assert set(messages[bimodal > 180_000]) == {64 * 8 + 5}
    assert np.all(messages[bimodal < 50_000] < 64 * 8)


def test_sharing_pays_and_hiding_is_a_gamble():
    found = finals(NETWORK)
    quack, multi, private, alone = (values["regret"] for values in found.values())
    said = numbers(NETWORK)
    low, high = bootstrap(
        lambda s: s[..., 0].mean(0) - s[..., 1].mean(0), np.stack([private, multi], 1)
    )  # as in the table of comparisons
    assert said[3:5] == [f"{100 * x.mean() / alone.mean():.0f}" for x in (multi, quack)]
    spent = [found["Private-UCB"][name].max() for name in ("epsilon", "epsilon_delta")]
    never = 3000 * 16 * 0.05
    assert said[5:] == [
        f"{(private < multi).sum()}", f"{(private > 2300).sum()}", "2,300", f"{never:,.0f}",
        f"{(multi - private).mean():.0f}", f"{-low:.0f}", f"{high:.0f}", *(f"{x:.1f}" for x in spent), "0",
    ]  # fmt: skip
    assert low < 0 < high
    assert private.max() < never


def test_noise_of_users_costs_more_than_a_servers():
    found = {line: values["regret"].mean() for line, values in finals(FEEDBACK).items()}
    times = {e: found[f"Dist-DP-SE ε = {e}"] / found[f"DP-SE ε = {e}"] for e in ("0.1", "1")}
    assert numbers(FEEDBACK)[3:] == [f"{times['0.1']:.1f}", "0.1", f"{times['1']:.1f}", "1"]
    assert found["DP-SE ε = 0.1"] > found["DP-SE ε = 1"]
