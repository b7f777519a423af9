"""Chowdhury & Zhou 2023: distributed differential privacy in multi-armed bandits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hushbandits.bench.claim import Claim
from hushbandits.bench.spec import Experiment, Figure, Use
from hushbandits.core.rewards import UniformMeans

__all__ = ["EXPERIMENTS"]

EPSILONS = (0.1, 0.5, 1.0)
EASY, HARD = UniformMeans(0.25, 0.75), UniformMeans(0.45, 0.55)
MILLION = 1_000_000


# ε and s belong to the agent here, so that all of them meet the same 20 instances.


def dist_dp(epsilon: float, on: str | None = None) -> Use:
    """Dist-DP-SE."""
    return Use("Dist-DP-SE", label=f"Dist-DP-SE ε = {epsilon:g}", on=on, epsilon=epsilon)


def dp(epsilon: float, on: str | None = "CentralDP-v0") -> Use:
    """DP-SE."""
    return Use("DP-SE", label=f"DP-SE ε = {epsilon:g}", on=on, epsilon=epsilon)


def dist_rdp(epsilon: float, scale: float = 10.0, on: str | None = "DistRDP-v0") -> Use:
    """Dist-RDP-SE."""
    label = f"Dist-RDP-SE s = {scale:g}, ε = {epsilon:g}"
    return Use("Dist-RDP-SE", label=label, on=on, epsilon=epsilon, scale=scale)


def models(epsilon: float) -> list[Use]:
    """Every trust model at one ε."""
    named: dict[str, tuple[str | None, dict[str, Any]]] = {
        "CDP-SE": ("CentralDP-v0", {}),
        "LDP-SE": ("LocalDP-v0", {}),
        "Dist-DP-SE": (None, {}),
        "Dist-RDP-SE": ("DistRDP-v0", {"scale": 10.0}),
        "Dist-CDP-SE": ("DistCDP-v0", {"scale": 10.0}),
        "Shuffle-DP-SE": ("ShuffleDP-v0", {}),
        "VB-SDP-AE": ("ShuffleDP-v0", {}),
    }
    return [
        Use(name, label=f"{name} ε = {epsilon:g}", on=on, epsilon=epsilon, **more) for name, (on, more) in named.items()
    ]


def _lines(agents: Iterable[Use]) -> dict[str, Any]:
    return {"agents": list(agents), "figures": (Figure(y="regret", per_time=True, since=1000),)}


def _gap(of: Use, over: Use, sentence: str, **more: Any) -> Claim:
    return Claim(
        sentence=sentence, metric="regret", effect="difference", of=str(of.label), over=str(over.label), **more
    )


def _gap_closes() -> list[Claim]:
    # "Matches" in numbers, fixed before the runs: a time-averaged regret within .01 of DP-SE's.
    claims = [
        _gap(
            dist_dp(e), dp(e), f"At T = 10⁶ Dist-DP-SE's time-averaged regret matches DP-SE's within .01, ε = {e:g}.",
            time=MILLION, per_time=True, below=0.01,
        )
        for e in EPSILONS
    ]  # fmt: skip
    # The gap is smaller for a larger ε: on either side of .01 at the same time.
    early = {"time": 300_000, "per_time": True}
    claims += [
        _gap(dist_dp(0.1), dp(0.1), "At T = 3·10⁵ the gap is more than .01 at ε = .1.", above=0.01, **early),
        _gap(dist_dp(1.0), dp(1.0), "At T = 3·10⁵ the gap is less than .01 at ε = 1.", below=0.01, **early),
        Claim(
            sentence="The ratio persists: at ε = .1 Dist-DP-SE's regret is more than 1.5 times DP-SE's at T = 10⁶.",
            metric="regret", effect="ratio", of="Dist-DP-SE ε = 0.1", over="DP-SE ε = 0.1", above=1.5,
        ),
    ]  # fmt: skip
    return claims


def _renyi_gains() -> list[Claim]:
    claims = [
        _gap(dist_rdp(e, s), dist_dp(e), f"Dist-RDP-SE (s = {s:g}) beats Dist-DP-SE at ε = {e:g}.", below=0)
        for e in EPSILONS
        for s in (10.0, 100.0)
    ]
    claims += [
        Claim(
            sentence=f"A larger scale is better: s = 100 against s = 10 at ε = {e:g}.", metric="regret",
            effect="ratio", of=str(dist_rdp(e, 100.0).label), over=str(dist_rdp(e).label), below=1,
        )
        for e in EPSILONS
    ]  # fmt: skip
    return claims


def _model_claims() -> list[Claim]:
    cdp, ldp, dist, rdp, concentrated, shuffled, binary = models(0.5)
    claims = [
        Claim(
            sentence=f"{use.name} is far better than LDP-SE: less than half its regret.", metric="regret",
            effect="ratio", of=str(use.label), over=str(ldp.label), below=0.5,
        )
        for use in (cdp, dist)
    ]  # fmt: skip
    claims += [
        Claim(
            sentence="Dist-DP-SE is as good as CDP-SE, within 15 %.", metric="regret",
            effect="ratio", of=str(dist.label), over=str(cdp.label), above=0.85, below=1.15,
        ),
        _gap(concentrated, rdp, "Dist-CDP-SE performs better than Dist-RDP-SE.", below=0),
        _gap(shuffled, binary, "Pure noise through a shuffler beats VB-SDP-AE's binary sums.", below=0),
    ]  # fmt: skip
    return claims


EXPERIMENTS = (
    Experiment(
        name="chowdhury2023-fig1",
        title="Dist-DP-SE and Dist-RDP-SE against DP-SE on easy instances",
        source="Chowdhury & Zhou 2023, figure 1",
        env=Use("DistDP-v0", n_arms=10, means=EASY, horizon=MILLION),
        **_lines([u for e in EPSILONS for u in (dist_dp(e), dist_rdp(e), dp(e))]),
        runs=20,
        metrics=("regret", "bits_per_user"),
        claims=_gap_closes(),
        quick={"env.horizon": 100_000},
    ),
    Experiment(
        name="chowdhury2023-fig2",
        title="The scale s of Dist-RDP-SE on easy instances",
        source="Chowdhury & Zhou 2023, figure 2",
        env=Use("DistDP-v0", n_arms=10, means=EASY, horizon=MILLION),
        **_lines([u for e in EPSILONS for u in (dist_dp(e), dist_rdp(e), dist_rdp(e, 100.0), dp(e))]),
        runs=20,
        metrics=("regret", "bits_per_user"),
        claims=_renyi_gains(),
        quick={"env.horizon": 100_000},
    ),
    Experiment(
        name="chowdhury2023-fig3",
        title="The scale s of Dist-RDP-SE on hard instances",
        source="Chowdhury & Zhou 2023, figure 3",
        env=Use("DistDP-v0", n_arms=10, means=HARD, horizon=10 * MILLION),
        **_lines([u for e in EPSILONS for u in (dist_dp(e), dist_rdp(e), dist_rdp(e, 100.0), dp(e))]),
        runs=20,
        metrics=("regret", "bits_per_user"),
        claims=_renyi_gains(),
        quick={"env.horizon": MILLION, "runs": 5},
    ),
    Experiment(
        name="chowdhury2023-fig4",
        title="Trust models on easy instances, ε = .5",
        source="Chowdhury & Zhou 2023, figure 4",
        env=Use("DistDP-v0", n_arms=10, means=EASY, horizon=MILLION),
        **_lines(models(0.5)),
        runs=20,
        metrics=("regret", "bits_per_user", "epsilon"),
        claims=_model_claims(),
        quick={"env.horizon": 100_000},
    ),
    Experiment(
        name="chowdhury2023-fig5",
        title="Learning to rank (the small made-up file; --set env.path=FILE for a real one)",
        source="Chowdhury & Zhou 2023, figure 5",
        env=Use("LTR-v0", horizon=MILLION, permute_arms=True),
        **_lines([u for e in (1.0, 5.0, 10.0) for u in (dist_dp(e), dist_rdp(e, on=None), dp(e, on=None))]),
        runs=20,
        metrics=("regret", "bits_per_user"),
        quick={"env.horizon": 100_000},
    ),
)
