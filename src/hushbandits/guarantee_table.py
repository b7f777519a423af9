"""The privacy report, a table with the guarantees of an env and an agent."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, cast

from hushbandits.core import Params, real, shown
from hushbandits.core.env import Env
from hushbandits.core.guarantee import RESOLVED, Guarantee
from hushbandits.core.team import Team, check_compatible
from hushbandits.core.utils import ships
from hushbandits.privacy.sp800_226 import sp800_226
from hushbandits.registry import AnyAgent, AnyEnv, AnyWrapper, assemble, make_team, takes, title

if TYPE_CHECKING:
    import pandas as pd

#: Default δ at which a table composes.
DELTA = 1e-6


@dataclass(frozen=True)
class Line:
    """One row of the report: a guarantee with its observer and its scope.

    Parameters
    ----------
    by : str
        Who promises: a wrapper, or the agent.
    mechanism : str
        What is done, in words.
    protects : str
        What is protected: which two inputs look alike.
    against : str
        Who sees what is protected.
    epsilon, delta : float
        Per event: one reward, in all that is seen of it; ``inf``: nothing.
    run_epsilon, run_delta : float
        Per participant over a whole run: all rewards of an agent, or of a user; ``inf``: no bound is known.  Where the
        law of the noise is known, what is composed from it at the δ that was asked for.
    run_pure : float
        ε of the same with δ = 0; ``inf``: there is none.
    participant : str
        Who that is, and why so much.
    counts : str
        Whether this line counts, where several say something of the same.
    assumptions : tuple of str
        Without which it does not hold.
    source : str
        Paper and statement.
    vetted : tuple of str
        By what the claim was checked (`Guarantee.vetted`).
    """

    by: str
    mechanism: str
    protects: str
    against: str
    epsilon: float
    delta: float
    run_epsilon: float
    run_delta: float
    participant: str
    counts: str
    assumptions: tuple[str, ...]
    source: str
    run_pure: float = math.inf
    vetted: tuple[str, ...] = ()

    def texts(self) -> tuple[str, ...]:
        """Return the row as a tuple of texts, one for each column of `HEADS`."""
        event = _spent(self.epsilon, self.delta) if math.isfinite(self.epsilon) else "no ε"
        bound = _spent(self.run_epsilon, self.run_delta) if math.isfinite(self.run_epsilon) else "no bound"
        if self.run_epsilon < self.run_pure < math.inf:
            bound += f" (ε = {self.run_pure:.4g} with δ = 0)"
        run = f"{bound}: {self.participant}" if self.participant else bound
        who = f"{self.by}: {self.mechanism}" if self.mechanism else self.by
        known = "; ".join(self.assumptions), self.source, ", ".join(self.vetted) or "nothing"
        return who, self.protects, self.against, event, run, self.counts, *known


#: Columns of the table.
HEADS = (
    "promise", "protected", "against", "one reward", "a participant, whole run", "counts", "provided that", "source",
    "vetted by"
)  # fmt: skip


@dataclass(frozen=True)
class PrivacyReport:
    """The table of guarantees, with its rows as data in `lines`.

    Parameters
    ----------
    subject : str
        Env and agent.
    lines : tuple of Line
    notes : tuple of str
        How the lines go together.
    guarantees : tuple of Guarantee
        Behind the lines, in their order.

    Examples
    --------
    >>> table = privacy_report("DistDP-v0", "Dist-DP-SE", epsilon=0.5)
    >>> [(line.by, line.epsilon, line.run_epsilon) for line in table.lines]
    [('DiscreteLaplace', 0.5, 0.5), ('SecAgg', inf, inf)]
    """

    subject: str
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    guarantees: tuple[Guarantee, ...] = field(default=(), repr=False, compare=False)

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def bound(self) -> tuple[float, float] | None:
        """Return the table's bounds on ε of one reward and of a participant's whole run (``inf``: no bound).

        Of several bounds by one mechanism the smallest holds; of several mechanisms, the largest bound is returned.
        A promise about one message by itself bounds neither.  ``None``: nobody promises an ε.

        Examples
        --------
        >>> privacy_report("DistDP-v0", "Dist-DP-SE", epsilon=0.5).bound()
        (0.5, 0.5)
        """
        by: dict[str, tuple[float, float]] = {}
        for line in self.lines:
            if line.counts.startswith(("yes: nothing holds", "yes, of all that is seen")):
                return math.inf, math.inf
            if math.isfinite(line.epsilon):
                alone = line.counts.startswith("only of one message")
                run = line.run_pure if math.isfinite(line.run_pure) else line.run_epsilon
                here = (math.inf, math.inf) if alone else (line.epsilon, run)
                by[line.by] = min(by.get(line.by, here), here)
        if not by:
            return None
        return max(one for one, _ in by.values()), max(run for _, run in by.values())

    def sp800_226(self) -> dict[int, dict[str, tuple[str, str]]]:
        """Return the answers to NIST SP 800-226 for every line that claims differential privacy, by line number.

        Lines that only hide or drop messages are left out; an answer comes with its reason (`privacy.sp800_226`).

        Examples
        --------
        >>> answers = privacy_report("DistDP-v0", "Dist-DP-SE").sp800_226()
        >>> answers[1]["seeds"]
        ('outside the simulation', 'seeded noise is a simulation')
        """
        return {i: sp800_226(g) for i, g in enumerate(self.guarantees, 1) if g.adjacency.replaced != "none"}

    def _answers(self) -> list[tuple[str, str, str]]:
        found = self.sp800_226()
        of = {i: f", line {i}" if len(found) > 1 else "" for i in found}
        return [(point + of[i], *answer) for i, answers in found.items() for point, answer in answers.items()]

    def to_frame(self) -> "pd.DataFrame":
        """Return a ``pandas.DataFrame`` with one row per guarantee and one column per field of `Line`."""
        import pandas as pd

        return pd.DataFrame(list(self.lines))

    def __str__(self) -> str:
        parts = [f"Privacy of {self.subject}"]
        for i, line in enumerate(self.lines, 1):
            first, *rest = line.texts()
            parts.append(f"\n{i}. {fill(first, 110, subsequent_indent='   ')}")
            parts += [_said(head, text) for head, text in zip(HEADS[1:], rest, strict=False) if text]
        answers = self._answers()
        parts += ["\nAnswers to NIST SP 800-226"] if answers else []
        parts += [_said(point, f"{answer}: {reason}") for point, answer, reason in answers]
        parts += [f"\n{fill(note, 116)}" for note in self.notes]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        answers, heads = self._answers(), ("point", "answer", "reason")
        further = _html("Answers to NIST SP 800-226", heads, answers) if answers else ""
        return _html(f"Privacy of {self.subject}", HEADS, [line.texts() for line in self.lines]) + further + notes


def _said(head: str, text: str) -> str:
    return fill(f"   {head + ':':<26}{text}", 116, subsequent_indent=" " * 29)


def _html(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    cells = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{cells}</tbody></table>"


def privacy_report(
    env: AnyEnv | Env | object, agent: AnyAgent | Team | None = None, *,
    agent_kwargs: Params | None = None, wrappers: Sequence[AnyWrapper] = (), delta: float = DELTA, **kwargs: object,
) -> PrivacyReport:  # fmt: skip
    """Return a report of the privacy guarantees of an agent in an env, with their observers and assumptions.

    Parameters
    ----------
    env : str, class, Env or view
        An id (or class) and its parameters in `kwargs`, or an env that is built already.
    agent : str, class or Team, optional
        Who plays; by default the env's own promises alone.
    agent_kwargs : mapping, optional
        The agent's parameters.
    wrappers : sequence of Wrapper, of their names or classes
        With an id: on messages' way, outermost first.
    delta : float
        δ in [0, 1) at which releases whose law of noise is known are composed; below 1e-10 they are added up.  Where
        the id's env has a parameter of this name, another than 1e-6 is the env's as well.
    **kwargs
        With an id: the env's parameters.

    Returns
    -------
    PrivacyReport

    Raises
    ------
    ValueError, TypeError
        Unknown names, bad parameters, or an agent that cannot play there.

    Examples
    --------
    >>> print(privacy_report("DPMASE-v0", "DP-MASE", agent_kwargs={"epsilon": 0.1}))  # doctest: +ELLIPSIS
    Privacy of DPMASE-v0 with DP-MASE
    <BLANKLINE>
    1. DP-MASE: Laplace(1/(εR)) on an arm's mean of the R rewards of an epoch
       protected:                one reward of one agent on one arm replaced
       against:                  an observer of all votes
       one reward:               ε = 0.1
       a participant, whole run: no bound: all rewards of a participant: nothing adds them up
    ...
    """
    if isinstance(agent, Team) and agent_kwargs:
        raise ValueError(f"agent_kwargs={shown(agent_kwargs)} cannot change {agent.name}, which is an instance")
    team = agent if agent is None or isinstance(agent, Team) else make_team(agent, **(agent_kwargs or {}))
    built = cast("AnyEnv | Env", getattr(getattr(env, "unwrapped", env), "core", env))
    if isinstance(built, Env) and (kwargs or wrappers):
        raise ValueError(f"{shown(kwargs or wrappers)} cannot change an env instance; give an env id instead")
    if not isinstance(built, Env):
        if delta != DELTA and takes(built, "delta"):
            kwargs["delta"] = delta
        built = assemble(built, team, runs=1, env=kwargs, wrappers=wrappers)
    if team is not None:
        check_compatible(built, team)
    return protection(built, team, delta)


def protection(env: Env, team: Team | None = None, delta: float = DELTA) -> PrivacyReport:
    """Return the report for a built env and a compatible team; `delta` as in `privacy_report`."""
    real("delta", delta, 0, 1, closed="low")
    own = env.claimed_guarantees()
    if own and not ships(type(env).claimed_guarantees):
        word = f"as claimed by {type(env).__name__}"
        own = tuple(replace(g, assumptions=(word, *g.assumptions), exact=None) for g in own)
    held = [*[(wrapper.name, wrapper.guarantees(env)) for wrapper in env.wrappers], ("env", own)]
    if team is not None:
        held.append((team.name, team.guarantees(env)))
    lines = [_line(by, g, guarantees, delta) for by, guarantees in held for g in guarantees]
    notes = []
    if len({line.by for line in lines if math.isfinite(line.epsilon)}) > 1:
        notes.append(
            "Several promise an ε: each line holds by itself of what leaves its own mechanism; what comes later gets "
            "nothing else, and where it does more than that the line says so."
        )
    if not lines:
        against = f"receivers see messages as they are ({', '.join(env.sent_fields) or 'nothing'})"
        lines = [
            Line("nobody", "", "nothing", against, math.inf, 0.0, math.inf, 0.0, "", "yes: nothing is promised", (), "")
        ]
    elif all(math.isinf(line.epsilon) for line in lines):
        notes.append("No line has an ε: nothing bounds what the messages reveal about a reward.")
    if team is None:
        notes.append("An agent may promise more, or reveal more, than its env: name the agent to have it in the table.")
    where = title(env.spec[0]) if env.spec is not None else type(env).__name__
    subject = where if team is None else f"{where} with {team.name}"
    return PrivacyReport(subject, tuple(lines), tuple(notes), tuple([g for _, some in held for g in some]))


def _line(by: str, g: Guarantee, beside: Sequence[Guarantee], delta: float) -> Line:
    """Return the table row of a guarantee of the mechanism named `by`, whose guarantees are `beside`, at `delta`."""
    epsilon, its = g.epsilon, g.delta
    if its > 0 and (found := _composed(g, 1, delta)) < math.inf:
        epsilon, its = (min(found, epsilon), its) if its == delta else (found, delta)
    run_epsilon, run_delta, run_pure, participant = _over_run(g, delta)
    reason = (f"none helps: {g.invalid_reason}",) if g.invalid_reason else ()
    return Line(
        f"{by}, as claimed by {g.claimed_by}" if g.claimed_by not in ("", by) else by,
        g.mechanism, g.adjacency.words, g.view, epsilon, its, run_epsilon, run_delta, participant,
        _counts(g, beside) + (f"; as claimed by {g.claimed_by}" if g.claimed_by else ""),
        (*reason, *g.assumptions), g.source, run_pure, g.vetted,
    )  # fmt: skip


def _composed(g: Guarantee, times: int, delta: float) -> float:
    """Return the ε of `times` uses at `delta`, from the exact noise distribution; ``inf`` if no such ε is available."""
    # A user-defined class may claim another ε than the law that it took over.
    if g.exact is None or math.isinf(g.epsilon) or delta < RESOLVED or g.claimed_by:
        return math.inf
    return g.exact(times, delta)


def _counts(g: Guarantee, beside: Sequence[Guarantee]) -> str:
    """Return the text of the column ``counts``: how a guarantee combines with others of the same mechanism."""
    if math.isinf(g.epsilon):
        if not g.invalid_reason:
            return "no ε is claimed: it hides or drops messages; a line with an ε bounds what the rest reveals"
        if any(math.isfinite(other.epsilon) for other in beside):
            return "yes, of all that is seen: nothing holds; the other lines are about a part of it"
        return "yes: nothing holds here"
    if g.single_release:
        return "only of one message by itself: nothing is promised about a run"
    same = sum((other.view, other.adjacency) == (g.view, g.adjacency) for other in beside) if len(beside) > 1 else 1
    return f"one of {same} bounds on the same messages: all hold, take one, never their sum" if same > 1 else "yes"


def _over_run(g: Guarantee, delta: float) -> tuple[float, float, float, str]:
    """Return ε and δ of all rewards of a participant in a run, their ε at δ = 0, and the scope in words."""
    if g.run is None or math.isinf(g.epsilon):
        unsaid = g.single_release or math.isinf(g.epsilon)
        return math.inf, 0.0, math.inf, "" if unsaid else "all rewards of a participant: nothing adds them up"
    added, its = g.run.times * g.epsilon, min(1.0, g.run.times * g.delta)
    pure = math.inf if g.delta else added
    if g.run.times > 1 or g.delta:
        found = _composed(g, g.run.times, delta)
        if found < added or (found < math.inf and its > delta):
            return found, delta, pure, g.run.words
    return added, its, pure, g.run.words


def _spent(epsilon: float, delta: float) -> str:
    return f"ε = {epsilon:.4g}" + (f", δ = {delta:.2g}" if delta else "")
