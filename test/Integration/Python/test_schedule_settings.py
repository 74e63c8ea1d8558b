"""Schedules of single ops: results are right, and impossible ones are errors of compile()."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import nsacc
from nsacc.errors import ArgumentError

EXAMPLES = Path(__file__).parents[3] / "examples"
SIZES = {"HQ": 8, "H": 2, "D": 16, "DV": 24}
PARAMS = {"block": 8, "top": 3, "len": 8, "stride": 4, "window": 13}
RAGGED = """kernel rows(q: [ragged T, HQ, D], k: [ragged T, H, D], v: [ragged T, H, D],
    g: f32[ragged T, HQ]) -> [ragged T, HQ, D] {
  near = attend(q, k, v) where 0 <= i - j < 5;
  far = attend(q, k, v) where j + 5 <= i;
  both = merge(near, far);
  return g * both + near;
}"""


def nsa(schedule="", target="cpu") -> nsacc.Program:
    return nsacc.compile(EXAMPLES / "nsa.nsa", target=target, dtype="f32", schedule=schedule,
                         params=PARAMS)


def make_inputs(batch: int = 2, tokens: int = 37, keys: int = 61) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)
    heads, key_heads, channels, values = SIZES.values()
    return [normal(batch, tokens, heads, channels), normal(batch, keys, key_heads, channels),
            normal(batch, keys, key_heads, values),
            *(normal(batch, tokens, heads) for _ in range(3))]


@pytest.mark.parametrize("schedule", [
    "slc: order=union, tokens=8; cmp: keys=128",
    "slc: order=query_major; swa: keys=16; cmp: keys=24",
    "cmp: order=key_major, splits=3; slc: order=union, tokens=4",
    "slc: order=key_major; keys=16",
    "sel: tokens=3, blocks=5", "tokens=6; sel: tokens=16; part=2",
    "kc: windows=3; vc: windows=16", "map.1: rows=4, columns=8",
    "cmp: program=own", "slc: program=own, tokens=4; swa: tokens=16",
    "swa: program=own; cmp: program=own; slc: tokens=2", "importance.1: program=own",
    "importance.1: program=own, tokens=5, keys=8", "cmp: program=own; importance.1: program=own",
    "map.1: program=own", "program=own", "program=own; order=union; keys=16; tokens=4",
])
def test_schedules_of_named_ops(schedule):
    inputs = make_inputs()
    expected = nsa(target="oracle")(*inputs)
    np.testing.assert_allclose(nsa(schedule)(*inputs), expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("schedule", ["near: program=own", "far: program=own", "program=own",
                                      "both: keys=8" , "far: order=key_major, splits=2"])
def test_programs_of_ragged_rows(schedule):
    if schedule.startswith("both"):
        with pytest.raises(ArgumentError, match="column 1: the program has no op 'both'"):
            nsacc.compile(RAGGED, dtype="f32", schedule=schedule)
        return
    rng = np.random.default_rng(3)
    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)
    offsets = np.array([0, 4, 4, 23, 40], np.int32)
    inputs = [normal(40, 4, 8), normal(40, 2, 8), normal(40, 2, 8), normal(40, 4), offsets]
    expected = nsacc.compile(RAGGED, dtype="f32", target="oracle")(*inputs)
    found = nsacc.compile(RAGGED, dtype="f32", schedule=schedule)(*inputs)
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("schedule", ["a: program=own",
                                      "a: program=own, order=key_major, splits=2"])
def test_results_that_have_programs_of_their_own(schedule):
    def flash(**options: str) -> nsacc.Program:
        return nsacc.compile(EXAMPLES / "flash.nsa", dtype="f32", **options)
    inputs = make_inputs()[:3]
    for found, expected in zip(flash(schedule=schedule)(*inputs), flash(target="oracle")(*inputs),
                               strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


def test_mappings_are_schedules():
    program = nsa({"keys": 32, "slc": {"order": "union", "tokens": 8}, "cmp": {"keys": 128}})
    assert program.schedule == "keys=32; slc: order=union, tokens=8; cmp: keys=128"
    program = nsa({"swa": {"splits": 3, "merge": {"tokens": 1}}, "*": {"merge": {"heads": 1}}})
    assert program.schedule == "swa: splits=3; swa.merge: tokens=1; *.merge: heads=1"
    assert nsa({}).schedule == nsa(None).schedule == ""
    for wrong, message in [
            ({3: 4}, "a name in the schedule is a int, expected a string"),
            ({"slc": {3: 4}}, "a name in the schedule is a int, expected a string"),
            ({"keys": 3.5}, "'keys' of the schedule is a float, expected an integer or a string"),
            ({"slc": {"keys": True}}, "'keys' of the schedule is a bool"),
            ({"keys": "16, tokens=4"}, "'keys' of the schedule is '16, tokens=4', expected a word"),
            ({"keys": ""}, "'keys' of the schedule is '', expected a word"),
            ({"slc: keys": 16}, "a name in the schedule is 'slc: keys', expected a word"),
            ({"slc": {}}, "column 1: expected FIELD=VALUE behind 'slc:'"),
            ({"swa": {"mrge": {"tokens": 1}}}, "column 1: the program has no op 'swa.mrge'"),
            ({"a; slc": {"keys": 3}}, "a name in the schedule is 'a; slc', expected a word"),
            ({"slx": {"keys": 3}}, "column 1: the program has no op 'slx': did you mean 'slc'?")]:
        with pytest.raises(ArgumentError, match=message.replace("?", "[?]")):
            nsa(wrong)


@pytest.mark.parametrize("target", ["cpu", "sm_90a", "sm_80"])
@pytest.mark.parametrize("schedule, message", [
    ("slx: tokens=8", "column 1: the program has no op 'slx': did you mean 'slc'[?] ops are kc"),
    ("slc: tokns=8", "column 6: there is no field 'tokns': did you mean 'tokens'[?]"),
    ("sel: order=union", "column 6: 'sel' is a topk without a field 'order': it has tokens"),
    ("slc: keys=0", "column 6: expected 1 to 65536 for 'keys', found '0'"),
    ("slc: keys=8, keys=8", "column 14: 'keys' is given twice for 'slc', first at column 6"),
    ("cmp: order=block_major", "column 6: 'cmp' has no selection"),
    ("splits=0", "column 1: expected 1 to 65536 or auto for 'splits', found '0'"),
    ("*.merge: tokens=0", "column 10: expected 1 to 65536 or auto for 'tokens', found '0'"),
    ("cmp.merge: heads=0", "column 12: expected 1 to 65536 or auto for 'heads', found '0'"),
    ("sel.merge: tokens=2", "column 12: 'sel' is a topk without a field 'merge.tokens'"),
    ("merge: tokens=2",
     "column 1: the program has no op 'merge': did you mean '[*].merge', of all ops"),
    ("slc: splits=2, order=query_major",
     "column 6: 'slc' walks the blocks of a selection with order=query_major, which aren't split"),
    ("slc: part=2; cmp: part=4", "column 19: 'cmp' shares a program with 'slc'"),
    ("sel: program=fused", "column 6: 'sel' can't be computed in the programs of its readers"),
])
def test_wrong_schedules_have_columns(target, schedule, message):
    with pytest.raises(ArgumentError, match=message):
        nsa(schedule, target)


@pytest.mark.parametrize("schedule, message", [
    ("order=union", "'order=union', column 1, changes nothing: no attention has a selection"),
    ({"a": {"keys": 32}, "rows": 4}, "'rows=4', column 1, changes nothing")])
def test_settings_that_change_nothing_are_warnings(schedule, message):
    with pytest.warns(nsacc.CompileWarning, match=message) as caught:
        program = nsacc.compile(EXAMPLES / "flash.nsa", schedule=schedule)
    assert len(caught) == len(program.diagnostics) == 1
    assert program.diagnostics[0].severity == "warning" and caught[0].filename == __file__


@pytest.mark.parametrize("target, expected", [
    ("cpu", "slc (attend at nsa.nsa:11:9): order=block_major, tokens=64, keys=32,"),
    ("sm_90a", "slc (attend at nsa.nsa:11:9): order=union, tokens=16, keys=32,")])
def test_schedules_are_printed(target, expected):
    program = nsa("slc: keys=32", target)
    text = program.ir("schedule", **{**SIZES, "D": 64, "DV": 128})
    assert expected in text and "    keys: given\n" in text
    assert "  program (attend): cmp, slc, swa, map.1\n" in text
    assert ("  program (union): slc\n" in text) == (target == "sm_90a")
    with pytest.raises(ArgumentError, match="phase 'schedule' depends on sizes of heads and "
                                            "channels: expected those of 'HQ', 'D', 'H', 'DV'"):
        program.ir("schedule")
    with pytest.raises(ArgumentError, match="has no dimension 'Q'"):
        program.ir("schedule", Q=3)


def test_the_oracle_has_no_schedule():
    with pytest.raises(ArgumentError, match="target 'oracle' has no schedule"):
        nsa(target="oracle").ir("schedule", **SIZES)


RAGGED_IMPORTANCE = """
kernel rows(q: [ragged T, HQ, D], k: [ragged T, H, D]) -> [ragged T, HQ, D] {
  p = prob(attend(q, pool(k, 2), pool(k, 2)));
  sel = topk(blocks(p, 2), 1);
  return attend(q, k, k) in sel where j <= i;
}"""


def test_columns_of_ragged_rows_stay_in_their_readers_programs():
    """The longest row isn't known where a program's memory is allocated."""
    rng = np.random.default_rng(3)
    q, k = (rng.standard_normal((8, heads, 16), dtype=np.float32) for heads in (4, 2))
    offsets = np.array([0, 5, 5, 8], np.int32)
    expected, out = (
        nsacc.compile(RAGGED_IMPORTANCE, dtype="f32", target=target, schedule=schedule)(
            q, k, T_offsets=offsets)
        for target, schedule in [("oracle", ""), ("cpu", "program=own")])
    np.testing.assert_allclose(out, expected, atol=1e-5)
    for target in ("cpu", "sm_90a"):
        with pytest.raises(ArgumentError, match="column 4: 'p' can't have a program of its own"):
            nsacc.compile(RAGGED_IMPORTANCE, target=target, schedule="p: program=own").ir(
                "tile", HQ=4, H=2, D=16)


RANKED = """kernel ranked(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV])
    -> (p: f32[B, T, H, NP], o: f32[B, T, HQ, DV]) {
  ck = pool(k, 4);
  p = score(attend(q, ck) where end(j) <= i + 1);
  sel = topk(blocks(p, 16), 4);
  o = attend(q, k, v) in sel where j <= i;
  return p, o;
}"""


@pytest.mark.parametrize("schedule", ["windows=16", "windows=5", "method=threshold; blocks=1"])
def test_what_has_no_room_may_be_smaller_where_other_fields_are_given(schedule):
    found = nsacc.compile(RANKED, dtype="f32", schedule=schedule)(*make_inputs()[:3])
    expected = nsacc.compile(RANKED, dtype="f32")(*make_inputs()[:3])
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_blocks_in_arithmetic_and_their_importance_have_one_program():
    source = """kernel f(q: [B, T, HQ, D], k: [B, S, H, D]) -> f32[B, T, H, N] {
      return blocks(prob(attend(q, pool(k, 4, 2)) where end(j) <= i + 1), 4); }"""
    inputs = make_inputs()[:2]
    expected = nsacc.compile(source, dtype="f32")(*inputs)
    assert np.array_equal(nsacc.compile(source, dtype="f32", schedule="program=own")(*inputs),
                          expected)
    with pytest.raises(ArgumentError, match="'importance.1' can't have a program of its own: its "
                                            "blocks are a result"):
        nsacc.compile(source, schedule="importance.1: program=own")


def check(program: str, dims: str, schedule: str, seed: int = 0) -> None:
    checked = subprocess.run(
        ["nsacc", "run", EXAMPLES / f"{program}.nsa", "--dims", dims, "--seed", str(seed),
         "--schedule", schedule, "--check"], capture_output=True, text=True, timeout=120)
    assert checked.returncode == 0, checked.stdout + checked.stderr


# Gates that cancel each other, of branches that see the same keys: rounding one to halves shows.
@pytest.mark.parametrize("schedule", ["swa: program=own; cmp: program=own", "program=own", ""])
@pytest.mark.parametrize("seed", [0, 9, 10])
def test_programs_of_their_own_are_as_exact_as_checked(seed, schedule):
    check("nsa", "B=1,T=300,S=300,HQ=8,H=2,D=32,DV=32", schedule, seed)


@pytest.mark.parametrize(("program", "dims"), [
    ("hstu_bsa", "H=2,D=16,DV=24,T=[40,0,1,133]"),
    ("nsa_pooled_weights", "B=2,T=70,S=131,HQ=6,H=2,D=16,DV=24"),
    ("softcap_alibi", "B=2,T=9,S=131,HQ=6,H=2,D=16,DV=24")])
def test_all_have_programs_of_their_own(program, dims):
    check(program, dims, "program=own")


# Channels of very different size, which a factor for each brings together.
@pytest.mark.parametrize("schedule", ["", "program=own", "order=key_major"])
@pytest.mark.parametrize("result", ["u * a", "a / abs(a)", "u * (a + g * a)"])
def test_small_channels_beside_large_ones(result, schedule):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    source = f"""kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], u: [DV],
        g: f32[B, T, HQ], x: i32[B, T, H, 2]) -> [B, T, HQ, DV] {{
      a = attend(q, k, v) in selection(x, 32) where j <= i;
      return {result} + 0.0 * g + 0.0 * u; }}"""
    q, k, v, g = make_inputs(tokens=40, keys=40)[:4]
    v[..., 1:] *= 1e-12
    u = np.where(np.arange(v.shape[-1]) == 0, 1, 1e12)
    inputs = [tensor.astype(ml_dtypes.bfloat16) for tensor in (q, k, v, u)] + [
        g, np.broadcast_to(np.arange(2, dtype=np.int32), (2, 40, 2, 2)).copy()]
    found = nsacc.compile(source, schedule=schedule)(*inputs).astype(np.float64)
    expected = nsacc.compile(source, target="oracle").run(inputs, f64_results=True)
    near = np.abs(found - expected) <= 0.05 * np.abs(expected).max(axis=-1, keepdims=True)
    assert near.mean() > 0.99


@pytest.mark.parametrize(("target", "heads"), [("sm_80", 128), ("sm_90a", 256)])
def test_a_printed_schedule_can_be_given_back(target, heads):
    source = """kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]) -> [B, T, HQ, DV] {
      a = attend(q, k, v) where j <= i; return a; }"""
    sizes = {"HQ": heads, "H": 1, "D": 128, "DV": 64}
    chosen = nsacc.compile(source, target=target).ir("schedule", **sizes)
    line = next(line for line in chosen.splitlines() if "(attend at" in line)
    fields = line.split("): ")[1]
    again = nsacc.compile(source, target=target, schedule=f"a: {fields}").ir("schedule", **sizes)
    assert fields in again
