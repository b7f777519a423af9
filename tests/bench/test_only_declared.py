"""Bounds that an experiment states as numbers equal the theorems: importing it computes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from hushbandits.agents import dubey2020_theory as theory
from hushbandits.envs.network.graphs import adjacency, clique_cover, hop_distances, power_graph
from hushbandits.experiments import dubey2020


def test_the_bounds_that_are_claimed_are_the_theorems():
    gaps, distance = max(dubey2020.MEANS) - np.array(dubey2020.MEANS), hop_distances(adjacency("grid", 36))
    for max_hops, most in dubey2020.MOST.items():
        size = 36, max_hops, len(clique_cover(power_graph(distance, max_hops)))
        found = [
            float(bound(gaps, np.array(1000.0), *size, use.params["epsilon"]))
            for use, bound in (
                (dubey2020.PRIVATE, theory.private_regret), (dubey2020.BYZANTINE, theory.byzantine_regret),
            )
        ]  # fmt: skip
        assert most == pytest.approx(found, rel=1e-12)
