"""Answers to the points of NIST SP 800-226 for a guarantee: holds, does not hold, or outside the simulation.

Source: NIST SP 800-226, "Guidelines for Evaluating Differential Privacy Guarantees" (2025).
"""

import math

from hushbandits.core.guarantee import IDEALISED, SIMULATED, Guarantee

#: The three answers.
HOLDS, FAILS, OUTSIDE = "holds", "does not hold", "outside the simulation"
#: How assumptions begin that are about rewards, noise or code, and not about a party that is trusted.
_OF_CODE = "rewards in", "the mechanism sits", "as claimed", IDEALISED, SIMULATED


def sp800_226(guarantee: Guarantee) -> dict[str, tuple[str, str]]:
    """Return an answer and a reason for each point of NIST SP 800-226.

    Answers follow from the guarantee's fields and assumptions.  Of a guarantee that nothing vetted, neither floating
    point nor seeds hold, because nothing says how its noise is drawn.

    Parameters
    ----------
    guarantee : Guarantee

    Returns
    -------
    dict of str to (str, str)
        By point: the answer, `HOLDS`, `FAILS` or `OUTSIDE`, and the reason.

    Examples
    --------
    >>> import hushbandits as hb
    >>> for noise in ("simulated", "exact"):
    ...     (claim, _) = hb.make_batched("DistDP-v0", noise=noise, simulate_users="individual").guarantees()
    ...     answers = sp800_226(claim)
    ...     print([answers[point][0] for point in ("floating point", "seeds", "timing")])
    ['does not hold', 'outside the simulation', 'outside the simulation']
    ['holds', 'holds', 'outside the simulation']
    """
    g, unknown = guarantee, "" if guarantee.vetted else "not vetted: nothing says how its noise is drawn"
    said = [words for words in g.assumptions if words.startswith(IDEALISED)]
    trusted = "; ".join(words for words in g.assumptions if not words.startswith(_OF_CODE))
    known, finite = g.adjacency.replaced in ("reward", "participant", "user"), math.isfinite(g.epsilon)
    floats = (FAILS, said[0] if said else unknown) if said or unknown else (HOLDS, "integer arithmetic alone")
    entropy = (FAILS, unknown) if unknown else (HOLDS, "noise from the operating system's entropy")
    claimed = f"claimed ε = {g.epsilon:.4g}, δ = {g.delta:.2g}" if finite else g.invalid_reason or "no ε is claimed"
    run = (HOLDS, g.run.words) if g.run and finite else (FAILS, "nothing adds up a participant's rewards in a run")
    return {
        "unit of privacy": (HOLDS if known else FAILS, g.adjacency.words),
        "ε and δ": (HOLDS if finite else FAILS, claimed),
        "trust model": (OUTSIDE, trusted) if trusted else (HOLDS, f"no other party is trusted; observer: {g.view}"),
        "floating point": floats,
        "timing": (OUTSIDE, "how long a draw takes depends on it"),
        "seeds": (OUTSIDE, SIMULATED) if SIMULATED in g.assumptions else entropy,
        "composition": run,
        "side channels": (OUTSIDE, "memory, files and traffic are not modelled"),
    }
