"""`Shuffle`, the wrapper that shuffles messages between senders and receivers, and its base class."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from hushbandits.core import Array, Channel, Guarantee, World, choice, flag, integer
from hushbandits.core.guarantee import hides
from hushbandits.secure.mixnet import MIXED, MOST_HOPS, Batches, mixed_words
from hushbandits.secure.primitives import needed
from hushbandits.wrappers.secagg import Passage, Played


class Mixed(Played):
    """Base class of shufflers, which are ideal or, with ``protocol="mixnet"``, mix cascades.

    Parameters
    ----------
    protocol : str, optional
        ``"mixnet"``; by default the shuffler is ideal.
    n_mixes : int
        Mixes that each batch passes.
    insecure_seed : bool
        Whether keys and orders follow from the run's seed: a simulation.

    Raises
    ------
    ValueError
        A number out of its range, or a parameter of the protocol without it.
    """

    _play: Batches
    #: The assumptions under which the shuffler hides senders.
    shuffler: tuple[str, ...] = ("an honest shuffler",)

    def __init__(self, protocol: str | None, n_mixes: int, insecure_seed: bool, *, name: str | None = None):
        super().__init__(name=name)
        n_mixes, insecure_seed = integer("n_mixes", n_mixes, 1, MOST_HOPS), flag("insecure_seed", insecure_seed)
        if protocol is not None:
            self.protocol = choice("protocol", protocol, ("mixnet",))
            needed()
            self.n_mixes, self.insecure_seed = n_mixes, insecure_seed
            self._play = Batches(n_mixes, insecure_seed)
            self.shuffler = mixed_words(n_mixes, insecure_seed)
            vars(self)["metrics_spec"] = dict(MIXED)  # an ideal shuffle measures nothing
        elif (n_mixes, insecure_seed) != (3, True):
            raise ValueError(f'{self.name} takes {n_mixes=} and {insecure_seed=} only with protocol="mixnet"')


class Shuffle(Mixed, Passage):
    """Wrapper that shuffles messages, so that receivers learn only the multiset of messages.

    Network: each receiver's arrivals of a round in a uniform order, without senders and delays (an agent that needs
    senders, such as QuACK, is refused).  Exploration: the votes of a window of activations, as counts per
    arm.  Linear: a round's uploads, without senders.  Feedback: the messages of a block of users; a pool of like users
    is its own shuffle.

    By default the shuffler is an ideal functionality.  ``protocol="mixnet"`` sends every batch through mixes, all in
    this process; feedback needs ``simulate_users="individual"`` then, and in exploration every agent of a window sends
    a message for each arm, so that none shows by its number.  Source of the model: Bittau et al. 2017; of the mixes:
    Chaum 1981.

    Parameters
    ----------
    batch_window : int, optional
        Exploration only, and needed there: activations per shuffle.
    min_cohort : int
        Exploration only: fewest different agents per window.
    protocol : str, optional
        ``"mixnet"``; by default the shuffler is ideal.  What follows is for the protocol alone.
    n_mixes : int
        Mixes that each batch passes.
    insecure_seed : bool
        Whether keys and orders follow from the run's seed: a simulation.  Otherwise they are the operating system's,
        and a run whose agents go by the order does not repeat.

    Raises
    ------
    ValueError
        A number out of its range, or a parameter of the protocol without it.

    Examples
    --------
    >>> import hushbandits as hb
    >>> sorted(hb.make_batched("CoopNetwork-v0", wrappers=[Shuffle()]).inbox_fields)
    ['arm', 'reward']
    """

    operations = ("shuffle",)

    def __init__(
        self,
        batch_window: int | None = None,
        min_cohort: int = 2,
        protocol: str | None = None,
        n_mixes: int = 3,
        insecure_seed: bool = True,
        *,
        name: str | None = None,
    ):
        super().__init__(protocol, n_mixes, insecure_seed, name=name)
        self.batch_window = None if batch_window is None else integer("batch_window", batch_window, 2)
        self.min_cohort = integer("min_cohort", min_cohort, 2)

    def channel(self, env: World) -> Channel:
        return cast(Channel, env.message_class.shuffled(self, env))

    def order(self, run: int, messages: Sequence[bytes]) -> Array:
        """Send `messages` through the mixes, and return their indices in the order in which they leave.

        Parameters
        ----------
        run : int
        messages : sequence of bytes

        Returns
        -------
        (n,) int
            The permutation.
        """
        return self._play.order(run, messages)

    def add_up(self, run: int, vectors: Array, modulus: int) -> tuple[Array, Array]:
        """Send votes through the mixes, and return the sum and the mask of the rows in the sum.

        Parameters
        ----------
        run : int
        vectors : (n, K) int64
            Votes, 0 or 1.
        modulus : int
            Larger than n.

        Returns
        -------
        total : (K,) int64
        left : (n,) bool
            Everybody's.
        """
        return self._play.count(run, vectors), np.ones(len(vectors), bool)

    def claimed_guarantees(self, env: World) -> tuple[Guarantee, ...]:
        what, source = "ideal shuffle", "Cheu et al. 2019"
        whose: tuple[str, ...] = ("the shuffler is trusted", "seeded permutations are a simulation")
        if self.protocol is not None:
            what, source, whose = f"shuffle by {self.n_mixes} mixes", f"{source}; Chaum 1981", self.shuffler
        inputs = "none: it hides who said what, not what was said"
        view = "the receiver sees the multiset of messages of a cohort"
        return hides(f"{what}: a uniform permutation, senders removed", inputs, view, whose, source, self.vetted)
