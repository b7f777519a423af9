"""What a docstring owes: arguments explained, errors named, algorithms with their source; over all that is public."""

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap

import hushbandits as hb
from hushbandits.core.env import Env
from hushbandits.core.team import Team
from hushbandits.core.wrapper import Wrapper
from hushbandits.policies.policy import Policy
from hushbandits.registry import shipped_classes

#: What a docstring lacks today.  The list may only get shorter: an entry that lacks nothing any more fails.
LACKING: set[str] = set()

CONTRACTS = (Env, Team, Wrapper, Policy)
QUIET = {"NotImplementedError", "AssertionError", "AttributeError"}  # a hook left open, a verdict, `__getattr__`'s form
SHAPE = re.compile(r"[(\[]\w+, ?[\w…·, ]*[)\]]|\([A-Zn],?\)")
SOURCE = re.compile(r"^References$|\b[Oo]ur own\b|\b(19|20)\d\d\b", re.M)


def modules():
    names = [m.name for m in pkgutil.walk_packages(hb.__path__, "hushbandits.") if not m.name.endswith("__main__")]
    return [importlib.import_module(name) for name in names]


def classes_of(module):
    its = [it for name, it in vars(module).items() if inspect.isclass(it) and not name.startswith("_")]
    return [it for it in its if it.__module__ == module.__name__]


def public_classes():
    """Envs, agents, wrappers and policies of all rooms, where they are defined, and the classes at the root."""
    for module in modules():
        public = getattr(module, "__all__", ())
        yield from (it for it in classes_of(module) if it.__name__ in public and issubclass(it, CONTRACTS))
    yield from (it for it in (getattr(hb, name) for name in hb.__all__) if inspect.isclass(it))


def title(it):
    return f"{it.__module__.removeprefix('hushbandits.')}.{it.__qualname__}"


CLASSES = sorted(set(public_classes()), key=title)
FUNCTIONS = [
    it for home in (hb, hb.testing) for it in (getattr(home, n) for n in home.__all__) if inspect.isfunction(it)
]


def own_function(cls, name):
    """A method as it stands in the body of a class, or nothing."""
    value = vars(cls).get(name)
    function = inspect.unwrap(value.__func__ if isinstance(value, (classmethod, staticmethod)) else value)
    here = inspect.isfunction(function) and function.__module__ == cls.__module__ and function.__name__ == name
    return function if here else None


METHODS = [
    (cls, function)
    for cls in CLASSES
    for name in vars(cls)
    if not name.startswith("_") and (function := own_function(cls, name)) is not None
]


def arguments(function):
    various = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    its = inspect.signature(function).parameters.values()
    return {p.name: p for p in its if p.kind not in various and p.name not in ("self", "cls") and p.name[0] != "_"}


def sections(text):
    """Name and text of each section."""
    found = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(text or ""), flags=re.M)
    return dict(zip(found[1::2], found[2::2], strict=True))


def explained(text):
    """What the section Parameters says, by name of the argument."""
    parts = re.split(r"^(\S.*)\n", sections(text).get("Parameters", "") + "\n", flags=re.M)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return {name.strip("* "): head + body for head, body in pairs for name in head.split(" : ")[0].split(",")}


def spoken_of(text):
    """What stands in backticks, and single letters: a hook's one sentence explains an argument by naming it."""
    return {*re.findall(r"(?<!`)`(\w+)`(?!`)", text or ""), *re.findall(r"\b[a-z]\b", text or "")}


def prose(text):
    """What stands before the sections."""
    return re.split(r"^\w[\w ]*\n-{3,}\n", inspect.cleandoc(text or ""), maxsplit=1, flags=re.M)[0]


def known_of(cls, name):
    """The arguments that a method explains, or its class for all its methods; and those of the bases' methods."""
    known = set()
    for base in cls.__mro__:
        text = vars(base).get("__doc__") or ""
        if (function := own_function(base, name)) is not None:
            text += function.__doc__ or ""
            known |= {*explained(function.__doc__)} | ({*arguments(function)} if base is not cls else set())
        known |= spoken_of(text)
    return known


def raised(function):
    """The errors that a function's own lines raise."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            yield node.exc.func.id


def check(found, about):
    """What lacks something is on the list, and what is on the list lacks something."""
    known = {entry for entry in LACKING if entry.endswith(about)}
    assert found == known, "\n".join([f"- {x}" for x in sorted(found - known)] + [f"+ {x}" for x in known - found])


def test_arguments_are_explained():
    """A class explains what it takes where it is defined: a subclass need not say it again."""
    found = set()
    for cls in CLASSES:
        known = {name for base in cls.__mro__ for name in explained(vars(base).get("__doc__"))}
        own = arguments(cls) if cls.__init__ is not object.__init__ else {}
        found |= {f"{title(cls)}({name}) is not explained" for name in own if name not in known}
    for it in FUNCTIONS:
        found |= {
            f"{title(it)}({name}) is not explained" for name in arguments(it) if name not in explained(it.__doc__)
        }
    for cls, it in METHODS:
        known = known_of(cls, it.__name__)
        found |= {f"{title(it)}({name}) is not explained" for name in arguments(it) if name not in known}
    check(found, "is not explained")


def test_arrays_have_shapes():
    """What is explained as an array says which axes it has."""
    found = set()
    for it in [*CLASSES, *FUNCTIONS, *(function for _, function in METHODS)]:
        for name, text in explained(it.__doc__).items():
            if re.search(r"\barrays?\b", text.splitlines()[0]) and not SHAPE.search(text):
                found.add(f"{title(it)}({name}) has no shape")
    check(found, "has no shape")


def test_methods_have_docstrings():
    """In every class of the package; an override that does what its base says needs none."""
    found = set()
    for cls in (cls for module in modules() for cls in classes_of(module)):
        for name, value in vars(cls).items():
            it = value.fget if isinstance(value, property) else own_function(cls, name)
            if name.startswith("_") or it is None or it.__doc__ is not None:
                continue
            if not any(hasattr(base, name) for base in cls.__mro__[1:]):
                found.add(f"{title(cls)}.{name} says nothing")
    check(found, "says nothing")


def test_errors_are_named():
    its = [(title(it), it.__doc__, it) for it in FUNCTIONS]
    its += [(title(cls), cls.__doc__, cls.__init__) for cls in CLASSES if inspect.isfunction(vars(cls).get("__init__"))]
    its += [(title(cls), cls.__doc__, f) for cls in CLASSES if (f := own_function(cls, "__post_init__"))]
    its += [(title(it), it.__doc__ + prose(cls.__doc__), it) for cls, it in METHODS if it.__doc__]
    found = set()
    for name, text, function in its:
        if function.__code__.co_filename.endswith(".py"):  # else a dataclass's, which raises nothing
            errors = set(raised(function)) - QUIET
            found |= {f"{name}: {error} is not named" for error in errors if error not in (text or "")}
    check(found, "is not named")


def test_algorithms_have_a_source():
    """A reference, a source or the word "own": at the class, or at a base in its file that it varies."""
    policies = [cls for cls in CLASSES if issubclass(cls, Policy) and cls is not Policy]
    found = set()
    for cls in [*shipped_classes(), *policies]:
        texts = [c.__doc__ or "" for c in cls.__mro__ if c.__module__ == cls.__module__]
        if not issubclass(cls, Env) and not any(map(SOURCE.search, texts)):
            found.add(f"{title(cls)} has no source")
    check(found, "has no source")
