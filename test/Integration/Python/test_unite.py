"""The union of lists on a CPU, against sets."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

ARGUMENTS = {"x": "{lists}x{width}x{type}", "bounds": "2xi32", "blocks": "1x{entries}xi32",
             "members": "1x{entries}x{words}xi32", "counts": "1x1xi32"}
PLAN = """
nsatile.program @unite({declared}) {{
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %lists = arith.constant {lists} : index
  %width = arith.constant {width} : index
  %r = memref.load %bounds[%0] : memref<2xi32>
  %e = memref.load %bounds[%1] : memref<2xi32>
  %rows = arith.index_cast %r : i32 to index
  %end = arith.index_cast %e : i32 to index
  %t = nsatile.load %x[%0, %0] dims [0, 1] limits[%lists, %width]
      : memref<{lists}x{width}x{type}> -> tensor<{lists}x{width}x{type}>
  nsatile.unite %t rows %rows below %end to %blocks, %members, %counts[%0]
      : tensor<{lists}x{width}x{type}>, {results}
  nsatile.return
}}
nsatile.plan @plan({declared}) {{
  %1 = arith.constant 1 : index
  nsatile.launch @unite grid(%1, %1, %1) ({names}) : {types}
  nsatile.return
}}
"""


def make_plan(**sizes) -> str:
    types = {name: f"memref<{shape.format(**sizes)}>" for name, shape in ARGUMENTS.items()}
    return PLAN.format(
        declared=", ".join(f"%{name}: {each}" for name, each in types.items()),
        names=", ".join(f"%{name}" for name in types), types=", ".join(types.values()),
        results=", ".join(list(types.values())[2:]), **sizes)


def unite(folder, lists: np.ndarray, rows: int, below: int):
    """Blocks, the words of their members, and their number."""
    count, width = lists.shape
    entries, words = lists.size, -(-count // 32)
    (folder / "plan.mlir").write_text(make_plan(
        lists=count, width=width, entries=entries, words=words,
        type="i64" if lists.dtype == np.int64 else "i32"))
    np.save(folder / "lists.npy", lists)
    np.save(folder / "bounds.npy", np.array([rows, below], np.int32))
    names = {2: "blocks", 3: "members", 4: "counts"}
    outputs = [part for index, name in names.items()
               for part in ("--output", f"argument {index}={folder / name}.npy")]
    subprocess.run(
        [shutil.which("nsacc-tile-run"), folder / "plan.mlir", f"{count}x{width}", "2",
         f"1x{entries}", f"1x{entries}x{words}", "1x1",
         "--input", f"argument 0={folder / 'lists.npy'}",
         "--input", f"argument 1={folder / 'bounds.npy'}", *outputs], check=True)
    return [np.load(folder / f"{name}.npy")[0] for name in names.values()]


@pytest.mark.parametrize("count, width, below, dtype", [
    (1, 1, 1, np.int32), (3, 5, 4, np.int32), (4, 16, 1024, np.int32), (33, 7, 1025, np.int64),
    (64, 64, 5000, np.int32), (100, 3, 2049, np.int32), (5, 16, 0, np.int32)])
def test_unions_are_sets(tmp_path, count, width, below, dtype):
    random = np.random.default_rng(count * width)
    lists = random.integers(-2, below + 3, (count, width)).astype(dtype)
    for rows in sorted({0, 1, count - 1, count}):
        blocks, members, found = unite(tmp_path, lists, rows, below)
        sets: dict[int, set[int]] = {}
        for row, entries in enumerate(lists[:rows]):
            for entry in entries:
                if 0 <= entry < below:
                    sets.setdefault(int(entry), set()).add(row)
        assert found[0] == len(sets)
        assert blocks[:len(sets)].tolist() == sorted(sets)
        words = members[:len(sets)].view(np.uint32)
        for block, bits in zip(sorted(sets), words, strict=True):
            assert {row for row in range(count) if bits[row // 32] >> (row % 32) & 1} == sets[block]
