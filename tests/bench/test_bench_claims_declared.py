"""What the papers' files declare: one reading per word, own additions named, one run count per figure."""

import re
from pathlib import Path

import pytest

from hushbandits.bench.declare import words
from hushbandits.bench.declare.effects import Ratio, Slope
from hushbandits.bench.declare.points import check_claims
from hushbandits.bench.play.run import check
from hushbandits.bench.reproduce import papers
from hushbandits.experiments import family, modules

PAPERS = papers()
DECLARED = [(e, c) for paper in PAPERS for e in modules()[paper][1] for c in e.claims]
HARNESS = (Path(__file__).parents[2] / "docs" / "harness.md").read_text(encoding="utf-8")

#: A word of a sentence, and the regions that it may stand for.
READINGS = {
    r"\bmuch (faster|better)\b|\bby far\b|\bsharply\b|significantly better|large improvement": [words.MUCH_LESS],
    r"\bclearly\b|increase significantly": [words.CLEARLY_LESS, words.CLEARLY_MORE],
    r"relatively stable": [words.LITTLE],
    r"considerable gain": [words.CONSIDERABLY_LESS],
    r"\bmatches\b|\bsimilar\b|need the same\b|unchanged": [words.MATCHES, words.MATCHES_PER_TIME],
    r"grows linearly": [words.LINEARLY],
}


def region(claim):
    return {end: getattr(claim, end) for end in ("above", "below") if getattr(claim, end) is not None}


@pytest.mark.parametrize("pattern", READINGS)
def test_a_word_has_the_same_region_in_all_papers(pattern):
    claims = [c for _, c in DECLARED if re.search(pattern, c.sentence)]
    assert claims  # else the reading is dead
    for claim in claims:
        assert region(claim) in [dict(r) for r in READINGS[pattern]], claim.sentence
        if pattern.startswith(r"\bmatches"):
            assert region(claim) == dict(words.MATCHES_PER_TIME if claim.effect.per_time else words.MATCHES), (
                claim.sentence
            )


def test_every_region_of_a_word_is_in_the_table_of_the_docs_and_the_other_way_round():
    table = HARNESS.partition("## Words in numbers")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([A-Z_]+)`", table))
    assert named == {name for name in words.__all__ if name.isupper()}


def test_no_experiment_writes_a_reading_of_its_own():
    """A ratio's or an exponent's end that is no word and no plain comparison stands where it is explained."""
    plain = {0.0, 1.0}
    known = {v for name in words.__all__ if name.isupper() for v in getattr(words, name).values()}
    explained = ("orders of magnitude", "more than ten times")
    for experiment, claim in DECLARED:
        if isinstance(claim.effect, (Ratio, Slope)):
            ends = set(region(claim).values()) - plain - known
            assert not ends or any(e in claim.sentence for e in explained), (experiment.name, claim.sentence, ends)


def test_readings_are_what_the_page_says():
    assert dict(words.MUCH_LESS) == {"below": 0.5}
    assert words.CLEARLY_LESS["below"] * words.CLEARLY_MORE["above"] == pytest.approx(1)
    for both in (words.LITTLE, words.MATCHES):
        assert both["above"] * both["below"] == pytest.approx(1)  # the same whichever line is divided by the other
    assert words.CONSIDERABLY_LESS["below"] == words.LITTLE["above"]
    with pytest.raises(TypeError):
        words.MUCH_LESS["below"] = 0.9  # type: ignore[index]


@pytest.mark.parametrize("paper", PAPERS)
def test_declarations_can_be_run_and_judged(paper):
    for experiment in modules()[paper][1]:
        check_claims(experiment)
        check_claims(experiment.quickly())
    check([e for e in modules()[paper][1] if e.name.endswith(("-radius", "-bits", "-fig5", "-overestimate"))])


@pytest.mark.parametrize("paper", PAPERS)
def test_sentences_say_what_they_are_about_and_none_is_said_twice(paper):
    said = [(c.sentence, e.source) for e in modules()[paper][1] for c in e.claims]
    assert len(set(said)) == len(said) == family(modules()[paper][1][0].name)


def declared(name, part):
    (experiment,) = [e for e in modules()[name.partition("-")[0]][1] if e.name == name]
    found = [c for c in experiment.claims if part in c.sentence]
    assert found, part
    return experiment, found


#: What the papers' texts say and a claim must, by experiment: a part of its sentence, and fields.
SAID = [
    ("feraud2019-shared", "needs 800 samples", {"above": 800 / 1.15, "below": 800 * 1.15, "statistic": "mean"}),
    ("feraud2019-shared", "Both 0-Privacy baselines need the same", {"effect": "ratio"}),
    ("feraud2019-fig1a", "increases with N", {"effect": "slope", "above": 0, "over": "1-Privacy-UGapEc"}),
    ("feraud2019-fig2a", "increases with N", {"effect": "slope", "above": 0}),
    ("rio2023-fig1", "relatively stable (means, every N)", {"statistic": "mean", "at": {}, "source": ""}),
    ("rio2023-fig3", "significantly from ε = .1 to .05 (means, every N)", {"statistic": "mean", "at": {}}),
    ("rio2023-fig1", "scales better", {"effect": "slope", "over": "Independent", "below": 0}),
    ("rio2023-fig6", "loses no accuracy", {"metric": "correct", "above": 0.95}),
    ("chowdhury2023-fig1", "small T is smaller for a higher ε", {"effect": "slope", "below": 0, "time": 10_000}),
    ("chowdhury2023-fig3", "matches", {"per_time": True, "time": 10_000_000}),
    ("chowdhury2023-fig4", "Dist-CDP-SE against Dist-DP-SE", {"effect": "ratio", "below": 1}),
    ("chowdhury2023-fig2", "larger at small ε", {"effect": "slope", "along": "agent.epsilon", "above": 0}),
    ("chowdhury2023-fig5", "matches", {"per_time": True}),
    ("chowdhury2023-bits", "logarithm of the batch", {"metric": "bits_per_user", "effect": "difference"}),
    ("chowdhury2023-radius", "1 − 3p", {"metric": "covered", "above": 0.7}),
    ("dubey2020-overestimate", "remains unchanged", dict(words.MATCHES)),
]


DEFAULTS = {"statistic": "mean", "at": {}, "source": ""}


@pytest.mark.parametrize(("name", "part", "fields"), SAID)
def test_what_the_papers_say_is_declared(name, part, fields):
    for claim in declared(name, part)[1]:
        for field, value in fields.items():
            assert claim.to_dict().get(field, DEFAULTS.get(field)) == value, claim.sentence


def test_the_papers_reading_comes_before_our_own():
    for name in ("rio2023-fig1", "rio2023-fig3"):
        _, (paper, own) = declared(name, "relatively stable")
        assert not paper.source
        assert own.source.startswith("own reading")


def test_a_line_that_a_figure_does_not_have_is_an_own_addition():
    experiment, (claim,) = declared("chowdhury2023-fig4", "shuffler")
    assert claim.source == "own addition"
    assert "split-and-mix" in claim.sentence
    assert "(ε, δ)" in claim.sentence
    split = next(a for a in experiment.agents if a.name == "Shuffle-DP-SE")
    assert "split-and-mix" in str(split.label)
    _, late = declared("chowdhury2023-fig1", "T = 300,000")
    assert {c.source for c in late} == {"own addition"}


@pytest.mark.parametrize(
    ("figures", "runs"),
    [
        (["chowdhury2023-fig1", "chowdhury2023-fig2", "chowdhury2023-fig3", "chowdhury2023-fig4",
          "chowdhury2023-fig5"], 300),
        (["rio2023-fig1", "rio2023-fig2", "rio2023-fig2-p2", "rio2023-fig3", "rio2023-fig4", "rio2023-fig4-p2",
          "rio2023-fig5", "rio2023-fig5-p2"], 64),
        (["feraud2019-fig1a", "feraud2019-fig1b", "feraud2019-fig2a", "feraud2019-fig2b"], 80),
        (["dubey2020-fig1a", "dubey2020-fig1b", "dubey2020-fig1c"], 100),
    ],
)  # fmt: skip
def test_one_run_count_for_a_papers_figures(figures, runs):
    everything = {e.name: e for paper in PAPERS for e in modules()[paper][1]}
    assert {everything[name].runs for name in figures} == {runs}


def test_an_overestimate_is_one():
    experiment, claims = declared("dubey2020-overestimate", "overestimated")
    rate = experiment.env.params["rate"]
    told = {a.label: a.params["epsilon"] for a in experiment.agents}
    for claim in claims:
        assert told[claim.effect.of] > told[claim.effect.over] == rate
