"""Reports of Program.explain, as text and as numbers."""

from __future__ import annotations

import html
import os
import pickle
import re
import shutil
import subprocess
import time

import numpy as np
import pytest

import nsacc
from harness import EXAMPLES

SIZES = {"B": 1, "T": 512, "S": 512, "HQ": 8, "H": 2, "D": 64, "DV": 64}

@pytest.fixture(scope="module")
def flash() -> nsacc.Program:
    return nsacc.compile(EXAMPLES / "flash.nsa", target="sm_90a")


@pytest.fixture(scope="module")
def explanation(flash: nsacc.Program) -> nsacc.Explanation:
    return flash.explain(SIZES)


def test_tells_what_a_program_launches(explanation):
    data = explanation.data
    assert (data["kernel"], data["target"]) == ("flash", "sm_90a")
    main, exact = data["programs"]
    assert (main["role"], exact["role"], exact["of"]) == ("main", "exact", main["name"])
    assert main["counted_ops"] == ["a", "map.1"]
    assert main["predicted_ms"] >= max(main["floors_ms"].values()) > 0
    # q, k and v, the output and the log-sum-exp, each once.
    assert main["work"]["bytes"] == 2 * 512 * 64 * (8 + 2 + 2 + 8) + 4 * 512 * 8
    assert main["occupancy"]["blocks"] >= 1
    assert data["ops"][0]["schedule"]["order"] == {
        "value": "query_major", "reason": "there is no selection"}


def test_registers_are_told_or_why_not(explanation):
    main = explanation.data["programs"][0]
    assert ("registers" in main) != bool(explanation.data["no_registers"])


def test_an_old_ptxas_tells_no_registers(tmp_path):
    command = shutil.which("nsacc")
    assert command, "nsacc isn't on PATH: build it, and add build/dev/bin"
    ptxas = tmp_path / "ptxas"
    ptxas.write_text("#!/bin/sh\n"
                     "echo \"Value 'sm_80' is not defined for option 'gpu-name'\"\nexit 1\n")
    ptxas.chmod(0o755)
    sizes = ",".join(f"{name}={size}" for name, size in SIZES.items())
    text = subprocess.run(
        [command, "explain", EXAMPLES / "flash.nsa", "--target", "sm_80", "--dims", sizes],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=True,
        capture_output=True, text=True).stdout
    assert "ptxas is too old for sm_80, so registers aren't known" in text
    assert "registers of a thread" not in text
    assert "as far as that is known without registers" in text


def test_text_and_repr_are_those_of_the_report(explanation):
    assert str(explanation) == explanation.text
    assert explanation.text.startswith("kernel flash(")
    assert re.fullmatch(r"<nsacc\.Explanation of flash for sm_90a, .* ms predicted>",
                        repr(explanation))


def test_cells_of_the_map_are_those_of_the_mask(explanation):
    tiles = explanation.data["ops"][0]["tiles"]
    tokens = tiles["tile_tokens"] * tiles["row_tiles"]
    keys = tiles["tile_keys"] * tiles["column_tiles"]
    for row, states in enumerate(tiles["cells"]):
        for column, state in enumerate(states):
            seen = [key <= query for query in range(row * tokens, (row + 1) * tokens)
                    for key in range(column * keys, (column + 1) * keys)]
            assert state == ("F" if all(seen) else "p" if any(seen) else ".")


def test_selections_are_told_apart():
    program = nsacc.compile(EXAMPLES / "nsa.nsa", target="sm_80", top=4)
    data = program.explain(SIZES).data
    tiles = {op["name"]: op.get("tiles") for op in data["ops"]}
    assert tiles["slc"]["selection"] == {"block": 64, "top": 4}
    assert "selection" not in tiles["swa"]
    assert tiles["sel"] is None


def test_ragged_rows_are_given_by_their_lengths():
    program = nsacc.compile(EXAMPLES / "hstu_bsa.nsa", target="cpu")
    data = program.explain({"T": [5, 0, 127], "H": 2, "D": 16, "DV": 16}).data
    assert data["sizes"] == "T=132 in 3 rows, H=2, D=16, DV=16"
    assert data["device"] is None


def test_pairs_are_counted_and_stay_integers(flash):
    for tokens, keys in ((9, 3), (1000, 10), (3000, 3000), (10**9, 10**9)):
        data = flash.explain({**SIZES, "T": tokens, "S": keys}).data
        seen = min(tokens, keys)
        pairs = 8 * (seen * (seen + 1) // 2 + seen * (keys - seen))
        work = data["ops"][0]["work"]
        assert (work["pairs"], work["certainty"]) == (pairs, "exact")
        if 2 * 128 * pairs < 1 << 64:
            assert work["operations"] == 2 * 128 * pairs
            assert isinstance(work["operations"], int)


def test_all_batch_rows_and_heads_count():
    """Random masks that distinguish them, against every pair."""
    rng = np.random.default_rng(5)
    for trial in range(12):
        batch, heads, group = (int(each) for each in rng.integers(1, 4, 3))
        queries, keys = (int(each) for each in rng.integers(1, 150, 2))
        first, of_row, of_head = (int(each) for each in rng.integers(-60, 60, 3))
        where = f"j < i + ({first}) + b * ({of_row}) + (h mod 2) * ({of_head})"
        program = nsacc.compile(
            "kernel f(q: [B, T, HQ, 16], k: [B, S, H, 16]) -> [B, T, HQ, 16] {"
            f" return attend(q, k, k) where {where}; }}", target="cpu", dtype="f32")
        data = program.explain(
            {"B": batch, "T": queries, "S": keys, "HQ": heads * group, "H": heads}).data
        b, h, t, j = np.ogrid[:batch, :heads * group, :queries, :keys]
        sees = j < t + keys - queries + first + b * of_row + h % 2 * of_head
        sees = sees.reshape(batch, heads, group, queries, keys)
        op, = data["ops"]
        assert (op["work"]["pairs"], op["work"]["certainty"]) == (sees.sum(), "exact"), where
        seen = sees.any(axis=(2, 3)).sum()
        # Keys are the values, too, and read once.
        assert op["work"]["bytes"] == 64 * (2 * batch * queries * heads * group + seen), where
        counts = {"full": 0, "partial": 0, "empty": 0}
        tokens, tile_keys = op["tiles"]["tile_tokens"], op["tiles"]["tile_keys"]
        for row in range(0, queries, tokens):
            for column in range(0, keys, tile_keys):
                tile = sees[..., row:row + tokens, column:column + tile_keys]
                some, every = tile.any(axis=(2, 3, 4)), tile.all(axis=(2, 3, 4))
                counts["full"] += every.sum()
                counts["partial"] += (some & ~every).sum()
                counts["empty"] += (~some).sum()
        assert op["tiles"] == op["tiles"] | counts, where


def test_tensors_of_several_uses_are_read_once():
    program = nsacc.compile("kernel f(x: f32[B, T, H, D]) -> f32[B, T, H, D] "
                            "{ return attend(x, x, x) where j > i; }", target="cpu")
    data = program.explain({"B": 1, "T": 4, "H": 1, "D": 2}).data
    # Queries are read whole, whichever keys some of them see.
    assert [each["work"]["bytes"] for each in (data, *data["ops"], *data["programs"])] == [64] * 3


@pytest.mark.parametrize("tail", ["drop", "average", "zeros_right", "zeros_left"])
@pytest.mark.parametrize("window", [(4, 4), (4, 2), (6, 3)])
def test_packed_rows_have_windows_of_their_own(tail, window):
    """Eight rows in a batch, and the same behind each other."""
    sizes = {"B": 8, "T": 1, "S": 5, "H": 1, "D": 2}
    packed = {"T": [1] * 8, "S": [5] * 8, "H": 1, "D": 2}
    bytes_of = []
    for dims, given in (("B, ", sizes), ("ragged ", packed)):
        pooled = ", ".join(f"pool({name}, {window[0]}, {window[1]}, tail={tail})" for name in "kv")
        data = nsacc.compile(
            f"kernel f(q: [{dims}T, H, D], k, v: [{dims}S, H, D]) -> [{dims}T, H, D] {{ "
            f"kc, vc = {pooled}; return attend(q, kc, vc); }}",
            target="cpu", dtype="f32").explain(given).data
        bytes_of.append({op["name"]: op["work"]["bytes"] for op in data["ops"] if "work" in op})
    assert bytes_of[0] == bytes_of[1]


def test_packed_windows_that_are_seen_are_counted():
    program = nsacc.compile(
        "kernel f(q: f32[ragged T, 1, 2], k, v: f32[ragged S, 1, 2]) -> f32[ragged T, 1, 2] { "
        "kc, vc = pool(k, 4), pool(v, 4); return attend(q, kc, vc) where end(j) <= i + 1; }",
        target="cpu")
    for queries, keys, expected in (([1, 1], [3, 5], 48), ([5, 5], [5, 5], 192),
                                    ([1, 1], [5, 5], 64)):
        data = program.explain({"T": queries, "S": keys}).data
        assert data["ops"][-1]["work"]["bytes"] == expected, (queries, keys)


@pytest.mark.parametrize("rows", [256, 257, 383, 384, 400, 700])
def test_estimates_of_many_rows_are_scaled_exactly(rows):
    program = nsacc.compile(
        "kernel f(q: [ragged T, 2, 16], k: [ragged S, 2, 16]) -> [ragged T, 2, 16] {"
        " return attend(q, k, k) where j <= i; }", target="cpu")
    work = program.explain({"T": [7] * rows, "S": [7] * rows}).data["work"]
    assert (work["pairs"], work["certainty"]) == (56 * rows, "exact")
    lengths = np.random.default_rng(rows).integers(0, 2000, rows)
    work = program.explain({"T": lengths.tolist(), "S": lengths.tolist()}).data["work"]
    assert work["pairs"] == pytest.approx((lengths * (lengths + 1)).sum(), rel=0.02)


def test_devices_are_no_files(tmp_path):
    with pytest.raises(nsacc.errors.NsaccError, match="'/dev/zero' is a device, not the descrip"):
        nsacc.compile(EXAMPLES / "flash.nsa", target="cuda", device="/dev/zero")
    with pytest.raises(nsacc.errors.ArgumentError, match="'/dev/zero' is a device, not a program"):
        nsacc.compile(path="/dev/zero")
    with pytest.raises(nsacc.errors.ArgumentError, match="'/dev/zero' is a device, not a package"):
        nsacc.load("/dev/zero")


@pytest.mark.parametrize("where, share", [("(i - j) mod 3 == 0", 1 / 3), ("j <= i", 1 / 2)])
def test_time_does_not_depend_on_sizes(where, share):
    program = nsacc.compile("kernel f(q: [B, T, H, 16], k: [B, S, H, 16]) -> [B, T, H, 16] {"
                            f" return attend(q, k, k) where {where}; }}", target="cpu")
    most = 1 << 40
    program.explain({"B": 1, "T": 64, "S": 64, "H": 1})
    begin = time.monotonic()
    work = program.explain({"B": 1, "T": most, "S": most, "H": 1}).data["work"]
    assert time.monotonic() - begin < 20, "2^40 tokens took minutes"
    assert work["pairs"] == pytest.approx(share * most**2, rel=0.05)


def test_floors_say_what_they_are_of():
    sizes = {"B": 1, "T": 200, "S": 200, "HQ": 4, "H": 2, "D": 64, "DV": 64}
    table = nsacc.compile(EXAMPLES / "document_mask.nsa", target="cpu").explain(sizes)
    assert table.data["work"] == table.data["work"] | {"certainty": "at_most",
                                                      "pairs": 4 * 200 * 201 // 2}
    assert "a run that shows fewer may be faster" in table.text
    assert "which no schedule is below" not in table.text


def test_threads_are_those_of_runs(monkeypatch):
    program = nsacc.compile(EXAMPLES / "flash.nsa", target="cpu")
    products = {}
    for threads in (1, 3):
        monkeypatch.setenv("NSACC_THREADS", str(threads))
        found = program.explain(SIZES)
        assert f"cpu of this machine, {threads} thread" in found.text
        products[threads] = found.data["programs"][0]["floors_ms"]["products"]
    assert products[1] == pytest.approx(3 * products[3])


@pytest.mark.parametrize("sizes, message", [
    ({"T": 512}, "nothing tells the size of 'B', 'HQ', 'D', 'S', 'H' and 'DV', and an explanation "
                 "is of one call's sizes: add them, as {'B': …, 'HQ': …, "),
    ({**SIZES, "X": 1}, "has no dimension 'X'"),
    ({**SIZES, "HQ": 3}, "HQ = 3 query heads are not a multiple of H = 2 key heads"),
    ({**SIZES, "T": "many"}, "'T': 'many' isn't a size, expected a number from 0 to 2^40"),
    ({**SIZES, "T": [5, 7]}, "dimension T of kernel 'flash' isn't ragged: give one size"),
    (512, "sizes is a int, expected a mapping"),
])
def test_sizes_that_do_not_fit_are_named(flash, sizes, message):
    with pytest.raises(nsacc.errors.ArgumentError, match=re.escape(message)):
        flash.explain(sizes)


def test_ragged_dimensions_want_lengths():
    program = nsacc.compile(EXAMPLES / "hstu_bsa.nsa")
    with pytest.raises(nsacc.errors.ArgumentError, match=re.escape(
            "is ragged: give the lengths of its rows, as 'T': [127, …]")):
        program.explain({"T": 127})


def test_what_has_no_schedule_is_refused(tmp_path):
    oracle = nsacc.compile(EXAMPLES / "flash.nsa", target="oracle")
    with pytest.raises(nsacc.errors.ArgumentError, match="has no schedule to explain"):
        oracle.explain(SIZES)
    path = tmp_path / "flash.nsapkg"
    nsacc.compile(EXAMPLES / "flash.nsa", target="sm_80").package(
        path, {"HQ": 8, "H": 2, "D": 64, "DV": 64})
    package = nsacc.load(path)
    with pytest.raises(nsacc.errors.ArgumentError, match="a package has no schedule"):
        package.explain(SIZES)
    assert html.escape(package.kernel) in package._repr_html_()


def test_notebooks_show_the_signature_and_then_tiles():
    program = nsacc.compile(EXAMPLES / "flash.nsa", target="sm_90a")
    assert html.escape(str(program.signature)) in program._repr_html_()
    assert "<iframe" not in program._repr_html_()
    program.explain(SIZES)
    assert program._repr_html_().count("<iframe") == 1
    assert "<iframe" not in pickle.loads(pickle.dumps(program))._repr_html_()


def test_notebooks_know_the_sizes_of_the_first_call():
    program = nsacc.compile(EXAMPLES / "flash.nsa", dtype="f32")
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, tokens, heads, 16), dtype=np.float32)
               for tokens, heads in ((40, 4), (70, 2), (70, 2)))
    program(q, k, v)
    assert "<iframe" in program._repr_html_()


def test_notebooks_never_see_an_error():
    program = nsacc.compile(EXAMPLES / "flash.nsa", target="sm_90a")
    for sizes in ({"T": 5}, {**SIZES, "T": 1 << 40}, {"T": object()}):
        program._known_sizes = sizes
        assert program._repr_html_().startswith("<pre")


@pytest.mark.parametrize("schedule", ["", "program=own", "splits=3; *.merge: heads=1",
                                      "order=key_major, splits=2"])
@pytest.mark.parametrize("queries, keys", [(1, 1), (2, 5), (1, 1500), (70, 70)])
def test_workspace_is_what_a_run_takes(schedule, queries, keys):
    program = nsacc.compile(EXAMPLES / "flash.nsa", target="cpu", dtype="f32", schedule=schedule)
    sizes = {"B": 3, "T": queries, "S": keys, "HQ": 6, "H": 2, "D": 16, "DV": 24}
    shapes = [["B", "T", "HQ", "D"], ["B", "S", "H", "D"], ["B", "S", "H", "DV"]]
    inputs = [np.ones([sizes[dim] for dim in shape], np.float32) for shape in shapes]
    _, timing = program.run_timed(inputs)
    assert program.explain(sizes).data["workspace_bytes"] == timing.workspace_bytes
