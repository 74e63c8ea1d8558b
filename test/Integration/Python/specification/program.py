"""Kernels: inputs, statements and results of docs/spec.md, 1.3, 1.4 and 2.5."""

from __future__ import annotations

from typing import Any

import numpy as np

from .attention import Attention, Selection, attend, blocks, importance, is_softmax, merge
from .scalars import ProgramError, Scalars, Value, constant, settle, to_real
from .selection import TopK, handed_in, list_indices, packed, select, union
from .syntax import DTYPES, Kernel, Node, Parser
from .tensors import Batch, Dim, Roles, Tensor, align, by_name, pool


class Reader:
    """A program of one kernel; `run` gives results in fp64, as integers or as booleans.

    Results have tokens in front of heads, however they are declared. So have tables, since no
    program of the tests reads one that is declared otherwise.
    """

    def __init__(self, text: str, **params: Any):
        self.kernel: Kernel = Parser(text).kernel()
        self.constants: dict[str, Value] = {}
        for name, _, default in self.kernel.params:
            if name in params:
                value = params[name]
                self.constants[name] = constant(np.asarray(value)[()], isinstance(value, float))
            elif default is not None and default.parts[0] not in DTYPES:
                self.constants[name] = self.scalar(default)
        self.inputs = [(name, self.dims_of(dims)) for name, _, dims in self.kernel.inputs]
        self.results = [self.dims_of(dims) for _, _, dims in self.kernel.results]
        self.roles = Roles([*(dims for _, dims in self.inputs), *self.results])

    def tokens_first(self, data: np.ndarray, dims: list[Dim]) -> np.ndarray:
        return data.transpose(self.roles.order(dims))

    def scalar(self, node: Node) -> Value:
        return Scalars(lambda name: self.constants[name]).evaluate(node)

    def number(self, node: Node) -> int:
        return int(self.scalar(node).data)

    def dims_of(self, dims) -> list[Dim]:
        made = []
        for kind, dim in dims or []:
            if kind == "ragged":
                made.append(Dim(name=dim, ragged=True))
            elif dim.kind == "name" and dim.parts[0] not in self.constants:
                made.append(Dim(name=dim.parts[0], heads=kind == "heads"))
            else:
                made.append(Dim(size=self.number(dim), heads=kind == "heads"))
        return made

    def run(self, *inputs: np.ndarray) -> list[np.ndarray]:
        return self.run_with_close(*inputs)[0]

    def run_with_close(self, *inputs: np.ndarray):
        """The results, and for each batch row the query rows with selections that rounding may
        change."""
        with np.errstate(all="ignore"):
            run = Run(self, inputs)
            return run.run(), run.close


class Run:
    def __init__(self, reader: Reader, inputs):
        self.reader, self.kernel = reader, reader.kernel
        self.constants = dict(reader.constants)
        self.values: dict[str, Any] = {}
        names = [name for name, _ in reader.inputs]
        inputs = [reader.tokens_first(np.asarray(data), dims)
                  for (_, dims), data in zip(reader.inputs, inputs)] + list(inputs[len(names):])
        declared = [(name, reader.roles.tokens_first(dims)) for name, dims in reader.inputs]
        self.batch = self.bind(declared, inputs)
        self.tables: dict[str, Tensor] = {}
        for (name, dims), data in zip(declared, inputs):
            self.tables[name] = self.values[name] = self.batch.split(to_wide(data), dims)
        self.close: list[np.ndarray] | None = None

    def bind(self, declared, inputs) -> Batch:
        batch = Batch()
        ragged = list(dict.fromkeys(d.name for _, dims in declared for d in dims if d.ragged))
        for name, offsets in zip(ragged, inputs[len(declared):]):
            batch.offsets[name] = np.asarray(offsets)
            batch.rows = len(offsets) - 1
        for (_, dims), data in zip(declared, inputs):
            for dim, size in zip(dims, np.shape(data)):
                if dim.name and not dim.ragged:
                    batch.sizes[dim.name] = size
        first = declared[0][1] if declared else []
        if not ragged and len(first) == 4:
            batch.batch_name, batch.rows = first[0].name, batch.sizes[first[0].name]
        return batch

    # -- Statements --------------------------------------------------------------

    def run(self) -> list[np.ndarray]:
        for names, nodes in self.kernel.statements:
            values = [self.evaluate(node) for node in nodes]
            if not names:
                return [self.finish(value, result) for value, result
                        in zip(values, self.kernel.results, strict=True)]
            for name, value in zip(names, values, strict=True):
                if isinstance(value, Value):
                    self.constants[name] = value
                else:
                    self.values[name] = value
        raise SyntaxError("no return")

    def finish(self, value: Any, result) -> np.ndarray:
        name, dtype, _ = result
        tensor = self.as_tensor(value)
        fill = 0.0
        if tensor.present is not None:
            fill = -np.inf if getattr(tensor, "is_score", False) else 0.0
            tensor.rows = [np.where(part, row, fill)
                           for row, part in zip(tensor.rows, tensor.present)]
        data = tensor.pack(fill)
        if dtype in ("i32", "i64"):
            limits = np.iinfo(np.int32 if dtype == "i32" else np.int64)
            return np.clip(data, limits.min, limits.max)
        if data.dtype.kind == "i":
            data = data.astype(np.float32)
        return data if dtype == "bool" else data.astype(np.float64)

    def as_tensor(self, value: Any) -> Tensor:
        if isinstance(value, Attention):
            return value.output
        if isinstance(value, Value):
            return Tensor([settle(value).data], [])
        return value

    # -- Values --------------------------------------------------------------------

    def evaluate(self, node: Node) -> Any:
        if node.kind == "attend":
            return self.attend(node)
        if node.kind == "topk":
            return self.topk(node)
        if node.kind == "call" and (method := getattr(self, "call_" + node.parts[0], None)):
            return method(node)
        if node.kind == "name" and node.parts[0] in self.values:
            return self.values[node.parts[0]]
        return self.elementwise(node)

    def tensor(self, node: Node) -> Tensor:
        return self.as_tensor(self.evaluate(node))

    def number(self, node: Node) -> int:
        return int(Scalars(self.constants.__getitem__).evaluate(node).data)

    def call_pool(self, node: Node) -> Tensor:
        x, numbers = self.tensor(node.parts[1][0]), [self.number(n) for n in node.parts[1][1:]]
        length, stride = numbers[0], numbers[-1]
        tail = node.named["tail"].parts[0] if "tail" in node.named else \
            "drop" if length > stride else "average"
        base = x.dims[0]
        dim = Dim(name=base.name, ragged=base.ragged, kind="pooled", base=base.name, length=length,
                  stride=stride, tail=tail)
        by: Any = "mean"
        if "by" in node.named:
            named = node.named["by"]
            by = "max" if named.parts[0] == "max" else self.tensor(named).rows[0]
        return Tensor([pool(row, dim, by) for row in x.rows], [dim, *x.dims[1:]], x.batch)

    def call_pooled(self, node: Node) -> Tensor:
        x = self.tensor(node.parts[1][0])
        length, stride = (self.number(n) for n in node.parts[1][1:3])
        numbers = {name: self.number(node.named[name])
                   for name in ("offset", "memory") if name in node.named}
        dim = Dim(name=x.dims[0].name, ragged=x.dims[0].ragged, kind="declared",
                  base=node.named["of"].parts[0], length=length, stride=stride, **numbers)
        return Tensor(x.rows, [dim, *x.dims[1:]], x.batch)

    def attend(self, node: Node) -> Attention:
        parts = [self.tensor(part) for part in node.parts]
        clauses = dict(node.named)
        if "in" in clauses:
            clauses["in"] = self.evaluate(clauses["in"])
        attention = Attention(parts[0], parts[1], parts[2] if len(parts) > 2 else None, clauses)
        attend(attention, self.batch, self.tables, self.constants)
        self.mark(attention.close)
        return attention

    def mark(self, close: list[np.ndarray]) -> None:
        """Records query rows with selections that rounding may change."""
        self.close = close if self.close is None else [a | b for a, b in zip(self.close, close)]

    def call_lse(self, node: Node) -> Tensor:
        return self.evaluate(node.parts[1][0]).lse

    def importance(self, node: Node) -> Tensor:
        heads = node.named["heads"].parts[0] if "heads" in node.named else "sum"
        attention = self.evaluate(node.parts[1][0])
        assert is_softmax(attention) or node.parts[0] != "prob"
        made = importance(attention, node.parts[0], heads, self.batch, self.tables, self.constants)
        made.is_score = node.parts[0] == "score"
        return made

    call_prob = call_score = call_activation = importance

    def call_blocks(self, node: Node) -> Tensor:
        p, block = self.tensor(node.parts[1][0]), self.number(node.parts[1][1])
        how = node.named["map"].parts[0] if "map" in node.named else "overlap"
        if how == "identity":
            base = self.blocks_of(node)
            dim = Dim(kind="blocks", base=base, length=block)
            return Tensor(p.rows, [*p.dims[:-1], dim], p.batch,
                          [row != -np.inf for row in p.rows])
        base = p.dims[-1].base
        made = blocks(p, block, how, lambda row: self.batch.length(base, row))
        made.is_score = getattr(p, "is_score", False)
        return made

    def topk(self, node: Node) -> Selection:
        p, top = self.tensor(node.parts[0]), self.number(node.parts[1])
        topk = TopK(p, top, p.dims[-1].length, p.dims[-1].base, where=node.named.get("where"))
        for clause in ("keep", "plus"):
            forced = node.named.get(clause, [])
            setattr(topk, clause, [(which, self.number(n)) for which, n in forced])
        for clause in ("tokens", "heads"):
            if shared := node.named.get("share " + clause):
                setattr(topk, "share_" + clause, (self.number(shared[0]), shared[1]))
        if "count" in node.named:
            topk.count = self.tensor(node.named["count"])
        return select(topk, self.batch, self.tables, self.constants)

    def call_selection(self, node: Node) -> Selection:
        indices = self.tensor(node.parts[1][0])
        tokens = self.number(node.named["tokens"]) if "tokens" in node.named else 1
        block, of = self.number(node.parts[1][1]), self.blocks_of(node)
        if "offsets" in node.named:
            selection = packed(indices, self.tensor(node.named["offsets"]),
                               self.number(node.named["top"]), block, of, self.batch, tokens)
        else:
            count = self.tensor(node.named["count"]) if "count" in node.named else None
            selection = handed_in(indices, block, of, self.batch, tokens, count)
        selection.grouped = "tokens" in node.named or "offsets" in node.named
        return selection

    def call_union(self, node: Node) -> Selection:
        return union([self.evaluate(part) for part in node.parts[1]])

    def blocks_of(self, node: Node) -> str:
        """The tokens that indices or scores handed in refer to: the tokens of the program's
        keys."""
        return node.named["of"].parts[0] if "of" in node.named else self.values["k"].dims[0].name

    def call_indices(self, node: Node) -> Tensor:
        selection = self.evaluate(node.parts[1][0])
        if selection.tokens == 1:
            # Offsets are one more than queries.
            self.mark([close[:len(q)]
                       for close, q in zip(selection.close, self.values["q"].rows)])
        return list_indices(selection)

    def call_merge(self, node: Node) -> Attention:
        return merge([self.evaluate(branch) for branch in node.parts[1]])

    # -- Arithmetic ------------------------------------------------------------------

    def elementwise(self, node: Node) -> Any:
        """Leaves that are tensors are broadcast by name; without one it is a constant."""
        leaves: list[tuple[Node, Tensor]] = []
        self.find_leaves(node, leaves)
        if not leaves:
            return Scalars(self.lookup).evaluate(node)
        longest = max((tensor for _, tensor in leaves), key=rank)
        importances = [tensor for _, tensor in leaves if tensor.present is not None]
        count = len(longest.rows)
        rows = []
        for row in range(count):
            data = {id(leaf): spread(tensor, longest, row) for leaf, tensor in leaves}
            scalars = Scalars(lambda name: self.lookup(name, row),
                              leaf=lambda n: Value(data[id(n)]) if id(n) in data else None)
            value = settle(scalars.evaluate(node))
            if np.any(value.missing):
                raise ProgramError("an element without a value")
            shape = np.broadcast_shapes(*(x.shape for x in data.values()), np.shape(value.data))
            rows.append(np.broadcast_to(value.data, shape))
        present = [np.all([p.present[row] for p in importances], axis=0) for row in range(count)] \
            if importances else None
        made = Tensor(rows, longest.dims, longest.batch, present)
        made.is_score = bool(importances)
        return made

    def lookup(self, name: str, row: int = 0) -> Value:
        if name in self.constants:
            return self.constants[name]
        return Value(np.int64(self.batch.length(name, row)))

    def find_leaves(self, node: Any, leaves: list[tuple[Node, Tensor]]) -> None:
        if isinstance(node, list):
            for part in node:
                self.find_leaves(part, leaves)
        elif isinstance(node, Node):
            is_tensor = node.kind in ("attend", "topk") or (
                node.kind == "name" and node.parts[0] in self.values) or (
                node.kind == "call" and hasattr(self, "call_" + node.parts[0]))
            if is_tensor:
                leaves.append((node, self.tensor(node)))
            else:
                self.find_leaves(node.parts, leaves)


def to_wide(data: np.ndarray) -> np.ndarray:
    data = np.asarray(data)
    if data.dtype == bool:
        return data
    return data.astype(np.int64 if data.dtype.kind == "i" else np.float64)


def rank(tensor: Tensor) -> int:
    return len(tensor.dims) + (tensor.batch is not None)


def spread(tensor: Tensor, longest: Tensor, row: int) -> np.ndarray:
    """One batch row of an operand, with the dimensions of the longest."""
    same_rows = tensor.batch is not None or tensor.ragged
    data = tensor.rows[row] if same_rows else tensor.rows[0]
    return align(data, tensor.dims, longest.dims)


__all__ = ["Reader", "by_name", "to_real"]
