"""Shared utilities: types, checks of arguments, compiled functions, the registry and files."""
# ruff: noqa: I001

from hushbandits.core.utils.jit import Rule, jit, lean
from hushbandits.core.utils.registry import Registry, Spec, extra, imported, parameters, reach, ships, words
from hushbandits.core.utils.calls import told
from hushbandits.core.utils.files import source_digest
from hushbandits.core.utils.types import Action, Array, Message, Params, Seeds
from hushbandits.core.utils.validate import LARGEST_NUMBER, affordable, an, choice, count, divisor, flag, integer
from hushbandits.core.utils.validate import checked_names, nearest, probability, real, reals, shown

__all__ = [
    "LARGEST_NUMBER", "Action", "Array", "Message", "Params", "Registry", "Rule", "Seeds", "Spec", "affordable", "an",
    "checked_names", "choice", "count", "divisor", "extra", "flag", "imported", "integer", "jit", "lean", "nearest",
    "parameters", "probability", "reach", "real", "reals", "ships", "shown", "source_digest", "told", "words",
]  # fmt: skip
