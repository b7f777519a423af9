"""Registry of policies by name."""

from collections.abc import Mapping

from hushbandits.core import shown
from hushbandits.core.utils import Registry, Spec
from hushbandits.policies.policy import Policy

#: A name, ``"module:Class"``, a class or a policy.
AnyPolicy = str | type[Policy] | Policy

POLICIES = Registry(
    "policy",
    "a Policy class",
    lambda cls: issubclass(cls, Policy),
    {
        name: Spec(f"hushbandits.policies.{entry}")
        for name, entry in {
            "BESA": "besa:BESA",
            "EXP3": "exploring:EXP3",
            "ETC": "exploring:ExploreThenCommit",
            "IMED": "kl:IMED",
            "KL-UCB": "kl:KLUCB",
            "LDP-UCB-B": "ucb:LDPUCBB",
            "LDP-UCB-L": "ucb:LDPUCBL",
            "MOSS": "ucb:MOSS",
            "RUCB": "duel:RelativeUCB",
            "Robust-UCB": "heavy:TruncatedUCB",
            "Robust-UCB-Catoni": "heavy:CatoniUCB",
            "Robust-UCB-MoM": "heavy:MedianOfMeansUCB",
            "TS": "thompson:ThompsonSampling",
            "TS-Gaussian": "thompson:GaussianTS",
            "UCB": "ucb:UCB",
            "UCB-V": "ucb:UCBV",
            "UCB1": "ucb:UCB1",
            "epsilon-greedy": "exploring:EpsilonGreedy",
            "softmax": "exploring:Softmax",
        }.items()
    },
    "policies",
)


def list_policies() -> list[str]:
    """Return all policies' names, sorted.

    Examples
    --------
    >>> list_policies()[:4]
    ['BESA', 'ETC', 'EXP3', 'IMED']
    """
    return sorted(POLICIES)


def make_policy(policy: AnyPolicy, /, **params: object) -> Policy:
    """Return a policy built from a name or class with `params`, or `policy` itself if it is built already.

    Parameters
    ----------
    policy : str, class or Policy
        One of `list_policies`, ``"my_module:MyPolicy"``, a class, or a policy that is built already.
    **params
        Its parameters.

    Raises
    ------
    ValueError
        Unknown name (with the nearest ones), a bad parameter, or a class without its two rules.
    TypeError
        A parameter that the policy does not take, or any for one that is built already.

    Examples
    --------
    >>> make_policy("UCB", sigma=1.0).sigma
    1.0
    """
    if not isinstance(policy, Policy):
        what = policy if isinstance(policy, str) else getattr(policy, "__name__", shown(policy))
        policy = POLICIES.find(policy).build(Policy, f"policy {what}", params)
    elif params:
        raise TypeError(f"policy {policy.name} is an instance already and takes no parameters: {shown(params)}")
    if not (callable(getattr(policy, "choose", None)) and callable(getattr(policy, "update", None))):
        raise ValueError(f"policy {policy.name} must define choose(state, r) and update(state, r, arm, reward)")
    return policy


def given_to(policy: Policy, settings: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters that `policy` passes on to the mechanism if `settings` name a ``LocalMechanism``.

    The dict is empty for other mechanisms.

    Examples
    --------
    >>> given_to(make_policy("LDP-UCB-L", epsilon=0.5), {"mechanism": "LocalMechanism"})
    {'epsilon': 0.5}
    """
    if settings.get("mechanism") != "LocalMechanism":
        return {}
    return {name: value for name in policy.shared if (value := getattr(policy, name)) is not None}
