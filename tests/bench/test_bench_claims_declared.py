"""What the papers' files declare: one reading per word, own additions named, one run count per figure."""

import re
from pathlib import Path

import pytest
from refusals import rows

from hushbandits.baselines.dubey2020_heavy import partition
from hushbandits.bench.declare import words
from hushbandits.bench.declare.catalog import family, modules
from hushbandits.bench.declare.claim import ORIGINS
from hushbandits.bench.declare.effects import Ratio, Slope
from hushbandits.bench.reproduce import papers
from hushbandits.envs.network.graphs import adjacency, hop_distances

PAPERS = papers()
DECLARED = [(e, c) for paper in PAPERS for e in modules()[paper][1] for c in e.claims]
HARNESS = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")

#: Words of degree that a claim may not have unless `words.WORDS` reads them.
DEGREES = re.compile(
    r"\b(significan|considerab|clear|much|far\b|sharp|large improvement|little|slight|close\b|level|stable|match|"
    r"same\b|similar|unchanged|degrad|competitive|comparabl|linearly|substantial|marked|notabl|drastic|dramatic|strong|great|"
    r"huge|vast|rough|near|almost|moderate|modest|remarkabl|quick|rapid|steep|shallow|negligib|equal|identical)\w*",
    re.I,
)
#: Numbers of a sentence's own, which stand where no word does.
EXPLAINED = ("orders of magnitude", "more than ten times", "less than half", "10 times lower", "of the order of N")


def region(claim):
    return {end: getattr(claim, end) for end in ("above", "below") if getattr(claim, end) is not None}


def found(word, sentence):
    return re.search(rf"\b{word}", sentence, re.I)


def reading(claim):
    """The word that decides: the first of the table, where adverbs stand before the comparisons that they go with."""
    compares = isinstance(claim.effect, Ratio) and not any(part in claim.sentence for part in EXPLAINED)
    plain = ({"below": 1}, {"above": 1})
    known = {word for word, regions in words.WORDS.items() if compares or dict(regions[0]) not in plain}
    return next((word for word in words.WORDS if word in known and found(word, claim.sentence)), None)


@rows("word", words.WORDS)
def test_a_word_has_the_same_region_in_all_papers(word):
    allowed = [dict(r) for r in words.WORDS[word]]
    for experiment, claim in DECLARED:
        if reading(claim) == word:
            assert region(claim) in allowed, (experiment.name, claim.sentence)
            if dict(words.MATCHES_PER_TIME) in allowed:
                per_time = claim.effect.kind == "difference" and claim.effect.per_time
                assert region(claim) == dict(words.MATCHES_PER_TIME if per_time else words.MATCHES), claim.sentence


def test_no_word_of_degree_is_without_a_reading():
    for experiment, claim in DECLARED:
        for word in DEGREES.finditer(claim.sentence):
            assert any(found(known, word[0]) for known in words.WORDS), (experiment.name, word[0], claim.sentence)


def test_a_region_of_a_word_is_quoted_by_a_word():
    """A claim that takes a region by how much is about a word of that reading."""
    by_word = {word: [dict(r) for r in regions] for word, regions in words.WORDS.items()}
    plain = [{"below": 1}, {"above": 1}]
    silent = ("ruin", "less than half", "needs 800")  # of our own, or a number of the paper's
    regions = [r for rs in by_word.values() for r in rs if r not in plain]
    for experiment, claim in DECLARED:
        if region(claim) in regions and not any(part in claim.sentence for part in silent):
            named = [word for word in by_word if found(word, claim.sentence)]
            assert any(region(claim) in by_word[word] for word in named), (experiment.name, claim.sentence)


def test_a_difference_of_averages_over_time_that_matches_says_its_ratio_as_well():
    """Both averages go to 0, so that a difference within .01 can hardly fail."""
    close = [(e, c) for e, c in DECLARED if region(c) == dict(words.MATCHES_PER_TIME)]
    assert len(close) == 3
    for experiment, claim in close:
        about = claim.to_dict()
        same = {key: about.get(key) for key in ("metric", "of", "over", "at", "time", "source", "statistic")}
        ratios = [c for c in experiment.claims if region(c) == dict(words.MATCHES) and c.effect.kind == "ratio"]
        assert any(all(c.to_dict().get(k) == v for k, v in same.items()) for c in ratios), claim.sentence


def test_a_word_is_the_same_up_and_down():
    """Each reading of more is the reverse of that of less, so that it does not matter which line is divided."""
    for less, more in (
        (words.LESS, words.MORE), (words.MUCH_LESS, words.MUCH_MORE), (words.CLEARLY_LESS, words.CLEARLY_MORE)
    ):  # fmt: skip
        assert less["below"] * more["above"] == pytest.approx(1)
    scale = [words.LITTLE["above"], words.CONSIDERABLY_LESS["below"], words.CLEARLY_LESS["below"],
             words.MUCH_LESS["below"]]  # fmt: skip
    assert scale == sorted(scale, reverse=True)


def test_the_page_has_every_word_in_the_row_of_its_region():
    table = HARNESS.partition("## Words in numbers")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")]
    names = {name: getattr(words, name) for name in words.__all__ if name.isupper() and name != "WORDS"}
    for word, regions in words.WORDS.items():
        mine = [row for row in rows if found(word, row.split("|")[1])]
        for one in regions:
            (name,) = [n for n, r in names.items() if dict(r) == dict(one)]
            assert any(f"`{name}`" in row for row in mine), (word, name)


def test_every_region_of_a_word_is_in_the_table_of_the_docs_and_the_other_way_round():
    table = HARNESS.partition("## Words in numbers")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([A-Z_]+)`", table))
    assert named == {name for name in words.__all__ if name.isupper() and name != "WORDS"}


def test_no_experiment_writes_a_reading_of_its_own():
    """A ratio's or an exponent's end that is no word and no plain comparison stands where it is explained."""
    plain = {0.0, 1.0}
    known = {v for rs in words.WORDS.values() for r in rs for v in r.values()}
    for experiment, claim in DECLARED:
        if isinstance(claim.effect, (Ratio, Slope)):
            ends = set(region(claim).values()) - plain - known
            assert not ends or any(e in claim.sentence for e in EXPLAINED), (experiment.name, claim.sentence, ends)


def test_readings_are_what_the_page_says():
    assert dict(words.MUCH_LESS) == {"below": 0.5}
    for both in (words.LITTLE, words.MATCHES):
        assert both["above"] * both["below"] == pytest.approx(1)  # the same whichever line is divided by the other
    assert words.CONSIDERABLY_LESS["below"] == words.LITTLE["above"]
    with pytest.raises(TypeError):
        words.MUCH_LESS["below"] = 0.9  # type: ignore[index]


@rows("paper", PAPERS)
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
    ("rio2023-fig1", "relatively stable (means, every N)", {"statistic": "mean", "at": {}, "origin": "paper"}),
    ("rio2023-fig3", "from ε = .1 to .05 (means, every N)", {"statistic": "mean", "at": {}, "above": 1.5}),
    ("rio2023-fig1", "from ε = .1 to .05 (medians", {"statistic": "median", "above": 1.5, "origin": "reading"}),
    ("rio2023-fig1", "number of agents. (Independent)", {"origin": "own"}),
    ("rio2023-fig1", "number of agents. (DP-MASE", {"origin": "paper"}),
    ("howson2024-fig2", "significantly", {"below": 0.5}),
    ("dubey2020-fig1a", "significantly", {"below": 0.5}),
    ("dubey2020-fig1a", "γ = floor", {"above": 1, "at": {"env.life": ["floor(diameter/2)"]}, "origin": "reading"}),
    ("dubey2020-fig1a", "γ = ceil", {"above": 1, "at": {"env.life": ["ceil(diameter/2)"]}, "origin": "reading"}),
    ("dubey2020-fig1b", "on Bernoulli arms", {"at": {"env.rewards": ["bernoulli"]}, "origin": "paper"}),
    ("dubey2020-fig1b", "on beta", {"at": {"env.rewards": ["beta", "truncated-gaussian"]}, "origin": "own"}),
    ("dubey2020-overestimate", "on Bernoulli arms", {"at": {"env.rewards": ["bernoulli"]}, "origin": "paper"}),
    ("dubey2020-overestimate", "on beta arms", {"at": {"env.rewards": ["beta"]}, "origin": "own"}),
    ("dubey2020-fig1c", "is the worst", {"origin": "own"}),
    ("feraud2019-fig1a", "superlinearly", {"effect": "slope", "above": 1, "at": {}, "origin": "paper"}),
    (
        "feraud2019-fig2a",
        "superlinearly",
        {"effect": "slope", "above": 1, "origin": "paper", "at": {"env.agent_distribution": ["50/80"]}},
    ),
    ("feraud2019-fig1a", "at every N", {"origin": "own"}),
    ("feraud2019-fig1b", "279", {"source": "Féraud et al. 2019, theorem 1"}),
    ("feraud2019-fig1b", "252", {"origin": "own"}),
    ("feraud2019-fig1b", "N = 512", {"origin": "reading"}),
    ("feraud2019-fig1b", "three to four orders", {"origin": "paper", "at": {}}),
    ("feraud2019-fig2a", "imbalance hurts", {"effect": "ratio", "above": 1, "at": {}, "origin": "paper"}),
    (
        "feraud2019-fig2a",
        "64 players on, the imbalance helps",
        {"below": 1, "at": {"env.n_agents": [64, 128, 256, 512, 1024]}, "origin": "paper"},
    ),
    ("feraud2019-fig2a", "The imbalance helps", {"effect": "ratio", "below": 1, "at": {}, "origin": "reading"}),
    ("feraud2019-median", "ten times", {"origin": "reading"}),
    ("feraud2019-dser4-end", "recovers", {"origin": "own"}),
    ("howson2024-fig3", "outperforms coop-UCB at all", {"below": 1, "at": {}, "origin": "own"}),
    (
        "howson2024-fig4",
        "published ε_c from 64 agents on",
        {"below": 1, "at": {"env.n_agents": [64, 100, 144]}, "origin": "paper"},
    ),
    ("howson2024-small", "grid of 25", {"at": {"env.graph": ["grid"], "env.n_agents": [25]}, "origin": "reading"}),
    ("howson2024-fig7", "2 leaders", {"below": 1, "origin": "reading"}),
    ("howson2024-two-leaders-cycle-16", "at every γ", {"below": 1, "at": {}, "origin": "reading"}),
    ("howson2024-fig3", "gap between", {"effect": "slope", "above": 0}),
    ("howson2024-fig4", "QuACK-UCB scales better", {"effect": "slope", "source": "Howson et al. 2024, figure 6"}),
    ("howson2024-messages", "diameter", {"metric": "messages_most", "source": ""}),
    ("chowdhury2023-fig1", "slight (T = 15,000)", {"effect": "ratio", "time": 15_000, "at": {}, **words.LITTLE}),
    ("chowdhury2023-fig1", "order-wise", {"effect": "ratio", "time": 1_000_000, "above": 0.1, "below": 10}),
    ("chowdhury2023-fig1", "their ratio", {"time": 1_000_000, "at": {}, "origin": "reading", **words.MATCHES}),
    ("chowdhury2023-fig2", "considerable gain (every ε)", {"at": {}, "origin": "reading"}),
    ("chowdhury2023-fig2", "where ε is small", {"at": {"agent.epsilon": [0.1]}, "origin": "paper", "below": 0.8}),
    ("chowdhury2023-fig5", "On ranking data", {"origin": "own"}),
    ("rio2023-fig1", "scales better", {"effect": "slope", "over": "Independent", "below": 0}),
    ("rio2023-fig6", "loses no accuracy", {"metric": "correct", "above": 0.95}),
    ("chowdhury2023-fig3", "higher ε (ratio, T = 300,000)", {"effect": "slope", "below": 0, "time": 300_000}),
    ("chowdhury2023-fig3", "their difference", {"per_time": True, "time": 10_000_000}),
    ("chowdhury2023-fig4", "Dist-CDP-SE against Dist-DP-SE", {"effect": "ratio", "below": 1}),
    ("chowdhury2023-fig2", "larger at small ε", {"effect": "slope", "along": "agent.epsilon", "above": 0}),
    ("chowdhury2023-fig5", "their difference", {"per_time": True}),
    ("chowdhury2023-bits", "logarithm of the batch", {"metric": "bits_per_user", "effect": "difference"}),
    ("chowdhury2023-radius", "1 − 3p", {"metric": "covered", "above": 0.7}),
    ("dubey2020-overestimate", "remains unchanged", dict(words.MATCHES)),
]


DEFAULTS = {"statistic": "mean", "at": {}, "source": "", "origin": "paper"}


@rows(("name", "part", "fields"), SAID)
def test_what_the_papers_say_is_declared(name, part, fields):
    for claim in declared(name, part)[1]:
        for field, value in fields.items():
            assert claim.to_dict().get(field, DEFAULTS.get(field)) == value, claim.sentence


def test_the_papers_reading_comes_before_our_own():
    for name in ("rio2023-fig1", "rio2023-fig3"):
        _, (paper, own) = declared(name, "relatively stable")
        assert (paper.origin, own.origin) == ("paper", "reading")


def test_a_line_that_a_figure_does_not_have_is_an_own_addition():
    everything = [e for paper in PAPERS for e in modules()[paper][1] if not e.source.startswith("own")]
    for experiment in everything:
        for claim in experiment.claims:
            if re.search(r"DDUCB-rechoosing|coop-UCB(?!, published)", claim.sentence):
                assert claim.origin == "own", claim.sentence
    experiment, (claim,) = declared("chowdhury2023-fig4", "shuffler")
    assert claim.origin == "own"
    assert "split-and-mix" in claim.sentence
    assert "(ε, δ)" in claim.sentence
    split = next(a for a in experiment.agents if a.name == "Shuffle-DP-SE")
    assert "split-and-mix" in str(split.label)
    _, late = declared("chowdhury2023-fig1", "T = 300,000")
    assert {c.origin for c in late} == {"own"}


def test_claims_of_an_experiment_of_our_own_are_ours():
    ours = [(e, c) for e, c in DECLARED if e.source.startswith("own addition")]
    assert ours
    assert {c.origin for _, c in ours} == {"own"}


def test_claims_are_of_three_kinds():
    paper, reading, own = (sum(c.origin == origin for _, c in DECLARED) for origin in ORIGINS)
    assert (paper, reading, own) == (282, 37, 77)


def test_two_leaders_are_led_by_every_gamma():
    experiments = [e for e in modules()["howson2024"][1] if e.name.startswith("howson2024-two-leaders")]
    assert len(experiments) == 6
    for e in experiments:
        graph, m = e.env.params["graph"], e.env.params["n_agents"]
        distance = hop_distances(adjacency(graph, m))
        two = [g for g in range(1, int(distance.max()) + 1) if len(partition(distance, g)[0]) == 2]
        assert list(e.sweep["CMP-UCB.gamma"]) == two


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


def test_a_gap_increases_on_cycles_alone():
    (paper,) = [modules()[name][1] for name in PAPERS if name.startswith("howson")]
    said = {e.name for e in paper for c in e.claims if "gap" in c.sentence and "increases" in c.sentence}
    assert said == {"howson2024-fig3"}


def test_an_overestimate_is_one():
    experiment, claims = declared("dubey2020-overestimate", "overestimated")
    rate = experiment.env.params["rate"]
    told = {a.label: a.params["epsilon"] for a in experiment.agents}
    for claim in claims:
        assert told[claim.effect.of] > told[claim.effect.over] == rate
