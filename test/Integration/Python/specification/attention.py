"""Attention, importance and merging: docs/spec.md, 3.3 to 3.5 and 3.8."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .scalars import ProgramError, Scalars, Value, settle, to_real
from .syntax import Node
from .tensors import Batch, Dim, Tensor


@dataclass
class Selection:
    """For each batch row: whether block n is selected, [T, heads, blocks], or for so many tokens
    each; and the queries where rounding may choose another block."""
    chosen: list[np.ndarray]
    close: list[np.ndarray]
    block: int
    width: int
    dims: list[Dim]
    batch: Dim | None
    tokens: int = 1
    packed: bool = False
    """Rows are counted by offsets: the last one is no row."""
    grouped: bool = False
    """Whether it was handed in with `tokens=` or `offsets=`."""


@dataclass
class Attention:
    query: Tensor
    key: Tensor
    value: Tensor | None
    clauses: dict[str, Any]
    output: Tensor | None = None
    lse: Tensor | None = None
    # For each batch row, [T, HQ]: the largest score, and the sum Σ exp(s' - most) that divides.
    most: list[np.ndarray] = field(default_factory=list)
    total: list[np.ndarray] = field(default_factory=list)
    close: list[np.ndarray] = field(default_factory=list)


class Positions:
    """The names of 2.4 for one batch row, and one head if clauses use it."""

    def __init__(self, batch: Batch, tables: dict[str, Tensor], constants: dict[str, Value],
                 row: int, keys: Dim | None):
        self.batch, self.tables, self.constants = batch, tables, constants
        self.row, self.keys = row, keys
        self.names: dict[str, Any] = {"b": np.int64(row)}

    def lookup(self, name: str) -> Value:
        if name in self.names:
            return Value(self.names[name])
        if name in self.constants:
            return self.constants[name]
        if name in self.tables:
            return self.read(name, [])
        return Value(np.int64(self.batch.length(name, self.row)))

    def read(self, name: str, indices: list[Value]) -> Value:
        table = self.tables[name]
        data = table.rows[self.row] if table.ragged else table.rows[0]
        if table.batch is not None:
            data = np.stack(table.rows) if table.rows else np.zeros((0, *[1] * len(table.dims)))
        missing, places = False, []
        for size, index in zip(data.shape, indices, strict=True):
            outside = (index.data < 0) | (index.data >= size)
            missing = np.logical_or(np.logical_or(missing, index.missing), outside)
            places.append(np.where(outside, 0, index.data))
        if 0 in data.shape:
            shape = np.broadcast_shapes(*(np.shape(place) for place in places))
            return Value(np.zeros(shape, data.dtype), np.ones(shape, bool))
        return Value(data[tuple(places)], missing)

    def extent(self, which: str, index: Value) -> Value:
        return Value((self.keys or Dim()).extent(index.data)[which == "end"], index.missing)

    def evaluate(self, node: Node, needed: Any = True, real: bool = False) -> np.ndarray:
        value = settle(Scalars(self.lookup, self.read, self.extent).evaluate(node))
        if np.any(np.logical_and(value.missing, needed)):
            raise ProgramError("a value is needed that there isn't")
        return np.asarray((to_real(value) if real else value).data)


def positions_of(attention: Attention, batch: Batch, tables, constants) -> Iterator[Positions]:
    for row, (q, k) in enumerate(zip(attention.query.rows, attention.key.rows)):
        key_dim = attention.key.dims[0]
        tokens = batch.length(key_dim.base or key_dim.name, row)
        place = Positions(batch, tables, constants, row, key_dim)
        t = np.arange(len(q), dtype=np.int64)[:, None]
        j = np.arange(len(k), dtype=np.int64)[None]
        place.names |= {"t": t, "i": t + tokens - len(q), "j": j}
        if q.shape[1] and k.shape[1]:
            place.names["G"] = np.int64(q.shape[1] // k.shape[1])
        yield place


def score(attention: Attention, place: Positions, h: int) -> tuple[np.ndarray, ...]:
    """Scores of one batch row and query head, the visible keys, and the keys that take part."""
    clauses = attention.clauses
    q, k = attention.query.rows[place.row], attention.key.rows[place.row]
    place.names["h"] = np.int64(h)
    group = q.shape[1] // k.shape[1]
    shape = (len(q), len(k))
    visible = np.ones(shape, bool)
    if selection := clauses.get("in"):
        heads = selection.chosen[place.row].shape[1]
        rows = np.arange(len(q)) // selection.tokens
        chosen = selection.chosen[place.row][rows, h // (q.shape[1] // heads)]
        visible = chosen[:, np.arange(len(k)) // selection.block].reshape(shape)
    if where := clauses.get("where"):
        visible = visible & np.broadcast_to(place.evaluate(where, visible), shape)
    scale = place.evaluate(clauses["scale"], real=True) if "scale" in clauses \
        else np.float64(q.shape[2]) ** -0.5
    scores = scale * np.einsum("td,jd->tj", q[:, h], k[:, h // group])
    if clause := clauses.get("score"):
        place.names["s"] = scores
        scores = np.broadcast_to(place.evaluate(clause, visible, real=True), shape)
    return scores, visible, visible & (scores != -np.inf)


def weigh(attention: Attention, place: Positions, scores, part) -> np.ndarray:
    place.names["s"] = scores
    return np.broadcast_to(place.evaluate(attention.clauses["weight"], part, real=True), part.shape)


def is_softmax(attention: Attention) -> bool:
    weight = attention.clauses.get("weight")
    return weight is None or (weight.kind == "name" and weight.parts[0] == "softmax")


def add_up(most: np.ndarray, total: np.ndarray) -> tuple[float, float]:
    """Σ total_n exp(most_n), as one such pair: spec 3.3 means a quotient by exp(s' - lse)."""
    largest = np.max(most, initial=-np.inf)
    if not np.isfinite(largest):
        return largest, 1.0
    return largest, np.sum(total * np.exp(most - largest))


def log_of(most: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(most), most + np.log(total), most)


def attend(attention: Attention, batch: Batch, tables, constants) -> None:
    query, value = attention.query, attention.value
    outputs, lses = [], []
    attention.most, attention.total = [], []
    for place in positions_of(attention, batch, tables, constants):
        q = query.rows[place.row]
        k = attention.key.rows[place.row]
        v = value.rows[place.row] if value else np.zeros((*k.shape[:2], 0))
        output = np.zeros((*q.shape[:2], v.shape[2]))
        most, total = np.full(q.shape[:2], -np.inf), np.ones(q.shape[:2])
        for h in range(q.shape[1]):
            v_head = v[:, h // (q.shape[1] // v.shape[1])]
            if is_softmax(attention):
                softmax_rows(attention, place, h, v_head, output[:, h], (most, total))
            else:
                weighted_rows(attention, place, h, v_head, output[:, h])
        outputs.append(output)
        attention.most.append(most)
        attention.total.append(total)
        lses.append(log_of(most, total))
    width = value.dims[2] if value else Dim(size=0)
    attention.output = Tensor(outputs, [*query.dims[:2], width], query.batch)
    attention.lse = Tensor(lses, query.dims[:2], query.batch)
    selection = attention.clauses.get("in")
    # Selections that are handed in are never close.
    attention.close = [close[:len(q)] for close, q in zip(selection.close, query.rows)] \
        if selection and selection.tokens == 1 else [np.zeros(len(q), bool) for q in query.rows]


def softmax_rows(attention, place, h, v, output, sums) -> None:
    scores, _, part = score(attention, place, h)
    sink = np.full(len(scores), -np.inf)
    if clause := attention.clauses.get("sink"):
        sink = np.broadcast_to(place.evaluate(clause, real=True), (len(scores), 1))[:, 0]
    for t in range(len(scores)):
        seen = scores[t, part[t]]
        everything = np.append(seen, sink[t])
        most, total = add_up(everything, np.ones(len(everything)))
        sums[0][t, h], sums[1][t, h] = most, total
        if len(seen):
            output[t] = np.exp(seen - most) / total @ v[part[t]]


def weighted_rows(attention, place, h, v, output) -> None:
    scores, visible, part = score(attention, place, h)
    weights = weigh(attention, place, scores, part)
    for t in range(len(scores)):
        if part[t].any():
            output[t] = weights[t, part[t]] @ v[part[t]]
    if clause := attention.clauses.get("normalize"):
        counts = part.any(axis=1)
        place.names["sum"] = np.where(part, weights, 0).sum(axis=1)[:, None]
        place.names["visible"] = visible.sum(axis=1)[:, None]
        divisor = place.evaluate(clause, counts[:, None], real=True)
        divisor = np.broadcast_to(divisor, (len(scores), 1))
        output[counts] /= divisor[counts]


def reduce_present(values: np.ndarray, present: np.ndarray, how: str, axis: int):
    """Sum, mean or max of the present entries; NaN if one is."""
    count = present.sum(axis=axis)
    if how == "max":
        result = np.max(np.where(present, values, -np.inf), axis=axis, initial=-np.inf)
    else:
        result = np.where(present, values, 0).sum(axis=axis)
        if how == "mean":
            result = result / np.maximum(count, 1)
    return np.where(count > 0, result, 0), count > 0


def importance(attention: Attention, kind: str, heads: str, batch: Batch, tables,
               constants) -> Tensor:
    values, present = [], []
    for place in positions_of(attention, batch, tables, constants):
        q, k = attention.query.rows[place.row], attention.key.rows[place.row]
        value = np.zeros((q.shape[1], len(q), len(k)))
        part = np.zeros(value.shape, bool)
        for h in range(q.shape[1]):
            scores, _, part[h] = score(attention, place, h)
            if kind == "prob":
                most, total = (x[place.row][:, h, None] for x in (attention.most, attention.total))
                value[h] = np.exp(scores - most) / total
            else:
                value[h] = scores if kind == "score" else weigh(attention, place, scores, part[h])
        if heads != "none":
            group = (k.shape[1], q.shape[1] // k.shape[1], len(q), len(k))
            value, part = reduce_present(value.reshape(group), part.reshape(group), heads, axis=1)
        values.append(value.transpose(1, 0, 2))
        present.append(part.transpose(1, 0, 2))
    query, key = attention.query, attention.key
    head = query.dims[1] if heads == "none" else key.dims[1]
    return Tensor(values, [query.dims[0], head, key.dims[0]], query.batch, present)


def blocks(p: Tensor, block: int, how: str, tokens: Callable[[int], int]) -> Tensor:
    """Importance of blocks: docs/spec.md, 3.5."""
    keys = p.dims[-1]
    dim = Dim(kind="blocks", base=keys.base, length=block)
    values, present = [], []
    for row, (value, part) in enumerate(zip(p.rows, p.present)):
        start, end = keys.extent(np.arange(value.shape[-1]))
        n = np.arange(dim.count(tokens(row)))[:, None]
        shared = np.minimum(end, (n + 1) * block) - np.maximum(start, n * block)
        factor = shared / keys.stride if how == "overlap" else np.ones(shared.shape)
        belongs = part[..., None, :] & (shared > 0)
        reduced = reduce_present(value[..., None, :] * np.where(shared > 0, factor, 0), belongs,
                                 "sum" if how == "overlap" else how, axis=-1)
        values.append(reduced[0])
        present.append(reduced[1])
    return Tensor(values, [*p.dims[:-1], dim], p.batch, present)


def merge(branches: list[Attention]) -> Attention:
    outputs, mosts, totals = [], [], []
    for row in range(len(branches[0].output.rows)):
        most, total = (np.stack([getattr(branch, name)[row] for branch in branches])
                       for name in ("most", "total"))
        out = np.stack([branch.output.rows[row] for branch in branches])
        merged, sums = np.zeros(out.shape[1:]), np.zeros((2, *most.shape[1:]))
        for place in np.ndindex(most.shape[1:]):
            here = (slice(None), *place)
            sums[here] = largest, whole = add_up(most[here], total[here])
            counts = most[here] != -np.inf
            if counts.any():
                weights = total[here] * np.exp(most[here] - largest) / whole
                merged[place] = weights[counts] @ out[here][counts]
        outputs.append(merged)
        mosts.append(sums[0])
        totals.append(sums[1])
    lses = [log_of(most, total) for most, total in zip(mosts, totals)]
    first = branches[0]
    close = [np.any(rows, axis=0) for rows in zip(*(branch.close for branch in branches))]
    return Attention(first.query, first.key, first.value, {"merged": True},
                     Tensor(outputs, first.output.dims, first.output.batch),
                     Tensor(lses, first.lse.dims, first.lse.batch), mosts, totals, close)
