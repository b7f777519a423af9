"""Declarations of the papers: one reading per word, own additions marked, one number of runs per figure."""

import re

import pytest
from refusals import rows

from hushbandits.baselines.dubey2020_heavy import partition
from hushbandits.bench.reproduce import papers
from hushbandits.bench.spec.catalog import modules
from hushbandits.bench.spec.claim import ORIGINS, Ratio
from hushbandits.bench.stats.verdicts import together
from hushbandits.envs.network.graphs import adjacency, hop_distances
from hushbandits.experiments import _paper as words

PAPERS = papers()
DECLARED = [(e, c) for paper in PAPERS for e in modules()[paper][1] for c in e.claims]
#: Words of the papers, as in sentences, with their possible regions (down, up; for a slope, a single one).
WORDS = (
    dict.fromkeys(("significant increase",), (words.CLEARLY_LESS, words.CLEARLY_MORE))
    | dict.fromkeys(("order-wise",), (words.ORDERWISE,))
    | dict.fromkeys(("much", "far", "sharp", "significant", "large improvement"), (words.MUCH_LESS, words.MUCH_MORE))
    | dict.fromkeys(("clear",), (words.CLEARLY_LESS, words.CLEARLY_MORE))
    | dict.fromkeys(("little", "slight", "close to", "level", "stable"), (words.LITTLE,))
    | dict.fromkeys(("considerable",), (words.CONSIDERABLY_LESS,))
    | dict.fromkeys(("match", "same", "similar", "unchanged"), (words.MATCHES, words.MATCHES_PER_TIME))
    | dict.fromkeys(("degradation", "competitive"), (words.NO_WORSE,))
    | dict.fromkeys(("linearly",), (words.LINEARLY,))
    | dict.fromkeys(("better", "faster", "fewer", "less", "smaller", "outperform", "beat"), (words.LESS,))
    | dict.fromkeys(("worse", "worst", "more", "larger", "hurt"), (words.MORE,))
)
#: Numbers in sentences, instead of a word.
EXPLAINED = ("orders of magnitude", "more than ten times", "less than half", "10 times lower", "of the order of N")


def region(claim):
    return {end: getattr(claim, end) for end in ("above", "below") if getattr(claim, end) is not None}


def found(word, sentence):
    return re.search(rf"\b{word}", sentence, re.I)


def reading(claim):
    """Return the deciding word: the first of the table, where adverbs precede their comparisons."""
    compares = isinstance(claim.effect, Ratio) and not any(part in claim.sentence for part in EXPLAINED)
    plain = ({"below": 1}, {"above": 1})
    known = {word for word, regions in WORDS.items() if compares or dict(regions[0]) not in plain}
    return next((word for word in WORDS if word in known and found(word, claim.sentence)), None)


@rows("word", WORDS)
def test_a_word_has_the_same_region_in_all_papers(word):
    allowed = [dict(r) for r in WORDS[word]]
    for experiment, claim in DECLARED:
        if reading(claim) == word:
            assert region(claim) in allowed, (experiment.name, claim.sentence)
            if dict(words.MATCHES_PER_TIME) in allowed:
                per_time = claim.effect.kind == "difference" and claim.effect.per_time
                assert region(claim) == dict(words.MATCHES_PER_TIME if per_time else words.MATCHES), claim.sentence


def test_a_region_of_a_word_is_quoted_by_a_word():
    """A claim with a region by amount uses a word of that reading."""
    by_word = {word: [dict(r) for r in regions] for word, regions in WORDS.items()}
    plain = [{"below": 1}, {"above": 1}]
    silent = ("ruin", "less than half", "needs 800")  # our own words, or a number of the paper
    regions = [r for rs in by_word.values() for r in rs if r not in plain]
    for experiment, claim in DECLARED:
        if region(claim) in regions and not any(part in claim.sentence for part in silent):
            named = [word for word in by_word if found(word, claim.sentence)]
            assert any(region(claim) in by_word[word] for word in named), (experiment.name, claim.sentence)


def test_a_difference_of_averages_over_time_that_matches_says_its_ratio_as_well():
    """Both averages go to 0, so a difference within .01 is almost certain."""
    close = [(e, c) for e, c in DECLARED if region(c) == dict(words.MATCHES_PER_TIME)]
    assert len(close) == 3
    for experiment, claim in close:
        about = claim.to_dict()
        same = {key: about.get(key) for key in ("metric", "of", "over", "at", "time", "source", "statistic")}
        ratios = [c for c in experiment.claims if region(c) == dict(words.MATCHES) and c.effect.kind == "ratio"]
        assert any(all(c.to_dict().get(k) == v for k, v in same.items()) for c in ratios), claim.sentence


def test_a_word_is_the_same_up_and_down():
    """Each reading of more is the reverse of that of less, so the choice of denominator does not matter."""
    for less, more in (
        (words.LESS, words.MORE), (words.MUCH_LESS, words.MUCH_MORE), (words.CLEARLY_LESS, words.CLEARLY_MORE)
    ):  # fmt: skip
        assert less["below"] * more["above"] == pytest.approx(1)
    scale = [words.LITTLE["above"], words.CONSIDERABLY_LESS["below"], words.CLEARLY_LESS["below"],
             words.MUCH_LESS["below"]]  # fmt: skip
    assert scale == sorted(scale, reverse=True)


def declared(name, part):
    (experiment,) = [e for e in modules()[name.partition("-")[0]][1] if e.name == name]
    found = [c for c in experiment.claims if part in c.sentence]
    assert found, part
    return experiment, found


def test_claims_of_an_experiment_of_our_own_are_ours():
    ours = [(e, c) for e, c in DECLARED if e.source.startswith("own addition")]
    assert ours
    assert {c.origin for _, c in ours} == {"own"}


def test_all_claims_of_a_paper_are_judged_together():
    for paper in PAPERS:
        experiments = modules()[paper][1]
        assert {together(e) for e in experiments} == {sum(len(e.claims) for e in experiments)}


def test_claims_are_of_three_kinds():
    paper, reading, own = (sum(c.origin == origin for _, c in DECLARED) for origin in ORIGINS)
    assert (paper, reading, own) == (282, 50, 101)


def test_two_leaders_are_led_by_every_gamma():
    experiments = [e for e in modules()["howson2024"][1] if e.name.startswith("howson2024-two-leaders")]
    assert len(experiments) == 6
    for e in experiments:
        graph, m = e.env.params["graph"], e.env.params["n_agents"]
        distance = hop_distances(adjacency(graph, m))
        two = [g for g in range(1, int(distance.max()) + 1) if len(partition(distance, g)[0]) == 2]
        assert list(e.sweep["CMP-UCB.gamma"]) == two


def test_an_overestimate_is_one():
    experiment, claims = declared("dubey2020-overestimate", "overestimated")
    rate = experiment.env.params["rate"]
    shown = {a.label: a.params["epsilon"] for a in experiment.agents}
    for claim in claims:
        assert shown[claim.effect.of] > shown[claim.effect.over] == rate
