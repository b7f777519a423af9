"""`Env`, the base class of all envs, which plays R runs at once in rounds of two phases."""

import copy
import inspect
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from hushbandits.core.guarantee import Guarantee
from hushbandits.core.messages import Field, Fields, Observation, index_field
from hushbandits.core.metric import Metric
from hushbandits.core.random import names
from hushbandits.core.random.seed_text import seed_text
from hushbandits.core.random.streams import Streams
from hushbandits.core.rounds import Rounds
from hushbandits.core.task import RLTask
from hushbandits.core.team import Team
from hushbandits.core.utils import Action, Array, Params, Seeds, checked_names, count, ships
from hushbandits.core.validation import checked_rows, checked_seeds, spoken_fields
from hushbandits.core.wrapper import Wrapper, added, distinct, folded, gathered, outward

#: Rewards in [0, 1], as agents see them.
_UNIT = Field(low=0.0, high=1.0)


class Env(Rounds):
    """Base class of all envs: it starts runs, checks input, plays the two phases of each round and calls wrappers.

    A setting fills in `report`, `_reset`, `_pull`, `_report`, `_transport` and `_metrics`, and declares what
    wrappers may do to its messages (`message_class`) and the task for learners (`rl_task`).

    Parameters
    ----------
    n_agents, n_arms : int
        M agents (servers, in feedback) and K arms.
    wrappers : sequence of Wrapper
        On messages' way, outermost first: each wrapper's `send` in this order, each `deliver` in reverse.
    extra_fields : Fields, optional
        Fields that the team sends beside the standard report.
    fields : Fields, optional
        Fields that the team sends instead of it.
    runs : int
        R, the number of runs played at once.

    Raises
    ------
    ValueError
        A size below its least; fields where users speak; a wrapper that its messages cannot answer; or
        `reward_free_fields` that are no tuple of names.

    Notes
    -----
    A field that a user-defined env reports, offers in inboxes or shows in `agent_visible` beyond its base's voids all
    promises of privacy, unless its class lists it in `reward_free_fields`.

    Examples
    --------
    >>> import hushbandits as hb
    >>> env = hb.make_batched("CoopNetwork-v0", runs=2, n_agents=3, n_arms=5, horizon=10)
    >>> obs = env.reset(hb.spawn_seeds(0, 2))
    >>> env.pull(np.zeros((2, 3), int)).reward.shape  # R runs, M agents
    (2, 3)
    >>> env.communicate(None).t.tolist()  # None: the default message
    [1, 1]
    """

    wrappers: tuple[Wrapper, ...]
    #: The wrappers as they were built: what a team may read, without any run's state.
    configured: tuple[Wrapper, ...]
    seeds: Seeds = np.empty((0, 3), np.uint64)
    _given: Params
    #: The metric that times an episode: the x-axis of its curves.
    time_unit: ClassVar[str] = "rounds"
    #: Whether every metric is linear in the clock inside a step (then a curve interpolates).
    interpolate_metrics: ClassVar[bool] = False
    #: Attributes that a team may read besides those that `EnvView` shows of every env.
    agent_visible: ClassVar[tuple[str, ...]] = ()
    #: Parameters that a team's `protocol` may use besides those that `EnvView` shows.
    agent_visible_params: ClassVar[tuple[str, ...]] = ()
    #: Attributes that a team's `metrics` may read after the last round.
    visible_after_episode: ClassVar[tuple[str, ...]] = ("means", "gaps", "locations")
    #: Of its parameters, those that decide rewards and world, by the names under which they enter a seed; empty: all.
    #: The names stay when parameters are renamed.
    seed_fields: ClassVar[Mapping[str, str]] = {}
    #: Task for learners.
    rl_task: ClassVar[type[RLTask] | None] = None
    #: Whether messages may get lost in the env itself, and with them the noise that they carry.
    loses: ClassVar[bool] = False
    #: Names of the fields that the class adds to reports, inboxes or `agent_visible` and that reveal nothing about
    #: rewards.  A user-defined class with its own `_report` or `_transport` declares it, if only as ``()``; otherwise
    #: no privacy guarantee holds in the env.
    reward_free_fields: ClassVar[tuple[str, ...]] = ()
    #: Scalar metrics worth a curve.
    logged_metrics: tuple[str, ...] = ()
    #: Declarations of its metrics, and of its wrappers' metrics; a class adds to those of its bases.
    metrics_spec: Mapping[str, Metric] = {}
    #: Whether an episode lasts exactly `horizon` ticks of the clock.
    fixed_length: bool = True
    #: Id (or class), parameters and wrappers that it was made from, where a registry made it.
    spec: "tuple[str | type[Env], Params, tuple[Wrapper, ...]] | None" = None

    def __init__(
        self,
        *,
        n_agents: int,
        n_arms: int,
        wrappers: Sequence[Wrapper] = (),
        extra_fields: Fields | None = None,
        fields: Fields | None = None,
        runs: int = 1,
    ):
        checked_names(type(self).__name__, self, "reward_free_fields")
        self.n_agents = count("n_agents", n_agents, 1)
        self.n_arms = count("n_arms", n_arms, 2)
        self.runs = count("runs", runs, 1)
        self.wrappers = tuple(copy.deepcopy(w) for w in distinct(wrappers))
        if (extra_fields is not None or fields is not None) and not self.message_class.identified_senders:
            raise ValueError(
                f"extra_fields= and fields= are not allowed in the {self.setting} setting: users send the messages"
            )
        self._whole = extra_fields is None and fields is None
        spoken = self.report if self._whole else spoken_fields(self.report, extra_fields, fields, self.n_arms)
        self.fields = {k: f.sized(self.n_arms) if f.per_arm else f for k, f in spoken.items()}
        self._phase = "new"
        self._infinite_cost: dict[str, bool] = {}
        self._action_fields = tuple(self.actions.items())  # every phase asks for them
        self._fold()
        self.configured = copy.deepcopy(self.wrappers)
        self.logged_metrics = (*self.logged_metrics, *(name for w in self.wrappers for name in w.logged_metrics))
        self.metrics_spec = gathered(self, *self.wrappers)

    def _fold(self) -> None:
        """Set `sent_fields`, `own_reward_fields` and `inbox_fields`, the fields after all wrappers."""
        way = outward(self.wrappers, self.fields, self.message_class, self)
        self.sent_fields = way[-1]
        #: Fields behind each wrapper with a user-defined `send`, by its name.
        behind = zip(self.wrappers, way[1:], strict=True)
        self._declared = {w.name: fields for w, fields in behind if not ships(w.send)}
        rewards = {"reward": _UNIT if self.law.unit_interval else Field()}
        self._own_rewards = own = folded("own_reward_field", self.wrappers, rewards, self)
        back = folded("inbox_fields", self.wrappers[::-1], self._offers(self.sent_fields), self)
        self.own_reward_fields, self.inbox_fields = own[-1], back[-1]
        # Agents who do not see their rewards do not report them: the env does.
        self._withheld = "reward" not in self.own_reward_fields and "reward" in self.fields
        self._published = not {*self.own_reward_fields} <= {"reward"}
        #: Fields that user-defined wrappers add and do not declare free of rewards, with their names.
        self.added = (
            *added("message_fields", zip(self.wrappers, way, way[1:], strict=False)),
            *added("inbox_fields", zip(reversed(self.wrappers), back, back[1:], strict=False)),
            *added("own_reward_field", zip(self.wrappers, own, own[1:], strict=False)),
        )

    __signature__: ClassVar[inspect.Signature]

    def __new__(cls, *_: object, **given: object) -> Self:
        """Store the constructor's keyword arguments, from which `seed_text` is computed."""
        env = super().__new__(cls)
        env._given = given
        return env

    def __init_subclass__(cls, **rest: object) -> None:
        super().__init_subclass__(**rest)
        # Help and signatures show the parameters of `__init__`; `__new__` hides them otherwise.
        cls.__signature__ = inspect.Signature([*inspect.signature(cls.__init__).parameters.values()][1:])

    @cached_property
    def seed_text(self) -> str:
        """Return the text from which seeds are derived.

        Under one master seed, envs with equal texts have the same arms and random numbers of rewards.
        """
        return seed_text(type(self), self._given)

    # -- how runs start ---------------------------------------------------------------------------------------

    def reset(self, seeds: int | Seeds = 0, rows: Sequence[int] | Array | None = None) -> Observation:
        """Start all runs, or restart only the runs `rows`, under `seeds`; return the first observation.

        Parameters
        ----------
        seeds : int or (n, 3) uint64 array
            One row per run that starts, as `spawn_seeds` returns them; an int s stands for this env's first runs under
            s.
        rows : (n,) ints or (R,) bools, optional
            The runs that start afresh, between two rounds: from there on each is what it would be alone.

        Returns
        -------
        Obs

        Raises
        ------
        ValueError
            Another number of seeds than of runs that start; rows that are no runs.
        RuntimeError
            `rows` are given before the first start, or in the middle of a round.
        TypeError
            Single runs start, and the reset of its class or of a wrapper takes no `rows`.
        """
        if rows is not None and self._phase not in ("pull", "over"):
            self._refuse("reset(rows=…)")
        index = None if rows is None else checked_rows(rows, self.runs)
        seeds = checked_seeds(seeds, self.runs if index is None else len(index), self.seed_text)
        if index is not None and len(seeds) != len(index):
            raise ValueError(
                f"seeds= must have one row for each of {len(index)} runs that start, not {len(seeds)} rows"
            )
        some: tuple[Array, ...] = ()
        if index is not None and len(index) < self.runs:
            self._phase, some = "broken", (index,)  # until all of it is there
            self.seeds[index] = seeds
        else:
            self._phase = "new"  # until all of it is there
            self.seeds = seeds = seeds.copy() if index is None else seeds[np.argsort(index)]
            self.runs = len(seeds)
        rng = Streams(seeds)
        self._reset(rng, *some)
        for wrapper in self.wrappers:
            wrapper.reset(self, rng.below(names.wrapper(wrapper.name)), *some)
        self._phase = "pull"
        return self._seen()

    # -- what a setting is ----------------------------------------------------------------------------------

    @abstractmethod
    def _reset(self, rng: Streams, rows: Array | None = None) -> None:
        """Reset the state of all R runs, or of the runs `rows`; `rng` has the streams of the runs that start."""

    @property
    @abstractmethod
    def report(self) -> Fields:
        """Fields of the standard report, the default message."""

    @property
    def actions(self) -> Fields:
        """Fields of an agent's action; an action of several fields is a tuple of arrays."""
        return {"arm": index_field(self.n_arms)}

    def _offers(self, fields: Fields) -> Fields:
        """Return the fields of an inbox before any wrapper changes it, given the `fields` of the sent messages."""
        return fields

    @property
    def reductions(self) -> tuple[str, ...]:
        """Return the names of the reductions that an inbox offers besides its fields, such as ``"tally"``."""
        return ()

    @abstractmethod
    def _metrics(self) -> dict[str, Array]:
        """Return the env's own metrics, not its wrappers' metrics, each ``(R, …)``."""

    def no_action(self) -> Action:
        """Return the smallest action of every acting agent: arm 0, the empty set, or arm 0 with a block of one user."""
        lead = self.active_agents.shape
        least = [np.full((*lead, *f.shape), max(0, f.range[0]), f.dtype) for f in self.actions.values()]
        return least[0] if len(least) == 1 else tuple(least)

    def random_action(self, rngs: Sequence[np.random.Generator], block: int = 32) -> Action:
        """Return random arms for the acting agents, with one generator per run; set all other fields to `block`."""
        arms = np.stack([rng.integers(self.n_arms, size=self.active_agents.shape[1]) for rng in rngs])
        rest = [np.full_like(arms, block) for name in self.actions if name != "arm"]
        return (arms, *rest) if rest else arms

    def random_message(self, rngs: Sequence[np.random.Generator], rate: float = 0.01) -> dict[str, Array] | None:
        """Return a random message, drawn with one generator per run, or ``None`` for the default message."""
        return None

    def admit(self, team: Team) -> None:
        """Raise ``ValueError`` if votes could never decide a run of `team`, or if the run might never end."""

    def _metrics_of(self, rows: Array) -> dict[str, Array]:
        """Return the env's own metrics of the runs `rows`; a subclass may skip all other runs."""
        return {name: value[rows] for name, value in self._metrics().items()}

    def metrics(self, rows: Array | None = None) -> dict[str, Array]:
        """Return the current metrics of the env and its wrappers, each ``(R, …)``; with `rows`, only of these runs.

        The privacy costs of a wrapper are ∞ if all its run-level guarantees are invalid.
        """
        self._begun("metrics")
        found = dict(self._metrics() if rows is None else self._metrics_of(rows))
        for wrapper in self.wrappers:
            own = {name: value if rows is None else value[rows] for name, value in wrapper.metrics(self).items()}
            found |= own
            for name in wrapper.privacy_cost_metrics:
                if name in own and self.infinite_cost(wrapper):
                    found[name] = np.full(np.shape(own[name]), np.inf)
        return found

    def infinite_cost(self, wrapper: Wrapper) -> bool:
        """Return whether the privacy costs of `wrapper` are infinite in this env; the first call stores the result."""
        if wrapper.name not in self._infinite_cost:
            self._infinite_cost[wrapper.name] = wrapper.infinite_cost(self)
        return self._infinite_cost[wrapper.name]

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantees of all wrappers, outermost first, and then the guarantees of the env itself."""
        return (*(g for w in self.wrappers for g in w.guarantees(self)), *self.claimed_guarantees())

    def claimed_guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantees that the env itself claims; a subclass overrides this method."""
        return ()

    def task(self, **options: object) -> RLTask:
        """Return the env's RL task, an instance of `rl_task` built with `options`."""
        if self.rl_task is None:
            raise NotImplementedError(f"{type(self).__name__} has no task for learners: it declares no `rl_task`")
        return self.rl_task.asked(self, options)


Env.__init_subclass__()
