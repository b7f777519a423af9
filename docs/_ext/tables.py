"""The reference, made from the tables of names: a page per env, one per table, every experiment, the command line.

A name that is added has its page without a word here.
"""

from __future__ import annotations

import inspect
import io
import json
import re
import tomllib
from contextlib import redirect_stdout, suppress
from itertools import pairwise
from pathlib import Path

import hushbandits as hb
from hushbandits.bench.spec.catalog import modules
from hushbandits.bench.spec.vocabulary import symbol
from hushbandits.best_arm.routine import Routine
from hushbandits.cli import listing
from hushbandits.cli import main as cli
from hushbandits.cli.console import assignments
from hushbandits.cli.listing import parts
from hushbandits.core.payload import Payload
from hushbandits.core.random.rewards import Bernoulli, Law
from hushbandits.core.random.streams import Uniforms
from hushbandits.core.task import RLTask
from hushbandits.core.world import World
from hushbandits.envs.rounds.env import Rounds
from hushbandits.policies.registry import POLICIES
from hushbandits.privacy.noise import NoiseLaw
from hushbandits.registry import AGENTS, ENVS, WRAPPERS
from hushbandits.wrappers.mechanism import Mechanism
from hushbench import leaderboard
from hushbench.submission import read
from hushbench.tasks import NAME, tasks

DOCS = Path(__file__).parents[1]
MADE, FILMS = DOCS / "reference" / "made", DOCS / "_static" / "films"
#: Whom an env's moving picture shows at play; of an env that is not here, `Random`.
PLAYERS = {
    "ByzantineNetwork-v0": "Byzantine-UCB", "CentralDP-v0": "CDP-SE", "CoopNetwork-Train-v0": "PPO-CoopNetwork",
    "CoopNetwork-Train-Grid-v0": "Index-TS", "CoopNetwork-Train-Lossy-v0": "Index-TS",
    "DPMASE-Train-Uneven-v0": "Gap-Vote", "DPMASE-Train-Wide-v0": "Gap-Vote",
    "DistDP-Train-Lossy-v0": "Commit-Blocks", "DistDP-Train-Tight-v0": "Commit-Blocks",
    "CoopNetwork-v0": "Multi-UCB", "CorruptedElimination-v0": "Corrupted-Elimination", "DPMASE-v0": "DP-MASE",
    "DPMASE-Train-v0": "MaskablePPO-DPMASE", "DecentralizedExploration-v0": "Decentralized-SER3",
    "DistCDP-v0": "Dist-CDP-SE", "DistDP-Train-v0": "PPO-DistDP", "DistDP-v0": "Dist-DP-SE",
    "DistRDP-v0": "Dist-RDP-SE", "DuelingNetwork-v0": "QuACK-RUCB", "FederatedNetwork-v0": "Fed1-UCB",
    "HeavyTailedNetwork-v0": "QuACK-UCB",
    "LocalDP-v0": "LDP-SE", "LocalDPNetwork-v0": "QuACK-LDP-UCB-L",
    "PrivateNetwork-v0": "Private-UCB", "ShuffleDP-v0": "Shuffle-DP-SE",
}  # fmt: skip
#: Public, and imported from where they stand.
FURTHER = (
    Law, Bernoulli, Uniforms, NoiseLaw, Mechanism, Payload, RLTask, World, Rounds, Routine,
)  # fmt: skip
TABLES = {
    "agents": ("Agents", AGENTS, "What may stand wherever an agent is named. A policy is an agent that plays alone."),
    "policies": ("Policies", POLICIES, "Rules of a single agent: for `hb.make_policy`, and for agents that take one."),
    "wrappers": (
        "Wrappers",
        WRAPPERS,
        "What acts on messages on their way: `wrappers=` of `hb.make`, `hb.evaluate` and others.",
    ),
}


def table(head, rows):
    """Return a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    cells = ([" ".join(str(cell).replace("|", r"\|").split()) for cell in row] for row in rows)
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in cells)])


def settings(spec, wrappers=()):
    """Return the table of what may be given by name, wrappers' parameters included."""
    rows = [
        (f"`{name}`", "required" if value is inspect.Parameter.empty else f"`{value!r}`", said)
        for name, (value, said) in listing.settings(spec, wrappers).items()
    ]
    return table(("parameter", "default", ""), rows) if rows else "No parameters."


def rst(text):
    """Return reStructuredText as a block of a Markdown page."""
    return f"````{{eval-rst}}\n{text.strip()}\n````"


def documented(it, members=False, path=""):
    """Return the directive that shows a class or function whole; `path`: where one imports it from."""
    kind = "class" if inspect.isclass(it) else "function" if inspect.isfunction(it) else "data"
    directive = f".. auto{kind}:: {path or f'{it.__module__}.{it.__qualname__}'}"
    return rst(directive + "\n   :members:" * (members and kind == "class"))


def film(id):
    """Return an env's moving picture with its command."""
    player = PLAYERS.get(id, "Random")
    return (
        f"```{{image}} /_static/films/{id}.gif\n:alt: {player} plays {id}\n```\n\n"
        f"*{player} plays: `hushbandits watch {id} --agent {player} --rounds 200`*"
    )


def env_page(id):
    """Return an env's page, in the order of PettingZoo's."""
    spec = ENVS[id]
    env, core = hb.make(id), hb.make_batched(id)
    agent, said = env.possible_agents[0], parts(spec.load())
    facts = [
        ("Make it", f'`hb.make("{id}")`'),
        ("From PettingZoo's registry", f'`pettingzoo.make("parallel", "hushbandits/{id}")`'),
        ("Agents", f"{len(env.possible_agents)}, the first of them `{agent}`"),
        ("Action space", f"`{env.action_space(agent)}`"),
        ("Observation space", f"`{env.observation_space(agent)}`"),
        ("Time is counted in", core.time_unit),
        ("Wrappers inside", ", ".join(f"`{name}`" for name in spec.wrappers) or "none"),
    ]
    measures = [(f"`{name}`", measure.label, measure.nature) for name, measure in core.metrics_spec.items()]
    return "\n\n".join([
        f"# {id}", rst(said[""]), film(id), table(("", ""), facts),
        "## Parameters", settings(spec, spec.wrappers),
        "## Metrics", table(("metric", "what it is", "kind"), measures),
        "## Notes", rst(said.get("Notes", "")),
    ])  # fmt: skip


def films(app):
    """Draw each env's moving picture where there is none yet; with ``-t still`` it has two frames."""
    for id in hb.list_envs():
        path = FILMS / f"{id}.gif"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            rounds, frames = ("2", "2") if app.tags.has("still") else ("200", "40")
            asked = ["--agent", PLAYERS.get(id, "Random"), "--rounds", rounds, "--frames", frames, "--out", str(path)]
            if cli.main(["watch", id, *asked]) != 0:
                raise ValueError(f"{id} has no moving picture")


def table_page(title, entries, lead):
    """Return the page of a table: the classes on it, and the names that each has."""
    classes = {}
    for name, spec in sorted(entries.items(), key=lambda item: item[0].lower()):
        classes.setdefault(spec.load(), {})[name] = spec
    made = [f"# {title}", lead]
    for entry, named in classes.items():
        preset = [
            (f"`{name}`", ", ".join(f"`{k}={v!r}`" for k, v in spec.defaults.items() if k != "source"))
            for name, spec in named.items()
        ]
        made += [f"## {entry.__name__}", table(("name", "set to"), preset), documented(entry)]
    return "\n\n".join(made)


def experiments_page(module, about, declared):
    """Return the page of a module of experiments: what is played, how often, and what is claimed."""
    whole = f"All of them: `hushbandits run {module}`; their claims: `hushbandits reproduce {module}`."
    made = [f"# {module}", about, whole]
    for e in declared:
        facts = [("Source", e.source), ("Env", f"`{e.env}`"), ("Lines", ", ".join(e.lines())), ("Runs", e.runs)]
        facts += [(f"`{key}`", ", ".join(map(str, values))) for key, values in e.sweep.items()]
        claims = "\n".join(f"- {claim.sentence}" for claim in e.claims)
        made += [f"## {e.name}", e.title, f"```bash\nhushbandits run {e.name}\n```", table(("", ""), facts), claims]
    return "\n\n".join(made)


def helped(command):
    """Return what a command says of itself."""
    heard = io.StringIO()
    with redirect_stdout(heard), suppress(SystemExit):
        cli.main([*command.split(), "--help"])
    return f"```text\n{heard.getvalue().rstrip()}\n```"


def index(title, lead, names):
    """Return a page that leads to others."""
    return f"# {title}\n\n{lead}\n\n{toctree(names, ':maxdepth: 1')}"


def toctree(names, option=":hidden:"):
    """Return the directive that puts pages below this one."""
    return f"```{{toctree}}\n{option}\n\n" + "\n".join(names) + "\n```"


def pages():
    """Return file name → text of all that is made."""
    papers = modules()
    made = {f"envs/{id}": env_page(id) for id in hb.list_envs()}
    made["envs"] = index("Envs", "Each is a PettingZoo parallel env, and whatever other view is asked for.", made)
    made |= {table: table_page(title, entries, lead) for table, (title, entries, lead) in TABLES.items()}
    made |= {f"experiments/{m}": experiments_page(m, about, declared) for m, (about, declared) in papers.items()}
    made["experiments"] = index(
        "Experiments", "What `hushbandits run` plays by name.", [f"experiments/{m}" for m in papers]
    )
    made |= api_pages()
    shown = [f"## {command}\n\n{helped(command)}" for command in cli.COMMANDS]
    made["cli"] = "\n\n".join(["# The command line", helped(""), *shown])
    return made


def api_pages():
    """Return a page per public name, and one that leads to them: of `hb`, and of what is imported from further down."""
    own = {f"hushbandits.{name}": getattr(hb, name) for name in hb.__all__}
    own = {path: it for path, it in own.items() if callable(it) and not inspect.ismodule(it)}
    made, page = {}, ["# API", "What `import hushbandits as hb` gives, then what stands further down: a page each."]
    for title, its in {
        "Functions": {path: it for path, it in own.items() if not inspect.isclass(it)},
        "Classes": {path: it for path, it in own.items() if inspect.isclass(it)},
        "Tests of your own": {f"hushbandits.testing.{name}": getattr(hb.testing, name) for name in hb.testing.__all__},
        "Random numbers, pictures and noise": {f"{it.__module__}.{it.__qualname__}": it for it in FURTHER},
    }.items():
        rows, names = [], []
        for path, it in sorted(its.items(), key=lambda item: item[0].lower()):
            name = path.replace("hushbandits.", "hb.") if title != "Random numbers, pictures and noise" else it.__name__
            made[f"api/{name}"] = f"# {name}\n\n{documented(it, members=True, path=path)}"
            rows.append((f"[`{name}`](api/{name}.md)", parts(it)[""].split("\n\n")[0].replace("``", "`")))
            names.append(f"api/{name}")
        page += [f"## {title}", table(("", ""), rows), toctree(names)]
    return {"api": "\n\n".join(page)} | made


def symbols():
    """Return the table of what symbols mean."""
    rows = []
    for name, meanings in listing.symbols().items():
        for row in meanings:
            where = re.sub(
                r"(?<= of )[^;(]*[^;( ]", lambda m: ", ".join(f"`{n}`" for n in m[0].split(", ")), row["where"]
            )
            rows.append((row["sign"], name, row["meaning"], where))
    return table(("symbol", "name", "meaning", "where"), rows)


def scale(experiment, command):
    """Say what a command plays of an experiment: the runs, and what is set otherwise than declared."""
    words = command.split()
    given = [(option, value) for option, value in pairwise(words) if option in ("--runs", "--set")]
    changes = dict(experiment.quick) if "--quick" in words else {}
    changes |= assignments("given", [value if option == "--set" else f"runs={value}" for option, value in given])
    runs = changes.pop("runs", experiment.runs)
    shown = [f"{runs:,} of {experiment.runs:,} runs" if runs < experiment.runs else f"all {runs:,} runs"]
    for name, value in changes.items():
        several = value if isinstance(value, (list, tuple)) else [value]
        shown.append(f"{symbol(name)} = {', '.join(f'{x:,}' if isinstance(x, int) else str(x) for x in several)}")
    return "; ".join(shown)


def gallery():
    """Return what the gallery shows: figures, each with the command that drew it, and the moving pictures."""
    made, folder = [], DOCS / "images" / "gallery"
    commands = json.loads((folder / "commands.json").read_text(encoding="utf8"))
    if {path.stem for path in folder.glob("*.webp")} != set(commands):
        raise ValueError("docs/images/gallery: commands.json must name every picture, and no other")
    for _, (about, declared) in modules().items():
        drawn = [e for e in declared if e.name in commands]
        missing = [f"`hushbandits run {e.name}` ({e.source})" for e in declared if e not in drawn]
        made += [f"## {about}"] * bool(drawn)
        for e in drawn:
            file = f"{e.name}.webp"
            said = f":alt: {e.title}\n:class: figure\n:target: _images/{file}"
            picture = f"```{{image}} /images/gallery/{file}\n{said}\n```"
            command = commands[e.name]
            made += [f"### {e.title}", picture, f"*{e.source}*: `{command}` ({scale(e, command)})"]
        made += [f"Not drawn here: {', '.join(missing)}."] * bool(drawn and missing)
    made += ["## Envs at play", *(f"### {id}\n\n{film(id)}" for id in hb.list_envs())]
    return "\n\n".join(made)


def reference_numbers():
    """Return a table per instance, drawn from the files that hold the numbers."""
    made = []
    for path in sorted((DOCS.parent / "reference").glob("*.json")):
        saved = json.loads(path.read_text(encoding="utf8"))
        metrics = list(next(iter(saved["lines"].values()))["metrics"])
        rows = [(line, *(shown_number(said["metrics"][m]) for m in metrics)) for line, said in saved["lines"].items()]
        env = ", ".join([f"`{saved['env']['type']}`", *(f"`{k}={v!r}`" for k, v in saved["env"]["params"].items())])
        made += [f"## {path.stem}", f"{saved['title']}: {env}; {saved['runs']} runs, seed {saved['seed']}."]
        made += [table(("line", *metrics), rows), f"`{saved['command']}`"]
    return "\n\n".join(made)


def board():
    """Return the tasks of each setting, and the leaderboard with its page as soon as there are submissions."""
    submissions = [read(path) for path in sorted((DOCS.parent / "reference" / NAME).glob("*.json"))]
    made = ["No submission stands here."]
    if submissions:
        leaderboard.write(submissions, DOCS / "_static" / "board.html")
        made = ['The page with its pictures is <a href="_static/board.html">here</a>.']
    for setting in dict.fromkeys(task.setting for task in tasks().values()):
        about = [(f"`{task.name}`", task.level, task.why) for task in tasks().values() if task.setting == setting]
        rows = [leaderboard.row(setting, one) for one in leaderboard.ranked(setting, submissions)]
        made += [f"### {setting}", table(("task", "level", "why"), about)]
        made += [table(leaderboard.HEADS, rows)] * bool(rows)
    absent = tomllib.loads((DOCS.parent / "benchmarks/absent.toml").read_text(encoding="utf8"))["agents"]
    missing = [(name, row["why"], row["shown"]) for name, row in absent.items()]
    made += ["### Who ships and is not here", table(("agent", "why it is not here", "what shows it"), missing)]
    return "\n\n".join([*made, "`python -m benchmarks board`"])


def shown_number(said):
    """Return a centre with its interval, as a table has it."""
    (centre,) = (value for name, value in said.items() if name != "interval")
    centre, low, high = (f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}" for x in (centre, *said["interval"]))
    return f"{centre} [{low}, {high}]"


def write(app=None):
    """Write what has changed: what has not is not read again."""
    made = {f"{name}.md": text for name, text in pages().items()}
    drawn = {"gallery": gallery, "numbers": reference_numbers, "board": board, "symbols": symbols}
    made |= {f"{name}.txt": draw() for name, draw in drawn.items()}
    for name, text in made.items():
        path = MADE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf8") != text:
            path.write_text(text, encoding="utf8")


def inherit(app, what, name, it, options, lines):
    """Give a class that documents no parameters what its bases say of those that it takes."""
    if what != "class" or "Parameters" in parts(it):
        return
    taken, entries = set(), {}
    with suppress(ValueError):  # a dict has no signature
        taken = set(inspect.signature(it).parameters)
    for base in inspect.getmro(it)[-2:0:-1]:
        said = parts(base).get("Parameters", "").rstrip()
        for entry in re.split(r"\n(?=\S)", said):
            names = entry.partition(" : ")[0].split("\n")[0].replace("*", "").split(", ")
            entries |= {", ".join(names): entry.splitlines()} if taken.issuperset(names) else {}
    if entries:
        at = next((i for i, line in enumerate(lines) if re.fullmatch("-{3,}", line)), len(lines) + 1) - 1
        lines[at:at] = ["", "Parameters", "----------", *(line for entry in entries.values() for line in entry), ""]


def setup(app):
    """Make the pages before they are read."""
    app.connect("builder-inited", films)
    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", inherit, priority=100)  # before numpydoc reads the sections
    return {"parallel_read_safe": True}
