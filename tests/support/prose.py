"""What a page may put in backticks: names, ids, files, commands and settings that are there.

Each rule answers for one kind; what no rule knows must be one of the few `TERMS`.
"""

import ast
import importlib
import re
import tomllib
from contextlib import suppress
from functools import cache
from itertools import pairwise

import source
from commands import is_command, is_option
from named import PLACEHOLDER, ROOT, experiments, files, ids, swept, taken, word

from hushbandits.bench.play.schema import _TABLES

FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.S | re.M)
#: Formulas: Greek, operators that no code has, a lone letter, a quotient of letters, an interval.
MATHS = re.compile(r"[|⌊⌈√∈≤≥≈Σ∑⟨αβγδεϵηξσθφτ𝒦⁰²½^·−×₀]|^\w$|^\w+/\w$|^ln \.")
#: A shape, or a tuple of what is named: (R, A, …), (arm, n).
TUPLE = re.compile(r"\(([\w…]+(?:, [\w…]+)*)\)$")
#: Who an object on a page is: what it has must be had by one of these.
OBJECTS = {
    "env": "Env World Rounds CoopNetwork Exploration Feedback", "core": "Env", "view": "ParallelView", "obs": "Obs",
    "inbox": "Inbox NetworkInbox BlockInbox", "message": "Payload", "self": "Rounds Mechanism Wrapper Env",
    "crowd": "Individuals Pooled", "wrapper": "Wrapper", "payload": "Payload",
}  # fmt: skip
#: What is in no source of ours: other packages' names, files that a reader makes, and words of a language.
TERMS = {
    "gc": "a module of Python",
    "inspect": "a module of Python", "None": "of Python", "InitVar": "of Python's dataclasses",
    "os._exit": "of Python", 'if __name__ == "__main__":': "of Python",
    "SeedSequence(entropy, spawn_key=(*run, *name bytes))": "of NumPy",
    "SeedSequence(digest(seed, env part), spawn_key=(r,))": "of NumPy",
    'pettingzoo.make("parallel", "hushbandits/DPMASE-v0")': "of PettingZoo",
    "gymnasium.make_vec": "of Gymnasium", "space.sample": "of Gymnasium", "sys.modules": "of Python",
    "pettingzoo.make": "of PettingZoo", "parallel_to_aec": "of PettingZoo", "EnvBase": "of TorchRL",
    "ActionMask": "of TorchRL", '("agents", "action_mask")': "a key of TorchRL", "peft": "a package",
    "nox -s compat-<library>": "a way to write", "sb3:FOLDER": "a way to write", "sb3:my.zip": "a way to write",
    "dist/": "written by build", "module:Class": "a way to write", "module:Name": "a way to write",
    "agent/<name>": "a way to write", "function(reward)": "any function",
    "tcp://host:8786": "an address",
    "slurm_partition=short,timeout_min=120": "options of submitit",
    "results.sqlite.lock": "made from results.sqlite", "catalog.bounds(own declarations)": "said in words",
    '{"reward": Cohort, "n": (R, M) users planned, "bits": (R, M) per user, "sent": (R, M)}': "said in words",
    "**rest": "any parameters",
}  # fmt: skip


# -- rules: each says whether it knows the token --------------------------------------------------------------------


def is_id(token):
    """A registered name; with … or a hyphen at an end, the beginning or end of some."""
    part = token.strip("…")
    if part.startswith("-") and len(part) > 1:
        return any(name.endswith(part) for name in ids())
    if part != token or part.endswith("-"):
        return len(part) > 2 and any(name.startswith(part) for name in ids())
    return token in ids()


def is_file(token):
    """A file or folder, from the root, from the package, or by a name that only one file has; or one that is made."""
    path, _, node = token.partition("::")
    if node:
        return (ROOT / path).is_file() and f"def {node}(" in (ROOT / path).read_text()
    if not re.fullmatch(r"[\w./-]+", path) or not re.search(r"[/.]\w*$", path) or path.startswith("."):
        return path == ".ci/run" and (ROOT / path).is_file()
    if any((root / path).exists() for root in (ROOT, source.PACKAGE, source.PACKAGE / "bench")):
        return True
    stem, _, ending = path.rpartition(".")
    if ending in ("png", "svg", "pdf"):
        return stem in {"NAME", *experiments()}
    if path.startswith("runs/"):
        return path.removeprefix("runs/") in experiments()
    return "/" not in path and (path in source.package().texts or files().count(path) == 1)


def is_name(token):
    """A word of the source, alone or dotted; `hb.` and `hushbandits.` are looked up, the others by who has what."""
    bare = token.removeprefix("@").removesuffix("()").removesuffix("=")
    if re.fullmatch(r"HUSHBANDITS_\w+", bare):
        return any(bare in text for text in source.package().texts)
    head, *rest = bare.split(".")
    if not all(part.isidentifier() for part in (head or "x", *rest)):
        return False
    known = source.package()
    if not rest:
        return word(bare) and (not token.endswith(("()", "=")) or bare in known.words)
    if head in ("hb", "hushbandits"):
        return _there(".".join(("hushbandits", *rest)))
    if head in ("env", "agent", "NAME") and len(rest) == 1 and rest[0] in known.words:
        return True
    if (helper := ROOT / f"tests/support/{head}.py").is_file():
        return f"def {rest[0]}(" in helper.read_text()
    for owner, member in pairwise((head, *rest)):
        who = OBJECTS.get(owner, owner).split() if owner else list(known.members)
        if not any(member in known.of(one) or member in _taken(one) for one in who):
            return False
    return True


def _taken(name):
    return {p for callee in source.package().callees(name) for p in callee.names}


def _there(path):
    """Import as much of a dotted path as is modules; the rest must be attributes."""
    module, _, name = path.rpartition(".")
    with suppress(ImportError):
        importlib.import_module(path)
        return True
    try:
        return bool(module) and hasattr(importlib.import_module(module), name)
    except ImportError:
        owner, _, cls = module.rpartition(".")
        return bool(owner) and _there(module) and hasattr(getattr(importlib.import_module(owner), cls), name)


def is_call(token):
    """A call, or what a call gives: each takes these keywords by some definition, and what is named in it exists."""
    head = re.match(r"([\w.-]+)\(.", token)
    if not head or not ("." not in head[1] or is_name(head[1])):
        return False
    given = re.sub(r"=(?=[,)]|$)", "=...", token[len(head[1]) :].replace("…", "..."))
    try:
        tree = ast.parse(f"_{given}", mode="eval")
    except SyntaxError:
        return False
    called = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [node for node in ast.walk(tree) if getattr(node, "id", "") != "_"]
    return all(_takes(_callee(call.func, head[1]), call) for call in called) and all(map(_exists, named))


def _callee(function, head):
    name = getattr(function, "attr", getattr(function, "id", "_"))
    return head.rpartition(".")[2] if name == "_" else name


def _takes(name, call):
    options = taken(name)
    callees = source.package().callees(name) if options is None else [source.Callee(list(options))]
    keywords = {k.arg for k in call.keywords}
    count = len(call.args) + len(keywords)
    return name == "Class" or any(
        (keywords <= set(c.names) and count <= len(c.names)) or (c.open and all(map(word, keywords))) for c in callees
    )


def _exists(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return " " in node.value or is_text(f'"{node.value}"')  # with a space: a label
    if isinstance(node, ast.Attribute):
        return word(node.attr)
    return not isinstance(node, ast.Name) or len(node.id) == 1 or node.id == "hb" or word(node.id)


def is_text(token):
    """A text in quotes that the source compares or hands on; or one from a table, or what is swept."""
    if not re.fullmatch(r'"[^"]*"', token):
        return False
    inner = token[1:-1]
    return inner in source.package().texts or inner in ids() or bool(PLACEHOLDER.match(inner)) or swept(inner)


def is_setting(token):
    """Something set to something, as Python or TOML: a parameter or an attribute, and texts that exist."""
    name, equals, value = token.partition("=")
    name, value = name.strip(), value.strip().replace("…, ", "").replace("…", '"graph"')
    if not equals or not value or not name.isidentifier() or not word(name):
        return False
    try:
        return all(_exists(leaf) for leaf in ast.walk(ast.parse(value, mode="eval")))
    except SyntaxError:
        with suppress(tomllib.TOMLDecodeError):
            return all(map(word, _words(tomllib.loads(f"x = {value}")["x"])))
        return False


def _words(value):
    if isinstance(value, dict):
        return [w for k, v in value.items() for w in (k, *_words(v))]
    return [value] if isinstance(value, str) else []


def is_mapping(token):
    """A dictionary whose keys and texts exist."""
    with suppress(SyntaxError):
        node = ast.parse(token.replace("…", "..."), mode="eval").body
        return isinstance(node, (ast.Dict, ast.Subscript)) and all(
            _exists(leaf) or getattr(leaf, "id", "") in OBJECTS or getattr(leaf, "id", "") == "shared"
            for leaf in ast.walk(node)
        )
    return False


def is_table(token):
    """A table of the store with its columns; or a name with its shape."""
    found = re.fullmatch(r"(\w+) \((\w+(?:, \w+)*)\)", token)
    if found and re.fullmatch(r"[A-Z](, [A-Z])*", found[2]):
        return word(found[1])  # a name and its shape
    return bool(found) and all(
        re.search(rf"[(,]\s*{column} [A-Z]", _TABLES.get(found[1], "")) for column in found[2].split(", ")
    )


def is_tuple(token):
    """A shape, or names together."""
    found = TUPLE.match(token)
    return bool(found) and all(part in "…" or len(part) == 1 or word(part) for part in found[1].split(", "))


def is_list(token):
    """Names with commas, or an import."""
    if token.startswith("import "):
        return token.split()[1] == "hushbandits"
    parts = token.split(", ")
    return len(parts) > 1 and all(is_name(part) for part in parts)


def is_maths(token):
    """A formula, which nothing can look up."""
    return bool(MATHS.search(token))


#: What a token may be, the sharpest rule first.
RULES = (is_id, is_file, is_option, is_command, is_name, is_call, is_text, is_setting, is_mapping, is_table, is_tuple,
         is_list, lambda token: token in source.package().texts)  # fmt: skip


def unfenced(text):
    """Return a page without its code blocks."""
    return FENCE.sub("", text)


def tokens(text):
    """Return what stands in backticks in the prose and tables of a page."""
    return [" ".join(token.split()) for token in re.findall(r"`([^`]+)`", unfenced(text))]


@cache
def known(token):
    """Whether a token is something that exists, a formula, or a term."""
    return any(rule(token) for rule in RULES) or is_maths(token) or token in TERMS


def strangers(text):
    """Return the tokens of a page that name nothing."""
    return [token for token in dict.fromkeys(tokens(text)) if not known(token)]
