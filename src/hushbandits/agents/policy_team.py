"""Base of network agents that use a single-agent policy."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from hushbandits.core import Requirements, Streams, World, integer, lean, words
from hushbandits.core.random.names import POLICY
from hushbandits.core.utils.jit import within
from hushbandits.envs.network.episode import NetworkTeam
from hushbandits.envs.network.rules import Rules, interpreted
from hushbandits.policies.policy import started
from hushbandits.policies.registry import AnyPolicy, given_to, make_policy

#: Turns a rule into the one that is played: compiles it, or leaves it as plain Python.
Turned = Callable[[Callable[..., None]], Callable[..., None]]
#: ``around(choose, update, turned)``: a team's rules around the two of a policy.
Around = Callable[[Callable[..., int], Callable[..., None], Turned], Rules]


@lru_cache
def _compiled(around: Around, choose: Callable[..., int], update: Callable[..., None]) -> Rules:
    return around(within(choose), within(update), lean)


class PolicyTeam(NetworkTeam):
    """Base of network agents that use a policy, in compiled code if the policy is built in.

    A subclass defines `around` and `begin`; the state that `begin` returns contains the policy's, from `learners`.

    Parameters
    ----------
    policy : str, class or Policy
        One of `list_policies`, ``"my_module:MyPolicy"``, a class or a policy.
    **params
        The policy's parameters.
    """

    around: Around

    def __init__(self, policy: AnyPolicy = "UCB1", **params: object):
        self.policy = make_policy(policy, **params)
        self._ships = self.policy.ships
        if not self._ships:
            self.made = interpreted

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The agent's rules, which call the policy's rules; they are compiled unless the policy is user-defined."""
        if self._ships:
            return _compiled(self.around, self.policy.choose, self.policy.update)
        return self.around(self._named("choose"), self._named("update"), lambda rule: rule)  # type: ignore[arg-type]

    def _named(self, hook: str) -> Callable[..., int]:
        """Return the rule `hook` of a user-defined policy, whose errors name the policy, the learner and the rule."""
        rule = getattr(self.policy, hook)

        def named(state: NamedTuple, r: int, *pulled: float) -> int:
            try:
                return integer("arm", rule(state, r), 0) if hook == "choose" else rule(state, r, *pulled)
            except Exception as error:
                raise RuntimeError(f"policy {self.policy.name}, learner {r}: {hook} raised {words(error)}") from error

        return named

    def requirements(self, settings: dict[str, object]) -> Requirements:
        """Require that a ``LocalMechanism`` of the env has the policy's ε."""
        return Requirements(env=given_to(self.policy, settings))

    def learners(self, env: World, rng: Streams, each: int, plays: int) -> NamedTuple:
        """Return the policy's initial state in `env`: `each` learners per run, at most `plays` plays per learner."""
        cursors = rng.cursors(each, POLICY) if self.policy.random else None
        return started(self.policy, env, len(rng) * each, plays, cursors)
