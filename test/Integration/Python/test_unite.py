"""The union of lists on a CPU, against sets."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

ARGUMENTS = {"x": "{stored}x{heads}x{width}xi32", "bounds": "3xi32", "blocks": "1x{entries}xi32",
             "members": "1x{entries}x{words}xi32", "counts": "1x1xi32"}
PLAN = """
nsatile.program @unite({declared}) {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  %lists = arith.constant {stored} : index
  %f = memref.load %bounds[%0] : memref<3xi32>
  %r = memref.load %bounds[%1] : memref<3xi32>
  %e = memref.load %bounds[%2] : memref<3xi32>
  %first = arith.index_cast %f : i32 to index
  %rows = arith.index_cast %r : i32 to index
  %end = arith.index_cast %e : i32 to index
  nsatile.unite %x[%0, %0, %0] along 0 every {every} from %first step {step} heads {heads}
      end %lists rows %rows of {count} below %end to %blocks, %counts[%0]
      members %members : memref<{members}> : memref<{x}>, memref<{blocks}>, memref<{counts}>
  nsatile.return
}}
nsatile.plan @plan({declared}) {{
  %1 = arith.constant 1 : index
  nsatile.launch @unite grid(%1, %1, %1) ({names}) : {types}
  nsatile.return
}}
"""


def make_plan(**sizes) -> str:
    shapes = {name: shape.format(**sizes) for name, shape in ARGUMENTS.items()}
    types = {name: f"memref<{shape}>" for name, shape in shapes.items()}
    return PLAN.format(
        declared=", ".join(f"%{name}: {each}" for name, each in types.items()),
        names=", ".join(f"%{name}" for name in types), types=", ".join(types.values()),
        **shapes, **sizes)


def unite(folder, lists: np.ndarray, rows: int, below: int, count: int, first=0, every=1, step=1):
    """Blocks, the words of their members, and their number. Lists: [tokens, heads, width]."""
    stored, heads, width = lists.shape
    entries, words = count * width, -(-count // 32)
    (folder / "plan.mlir").write_text(make_plan(
        stored=stored, heads=heads, width=width, entries=entries, words=words, count=count,
        every=every, step=step))
    np.save(folder / "lists.npy", lists)
    np.save(folder / "bounds.npy", np.array([first, rows, below], np.int32))
    names = {2: "blocks", 3: "members", 4: "counts"}
    outputs = [part for index, name in names.items()
               for part in ("--output", f"argument {index}={folder / name}.npy")]
    subprocess.run(
        [shutil.which("nsacc-tile-run"), folder / "plan.mlir", f"{stored}x{heads}x{width}", "3",
         f"1x{entries}", f"1x{entries}x{words}", "1x1",
         "--input", f"argument 0={folder / 'lists.npy'}",
         "--input", f"argument 1={folder / 'bounds.npy'}", *outputs], check=True)
    return [np.load(folder / f"{name}.npy")[0] for name in names.values()]


def check(found, lists: list[np.ndarray], below: int):
    """Unions of rows with these lists."""
    blocks, members, number = found
    sets: dict[int, set[int]] = {}
    for row, entries in enumerate(lists):
        for entry in entries:
            if 0 <= entry < below:
                sets.setdefault(int(entry), set()).add(row)
    assert number[0] == len(sets)
    assert blocks[:len(sets)].tolist() == sorted(sets)
    words = members[:len(sets)].view(np.uint32)
    for block, bits in zip(sorted(sets), words, strict=True):
        assert {row for row in range(32 * len(bits))
                if bits[row // 32] >> (row % 32) & 1} == sets[block]


@pytest.mark.parametrize("count, width, below", [
    (1, 1, 1), (3, 5, 4), (4, 16, 1024), (33, 7, 1025), (64, 64, 5000), (100, 3, 2049), (5, 16, 0)])
def test_unions_are_sets(tmp_path, count, width, below):
    random = np.random.default_rng(count * width)
    lists = random.integers(-2, below + 3, (count, 1, width)).astype(np.int32)
    for rows in sorted({0, 1, count - 1, count}):
        check(unite(tmp_path, lists, rows, below, count), list(lists[:rows, 0]), below)


@pytest.mark.parametrize("heads, every, step, first", [(1, 8, 8, 3), (3, 1, 1, 2), (2, 4, 2, 6)])
def test_rows_find_their_lists(tmp_path, heads, every, step, first):
    """Tokens that share a list, heads with separate lists, and tokens behind the last list."""
    lists = np.random.default_rng(heads).integers(-1, 40, (4, heads, 9)).astype(np.int32)
    count = 6 * heads
    rows = []
    for row in range(count):
        place = (first + row // heads * step) // every
        rows.append(lists[place, row % heads] if place < 4 else [])
    check(unite(tmp_path, lists, count, 40, count, first, every, step), rows, 40)
