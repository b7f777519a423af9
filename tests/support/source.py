"""The names that a package's source holds, by reading it: words, texts, what can be called with what, who has what."""

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import hushbandits

PACKAGE = Path(hushbandits.__file__).parent
_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass
class Callee:
    """What one definition takes."""

    names: list[str]
    open: bool = False  # takes any keyword


@dataclass
class Source:
    """What stands in it.

    Parameters
    ----------
    words : set of str
        Modules, functions, classes, parameters, attributes, and what a module or class assigns.
    texts : set of str
        String constants, without docstrings.
    calls : dict
        Definitions by the name of the function, method or class.
    members : dict
        What a module or class has, by its name; of a class also what its bases have.
    """

    words: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    calls: dict[str, list[Callee]] = field(default_factory=lambda: defaultdict(list))
    members: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    bases: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def of(self, name):
        """Return what a module or class has."""
        found, ahead, seen = set(), [name], set()
        while ahead:
            if (one := ahead.pop()) not in seen:
                seen.add(one)
                found |= self.members.get(one, set())
                ahead += self.bases.get(one, ())
        return found

    def callees(self, name):
        """Return the definitions of that name; a dataclass takes its bases' fields too."""
        inherited = [c for base in self.bases.get(name, ()) for c in self.callees(base)]
        own = self.calls.get(name, [])
        return [Callee(c.names + [n for b in inherited for n in b.names], c.open) for c in own] or inherited

    def read(self, path):
        """Take in one file."""
        tree = ast.parse(path.read_text())
        stem = path.parent.name if path.stem == "__init__" else path.stem
        self.words.add(stem)
        self._body(tree, stem)
        documents = set()
        for node in ast.walk(tree):  # parents first
            if isinstance(node, (*_DEFINED, ast.Module)) and node.body and isinstance(node.body[0], ast.Expr):
                documents.add(id(node.body[0].value))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
                self.texts.add(node.value)
            elif isinstance(node, _DEFINED[:2]):
                self._function(node, node.name)
            elif isinstance(node, ast.ClassDef):
                self._class(node)

    def _function(self, node, name):
        a = node.args
        names = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs) if x.arg not in ("self", "cls")]
        self.words |= {node.name, *names}
        self.calls[name].append(Callee(names, a.kwarg is not None))

    def _class(self, node):
        self.words.add(node.name)
        self.bases[node.name] |= {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
        self._body(node, node.name)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store) and _is_self(inner.value):
                self.members[node.name].add(inner.attr)
                self.words.add(inner.attr)
        made = [inner for inner in node.body if isinstance(inner, ast.FunctionDef) and inner.name == "__init__"]
        for inner in made:
            self._function(inner, node.name)
        fields = [x.target.id for x in node.body if isinstance(x, ast.AnnAssign) and isinstance(x.target, ast.Name)]
        if fields and not made:
            self.calls[node.name].append(Callee(fields))

    def _body(self, node, name):
        for inner in node.body:
            if isinstance(inner, _DEFINED):
                self.members[name].add(inner.name)
            for target in getattr(inner, "targets", [getattr(inner, "target", None)]):
                for leaf in ast.walk(target) if target is not None else ():
                    if isinstance(leaf, ast.Name):
                        self.members[name].add(leaf.id)
                        self.words.add(leaf.id)
                        if "Callable" in ast.unparse(getattr(inner, "annotation", target)):
                            self.calls[leaf.id].append(Callee([], True))


def _is_self(node):
    return isinstance(node, ast.Name) and node.id == "self"


@cache
def package():
    """Return what the package's own source holds."""
    source = Source()
    for path in PACKAGE.rglob("*.py"):
        source.read(path)
    source.words |= {path.name for path in PACKAGE.rglob("*") if path.is_dir()}
    return source
