"""Selections: docs/spec.md, 3.6 and 3.7."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .attention import Positions, Selection, reduce_present
from .scalars import ProgramError
from .syntax import Node
from .tensors import Batch, Dim, Tensor

# Importances that are this near relative to the largest of the row are a tie for rounding.
NEAR = 1e-9


@dataclass
class TopK:
    importance: Tensor
    top: int
    block: int
    base: str
    keep: list[tuple[str, int]] = field(default_factory=list)
    plus: list[tuple[str, int]] = field(default_factory=list)
    count: Tensor | None = None
    where: Node | None = None
    share_tokens: tuple[int, str] = (1, "sum")
    share_heads: tuple[int, str] = (1, "sum")


def reduce_shared(values, present, how: str, axis: int):
    if how in ("first", "last"):
        place = 0 if how == "first" else -1
        return values.take(place, axis), present.take(place, axis)
    return reduce_present(values, present, how, axis)


def forced_blocks(forced: list[tuple[str, int]], own: int) -> list[int]:
    blocks: list[int] = []
    for which, n in sorted(forced):  # "first" stands before "last"
        blocks += range(n) if which == "first" else range(own, own - n, -1)
    return blocks


def choose(topk: TopK, values, present, allowed, own: int, count: int) -> tuple[set[int], bool]:
    """The blocks of one row, and whether rounding may choose others."""
    total = len(allowed)
    forced = []
    for block in forced_blocks(topk.keep or topk.plus, own):
        if 0 <= block < total and allowed[block] and block not in forced:
            forced.append(block)
    values = np.pad(values, (0, max(0, total - len(values))))[:total]
    present = np.pad(present, (0, max(0, total - len(present))))[:total]
    others = [n for n in range(total) if present[n] and allowed[n] and n not in forced]
    others.sort(key=lambda n: (np.isnan(values[n]), 0 if np.isnan(values[n]) else -values[n], n))
    if topk.plus:
        room = count
    else:
        forced = forced[:count]
        room = count - len(forced)
    edge = [values[n] for n in (*others[max(room - 1, 0):room], *others[room:room + 1])]
    size = max([abs(values[n]) for n in others if np.isfinite(values[n])], default=0)
    close = room > 0 and len(edge) == 2 and bool(abs(edge[0] - edge[1]) <= NEAR * size)
    return {*forced, *others[:room]}, close


def select(topk: TopK, batch: Batch, tables, constants) -> Selection:
    chosen, close = [], []
    for row, (values, present) in enumerate(zip(topk.importance.rows, topk.importance.present)):
        tokens = batch.length(topk.base, row)
        dim = Dim(kind="blocks", base=topk.base, length=topk.block)
        place = Positions(batch, tables, constants, row, dim)
        counts = topk.count.rows[row] if topk.count else None
        result = select_row(topk, place, values, present, tokens, dim.count(tokens), counts)
        chosen.append(result[0])
        close.append(result[1])
    width = topk.top + sum(n for _, n in topk.plus)
    p = topk.importance
    return Selection(chosen, close, topk.block, width, p.dims[:2], p.batch)


def select_row(topk: TopK, place: Positions, values, present, tokens: int, total: int, counts):
    """One batch row: groups of rows and heads have one selection."""
    queries, heads = values.shape[:2]
    chosen, close = np.zeros((queries, heads, total), bool), np.zeros(queries, bool)
    position = np.arange(queries) + tokens - queries
    n_tokens, by_tokens = topk.share_tokens
    n_heads, by_heads = topk.share_heads
    if heads % n_heads:
        raise ProgramError("heads that share a selection")
    if counts is not None and np.any((counts < 0) | (counts > topk.top)):
        raise ProgramError("a count outside of 0 to top")
    for group in np.unique(position // n_tokens):
        rows = np.flatnonzero(position // n_tokens == group)
        representative = rows[0] if by_tokens == "first" else rows[-1]
        reduced = reduce_shared(values[rows], present[rows], by_tokens, 0) if n_tokens > 1 \
            else (values[representative], present[representative])
        for first in range(0, heads, n_heads):
            members = range(first, first + n_heads)
            head = members[-1] if by_heads == "last" else first
            value, part = (x[list(members)] for x in reduced)
            value, part = reduce_shared(value, part, by_heads, 0) if n_heads > 1 \
                else (value[0], part[0])
            place.names |= {"t": np.int64(representative), "i": np.int64(position[representative]),
                            "h": np.int64(head), "j": np.arange(total)}
            allowed = np.ones(total, bool)
            if topk.where:
                allowed &= np.broadcast_to(place.evaluate(topk.where), total)
            count = topk.top if counts is None else int(counts[representative, head])
            own = position[representative] // topk.block
            blocks, is_close = choose(topk, value, part, allowed, own, count)
            for member in members:
                chosen[np.ix_(rows, [member], sorted(blocks))] = True
            close[rows] |= is_close
    return chosen, close


def handed_in(indices: Tensor, block: int, base: str, batch: Batch, tokens: int,
              count: Tensor | None = None) -> Selection:
    chosen = []
    for row, data in enumerate(indices.rows):
        data = data.copy()
        if count is not None:
            if np.any((count.rows[row] < 0) | (count.rows[row] > data.shape[2])):
                raise ProgramError("a count outside of 0 to top")
            data[np.arange(data.shape[2]) >= count.rows[row][..., None]] = -1
        chosen.append(mark_blocks(data, -(-batch.length(base, row) // block)))
    return given(chosen, block, indices.dims[-1].size, indices, tokens)


def mark_blocks(data: np.ndarray, total: int) -> np.ndarray:
    if np.any((data < -1) | (data >= total)):
        raise ProgramError("an index that is no block")
    mask = np.zeros((*data.shape[:2], total + 1), bool)
    np.put_along_axis(mask, data, True, axis=2)  # -1 is the last, which is cut off
    return mask[..., :total]


def given(chosen: list[np.ndarray], block: int, width: int, rows: Tensor, tokens: int) -> Selection:
    close = [np.zeros(len(data), bool) for data in chosen]
    return Selection(chosen, close, block, width, rows.dims[:2], rows.batch, tokens)


def packed(indices: Tensor, offsets: Tensor, top: int, block: int, base: str, batch: Batch,
           tokens: int) -> Selection:
    """Lists behind each other; the generator has heads in front where there is only one."""
    chosen = []
    turned = indices.dims[1] != offsets.dims[1]
    for row, (data, bounds) in enumerate(zip(indices.rows, offsets.rows)):
        if turned:
            data, bounds = data.T, bounds.T
        lists = np.full((*bounds.shape, top), -1)
        for r, head in np.ndindex(len(bounds) - 1, bounds.shape[1]):
            first, last = bounds[r, head], bounds[r + 1, head]
            if not 0 <= first <= last <= len(data) or last - first > top:
                raise ProgramError("offsets that are no lists")
            lists[r, head, :last - first] = data[first:last, head]
        chosen.append(mark_blocks(lists, -(-batch.length(base, row) // block)))
    selection = given(chosen, block, top, offsets, tokens)
    selection.packed = True
    if turned:
        selection.dims = selection.dims[::-1]
    return selection


def union(parts: list[Selection]) -> Selection:
    """A union has the rows of the part with the fewest tokens; a part without groups comes
    first."""
    finest = min(parts, key=lambda part: (part.tokens, part.grouped))
    own_rows = finest.dims[0]
    is_packed = any(part.packed and part.dims[0] == own_rows for part in parts)
    chosen, close = [], []
    for row, own in enumerate(finest.chosen):
        heads = max(part.chosen[row].shape[1] for part in parts)
        mask = np.zeros((len(own), heads, own.shape[2]), bool)
        for part in parts:
            places = np.arange(len(own)) * finest.tokens // part.tokens
            exists = places < len(part.chosen[row])
            mask[exists] |= part.chosen[row][places[exists]]
        if is_packed:
            mask[-1:] = False
        chosen.append(mask)
        close.append(np.logical_or.reduce([part.close[row] for part in parts
                                           if part.tokens == 1 and len(part.close[row]) == len(own)]
                                          or [np.zeros(len(own), bool)]))
    heads = next((part.dims[1] for part in parts if part.dims[1].size != 1), finest.dims[1])
    return Selection(chosen, close, finest.block, sum(part.width for part in parts),
                     [own_rows, heads], finest.batch, finest.tokens, is_packed,
                     finest.grouped)


def list_indices(selection: Selection) -> Tensor:
    rows = []
    for chosen in selection.chosen:
        out = np.full((*chosen.shape[:2], selection.width), -1, np.int64)
        for place in np.ndindex(chosen.shape[:2]):
            blocks = np.flatnonzero(chosen[place])
            out[place][:len(blocks)] = blocks
        rows.append(out)
    return Tensor(rows, [*selection.dims, Dim(size=selection.width)], selection.batch)
