"""The ops that lists are made of, on a CPU, against NumPy."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

PLAN = """
nsatile.program @lists(%x: memref<{n}xi32>, %counters: memref<{keys}xi32>,
                       %marks: memref<{keys}xi32>, %numbers: memref<{n}xi32>,
                       %before: memref<{n}xi32>, %sum: memref<1xi32>, %found: memref<{n}xi32>) {{
  %0 = arith.constant 0 : index
  %n = arith.constant {n} : index
  %keys = arith.constant {keys} : index
  %t_at = nsatile.at %x[%0] dims [0] limits [%n] : memref<{n}xi32> -> !nsatile.place<{n}xi32>
  %t = nsatile.load %t_at : tensor<{n}xi32>
  %none = arith.constant dense<0> : tensor<{keys}xi32>
  %to = nsatile.at %marks[%0] dims [0] limits [%keys]
      : memref<{keys}xi32> -> !nsatile.place<{keys}xi32>
  nsatile.store %none, %to : tensor<{keys}xi32>
  %before_each, %all = nsatile.scan %t : tensor<{n}xi32>
  %to_1 = nsatile.at %before[%0] dims [0] limits [%n] : memref<{n}xi32> -> !nsatile.place<{n}xi32>
  nsatile.store %before_each, %to_1 : tensor<{n}xi32>
  memref.store %all, %sum[%0] : memref<1xi32>
  %key = arith.index_cast %t : tensor<{n}xi32> to tensor<{n}xindex>
  %end = arith.constant dense<{keys}> : tensor<{n}xindex>
  %in = arith.cmpi ult, %key, %end : tensor<{n}xindex>
  %own = memref.alloca() : memref<{keys}xi32>
  %to_2 = nsatile.at %own[%0] dims [0] limits [%keys]
      : memref<{keys}xi32> -> !nsatile.place<{keys}xi32>
  nsatile.store %none, %to_2 : tensor<{keys}xi32>
  %one = arith.constant dense<1> : tensor<{n}xi32>
  nsatile.scatter add %one, %own[%key] where %in : tensor<{n}xi1>
      : tensor<{n}xi32>, memref<{keys}xi32>, tensor<{n}xindex>
  %counted_at = nsatile.at %own[%0] dims [0] limits [%keys]
      : memref<{keys}xi32> -> !nsatile.place<{keys}xi32>
  %counted = nsatile.load %counted_at : tensor<{keys}xi32>
  %to_3 = nsatile.at %counters[%0] dims [0] limits [%keys]
      : memref<{keys}xi32> -> !nsatile.place<{keys}xi32>
  nsatile.store %counted, %to_3 : tensor<{keys}xi32>
  %number = nsatile.enumerate %key in %own where %in : tensor<{n}xi1>
      : memref<{keys}xi32>, tensor<{n}xi32>
  %to_4 = nsatile.at %numbers[%0] dims [0] limits [%n] : memref<{n}xi32> -> !nsatile.place<{n}xi32>
  nsatile.store %number, %to_4 : tensor<{n}xi32>
  %place = nsatile.iota %0 : tensor<{n}xindex>
  %shift = arith.constant dense<31> : tensor<{n}xindex>
  %low = arith.andi %place, %shift : tensor<{n}xindex>
  %low32 = arith.index_cast %low : tensor<{n}xindex> to tensor<{n}xi32>
  %bit = arith.shli %one, %low32 : tensor<{n}xi32>
  nsatile.scatter or %bit, %marks[%key] where %in : tensor<{n}xi1>
      : tensor<{n}xi32>, memref<{keys}xi32>, tensor<{n}xindex>
  %read = nsatile.gather %marks[%key] where %in : tensor<{n}xi1>
      : memref<{keys}xi32>, tensor<{n}xindex> -> tensor<{n}xi32>
  nsatile.scatter set %read, %found[%place] : tensor<{n}xi32>, memref<{n}xi32>, tensor<{n}xindex>
  nsatile.return
}}
nsatile.plan @plan(%x: memref<{n}xi32>, %counters: memref<{keys}xi32>,
                   %marks: memref<{keys}xi32>, %numbers: memref<{n}xi32>,
                   %before: memref<{n}xi32>, %sum: memref<1xi32>, %found: memref<{n}xi32>) {{
  %1 = arith.constant 1 : index
  nsatile.launch @lists grid(%1, %1, %1) (%x, %counters, %marks, %numbers, %before, %sum, %found)
      : memref<{n}xi32>, memref<{keys}xi32>, memref<{keys}xi32>, memref<{n}xi32>, memref<{n}xi32>,
        memref<1xi32>, memref<{n}xi32>
  nsatile.return
}}
"""


@pytest.mark.parametrize("n, keys", [(1, 1), (7, 3), (64, 64), (130, 5), (512, 1000)])
def test_elements_by_keys(tmp_path, n, keys):
    """Counts, numbers, marks and sums of entries, some of which are no keys."""
    x = np.random.default_rng(n).integers(-2, keys + 2, n).astype(np.int32)
    (tmp_path / "plan.mlir").write_text(PLAN.format(n=n, keys=keys))
    np.save(tmp_path / "x.npy", x)
    names = ["counters", "marks", "numbers", "before", "sum", "found"]
    outputs = [part for index, name in enumerate(names, start=1)
               for part in ("--output", f"argument {index}={tmp_path / name}.npy")]
    subprocess.run(
        [shutil.which("nsacc-tile-run"), tmp_path / "plan.mlir", str(n), str(keys), str(keys),
         str(n), str(n), "1", str(n), "--input", f"argument 0={tmp_path / 'x.npy'}", *outputs],
        check=True)
    found = {name: np.load(tmp_path / f"{name}.npy") for name in names}

    inside = (x >= 0) & (x < keys)
    counts = np.bincount(x[inside], minlength=keys)
    bits = np.left_shift(1, np.arange(n) % 32, dtype=np.int64)
    marks = np.array([np.bitwise_or.reduce(bits[x == key], initial=0) for key in range(keys)])
    marks = marks.astype(np.uint32).view(np.int32)
    numbers = [counts[key] + np.sum(x[:place] == key) if inside[place] else 0
               for place, key in enumerate(x)]
    sums = np.cumsum(x)
    assert found["counters"].tolist() == counts.tolist()
    assert found["marks"].tolist() == marks.tolist()
    assert found["numbers"].tolist() == numbers
    assert found["before"].tolist() == (sums - x).tolist()
    assert found["sum"].tolist() == [sums[-1]]
    assert found["found"].tolist() == np.where(inside, marks[x % keys], 0).tolist()
