"""Tokens and grammar of docs/spec.md, 1.1 and 1.2."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

TOKEN = re.compile(r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<real>\d[\d_]*\.\d*(?:[eE][+-]?\d+)?|\d[\d_]*[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<int>\d[\d_]*)
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<sign>->|<=|>=|==|!=|[-+*/<>()\[\]{},;:=])
""", re.VERBOSE | re.DOTALL)

DTYPES = ("bf16", "f16", "f32", "i32", "i64", "bool")
CLAUSES = ("in", "where", "score", "scale", "weight", "normalize", "sink")
LEVELS = (("or",), ("and",), ("not",), ("<", "<=", ">", ">=", "==", "!="), ("+", "-"),
          ("*", "/", "floordiv", "ceildiv", "mod"))


@dataclass
class Node:
    """`kind` gives the meaning of `parts`; `named` holds named arguments and clauses."""
    kind: str
    parts: list[Any] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)


@dataclass
class Kernel:
    name: str
    params: list[tuple[str, str | None, Node | None]]
    inputs: list[tuple[str, str | None, list[tuple[str, Any]] | None]]
    results: list[tuple[str, str | None, list[tuple[str, Any]] | None]]
    statements: list[tuple[list[str], list[Node]]]


def tokenize(text: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise SyntaxError(f"no token at {text[at:at + 20]!r}")
        at = match.end()
        if match.lastgroup != "space":
            tokens.append((match.lastgroup, match.group()))
    return [*tokens, ("end", "")]


class Parser:
    def __init__(self, text: str):
        self.tokens = tokenize(text)
        self.at = 0

    @property
    def word(self) -> str:
        return self.tokens[self.at][1]

    def take(self, expected: str | None = None) -> str:
        word = self.word
        if expected is not None and word != expected:
            raise SyntaxError(f"expected {expected!r}, found {word!r}")
        self.at += 1
        return word

    def accept(self, word: str) -> bool:
        if self.word != word or self.tokens[self.at][0] == "end":
            return False
        self.at += 1
        return True

    def listed(self, item, end: str) -> list:
        items = []
        while not self.accept(end):
            items.append(item())
            if not self.accept(","):
                self.take(end)
                break
        return items

    # -- Kernels ---------------------------------------------------------------

    def kernel(self) -> Kernel:
        self.take("kernel")
        name = self.take()
        params = self.listed(self.param, ">") if self.accept("<") else []
        self.take("(")
        inputs = [entry for group in self.listed(self.group, ")") for entry in group]
        self.take("->")
        results = self.listed(self.result, ")") if self.accept("(") else [self.result()]
        self.take("{")
        statements = []
        while not self.accept("}"):
            statements.append(self.statement())
        return Kernel(name, params, inputs, results, statements)

    def param(self):
        name = self.take()
        kind = self.take() if self.accept(":") else None
        # A comparison stands in parentheses: the list ends with '>'.
        return name, kind, self.binary(LEVELS.index(("+", "-"))) if self.accept("=") else None

    def group(self):
        names = [self.take()]
        while self.accept(","):
            names.append(self.take())
        self.take(":")
        dtype, dims = self.type()
        return [(name, dtype, dims) for name in names]

    def type(self):
        dtype = None if self.word == "[" else self.take()
        return dtype, self.listed(self.dim, "]") if self.accept("[") else []

    def dim(self):
        if self.accept("ragged"):
            return "ragged", self.take()
        return "heads" if self.accept("heads") else "size", self.binary(LEVELS.index(("+", "-")))

    def result(self):
        name = ""
        if self.tokens[self.at + 1][1] == ":":
            name = self.take()
            self.take(":")
        dtype, dims = self.type()
        return name, dtype, dims

    def statement(self):
        names = []
        if not self.accept("return"):
            names.append(self.take())
            while self.accept(","):
                names.append(self.take())
            self.take("=")
        values = [self.expr()]
        while self.accept(","):
            values.append(self.expr())
        self.take(";")
        return names, values

    # -- Expressions -----------------------------------------------------------

    def expr(self) -> Node:
        return self.binary(0)

    def binary(self, level: int) -> Node:
        if level == len(LEVELS):
            return self.unary()
        if LEVELS[level] == ("not",):
            return Node("not", [self.binary(level)]) if self.accept("not") \
                else self.binary(level + 1)
        left = self.binary(level + 1)
        if "<" in LEVELS[level]:
            operands, operators = [left], []
            while self.word in LEVELS[level]:
                operators.append(self.take())
                operands.append(self.binary(level + 1))
            return Node("compare", [operands, operators]) if operators else left
        while self.word in LEVELS[level]:
            left = Node(self.take(), [left, self.binary(level + 1)])
        return left

    def unary(self) -> Node:
        return Node("negate", [self.unary()]) if self.accept("-") else self.postfix()

    def postfix(self) -> Node:
        kind, word = self.tokens[self.at]
        if word in ("attend", "topk"):
            return self.attend() if word == "attend" else self.topk()
        self.at += 1
        if word == "(":
            inner = self.expr()
            self.take(")")
            return inner
        if kind == "int":
            return Node("int", [int(word)])
        if kind == "real":
            return Node("real", [float(word.replace("_", ""))])
        if word in ("true", "false"):
            return Node("bool", [word == "true"])
        if word == "inf":
            return Node("real", [float("inf")])
        if kind != "word":
            raise SyntaxError(f"expected a value, found {word!r}")
        if self.accept("("):
            return self.call(word)
        if self.accept("["):
            return Node("index", [word, self.listed(self.expr, "]")])
        return Node("name", [word])

    def call(self, name: str) -> Node:
        call = Node("call", [name, []])

        def argument():
            if self.tokens[self.at + 1][1] == "=" and self.tokens[self.at][0] == "word":
                label = self.take()
                self.take("=")
                call.named[label] = self.expr()
            else:
                call.parts[1].append(self.expr())

        self.listed(argument, ")")
        return call

    def attend(self) -> Node:
        self.take("attend")
        self.take("(")
        node = Node("attend", self.listed(self.expr, ")"))
        while self.word in CLAUSES:
            clause = self.take()
            node.named[clause] = self.expr()
        return node

    def topk(self) -> Node:
        self.take("topk")
        self.take("(")
        node = Node("topk", self.listed(self.expr, ")"))
        while self.word in ("keep", "plus", "count", "where", "share"):
            clause = self.take()
            if clause in ("keep", "plus"):
                node.named[clause] = self.forced()
            elif clause == "share":
                what, number = self.take(), self.expr()
                node.named["share " + what] = (number, self.take() if self.accept("by") else "sum")
            else:
                node.named[clause] = self.expr()
        return node

    def forced(self) -> list[tuple[str, Node]]:
        forced = [(self.take(), self.expr())]
        while self.word == "," and self.tokens[self.at + 1][1] in ("first", "last"):
            self.take(",")
            forced.append((self.take(), self.expr()))
        return forced
