"""Program.tune: its results, stored schedules and refusals."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nsacc
from harness import EXAMPLES

PROGRAM = """
kernel f(q: f32[B, T, HQ, D], k: f32[B, S, H, D]) -> f32[B, T, HQ, D] {
  a = attend(q, k, k) where j <= i;
  return a;
}
"""
SIZES = {"B": 1, "T": 200, "S": 200, "HQ": 4, "H": 2, "D": 16}
RAGGED = """
kernel r(q: f32[ragged T, HQ, D], k: f32[ragged T, H, D]) -> f32[ragged T, HQ, D] {
  a = attend(q, k, k) where j <= i;
  return a;
}
"""


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("NSACC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tuned"


def test_finds_and_keeps(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = nsacc.compile(PROGRAM)
    seen: list[nsacc.Progress] = []
    tuning = program.tune(SIZES, budget=20, report=seen.append)
    assert 0 < tuning.ms <= tuning.chosen_ms and tuning.floor_ms > 0
    assert tuning.spread_ms[0] <= tuning.ms <= tuning.spread_ms[1]
    assert tuning.trials[0].schedule == "" and tuning.trials[0].ms is not None
    assert len(tuning.trials) > 4 and all(trial.predicted_ms > 0 for trial in tuning.trials)
    assert seen and seen[-1].measured > 1
    assert list(store.iterdir())
    inputs = [np.random.default_rng(0).standard_normal((1, 200, heads, 16)).astype(np.float32)
              for heads in (4, 2)]
    np.testing.assert_allclose(tuning.program(*inputs), program(*inputs), atol=1e-5)
    # Another program with the same text takes the tuned schedule, unless tuning is off.
    monkeypatch.setenv("NSACC_TUNE", "replay")
    text = nsacc.compile(PROGRAM).ir("schedule", **SIZES)
    assert ("tuned" in text) == bool(tuning.schedule)


@pytest.mark.parametrize("budget", [0.001, 0.7, 2])
def test_keeps_no_choice_that_few_others_were_compared_with(budget: float) -> None:
    """A search that ran out of time keeps nothing if no candidate was faster."""
    tuning = nsacc.compile(PROGRAM).tune(SIZES, budget=budget)
    assert tuning.kept == (tuning.schedule != "" or tuning.ending != "the time was over")


def test_the_floor_is_that_of_explaining() -> None:
    program = nsacc.compile(PROGRAM)
    tuning = program.tune(SIZES, effort="seeds")
    assert tuning.floor_ms == pytest.approx(program.explain(SIZES).data["floor_ms"], rel=1e-9)


def test_seeds_are_tried() -> None:
    tuning = nsacc.compile(PROGRAM).tune(SIZES, effort="seeds",
                                         seeds=("a: keys=16", "a: tokens=1"))
    assert [trial.schedule for trial in tuning.trials] == ["", "a: keys=16", "a: tokens=1"]
    assert all(trial.ms is not None for trial in tuning.trials)


def test_ragged_rows() -> None:
    program = nsacc.compile(RAGGED)
    tuning = program.tune({"T": [65, 0, 130, 1], "HQ": 3, "H": 1, "D": 24}, effort="seeds",
                          seeds=["a: keys=16"])
    assert all(trial.ms is not None for trial in tuning.trials)


@pytest.mark.parametrize("change, message", [
    ({"T": None, "HQ": None}, "nothing tells the size of 'T' and 'HQ', and tuning is of one call's "
                              "sizes: add them, as {'T': …, 'HQ': …}"),
    ({"HQ": 3}, "HQ"),
    ({"T": -1}, "'T': -1 isn't a size, expected a number from 0 to 2^40"),
    ({"T": 2**40 + 1}, "'T': 1099511627777 isn't a size, expected a number from 0 to 2^40"),
    ({"T": 2**70}, "expected a number from 0 to 2^40"),
    ({"T": [1, 2]}, "dimension T of kernel 'f' isn't ragged: give one size, as 'T': …"),
    ({"T": "many"}, "'T': 'many' isn't a size, expected a number"),
    ({"t": 4}, "kernel 'f' has no dimension 't': did you mean 'T'?"),
])
def test_wrong_sizes(change: dict[str, object], message: str) -> None:
    sizes = {name: size for name, size in {**SIZES, **change}.items() if size is not None}
    with pytest.raises(nsacc.errors.ArgumentError, match=re.escape(message)):
        nsacc.compile(PROGRAM).tune(sizes)


def test_many_sizes_are_of_the_command() -> None:
    with pytest.raises(nsacc.errors.ArgumentError,
                       match="sizes is a list, .*: call tune for each, .* nsacc tune FILE "
                             "--dims-file SIZES.json"):
        nsacc.compile(PROGRAM).tune([SIZES, {**SIZES, "T": 4}])


@pytest.mark.parametrize("sizes, message", [
    ({"T": 127, "HQ": 3, "H": 1, "D": 24},
     "dimension T of kernel 'r' is ragged: give the lengths of its rows, as 'T': [127, …]"),
    ({}, "nothing tells the size of 'T', 'HQ', 'D' and 'H', and tuning is of one call's sizes: add "
         "them, as {'T': […], 'HQ': …, 'D': …, 'H': …}"),
    ({"T": [2**31]}, "'T': the rows add up to 2147483648, more than the i32 offsets can say"),
    ({"T": [1, 2.5]}, "'T': [1, 2.5] isn't a size, expected a number from 0 to 2^40, or"),
])
def test_wrong_sizes_of_rows(sizes: dict[str, object], message: str) -> None:
    with pytest.raises(nsacc.errors.ArgumentError, match=re.escape(message)):
        nsacc.compile(RAGGED).tune(sizes)


@pytest.mark.parametrize("options, message", [
    ({"effort": "fast"}, "effort is 'fast', expected seeds, model, quick, full or exhaustive"),
    ({"effort": 3}, "effort is 3, expected a string, as 'quick'"),
    ({"report": 3}, "report is 3, expected a function of the progress, as print"),
    ({"budget": 0}, "budget and timeout are seconds, more than 0"),
    ({"budget": "long"}, "budget is 'long', expected a finite number"),
    ({"agreement": 1}, "agreement is 1, expected 0 to below 1"),
    ({"agreement": float("nan")}, "agreement"),
    ({"seed": -1}, "seed is -1"),
    ({"seed": 2**64}, r"seed is 18446744073709551616, expected an integer from 0 to 2\^64 - 1"),
    ({"seeds": [1]}, r"seeds is \[1\], expected a list of schedules, each a string"),
    ({"seeds": None}, "seeds is None, expected a list of schedules"),
    ({"seeds": "keys=8"}, "seeds is 'keys=8', expected a list of schedules"),
    ({"seeds": ["keys=8", "nokey=1"]}, "seed 'nokey=1': .*column 1: there is no field 'nokey'"),
    ({"seeds": ["keys=zz"]}, "seed 'keys=zz': .*expected an integer for 'keys', found 'zz'"),
    ({"seeds": ["z: keys=8"]}, "seed 'z: keys=8': .*the program has no op 'z'"),
    ({"graph": True}, "CUDA graphs and cold caches are of GPUs, found target 'cpu'"),
])
def test_wrong_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(nsacc.errors.ArgumentError, match=message):
        nsacc.compile(PROGRAM).tune(SIZES, **options)


def test_other_targets(tmp_path: Path) -> None:
    with pytest.raises(nsacc.errors.ArgumentError, match="isn't measured here"):
        nsacc.compile(PROGRAM, target="oracle").tune(SIZES)
    path = tmp_path / "f.nsapkg"
    nsacc.compile(PROGRAM).package(path, {"HQ": 4, "H": 2, "D": 16})
    with pytest.raises(nsacc.errors.ArgumentError, match="the program is of a package"):
        nsacc.load(path).tune(SIZES)


def test_a_report_that_raises_ends_it() -> None:
    def report(progress: nsacc.Progress) -> None:
        raise LookupError(progress.what)

    with pytest.raises(LookupError, match="compiling"):
        nsacc.compile(PROGRAM).tune(SIZES, report=report)


INTERRUPTED = """
import os, signal, threading, time
import nsacc

def interrupt():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    {tune}
except KeyboardInterrupt:
    print(time.monotonic() - sent)
"""


def interrupt(tune: str, threads: int) -> float:
    """The time that it takes, in a separate process: test processes that run side by side ignore
    the signal."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED.format(tune=tune)], check=True,
                          timeout=180, text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "NSACC_THREADS": str(threads), "NSACC_CACHE": "off"})
    return float(done.stdout)


def test_interrupts_end_it() -> None:
    assert interrupt(f"""program = nsacc.compile({PROGRAM!r})
    threading.Timer(0.5, interrupt).start()
    while True:
        program.tune({ {**SIZES, "T": 3000, "S": 3000}!r}, effort="exhaustive", budget=100)""",
                     threads=2) < 15


@pytest.mark.parametrize("threads", [1, 2])
def test_interrupts_end_compiling(threads: int) -> None:
    """An interrupt ends the compiling of many candidates, which used to take the rest of the
    time."""
    sizes = {"B": 1, "T": 512, "S": 512, "HQ": 8, "H": 2, "D": 64, "DV": 64}
    # Candidates that are being compiled are waited for.
    assert interrupt(f"""program = nsacc.compile({str(EXAMPLES / "nsa.nsa")!r}, dtype="f32")
    def report(progress):
        kind, *more = progress.what.split()
        if kind == "compiling" and int(more[0]) > 8:
            threading.Timer(0.5, interrupt).start()
    program.tune({sizes!r}, effort="exhaustive", budget=120, report=report)""", threads) < 40


@pytest.mark.parametrize("mode", ["model", "quick"])
def test_calls_tune(mode: str, tmp_path: Path) -> None:
    script = f"""
import numpy as np, nsacc
program = nsacc.compile({PROGRAM!r})
inputs = [np.ones((1, 40, heads, 16), np.float32) for heads in (4, 2)]
assert np.allclose(program(*inputs), 1)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120,
                   env={**os.environ, "NSACC_TUNE": mode})
    assert (tmp_path / "cache" / "tuned").exists() == (mode == "quick")


def test_rules_of_many_sizes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Runs and packages without lengths take them."""
    nsacc.compile(PROGRAM).tune(SIZES, effort="seeds")
    exported, rule, package = (str(tmp_path / name) for name in ("a.json", "b.json", "f.nsapkg"))
    make_rule = EXAMPLES.parent / "test" / "Tools" / "Inputs" / "make_rule.py"
    for command in (["nsacc", "tune", "export", exported],
                    [sys.executable, str(make_rule), exported, rule],
                    ["nsacc", "tune", "import", rule]):
        subprocess.run(command, check=True, timeout=60)
    monkeypatch.setenv("NSACC_TUNE", "replay")
    program = nsacc.compile(PROGRAM)
    assert "keys=16" in program.ir("schedule", **{**SIZES, "T": 50})
    assert "keys=8" in program.ir("schedule", **{**SIZES, "T": 1000})
    program.package(package, {"HQ": 4, "H": 2, "D": 16})
    inspected = subprocess.run(["nsacc", "inspect", package], check=True, timeout=60, text=True,
                               stdout=subprocess.PIPE).stdout
    assert "T >= 117" in inspected
    for tokens in (50, 150):
        inputs = [np.random.default_rng(0).standard_normal((1, tokens, heads, 16))
                  .astype(np.float32) for heads in (4, 2)]
        np.testing.assert_allclose(nsacc.load(package)(*inputs), program(*inputs), atol=1e-5)


def test_a_store_that_can_not_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NSACC_CACHE_DIR", str(tmp_path / "file"))
    tuning = nsacc.compile(PROGRAM).tune(SIZES, effort="seeds")
    assert tuning.ms > 0


TABLE = """kernel f(q: f32[B, T, H, D], k: f32[B, S, H, D], doc: i32[B, S]) -> f32[B, T, H, D] {
    a = attend(q, k, k) where doc[b, i] == doc[b, j]; return a; }"""
TABLE_SIZES = {"B": 1, "T": 9, "S": 9, "H": 1, "D": 8}


def test_integers_are_drawn_of_ranges() -> None:
    tuning = nsacc.compile(TABLE).tune(TABLE_SIZES, effort="seeds", seeds=["a: keys=16"],
                                       ranges={"doc": (0, 3)})
    assert all(trial.failure is None for trial in tuning.trials)


@pytest.mark.parametrize("ranges, message", [
    (None, r"no values known for the integers of 'doc: i32\[B, S\]'.*ranges=\{'doc'"),
    ({"q": (0, 1)}, "a range is of an input of integers, which 'q' isn't"),
    ({"docs": (0, 1)}, "which 'docs' isn't"),
    ({"doc": (1, 0)}, "the range of 'doc' is from 1 to 0"),
    ({"doc": 3}, "the range of 'doc' is 3, expected two integers"),
    ({"doc": (0, 2**31)}, "expected two integers of 32 bits"),
    ({"doc": (0.5, 1)}, "expected two integers"),
    ([("doc", (0, 1))], "expected a mapping of inputs"),
])
def test_ranges_that_do_not_fit(ranges, message: str) -> None:
    with pytest.raises(nsacc.errors.ArgumentError, match=message):
        nsacc.compile(TABLE).tune(TABLE_SIZES, effort="seeds", ranges=ranges)
