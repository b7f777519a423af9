"""Audits of trees of feature sums: rules of released code are refuted, and frozen, exact versions pass."""

import numpy as np
import pytest

from hushbandits.agents.zhou2024 import tree_of
from hushbandits.audits.cases import Budget, Case
from hushbandits.audits.silos import WORLDS, transcript
from hushbandits.audits.suite import checks
from hushbandits.registry import make_batched
from hushbandits.wrappers.tree import TreeGaussian

SMALL = Budget(samples=900, grid=(1.0,))


def verdicts(name, kind):
    return [verdict for check in checks([name], SMALL) if check.what == kind for verdict in check.run()]


@pytest.mark.parametrize(
    ("name", "kind", "words", "least", "most"),
    [
        ("SkippedNoise", "white box", "message 4 has no noise", 1.0, 1.0),
        ("SkippedNoise", "drawn law", "without noise", 10_000, 1e9),
        ("SkippedNoise", "black box", "a choice for others", 1.5, 9.0),
        ("ExactTrigger", "white box", "one world alone sends in round 2", 1.0, 1.0),
        ("ExactTrigger", "black box", "one arm for others", 1.5, 9.0),
        ("SmallSigma", "white box", "9 p-sums", 0.18, 0.2),
        ("ActsWithin", "white box", "two arms for later users: message 1 moves by 48.5", 0.65, 0.68),
        ("ActsWithin", "black box", "two arms for later users", 0.5, 3.0),
        ("WholeBudget", "white box", "9 p-sums", 0.1, 0.15),
    ],
)
def test_rules_of_released_code_are_refuted(name, kind, words, least, most):
    failed = [v for v in verdicts(f"hushbandits.audits.published:{name}", kind) if not v.passed]
    (found,) = [v for v in failed if words in v.check]
    assert least <= found.measured <= most
    assert found.promise is not None


@pytest.mark.parametrize("name", ["PrivateFedLinear-v0", "TreeGaussian", "ShuffleFedLinear-v0"])
def test_frozen_and_exact_versions_pass(name):
    for kind in ("white box", "drawn law", "black box"):
        found = verdicts(name, kind)
        assert found
        assert all(v.passed for v in found), [v for v in found if not v.passed]
    assert all(v.word != "not tested" for v in verdicts(name, "white box"))


class HalfNoise(TreeGaussian):
    """A mutant: noise of half the scale that its law is computed for."""

    def _noise(self, sent):
        return super()._noise(sent) / 2


class OneNoise(TreeGaussian):
    """A mutant: one draw of noise for all p-sums of an agent, which cancels in differences."""

    def _noise(self, sent):
        self._kept = getattr(self, "_kept", super()._noise(sent))
        return self._kept.copy()


def test_noise_that_is_not_what_was_planned_is_seen():
    for mutant in (HalfNoise, OneNoise):
        name = f"{__name__}:{mutant.__name__}"
        assert any(v.word in ("FAILS", "other law") for v in verdicts(name, "drawn law"))


def test_two_worlds_differ_in_one_user_alone():
    env = make_batched("PrivateFedLinear-v0")
    case = Case("tree", tree_of(env), env)
    for world in WORLDS:
        _, seen = transcript(case, world, np.array([False, True]), 0, 30)
        differ = (seen.data[:, 0] != seen.data[:, 1]).any((1, 2, 3)) if seen.data.ndim == 5 else None
        assert np.flatnonzero(differ).tolist() == [world.when]
