"""Exports: integers stay integers, floats stay floats, and no binary meets a terminal."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
import unicodedata

import numpy as np
import pytest
from bench_helpers import small
from refusals import rows

from hushbandits.bench.declare.spec import Use
from hushbandits.bench.play.store import FILE, Store
from hushbandits.bench.show.export import export, tidy
from hushbandits.bench.show.latex import tex
from hushbandits.cli.main import main
from hushbandits.core.luck.rewards import Gaussian

SWEEPS = {
    "env.n_agents": (3, 4),
    "env.life": (1, 2.5),
    "env.means": ((0.5, 1.0), (1, 0)),
    "env.permute_arms": (True, False),
    "env.rewards": ("bernoulli", Gaussian(0.5)),
    "env.horizon": (10**30, 1, "long"),
}
FINALS = {
    "messages": np.array([7, 8]),
    "correct": np.array([True, False]),
    "regret": np.array([3.0, np.inf]),
    "epsilon": np.array([1.0, 2.0]),
    "steps": np.array([12, 13]),  # of one's own env
    "cost": np.array([1.0, 0.5]),
    "rounds": np.array([np.nan, 4.0]),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("export")
    experiment = small(env=Use("CoopNetwork-v0"), agents=[Use("UCB1")], sweep=SWEEPS, runs=2)
    other = small(name="other", sweep={"env.n_agents": (5,)}, agents=[Use("UCB1")], runs=2)
    with Store(path / FILE, [experiment, other]) as store:
        for cell in (experiment.cells()[0], experiment.cells()[-1], other.cells()[0]):
            curves = {"messages": np.array([[2, 2.5], [3, 4]]), "regret": np.array([[1, 2.5], [1, 3]])}
            store.add(cell, [0, 1], FINALS, curves, np.array([1, 10]))
    return path


def values(rows, metric):
    return [row["value"] for row in rows if row["metric"] == metric and row["experiment"] == "other"]


def test_the_rows_of_all_formats_have_their_types(folder):
    with Store(folder / FILE, readonly=True) as store:
        rows = list(tidy(store))
        export(store, out=folder / "x.json")
        export(store, out=folder / "x.csv")
    assert values(rows, "messages") == [7, 8, 2, 2.5, 3, 4]
    kinds = {m: [type(v) for v in values(rows, m)] for m in FINALS}
    assert kinds["messages"] == [int, int, int, float, int, int]
    assert kinds["correct"] == kinds["steps"] == [int, int]
    assert kinds["cost"] == kinds["epsilon"] == [float, float]
    assert set(kinds["regret"]) == {float}
    assert kinds["rounds"] == [type(None), int]
    assert {type(row["time"]) for row in rows} == {int, type(None)}
    first = rows[0]
    assert {k: first[k] for k in SWEEPS} == {
        "env.n_agents": 3, "env.life": 1.0, "env.means": "[0.5, 1]", "env.permute_arms": True,
        "env.rewards": "bernoulli", "env.horizon": 10**30,
    }  # fmt: skip
    assert isinstance(first["env.life"], float)
    assert next(r for r in rows if r["env.n_agents"] == 4)["env.rewards"] == '{"Gaussian": {"sigma": 0.5}}'
    text = (folder / "x.json").read_text()
    assert "Infinity" not in text
    assert json.loads(text) == rows
    assert [list(row) for row in json.loads(text)] == [list(row) for row in rows]
    table = list(csv.DictReader(io.StringIO((folder / "x.csv").read_text())))
    assert [row["value"] for row in table] == ["" if row["value"] is None else str(row["value"]) for row in rows]
    assert [row["env.n_agents"] for row in table] == [str(row["env.n_agents"]) for row in rows]
    assert table[0]["env.life"] == "1.0"


def test_parquet_has_one_type_a_column(folder):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    with Store(folder / FILE, readonly=True) as store:
        export(store, out=folder / "x.parquet")
        rows = list(tidy(store))
    table = parquet.read_table(folder / "x.parquet")
    types = {name: table.schema.field(name).type for name in table.column_names}
    assert types["run"] == types["time"] == types["env.n_agents"] == pa.int64()
    assert types["value"] == types["env.life"] == pa.float64()
    assert types["env.permute_arms"] == pa.bool_()
    assert {types[k] for k in ("env.means", "env.rewards", "env.horizon", "cell", "metric")} == {pa.string()}
    for row in rows:
        row.update({"env.horizon": str(row["env.horizon"])} if "env.horizon" in row else {})
    assert table.to_pylist() == [{name: row.get(name) for name in table.column_names} for row in rows]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--format", "xls"], "format='xls'"),
        (["--out", "rows.txt"], "out='rows.txt' does not end with .csv, .json, .parquet, .tex: give a format"),
        (["--out", "rows"], "out='rows' does not end with"),
        (["--out", "no/where.csv"], "cannot write no/where.csv"),
        (["--format", "parquet"], "give a file (--out rows.parquet), or a pipe"),
    ],
)
def test_a_wrong_export_is_one_sentence_and_writes_nothing(folder, tmp_path, monkeypatch, capsys, args, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(["export", str(folder), *args]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert list(tmp_path.iterdir()) == []


def test_the_ending_decides_unless_a_format_is_given(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for args in (["--out", "a.JSON"], ["--output", "b.json"], ["--out", "c.txt", "--format", "json"]):
        assert main(["export", str(folder), *args]) == 0
    assert capsys.readouterr().out == ""
    a, b, c = (path.read_text() for path in sorted(tmp_path.iterdir()))
    assert a == b == c
    assert math.isinf(next(r["value"] for r in json.loads(a) if r["metric"] == "regret" and r["run"] == 1))


def test_latex_has_the_tables_with_their_intervals(tmp_path, capsys):
    label = r"A_1 \\input{x} $5 & 10 % ~^#{} ε Ωλ"
    whole = small(
        agents=[Use("UCB1", label=label)], runs=3, sweep={"env.n_agents": (5, 7)}, metrics=("regret", "odd_1")
    )
    with Store(tmp_path / FILE, [whole]) as store:
        for cell in whole.cells():
            finals = {"regret": np.array([-1.0, -2000.5, -3.0]), "odd_1": np.array([1.0, np.inf, 2.0])}
            store.add(cell, range(3), finals, {}, np.empty(0))
    assert main(["export", str(tmp_path), "--format", "latex"]) == 0
    text = capsys.readouterr().out
    assert main(["export", str(tmp_path), "--out", str(tmp_path / "x.tex")]) == 0
    assert (tmp_path / "x.tex").read_text() == text
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert body[:2] == [r"\begin{tabular}{lrlrrrrr}", r"\toprule"]
    assert body[-2:] == [r"\bottomrule", r"\end{tabular}"]
    rows = [line for line in body if line.endswith(r" \\")]
    assert [len(re.split(r"(?<!\\)&", row)) for row in rows] == [8] * 5
    name = (
        r"A\_1 \textbackslash{}\textbackslash{}input\{x\} \$5 \& 10 \% \textasciitilde{}\textasciicircum{}\#\{\} "
        r"$\varepsilon$ $\Omega$$\lambda$"
    )
    assert rows[1].startswith(f"{name} & $5$ & pseudo-regret of all agents & $3$ & $-668.2$ & [$-")
    assert r"\infty" in rows[2]
    assert rows[2].startswith(" &  & odd 1 & ")


@rows("code", [*range(0x20, 0x7F), *range(0x391, 0x3CA)])
def test_no_letter_of_a_name_is_a_command(code):
    name = unicodedata.name(chr(code), "WITH")
    text = tex(f"{chr(code)}b")
    bare = re.sub(r"\\[#$%&_{}]|\\(text[a-z]+|char34)\{\}|\$(\\[A-Za-z]+|\\mathrm\{[A-Z]\})\$|\{[][*]\}", "", text)
    assert not set(bare) & set("#$%&_{}\\~^`'\"")
    assert bare.isascii() or "WITH" in name  # letters with accents stay as they are
    assert text[0] not in "[*"  # which would belong to the row before


def test_a_name_has_no_ligature():
    assert tex("a--b---c – —") == r"a-{}-b-{}-{}-c \textendash{} \textemdash{}"


def test_parquet_goes_into_a_pipe(folder, capfdbinary):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert main(["export", str(folder), "--format", "parquet"]) == 0
    assert parquet.read_table(io.BytesIO(capfdbinary.readouterr().out)).num_rows > 10
