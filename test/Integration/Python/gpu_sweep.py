"""Programs compiled for GPUs that needn't be there: time, registers, spills, or why not.

`python gpu_sweep.py` compiles all of `full_sweep()` and writes docs/Sweep.md. It wants `nsacc` on
the PATH.
"""

from __future__ import annotations

import itertools
import re
import resource
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
TABLE = ROOT / "docs" / "Sweep.md"
TARGETS = ("sm_90a", "sm_80")
TOPS = (1, 16, 256, 257, 1024)
BLOCKS = (16, 32, 64, 128, 512)
WIDTHS = (8, 32, 64, 96, 128, 192, 256, 576)
DTYPES = ("bf16", "f16", "f32")
SECONDS = 60
"""What a compilation may take of a processor."""

FUNCTIONS = ("exp(s)", "exp2(s)", "log(s)", "log2(s)", "sqrt(s)", "tanh(s)", "sin(s)", "cos(s)",
             "erf(s)", "abs(s)", "sigmoid(s)", "silu(s)", "relu(s)", "gelu(s)", "softcap(s, 5.0)",
             "pow(s, 2.5)", "pow(2.0, s)", "pow(s, 3)", "pow(s, x[b, t])", "min(s, 1.0)",
             "max(s, x[b, t], 0.5)", "floor(s)", "select(s < 0.0, 1.0, s)", "float(int(s))",
             "float(abs(n[b, t]))", "float(min(n[b, t], i))", "float(n[b, t] floordiv 7)",
             "float(i ceildiv 7)", "float(i mod 7)")
_INPUTS = "q: [B, T, HQ, D], k, v: [B, S, H, D], x: f32[B, T], n: i64[B, T]"
PLACES = {
    "where": "attend(q, k, v) where {f} < 0.5",
    "score": "attend(q, k, v) score {f} where j <= i",
    "weight": "attend(q, k, v) weight {f} where j <= i",
    "normalize": "attend(q, k, v) weight abs(s) normalize {f}",
    "sink": "attend(q, k, v) sink {f}",
    "map": "x * {f}",
}
"""Where a score has no meaning, a table's element stands for it."""

_LIST = ("kernel {name}<top, block>(q: [B, T, HQ, D], k, v: [B, S, H, D]{more}) "
         "-> [B, T, HQ, D] {{ {body} }}")
SELECTIONS = {
    "pooled": _LIST.format(
        name="pooled", more="", body="sel = topk(prob(attend(q, pool(k, block)) where end(j) <= i)"
        ", top); return attend(q, k, v) in sel where j <= i;"),
    "handed": _LIST.format(
        name="handed", more=", idx: i32[B, T, H, top]",
        body="return attend(q, k, v) in selection(idx, block) where j <= i;"),
}
DENSE = ("kernel dense(q: [B, T, HQ, D], k, v: [B, S, H, D]) -> [B, T, HQ, D] "
         "{ return attend(q, k, v) where j <= i; }")


@dataclass(frozen=True)
class Case:
    name: str
    text: str
    """A program's; or the path of an example."""
    target: str
    width: int = 64
    dtype: str = "bf16"
    top: int = 0
    block: int = 0

    @property
    def sizes(self) -> str:
        more = [f"{name} {value}" for name, value in (("top", self.top), ("block", self.block))
                if value]
        return ", ".join([f"D {self.width}", self.dtype, *more])

    def __str__(self) -> str:
        return f"{self.name}: {self.sizes}, {self.target}"


@dataclass
class Outcome:
    seconds: float
    status: int
    message: str
    registers: int = 0
    spills: int = 0

    @property
    def is_refused(self) -> bool:
        return self.status == 1

    @property
    def says(self) -> str:
        """The first error, without its place."""
        found = re.search(r"error: (.*)", self.message)
        return found.group(1) if found else self.message.strip()


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compile_case(case: Case) -> Outcome:
    command = shutil.which("nsacc")
    assert command, "nsacc isn't on PATH: build it, and add build/dev/bin"
    with tempfile.TemporaryDirectory() as folder:
        path, code = Path(folder) / "program.nsa", Path(folder) / "code"
        path.write_text(Path(case.text).read_text() if case.text.endswith(".nsa") else case.text)
        dims = f"HQ=8,H=2,D={case.width},DV={case.width}"
        signature = path.read_text().partition("->")[0]
        known = [each for each in dims.split(",")
                 if re.search(rf"\b{each.split('=')[0]}\b", signature)]
        arguments = ["--dims", ",".join(known)]
        for name in ("top", "block"):
            if value := getattr(case, name):
                arguments += ["--set", f"{name}={value}"]
        start = _seconds()
        try:
            done = subprocess.run(
                [command, "compile", path, "--target", case.target, "--emit", "cubin", "-o", code,
                 "--dtype", case.dtype, *arguments], capture_output=True, text=True,
                timeout=SECONDS * 10)
        except subprocess.TimeoutExpired:
            return Outcome(SECONDS * 4, -1, "error: doesn't end")
        outcome = Outcome(_seconds() - start, done.returncode, done.stderr)
        spills = re.findall(r"registers: (\d+) bytes", done.stderr)
        outcome.spills = sum(map(int, spills))
        if done.returncode == 0:
            outcome.registers = max(read_registers(code.read_bytes()), default=0)
    return outcome


def read_registers(cubin: bytes) -> list[int]:
    """Registers of a thread of each kernel, which sections of code have in their sh_info."""
    offset, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQII", cubin, offset + size * i) for i in range(count)]
    start = headers[names][4]
    registers = []
    for header in headers:
        end = cubin.index(b"\0", start + header[0])
        if cubin[start + header[0]:end].startswith(b".text."):
            registers.append(header[7] >> 24)
    return registers


def function_case(function: str, place: str, target: str) -> Case:
    if place not in ("where", "score", "weight"):
        function = re.sub(r"\bs\b", "x[b, t]", function)
    if place == "where":
        function = re.sub(r"\bs\b", "float(i - j)", function)
    if place == "map":
        function = re.sub(r"\bi\b", "n", function).replace("[b, t]", "")
    result = "f32[B, T]" if place == "map" else "[B, T, HQ, D]"
    text = (f"kernel f({_INPUTS}) -> {result} "
            f"{{ return {PLACES[place].format(f=function)}; }}")
    return Case(f"{function} in {place}", text, target, 32)


def selection_case(name: str, top: int, block: int, target: str, width: int, dtype: str) -> Case:
    return Case(name, SELECTIONS[name], target, width, dtype, top, block)


def example_cases(targets=TARGETS) -> list[Case]:
    return [Case(path.stem, str(path), target) for path in sorted(EXAMPLES.glob("*.nsa"))
            for target in targets]


def full_sweep() -> list[Case]:
    return [
        *example_cases(),
        *(function_case(*each) for each in itertools.product(FUNCTIONS, PLACES, TARGETS)),
        *(Case("dense", DENSE, target, width, dtype)
          for target, width, dtype in itertools.product(TARGETS, WIDTHS, DTYPES)),
        *(selection_case(name, top, block, target, width, dtype)
          for name, top, block, target in itertools.product(SELECTIONS, TOPS, BLOCKS, TARGETS)
          for width, dtype in ((64, "bf16"), (128, "f16"), (64, "f32"))),
    ]


def short_sweep() -> list[Case]:
    """Each function, place, width, dtype, top and block once with each target or two."""
    places = itertools.cycle(PLACES)
    targets = itertools.cycle(TARGETS)
    risky = ("sin(s)", "cos(s)", "pow(s, 2.5)", "pow(2.0, s)", "pow(s, x[b, t])", "erf(s)",
             "float(int(s))", "log(s)")
    functions = [function_case(function, next(places), next(targets)) for function in risky]
    widths = [Case("dense", DENSE, next(targets), width, dtype)
              for width, dtype in zip(WIDTHS, itertools.cycle(DTYPES))]
    selections = [selection_case(name, top, block, next(targets), 32, dtype)
                  for (top, block), name, dtype in zip(
                      zip(TOPS, BLOCKS), itertools.cycle(SELECTIONS), itertools.cycle(DTYPES))]
    return [*functions, *widths, *selections]


def check(case: Case, outcome: Outcome) -> None:
    """Compiled in time, or refused with a reason in the program's words: never anything else."""
    assert outcome.status in (0, 1), f"{case}: ends with {outcome.status}: {outcome.message}"
    assert outcome.seconds <= SECONDS, f"{case}: takes {outcome.seconds:.0f} s"
    if outcome.is_refused:
        assert re.search(r"\.nsa:\d+:\d+: error: ", outcome.message), f"{case}: {outcome.message}"
        assert "internal error" not in outcome.message, f"{case}: {outcome.message}"


def write_table(rows: list[tuple[Case, Outcome]]) -> None:
    lines = ["# What compiles for GPUs", "",
             "Written by `test/Integration/Python/gpu_sweep.py`, which compiles each row without a "
             "GPU: seconds of compiling,", "the most registers of a thread, and bytes that a "
             "thread spills; or why a row is refused.", "",
             "| program | sizes | target | seconds | registers | spilled bytes |",
             "|---|---|---|---|---|---|"]
    for case, outcome in rows:
        name = case.name.replace("|", "\\|")
        if outcome.status == 0:
            result = f"{outcome.seconds:.1f} | {outcome.registers} | {outcome.spills}"
        else:
            result = f"{outcome.seconds:.1f} | {outcome.says} | "
        lines.append(f"| `{name}` | {case.sizes} | {case.target} | {result} |")
    TABLE.write_text("\n".join(lines) + "\n")


def main() -> None:
    rows = []
    for case in full_sweep():
        outcome = compile_case(case)
        rows.append((case, outcome))
        print(f"{case}: {outcome.seconds:.1f} s, {outcome.says or outcome.registers}", flush=True)
        write_table(rows)
    for case, outcome in rows:
        check(case, outcome)


if __name__ == "__main__":
    main()
