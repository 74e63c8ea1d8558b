"""benchmarks/run --suite dense: its counts, checks, times and records, without a GPU."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import random
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import nsacc
from bench import cli
from bench.dense import formulas, peers, works
from bench.gpu import check, timing
from bench.gpu.before import Before
from bench.gpu.bench import Bench, Setting
from bench.gpu.check import WrongResult
from bench.gpu.peers import Run, Unavailable
from bench.gpu.suite import finish, make_filter, pick_works
from bench.gpu.works import Tensors, split
from dense_benchmarks import (
    PROGRAMS,
    ROOT,
    FakeProgram,
    FakeTimer,
    make_setting,
    make_suite,
    make_work,
)

KEYS = {"work", "program", "shape", "dtype", "target", "schedule", "ms", "spread", "tflops",
        "peer", "peer_ms", "peer_spread", "peer_tflops", "ratio", "goal", "launch", "rounds",
        "error", "compile_s", "seed", "machine", "clocks", "versions", "commit"}
WORKS = works.load(ROOT / "benchmarks" / "dense.json")


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("past", [0, 3, 50])
@pytest.mark.parametrize("tokens", [1, 6, 7, 8, 40])
@pytest.mark.parametrize("pattern", PROGRAMS)
def test_useful_operations_are_those_of_visible_pairs(pattern: str, tokens: int,
                                                      past: int) -> None:
    work = make_work(pattern, T=tokens, D=24, DV=8, past=past)
    i, j = torch.arange(past, past + tokens)[:, None], torch.arange(past + tokens)[None, :]
    mask = formulas.make_mask(work)
    pairs = tokens * work.S if mask is None else int(mask(i, j).sum())
    assert work.useful_operations({}) == pairs * 2 * 4 * (2 * 24 + 2 * 8)


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.id)
def test_works_are_valid(work: works.Work) -> None:
    program = nsacc.compile(ROOT / work.program, target="oracle", dtype=work.dtype,
                            params=work.params)
    small = dataclasses.replace(work, B=1, T=8)
    inputs = small.draw_inputs(1, torch.device("cpu"))
    assert set(inputs) == {spec.name for spec in program.signature.inputs}
    shapes = program.result_shapes(**inputs)
    assert next(iter(shapes.values())) == (1, 8, work.HQ, work.DV)
    formulas.attend(small, inputs, 0, 0, 0, 8)
    assert work.target in nsacc.env()["targets"]
    for peer in work.peers:
        kind, _, rest = peer.partition(" ")
        if kind == "ours":
            assert rest in {other.id for other in WORKS}
        elif kind == "sdpa":
            assert rest in peers.BACKENDS and work.pattern in ("full", "flash")
        else:
            assert peer in ("flex", "fa4")
    for peer in work.goals:
        assert peer in work.peers or peer == "sdpa"


def test_ids_are_unique_and_pick_works() -> None:
    assert len({work.id for work in WORKS}) == len(WORKS)
    assert [work.id for work in pick_works(WORKS, "window512")] == ["window512-s32768"]
    assert pick_works(WORKS, "paged") == []


def test_groups_hold_no_more_than_asked() -> None:
    one = make_work()
    assert [len(group) for group in split([one] * 5, 2, 1e9)] == [2, 2, 1]
    assert [len(group) for group in split([one] * 3, 3, one.bytes())] == [1, 1, 1]


def test_records(tmp_path: Path) -> None:
    near = make_work("full", id="near", T=75)
    work = make_work(peers=["sdpa math", "ours near"], goals={"sdpa": 1.5, "ours near": 0.9})
    timer = FakeTimer({"sdpa math": 3e-3, "ours near": 1e-3})
    suite = make_suite(make_setting([work, near], timer=timer), tmp_path / "new" / "records")
    suite.run([[work], [near]])
    assert finish(suite) == 0
    sdpa, neighbour, alone = read(suite.path)
    for record in (sdpa, neighbour, alone):
        assert set(record) == KEYS
    assert sdpa["work"] == "flash" and sdpa["rounds"] == 3 and sdpa["error"] < 1e-6
    assert (sdpa["ms"], sdpa["peer_ms"], sdpa["ratio"], sdpa["goal"]) == (2, 3, 1.5, 1.5)
    assert sdpa["tflops"] == pytest.approx(work.useful_operations({}) / 2e9, rel=1e-4)
    speeds = neighbour["tflops"], neighbour["peer_tflops"]
    assert neighbour["peer"] == "ours near" and neighbour["goal"] == 0.9
    assert neighbour["ratio"] == pytest.approx(speeds[0] / speeds[1], rel=1e-3)
    assert speeds[1] == pytest.approx(near.useful_operations({}) / 1e9, rel=1e-4)
    assert alone["peer"] is None and alone["ratio"] is None


def test_the_goal_of_sdpa_is_the_fastest_back_end(tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "make_peer", lambda name, work, inputs: FakeProgram(work, inputs))
    work = make_work(peers=["sdpa cudnn", "sdpa flash"], goals={"sdpa": 1.0})
    timer = FakeTimer({"sdpa cudnn": 3e-3, "sdpa flash": 1e-3})
    suite = make_suite(make_setting([work], timer=timer), tmp_path / "records")
    suite.run([[work]])
    assert {line["peer"]: line["goal"] for line in read(suite.path)} == \
        {"sdpa cudnn": None, "sdpa flash": 1.0}


def test_a_tuned_program_is_a_peer(tmp_path: Path) -> None:
    work = make_work(peers=["sdpa math"])
    setting = dataclasses.replace(make_setting([work], timer=FakeTimer({"tuned": 1e-3})), tune=5)
    suite = make_suite(setting, tmp_path / "records")
    suite.run([[work]])
    sdpa, tuned = read(suite.path)
    assert "tuned_schedule" not in sdpa and sdpa["peer"] == "sdpa math"
    assert (tuned["peer"], tuned["tuned_schedule"]) == ("tuned", "tokens=2")
    assert (tuned["ms"], tuned["peer_ms"], tuned["ratio"]) == (2, 1, 0.5)


def test_a_tuned_program_is_checked() -> None:
    work = make_work()
    setting = make_setting([work], lambda program: setattr(program, "tunes_wrongly", True))
    with pytest.raises(WrongResult):
        Bench(work, dataclasses.replace(setting, tune=5))


def test_compiled_programs_are_tuned(tmp_path: Path) -> None:
    work = make_work(target="cpu", dtype="f32")
    setting = Setting(ROOT, torch.device("cpu"), FakeTimer(), 1, tune=5)
    suite = make_suite(setting, tmp_path / "records", rounds=1)
    suite.run([[work]])
    assert finish(suite) == 0
    (line,) = read(suite.path)
    assert line["peer"] == "tuned" and line["error"] < 1e-5


class FakeBefore:
    """Another build that measures immediately, or can't."""

    name = "before abc"

    def __init__(self, reason: str = "") -> None:
        self.reason, self.graphs, self.dropped = reason, [], 0

    def prepare(self, work: works.Work, graphs: bool) -> Callable[[], float]:
        if self.reason:
            raise Unavailable(self.reason)
        self.graphs.append(graphs)
        return lambda: 1e-3

    def drop(self) -> None:
        self.dropped += 1


def test_another_build_is_a_peer(tmp_path: Path) -> None:
    before = FakeBefore()
    setting = dataclasses.replace(make_setting([make_work()]), before=before)
    suite = make_suite(setting, tmp_path / "records")
    suite.run([[make_work()]])
    (line,) = read(suite.path)
    assert (line["peer"], line["ms"], line["peer_ms"], line["ratio"]) == ("before abc", 2, 1, 0.5)
    assert before.graphs == [False] and before.dropped == 1


def test_another_build_that_fails_is_told() -> None:
    setting = dataclasses.replace(make_setting([make_work()]), before=FakeBefore("no kernel"))
    assert Bench(make_work(), setting).unavailable == {"before abc": "no kernel"}


def test_another_build_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no package nsacc"):
        Before(tmp_path, ROOT, 1.0, 1)
    package = tmp_path / "nsacc"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('the other build')")
    (tmp_path / "commit").write_text("0123456789abcdef\n")
    with Before(tmp_path, ROOT, 1.0, 1) as before:
        assert before.name == "before 0123456789ab"
        with pytest.raises(Unavailable, match="the other build"):
            before.prepare(make_work(), False)


def test_another_build_whose_process_ends_is_left_out(tmp_path: Path) -> None:
    package = tmp_path / "nsacc"
    package.mkdir()
    (package / "__init__.py").write_text("import os; os._exit(7)")
    with Before(tmp_path, ROOT, 1.0, 1) as before:
        for _ in range(2):
            with pytest.raises(Unavailable, match="its process ended"):
                before.prepare(make_work(), False)
            before.drop()


@pytest.mark.parametrize(("texts", "wanted"), [
    (None, ["sdpa cudnn", "fa4", "flex"]), ("cudnn,fa4", ["sdpa cudnn", "fa4"]), ("zzz", [])])
def test_peers_are_picked(texts: str | None, wanted: list[str]) -> None:
    arguments = ["--suite", "dense", *(["--peers", texts] if texts else [])]
    assert list(filter(make_filter(cli.parse(arguments)), ["sdpa cudnn", "fa4", "flex"])) == wanted


def visit_order(seed: int, folder: Path) -> list[int]:
    timer = FakeTimer()
    group = [make_work(id=name, T=8, peers=["sdpa math"]) for name in "abcd"]
    suite = make_suite(make_setting(group, timer=timer, seed=seed), folder / str(seed), rounds=4)
    suite.run([group])
    # The first round warms up, always in the same order.
    launches = [id(launch) for launch in timer.visited[:8]]
    return [launches.index(id(launch)) for launch in timer.visited[8:]]


def test_each_round_visits_all_in_a_new_order(tmp_path: Path) -> None:
    order = visit_order(1, tmp_path)
    rounds = [order[start:start + 8] for start in range(0, 32, 8)]
    assert all(sorted(each) == list(range(8)) for each in rounds)
    assert len({tuple(each) for each in rounds}) == 4
    assert visit_order(1, tmp_path) == order != visit_order(2, tmp_path)


@pytest.mark.parametrize(("visits", "rounds"), [(3, 1), (7, 1), (9, 2)])
def test_most_seconds_keeps_whole_rounds(tmp_path: Path, visits: int, rounds: int) -> None:
    timer = FakeTimer()
    group = [make_work(id=name, T=8, peers=["sdpa math"]) for name in "ab"]
    suite = make_suite(make_setting([*group, make_work()], timer=timer), tmp_path / "records",
                       rounds=9, most_seconds=1000)

    def end_early() -> None:
        if len(timer.visited) == visits:
            suite.end = 0

    timer.on_visit = end_early
    suite.run([group, [make_work()]])
    assert finish(suite) == 0
    assert [line["rounds"] for line in read(suite.path)] == [rounds] * 2
    assert suite.unmeasured == ["flash"]


def test_no_time_measures_nothing(tmp_path: Path) -> None:
    suite = make_suite(make_setting([]), tmp_path / "records", most_seconds=1e-9)
    suite.run([[make_work()], [make_work("full")]])
    assert suite.unmeasured == ["flash", "full"] and not suite.path.exists()


@pytest.mark.parametrize("pattern", PROGRAMS)
def test_compiled_programs_pass(pattern: str, tmp_path: Path) -> None:
    timer = FakeTimer()
    work = make_work(pattern, dtype="bf16",
                     peers=["sdpa math"] if pattern in ("full", "flash") else [])
    setting = Setting(ROOT, torch.device("cpu"), timer, 1)
    suite = make_suite(setting, tmp_path / "records", rounds=1)
    suite.run([[work]])
    assert finish(suite) == 0
    (record,) = read(suite.path)
    assert 0 < record["error"] < check.BOUNDS["bf16"] and record["compile_s"] > 0
    assert "tokens = " in record["schedule"]


def test_what_cannot_be_compiled_is_told(tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "flash.nsa"
    program.write_text("kernel flash(q: [B, T, H, D]) -> [B, T, H, D] { return attend(q, q, r); }")
    bad, good = make_work(id="bad", program=str(program)), make_work(id="good")
    suite = make_suite(Setting(ROOT, torch.device("cpu"), FakeTimer(), 1), tmp_path / "records")
    suite.run([[bad, good]])
    assert finish(suite) == 1
    assert [line["work"] for line in read(suite.path)] == ["good"]
    assert "'r'" in capsys.readouterr().out


def spoil_last_row(program: FakeProgram) -> None:
    program.out[-1, -1, -1, 3] += 1e-3


def leave_a_row_out(program: FakeProgram) -> None:
    program.out[0, 70, 1] = float("nan")


def spoil_lse(program: FakeProgram) -> None:
    program.lse[0, 0, 0] += 0.01


def change_bits(program: FakeProgram) -> None:
    program.other_bits = True


def cut_short(program: FakeProgram) -> None:
    program.out = program.out[:, :-1]


@pytest.mark.parametrize(("change", "message"), [
    (spoil_last_row, "error .*, allowed 2e-05"), (leave_a_row_out, "weren't written"),
    (spoil_lse, "log-sum-exp of batch 0, head 0"), (change_bits, "other bits"),
    (cut_short, r"the result is \(2, 149, 4, 16\)")])
def test_a_wrong_result_is_found(change, message: str) -> None:
    work = make_work()
    with pytest.raises(WrongResult, match=message):
        Bench(work, make_setting([work], change))


def test_a_wrong_result_between_the_samples_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "RANDOM_SLICES", 0)
    work = make_work(peers=["sdpa math"])

    def spoil(program: FakeProgram) -> None:
        program.out[1, 75, 0, 0] += 0.5

    with pytest.raises(WrongResult, match="against sdpa math: difference of batch 1"):
        Bench(work, make_setting([work], spoil))


def test_a_wrong_result_after_all_runs_leaves_no_record(tmp_path: Path) -> None:
    work = make_work()
    programs: list[FakeProgram] = []
    timer = FakeTimer(on_visit=lambda: change_bits(programs[0]))
    suite = make_suite(make_setting([work], programs.append, timer), tmp_path / "records")
    suite.run([[work]])
    assert finish(suite) == 1 and not suite.path.exists()


def test_a_wrong_peer_is_no_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    def make_wrong(name: str, work: works.Work, inputs: Tensors) -> Run:
        if name == "flex":
            raise Unavailable("no compiler")
        program = FakeProgram(work, inputs)
        spoil_last_row(program)
        return program

    monkeypatch.setattr(peers, "make_peer", make_wrong)
    work = make_work(peers=["sdpa flash", "flex"])
    bench = Bench(work, make_setting([work]))
    assert list(bench.times) == ["ours"]
    assert "allowed" in bench.unavailable["sdpa flash"]
    assert bench.unavailable["flex"] == "no compiler"


def test_a_peer_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **_options: object) -> None:
        raise AssertionError("no Triton\n  here")

    monkeypatch.setattr(torch, "compile", fail)
    work = make_work(peers=["flex"])
    bench = Bench(work, make_setting([work]))
    assert bench.unavailable == {"flex": "AssertionError: no Triton here"}


@pytest.mark.parametrize(("pattern", "peer"), [("window", "sdpa flash"), ("flash", "magic")])
def test_peers_that_make_no_sense_are_mistakes_of_the_works(pattern: str, peer: str) -> None:
    work = make_work(pattern, peers=[peer])
    with pytest.raises(ValueError, match=f"^{pattern}: "):
        Bench(work, make_setting([work]))


def test_new_results_hold_nan_until_they_are_written() -> None:
    with check.poisoned_results():
        assert torch.empty(3, dtype=torch.bfloat16).isnan().all()
    assert not torch.are_deterministic_algorithms_enabled()


def test_slices_hold_the_first_and_the_last_row() -> None:
    picked = check.pick_slices([150, 150], 4, random.Random(1))
    assert picked[0] == (0, 0, 0, 64) and picked[1] == (1, 3, 86, 150)
    assert check.pick_slices([5], 1, random.Random(1))[0] == (0, 0, 0, 5)


class FakeGraph:
    def replay(self) -> None:
        pass


def test_graphs_keep_what_they_captured(monkeypatch):
    """A graph reads addresses: tensors that only a peer holds must outlive the peer's maker."""
    monkeypatch.setattr(timing, "_time_both", lambda run, repeats: (1e-6, 1e-3))
    monkeypatch.setattr(timing.torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(timing.torch.cuda, "Stream", lambda: None)
    monkeypatch.setattr(timing.torch.cuda, "CUDAGraph", FakeGraph)
    monkeypatch.setattr(timing.torch.cuda, "graph",
                        lambda graph, stream: contextlib.nullcontext())

    def make_run() -> tuple[Callable[[], object], weakref.ref]:
        keys = torch.zeros(4)
        return lambda: keys.sum(), weakref.ref(keys)

    run, keys = make_run()
    launches, mode = timing.CudaTimer(1).plan({"peer": run})
    del run
    gc.collect()
    assert mode == "graph" and keys() is not None
    del launches
    gc.collect()
    assert keys() is None
