"""Compiling takes time in proportion to a program's size."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

FACTOR = 2
"""Allowed factor beyond ten times the time for ten times the size: memory of larger programs is
slower."""
START = 0.5
"""Seconds of a process that don't depend on the program."""
LIMIT = 120


def chain(length: int) -> str:
    """Statements that each need the previous one."""
    steps = "".join(f"  x{i + 1} = x{i} * 0.5 + y;\n" for i in range(length))
    return f"kernel chain(x0, y: f32[B, T]) -> f32[B, T] {{\n{steps}  return x{length};\n}}\n"


def waves(length: int) -> str:
    """A chain of a function that takes hundreds of instructions."""
    return re.sub(r"(x\d+) \* 0.5", r"sin(\1)", chain(length))


def results(count: int) -> str:
    types = ", ".join(f"r{i}: f32[B, T]" for i in range(count))
    values = ", ".join(f"x * {i}.0 + y" for i in range(count))
    return f"kernel results(x, y: f32[B, T]) -> ({types}) {{ return {values}; }}\n"


def attentions(count: int) -> str:
    types = ", ".join(f"r{i}: [B, T, H, D]" for i in range(count))
    values = ", ".join(f"{i + 1}.0 * a" for i in range(count))
    return (
        f"kernel attentions(q, k, v: [B, T, H, D]) -> ({types}) "
        f"{{ a = attend(q, k, v) where j <= i; return {values}; }}\n"
    )


def different_attentions(count: int) -> str:
    """Results that each have a different mask."""
    types = ", ".join(f"r{i}: [B, T, H, D]" for i in range(count))
    values = ", ".join(f"attend(q, k, v) where i - j > {i}" for i in range(count))
    return f"kernel different(q, k, v: [B, T, H, D]) -> ({types}) {{ return {values}; }}\n"


def merged_attentions(count: int) -> str:
    values = ", ".join(f"attend(q, k, v) where {5 * i} <= j < {5 * i + 5}" for i in range(count))
    return f"kernel merged(q, k, v: [B, T, H, D]) -> [B, T, H, D] {{ return merge({values}); }}\n"


def attention(clause: str, tables: str = "d: i32[M]") -> str:
    return (
        f"kernel formula(q: [B, T, H, D], k, v: [B, S, H, D], {tables}) -> [B, T, H, D] "
        f"{{ return attend(q, k, v) {clause}; }}\n"
    )


def tables(depth: int) -> str:
    """A table that is read with a table's value."""
    return attention(f"where {'d[' * depth}0{']' * depth} == 0")


def conditions(depth: int) -> str:
    formula = "s"
    for i in range(depth):
        formula = f"select(s > {i}.5, d[{i} mod (j + 1)], {formula})"
    return attention(f"where j <= i score {formula}")


def extremes(depth: int) -> str:
    formula = "s"
    for i in range(depth):
        formula = f"{'max' if i % 2 else 'min'}({formula} * 1.0{i}, {i}.5)"
    return attention(f"where j <= i score {formula}", tables="_w: f32[M]")


def masks(count: int) -> str:
    """Tables that each hide keys."""
    names = [f"d{i}" for i in range(count)]
    mask = " and ".join(f"{name}[j mod M] >= 0" for name in names)
    return attention(f"where {mask}", tables=f"{', '.join(names)}: i32[M]")


def measure(folder, text: str) -> float:
    """Processor seconds of compiling and a run on tiny inputs."""
    command = shutil.which("nsacc")
    assert command, "nsacc isn't on PATH: build it, and add build/dev/bin"
    path = folder / "program.nsa"
    path.write_text(text)
    sizes = "B=1,T=2,H=1,D=8" if "attend(" in text else "B=1,T=2"
    sizes += ",S=2,M=4" if "[M]" in text else ""
    ranges = re.findall(r"\bd\d*\b(?=[:,] )", text.split(")")[0])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [command, "run", path, "--dims", sizes, "--dtype", "f32"]
        + [f"--range={name}=0..3" for name in ranges],
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=LIMIT,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize(
    "make, sizes",
    [
        (chain, (10, 100, 1000)),
        (waves, (5, 50)),
        (results, (1, 10, 100)),
        (attentions, (1, 10, 100)),
        (different_attentions, (8, 64)),
        (merged_attentions, (6, 60)),
        (tables, (25, 250)),
        (conditions, (20, 200)),
        (extremes, (12, 120)),
        (masks, (10, 100)),
    ],
    ids=[
        "chain",
        "waves",
        "results",
        "attentions",
        "different_attentions",
        "merged_attentions",
        "tables",
        "conditions",
        "extremes",
        "masks",
    ],
)
def test_time_is_linear(tmp_path, make, sizes):
    seconds = [measure(tmp_path, make(size)) for size in sizes]
    for small, large, less, more in zip(sizes, sizes[1:], seconds, seconds[1:]):
        bound = FACTOR * large / small * max(less, START / 10) + START
        assert more <= bound, f"{small} take {less:.2f} s, {large} take {more:.2f} s"


def scored(formula: str) -> str:
    return (
        "kernel scored(q: [B, T, 8, 64], k, v: [B, S, 2, 64]) -> [B, T, 8, 64] {\n"
        f"  return attend(q, k, v) where j <= i score {formula};\n}}\n"
    )


def sized(text: str) -> str:
    return text.replace("H, D]", "2, 64]")


def nest(count: int) -> str:
    formula = "s"
    for _ in range(count):
        formula = f"sin({formula})"
    return formula


def remainders(count: int) -> str:
    """A merge with a ptxas time that grows faster than its length."""
    each = ", ".join(
        f"attend(q, k, v) where j <= i and (i - j) mod {n + 3} < 2" for n in range(count)
    )
    return (
        "kernel merged(q: [B, T, 8, 64], k, v: [B, S, 2, 64]) -> [B, T, 8, 64] {\n"
        f"  return merge({each});\n}}\n"
    )


def sum_of_sines(count: int) -> str:
    """Values that don't wait for each other: ptxas finds many orders for them."""
    return scored(" + ".join(f"sin(s * {n}.5)" for n in range(count)))


def largest(count: int) -> str:
    """Written from the outside in, so that all terms would wait for the last."""
    formula = "s"
    for n in reversed(range(count)):
        formula = f"max(s * {n}.5 - float(i - j) * {n}.25, {formula})"
    return scored(formula)


def alternatives(count: int) -> str:
    mask = " or ".join(f"i mod {n + 3} == j mod {n + 3}" for n in range(count))
    return scored("s").replace("j <= i", mask)


def table_sum(count: int) -> str:
    """Values of each key, which wait in registers until all tables are read."""
    names = [f"t{n}" for n in range(count)]
    text = scored(" + ".join(["s", *(f"{name}[j]" for name in names)]))
    return text.replace("64]) ->", f"64], {', '.join(names)}: f32[S]) ->", 1)


def compile_for_gpu(folder, text: str, target: str, *options) -> subprocess.CompletedProcess:
    """With ptxas where there is one."""
    path = folder / "program.nsa"
    path.write_text(text)
    return subprocess.run(
        [
            shutil.which("nsacc"),
            "compile",
            path,
            "--target",
            target,
            "--emit",
            "ptx",
            "-o",
            folder / "program.ptx",
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


FIRST_CALL = 2
"""Seconds on a quiet core, ptxas included, until the first call of a program can run."""
SLACK = 2.5
"""Factor of a build without optimization, on a core with a busy other half."""
ROOT = Path(__file__).resolve().parents[3]
GROUPED = "B=1,T=8192,S=8192,HQ=64,H=4,D=128,DV=128"
RAGGED = "H=4,D=128,DV=128"

BUCKETS = """kernel hstu_buckets(
    q, k: [ragged T, H, D], v, u: [ragged T, H, DV], time: i32[ragged T],
    by_place: f32[P], by_time: f32[N]) -> [ragged T, H, DV]
{
  a = attend(q, k, v) where j <= i
    weight silu(s + by_place[min(i - j, P - 1)]
      + by_time[min(int(log(max(abs(time[i] - time[j]), 1)) / 0.301), N - 1)]) / D;
  return a * u;
}
"""
"""An HSTU's bias: a bucket for each distance of two tokens, and for the logarithm of the time
between them (arXiv:2402.17152)."""

FIRST_CALLS = [
    ("examples/block_sparse.nsa", GROUPED),
    ("examples/document_mask.nsa", GROUPED),
    ("examples/draft_tree.nsa", GROUPED + ",U=64"),
    ("examples/draft_tree.nsa", "B=1,T=16,S=256,U=16,HQ=16,H=4,D=64,DV=64"),
    ("examples/flash.nsa", GROUPED),
    ("examples/flash.nsa", "B=8,T=1,S=32768,HQ=64,H=4,D=128,DV=128"),
    ("examples/hstu_bsa.nsa", RAGGED),
    ("examples/mla.nsa", "B=1,T=8192,S=8192,H=16"),
    ("examples/moba.nsa", GROUPED),
    ("examples/nsa.nsa", GROUPED),
    ("examples/nsa.nsa", "B=1,T=1,S=131072,HQ=64,H=4,D=128,DV=128"),
    ("examples/nsa_pooled_weights.nsa", GROUPED),
    ("examples/paged_decode.nsa", "B=8,T=1,S=8192,P=512,HQ=64,H=4,D=128,DV=128"),
    ("examples/softcap_alibi.nsa", GROUPED),
    ("examples/window_sink.nsa", GROUPED),
    ("benchmarks/programs/compressed.nsa", "B=1,T=8192,N=511,HQ=64,H=4,D=128,DV=128"),
    ("benchmarks/programs/full.nsa", GROUPED),
    ("benchmarks/programs/hstu_dense.nsa", RAGGED),
    ("benchmarks/programs/packed.nsa", "HQ=64," + RAGGED),
    ("benchmarks/programs/tiles.nsa", GROUPED + ",M=128"),
    ("benchmarks/programs/topk.nsa", "B=1,T=64,S=1048576,N=1048576,H=1,D=8"),
    ("benchmarks/programs/window.nsa", GROUPED),
    (BUCKETS, RAGGED + ",P=1024,N=128"),
]


def test_first_calls_of_all_programs_are_timed():
    timed = {ROOT / program for program, _ in FIRST_CALLS if program != BUCKETS}
    found = {*ROOT.glob("examples/*.nsa"), *ROOT.glob("benchmarks/programs/*.nsa")}
    assert found == timed


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "program, sizes",
    FIRST_CALLS,
    ids=[
        ("buckets" if program == BUCKETS else Path(program).stem) + "-" + sizes.partition(",S=")[0]
        for program, sizes in FIRST_CALLS
    ],
)
def test_first_calls_are_ready_soon(tmp_path, program, sizes, target):
    """A call compiles only the code of its sizes."""
    text = program if program == BUCKETS else (ROOT / program).read_text()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = compile_for_gpu(tmp_path, text, target, "--dims", sizes, "--threads", "1")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.returncode == 0, result.stderr
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert seconds < SLACK * FIRST_CALL


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "text",
    [
        waves(50),
        scored(nest(10)),
        scored(
            " + ".join(f"gelu(s * {n}.5) * pow(abs(s), 0.{n}) * erf(s + {n})" for n in (1, 2, 3))
        ),
        sized(tables(40)),
        sized(masks(10)),
        sized(extremes(120)),
        remainders(16),
        sum_of_sines(30),
        largest(100),
        alternatives(100),
    ],
    ids=[
        "map",
        "sines",
        "sum",
        "tables",
        "masks",
        "extremes",
        "remainders",
        "sum_of_sines",
        "largest",
        "alternatives",
    ],
)
def test_long_formulas_on_gpus(tmp_path, text, target):
    """They are written out for each element of a thread: with the usual tiles, minutes of ptxas."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = compile_for_gpu(tmp_path, text, target)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.returncode == 0, result.stderr
    assert after.ru_utime - before.ru_utime < 30


@pytest.mark.parametrize(
    "text",
    [
        waves(400),
        scored(nest(200)),
        sized(conditions(60)),
        remainders(40),
        table_sum(100),
    ],
    ids=["map", "score", "conditions", "remainders", "table_sum"],
)
def test_formulas_beyond_a_gpu(tmp_path, text):
    result = compile_for_gpu(tmp_path, text, "sm_90a")
    assert result.returncode == 1
    assert "and at most 80000 are compiled for this target" in result.stderr


@pytest.mark.parametrize("count", [64, 256])
def test_many_attentions_are_refused_at_once(tmp_path, count):
    """Whether the CPU takes what a GPU refuses is found without compiling for it."""
    text = sized(different_attentions(count))
    result, _ = compile_within(tmp_path, text, "sm_90a", "ptx", seconds=4)
    assert result.returncode == 1
    assert "and at most 80000 are compiled for this target" in result.stderr
    assert "note: target 'cpu' has other limits" in result.stderr


def nested_tables(depth: int) -> str:
    formula = "d0[j]"
    for i in range(1, depth):
        formula = f"d{i}[({formula}) mod M]"
    names = ", ".join(f"d{i}" for i in range(depth))
    return sized(attention(f"where {formula} == 0", tables=f"{names}: i32[M]"))


def nested_rests(divisor: str):
    """Each level uses the one before twice."""

    def make(depth: int) -> str:
        formula = "(i - j)"
        for i in range(depth):
            formula = f"({formula} + {i}) mod ({divisor} + {i})"
        return sized(attention(f"where {formula} < 3", tables="_w: f32[M]"))

    return make


def sums(depth: int) -> str:
    """Values that each use the two previous ones."""
    steps = "".join(f"  p{i + 2} = p{i + 1} + p{i};\n" for i in range(depth))
    return (
        "kernel sums(q: [B, T, 2, 64], k, v: [B, S, 2, 64]) -> [B, T, 2, 64] {\n"
        "  p0 = prob(attend(q, pool(k, 32))); p1 = score(attend(q, pool(k, 32)));\n"
        f"{steps}  return attend(q, k, v) in topk(p{depth + 1}, 8);\n}}\n"
    )


def halves(first: int, count: int) -> str:
    """A wide mask that isn't deep."""
    if count == 1:
        return f"j > i + {first}"
    half = count // 2
    return f"({halves(first, half)} and {halves(first + half, count - half)})"


def test_wide_masks_are_not_tried_for_long(tmp_path):
    """The search for likely mistakes is limited to code of usual length."""
    text = scored("s").replace("j <= i", halves(0, 20000))
    result, _ = compile_within(tmp_path, text, None, "frontend", seconds=3)
    assert result.returncode == 0, result.stderr


def compile_within(folder, text: str, target: str | None, phase: str, seconds: int):
    """The outcome, and megabytes at the most."""
    path = folder / "program.nsa"
    path.write_text(text)
    measured = folder / "measured"
    result = subprocess.run(
        [
            "/usr/bin/env",
            "python3",
            "-c",
            MEASURED,
            measured,
            str(seconds),
            shutil.which("nsacc"),
            "compile",
            path,
            "--emit",
            phase,
            "-o",
            folder / "out",
        ]
        + (["--target", target] if target else []),
        capture_output=True,
        text=True,
        timeout=10 * LIMIT,
        check=False,
    )
    return result, int(measured.read_text()) // 1024


MEASURED = """
import os, resource, subprocess, sys
seconds = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
status = subprocess.run(sys.argv[3:]).returncode
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status & 255)
"""


@pytest.mark.parametrize("target", ["cpu", "sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "make, depth",
    [(nested_tables, 20), (nested_rests("S"), 80), (nested_rests("1000003"), 80), (sums, 80)],
    ids=["tables", "sizes", "constants", "sums"],
)
def test_nests_take_little_time_and_memory(tmp_path, make, depth, target):
    """Values that are used twice at each level are visited once."""
    phase = "tile" if target == "cpu" else "nvvm"
    result, megabytes = compile_within(tmp_path, make(depth), target, phase, seconds=30)
    assert result.returncode == 0, result.stderr
    assert megabytes < 400


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_deep_nests_of_tables_on_gpus(tmp_path, target):
    """A hundred branches, one in the other, and no gigabytes."""
    result, megabytes = compile_within(tmp_path, nested_tables(100), target, "nvvm", seconds=60)
    assert result.returncode == 0, result.stderr
    assert megabytes < 400


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("windows", [3, 4, 7, 16, 32])
def test_masks_of_many_windows_on_gpus(tmp_path, windows, target):
    """Many ranges of keys share one loop, and count as one."""
    mask = " or ".join(f"0 <= i - j - {3 * n} < 2" for n in range(windows))
    text = (
        "kernel f(q: [B, T, 2, 64], k, v: [B, S, 2, 64]) -> [B, T, 2, 64] "
        f"{{ return attend(q, k, v) where {mask}; }}"
    )
    result, _ = compile_within(tmp_path, text, target, "ptx", seconds=10)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("target", ["cpu", "sm_80", "sm_90a"])
def test_selections_in_a_row_take_little_memory(tmp_path, target):
    """Accesses that barriers wait for don't double with each barrier."""
    count = 12
    results = ", ".join(f"r{n}: [B, T, 2, 64]" for n in range(count))
    attends = ", ".join(f"attend(q, k, v) in topk(p, {n + 1})" for n in range(count))
    text = (
        f"kernel f(q: [B, T, 2, 64], k, v: [B, S, 2, 64]) -> ({results}) "
        f"{{ p = score(attend(q, pool(k, 16))); return {attends}; }}"
    )
    result, megabytes = compile_within(tmp_path, text, target, "tile", seconds=40)
    assert result.returncode == 0, result.stderr
    assert megabytes < 400


def test_sharing_without_room_is_refused_soon(tmp_path):
    """Tiles between the usual and the smallest aren't tried, and none are compiled to the end."""
    text = (
        "kernel shared(q: [B, T, 16, 128], k, v: [B, S, 1, 128]) -> [B, T, 16, 128] {\n"
        "  sel = topk(prob(attend(q, pool(k, 32)) where end(j) <= i), 16) share tokens 256;\n"
        "  return attend(q, k, v) in sel where j <= i;\n}\n"
    )
    result, _ = compile_within(tmp_path, text, "sm_80", "ptx", seconds=8)
    assert result.returncode == 1, result.stderr
    assert "is more than shared memory holds; 'share tokens " in result.stderr
