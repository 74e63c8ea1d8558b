"""Expressions of docs/spec.md, part 2, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .syntax import Node


class ProgramError(Exception):
    """A run that the specification calls an error."""


@dataclass
class Value:
    """A value with the pairs that have none (a table read out of range, a division by zero).

    `constant` is known when compiling. `literal` is a real that is written out: it rounds to f32
    where it meets a value of the run.
    """
    data: Any
    missing: Any = False
    constant: bool = False
    literal: bool = False

    @property
    def kind(self) -> str:
        return {"b": "bool", "i": "int", "f": "real"}[np.asarray(self.data).dtype.kind]


def constant(data: Any, literal: bool = False) -> Value:
    return Value(data, constant=True, literal=literal)


def settle(value: Value) -> Value:
    """A constant as a value of the run."""
    if value.literal:
        return Value(np.float64(np.float32(value.data)), value.missing)
    data = np.asarray(value.data)
    return Value(data, value.missing) if value.constant else value


def to_real(value: Value) -> Value:
    if value.kind != "int":
        return value
    return Value(np.asarray(value.data).astype(np.float64)[()], value.missing, value.constant)


def _floordiv(a, b):
    return np.floor_divide(a, b)


def _mod(a, b):
    return a - b * _floordiv(a, b)


ARITHMETIC: dict[str, Callable] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "floordiv": _floordiv,
    # This isn't -(-a floordiv b), because the least integer has no negative.
    "ceildiv": lambda a, b: _floordiv(a, b) + (_mod(a, b) != 0), "mod": _mod}
COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
           "==": np.equal, "!=": np.not_equal}
erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FUNCTIONS: dict[str, Callable] = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sqrt": np.sqrt,
    "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "abs": np.abs, "floor": np.floor, "erf": erf,
    "sigmoid": sigmoid, "silu": lambda x: x * sigmoid(x), "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x / 2 * (1 + erf(x / math.sqrt(2))),
    "softcap": lambda s, c: c * np.tanh(s / c), "pow": np.power}


def to_integer(x):
    """Converts towards zero, to the nearest 64-bit integer; NaN gives 0."""
    x = np.trunc(np.nan_to_num(np.asarray(x, np.float64), nan=0.0, posinf=2.0**63, neginf=-2.0**63))
    small = np.where(np.abs(x) < 2.0**63, x, 0).astype(np.int64)
    limits = np.iinfo(np.int64)
    return np.where(x >= 2.0**63, limits.max, np.where(x <= -2.0**63, limits.min, small))


class Scalars:
    """Evaluates expressions: `lookup` gives names, `read` elements, `extent` start and end."""

    def __init__(self, lookup: Callable[[str], Value], read: Callable | None = None,
                 extent: Callable | None = None, leaf: Callable | None = None):
        self.lookup, self.read, self.extent, self.leaf = lookup, read, extent, leaf

    def evaluate(self, node: Node) -> Value:
        if self.leaf and (value := self.leaf(node)) is not None:
            return value
        match node.kind:
            case "int":
                return constant(np.int64(node.parts[0]))
            case "bool":
                return constant(np.bool_(node.parts[0]))
            case "real":
                return constant(np.float64(node.parts[0]), literal=True)
            case "name":
                return self.lookup(node.parts[0])
            case "negate":
                value = self.evaluate(node.parts[0])
                return Value(-value.data, value.missing, value.constant, value.literal)
            case "not":
                value = self.evaluate(node.parts[0])
                return Value(np.logical_not(value.data), value.missing, value.constant)
            case "and" | "or":
                return self.logic(node.kind, *map(self.evaluate, node.parts))
            case "compare":
                return self.chain(*node.parts)
            case "index":
                return self.read(node.parts[0], [settle(self.evaluate(e)) for e in node.parts[1]])
            case "call":
                return self.call(node.parts[0], [self.evaluate(e) for e in node.parts[1]])
        return self.arithmetic(node.kind, *map(self.evaluate, node.parts))

    @staticmethod
    def meet(*values: Value) -> tuple[list[Value], Any, bool]:
        """Operands as numbers of one kind, a mask of missing values, and whether all are
        constants."""
        kinds = {value.kind for value in values}
        if len(kinds) > 1:
            values = tuple(to_real(value) for value in values)
        is_constant = all(value.constant for value in values)
        if not is_constant:
            values = tuple(settle(value) for value in values)
        missing = False
        for value in values:
            missing = np.logical_or(missing, value.missing)
        return list(values), missing, is_constant

    def arithmetic(self, op: str, left: Value, right: Value) -> Value:
        if op == "/":
            left, right = to_real(left), to_real(right)
        (left, right), missing, known = self.meet(left, right)
        divisor = right.data
        if op in ("floordiv", "ceildiv", "mod"):
            missing = np.logical_or(missing, divisor == 0)
            divisor = np.where(divisor == 0, 1, divisor)
        return Value(ARITHMETIC[op](left.data, divisor), missing, known)

    @staticmethod
    def logic(op: str, left: Value, right: Value) -> Value:
        a, b = np.asarray(left.data, bool), np.asarray(right.data, bool)
        # Handles a side that decides alone, or that the other one decides.
        needs_b, needs_a = (a, b) if op == "and" else (~a, ~b)
        la, lb = np.asarray(left.missing, bool), np.asarray(right.missing, bool)
        missing = (la & (lb | needs_a)) | (lb & (la | needs_b))
        return Value(a & b if op == "and" else a | b, missing, left.constant and right.constant)

    def chain(self, operands: list[Node], operators: list[str]) -> Value:
        values = [self.evaluate(operand) for operand in operands]
        result = None
        for op, left, right in zip(operators, values, values[1:]):
            (left, right), missing, known = self.meet(left, right)
            one = Value(COMPARE[op](left.data, right.data), missing, known)
            result = one if result is None else self.logic("and", result, one)
        return result

    def call(self, name: str, arguments: list[Value]) -> Value:
        if name in ("start", "end"):
            return self.extent(name, settle(arguments[0]))
        if name == "select":
            return self.select(*arguments)
        if name in ("min", "max"):
            values, missing, known = self.meet(*arguments)
            result = values[0].data
            for other in values[1:]:
                result = (np.minimum if name == "min" else np.maximum)(result, other.data)
            literal = known and any(v.literal and v.data == result for v in values)
            return Value(result, missing, known, literal)
        if name == "float":
            return to_real(arguments[0])
        if name == "int":
            value = arguments[0]
            data = value.data if value.kind == "int" else to_integer(value.data)
            return Value(data, value.missing, value.constant)
        if not (name == "abs" and arguments[0].kind == "int"):
            arguments = [to_real(value) for value in arguments]
        values, missing, known = self.meet(*arguments)
        return Value(FUNCTIONS[name](*(value.data for value in values)), missing, known)

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        if yes.kind != no.kind:
            yes, no = to_real(yes), to_real(no)
        if condition.constant:
            return yes if condition.data else no
        yes, no = settle(yes), settle(no)
        missing = np.logical_or(condition.missing,
                                np.where(condition.data, yes.missing, no.missing))
        return Value(np.where(condition.data, yes.data, no.data), missing)
