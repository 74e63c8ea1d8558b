"""benchmarks/run --suite sparse: inputs, formulas, peers' masks and records, without a GPU."""

from __future__ import annotations

import json
import random
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

import nsacc
from bench.gpu.bench import Bench, Setting
from bench.gpu.check import WrongResult
from bench.gpu.ours import Ours
from bench.gpu.peers import Skipped, Unavailable
from bench.gpu.suite import finish
from bench.sparse import inputs, peers
from bench.sparse.captured import load_selection, save_selection
from bench.sparse.details import Details
from bench.sparse.floors import Ceilings, Counts, count_union, find_floor
from bench.sparse.kernels import summarize
from bench.sparse.programs import Nsa, count_selected, count_visible_windows
from bench.sparse.selection import select
from bench.sparse.suite import find_ceilings
from dense_benchmarks import ROOT, FakeTimer, make_suite
from reference.hstu_bsa import hstu_bsa
from reference.moba import moba
from reference.nsa import nsa
from sparse_benchmarks import SMALL, WORKS, draw, shrink

DETAILS = {"inputs", "own_goals", "counts", "floor_ms", "floor_bound", "kernels", "peer_result"}


def make_generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def to_doubles(tensors: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    return {name: tensor.double().numpy() for name, tensor in tensors.items()}


def refer_to_all(work, tensors, tokens: int, row: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The formula of all tokens and heads of a row: [tokens, HQ, DV], and whether more than
    rounding decides."""
    parts = [work.reference(tensors, row, head, 0, tokens) for head in range(work.H)]
    decided = [part[1] if part[1].dim() == 2 else part[1][:, None].expand(-1, work.group)
               for part in parts]
    return torch.cat([part[0] for part in parts], 1).numpy(), torch.cat(decided, 1).numpy()


# Works and programs.


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_works_are_valid(work) -> None:
    program = nsacc.compile(ROOT / work.program, target="oracle", dtype=work.dtype,
                            params=work.params)
    assert dict(program.params) == work.params, "all parameters are in the work"
    assert work.target in nsacc.env()["targets"]
    assert {"HQ", "H", "D", "DV"} & set(program.signature.dims) <= set(work.sizes)
    for peer in work.peers:
        if peer.startswith(("ours ", "time of ")):
            others = peer.removeprefix("ours ").removeprefix("time of ").split(" + ")
            assert set(others) <= set(WORKS)
    assert set(work.goals) <= {*work.peers, "sdpa"}
    assert set(work.own_goals) <= {"ms", "tflops", "hbm_share"}


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_peers_exist(work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.dense.peers.guard", lambda make: make)
    monkeypatch.setattr("bench.sparse.base.guard", lambda make: make)
    for peer in work.peers:
        if not peer.startswith(("ours ", "time of ")):
            work.make_peer(peer, {})
    with pytest.raises(ValueError, match="there is no peer 'magic'"):
        work.make_peer("magic", {})


@pytest.mark.parametrize("name", SMALL)
def test_compiled_programs_pass_and_mistakes_are_found(name: str) -> None:
    work = shrink(WORKS[name])
    tensors = draw(work)
    program = Ours(work, tensors, ROOT)
    assert work.check(tensors, program.out, program.lse, random.Random(1)) < 1e-5
    assert program.repeats_exactly()
    # The last row of the batch is always checked.
    program.out[-1].view(-1)[-1] += 0.1
    with pytest.raises(WrongResult, match="error"):
        work.check(tensors, program.out, program.lse, random.Random(1))
    program.out.view(-1)[0] = float("nan")
    with pytest.raises(WrongResult, match="weren't written"):
        work.check(tensors, program.out, program.lse, random.Random(1))


@pytest.mark.parametrize("kind", ["unrelated", "equal", "rising", "few"])
def test_sets_of_the_greatest(kind: str) -> None:
    work = shrink(WORKS["top2048-1024x1024k-equal"], inputs=kind)
    tensors = draw(work)
    program = Ours(work, tensors, ROOT)
    assert work.check(tensors, program.out, program.lse, random.Random(1)) == 0
    assert program.repeats_exactly()
    greatest = tensors["x"].gather(-1, program.out.long()).sort(-1).values
    peer = work.make_peer("torch.topk", tensors)
    found = tensors["x"].gather(-1, peer.run()).sort(-1).values
    assert peer.work is None and torch.equal(found, greatest)
    program.out[0, 0, 0, 0] += 1
    with pytest.raises(WrongResult, match="another set"):
        work.check(tensors, program.out, program.lse, random.Random(1))


# Formulas, against the formulas of the compiler's tests and against loops.


@pytest.mark.parametrize("name", ["nsa-l64-8k-related", "nsa-l32-8k-unrelated",
                                  "nsa-l32-decode-b8-32k"])
def test_the_formula_of_nsa(name: str) -> None:
    work = shrink(WORKS[name], B=1)
    tensors = draw(work)
    options = dict(work.params, length=work.params["len"])
    del options["len"]
    right = nsa(**to_doubles(tensors), **options)
    found, decided = refer_to_all(work, tensors, work.T)
    assert decided.mean() > 0.8
    # Pooled keys are rounded to f32.
    np.testing.assert_allclose(found[decided], right.out[0][decided], atol=1e-6)


def test_the_formula_of_moba() -> None:
    work = shrink(WORKS["moba-32k-h4"])
    tensors = draw(work)
    right, _ = moba(**to_doubles(tensors), **work.params)
    found, decided = refer_to_all(work, tensors, work.T)
    assert decided.mean() > 0.8
    np.testing.assert_allclose(found[decided], right[0][decided], atol=1e-6)


def test_the_formula_of_hstu() -> None:
    work = shrink(WORKS["hstu-bsa"], rows=[[1, 37], [1, 64]])
    tensors = draw(work)
    offsets = tensors.pop("T_offsets")
    values = to_doubles(tensors)
    right, _ = hstu_bsa(*(values[name] for name in ("q", "k", "v", "u", "g_cmp", "g_slc")),
                        offsets.numpy(), **work.params)
    found, decided = refer_to_all(work, tensors | {"T_offsets": offsets}, 64, row=1)
    np.testing.assert_allclose(found[decided], right[37:][decided], atol=1e-6)


@pytest.mark.parametrize("name", ["selected-g4-32k-related", "tiles-64"])
def test_the_formula_of_selections_handed_in(name: str) -> None:
    work = shrink(WORKS[name], T=96)
    tensors = draw(work)
    values = to_doubles(tensors)
    found, _ = refer_to_all(work, tensors, work.T)
    rows_of = work.T // values["idx"].shape[1]
    pairs = 0
    for t in range(work.T):
        for head in range(work.HQ):
            blocks = set(values["idx"][0, t // rows_of, head // work.group].astype(int)) - {-1}
            keys = [j for j in range(work.T)
                    if j // work.block in blocks and (j <= t or not work.is_causal)]
            pairs += len(keys)
            k, v = (values[each][0, keys, head // work.group] for each in "kv")
            weights = np.exp(k @ values["q"][0, t, head] / work.D**0.5)
            np.testing.assert_allclose(found[t, head], weights / weights.sum() @ v, atol=1e-12)
    assert work.useful_operations(tensors) == pairs * 4 * work.D


def test_useful_operations_count_visible_pairs() -> None:
    for tokens in (5, 16, 50):
        i = range(tokens)
        assert count_visible_windows(tokens, 8, 4, 1) == \
            sum(4 * n + 8 <= t + 1 for t in i for n in range(tokens))
        assert count_selected(tokens, 8, 3) == \
            sum(t // 8 - j // 8 < 3 for t in i for j in range(t + 1))
    hstu = WORKS["hstu-bsa"]
    for length in (1, 31, 32, 33, 300):
        begun = sum(n * 32 <= t for t in range(length) for n in range(-(-length // 32)))
        assert hstu.row_pairs(length) == begun + count_selected(length, 32, 4)


def test_a_selection_forces_blocks_and_tells_ties() -> None:
    absent = -float("inf")
    importance = torch.tensor([[0.0, 5.0, 1.0, absent, 3.0, absent],
                               [0.0, 5.0, 3.0, absent, 3.0001, absent],
                               [0.0, 5.0, absent, absent, absent, absent]])
    chosen, decided = select(importance, torch.tensor([5, 5, 5]), 4, first=1, last=1)
    assert chosen.int().tolist() == [[1, 1, 0, 0, 1, 1], [1, 1, 0, 0, 1, 1], [1, 1, 0, 0, 0, 1]]
    assert decided.tolist() == [True, False, True]


def test_near_ties_alone_cannot_be_checked() -> None:
    work = shrink(WORKS["moba-32k-h4"], params={"block": 4, "top": 3})
    tensors = draw(work)
    tensors["k"][:] = tensors["k"][:, :1]
    program = Ours(work, tensors, ROOT)
    with pytest.raises(WrongResult, match="rounding decides the selections"):
        work.check(tensors, program.out, None, random.Random(1))


# Inputs.


@pytest.mark.parametrize("kind", ["related", "unrelated"])
def test_selections_have_the_forced_blocks_and_no_later_ones(kind: str) -> None:
    idx = inputs.draw_selection(kind, 4500, 2, 16, make_generator())
    again = inputs.draw_selection(kind, 4500, 2, 16, make_generator())
    assert idx.shape == (4500, 2, 16) and idx.dtype == torch.int32 and torch.equal(idx, again)
    table = peers.make_table(idx, 71).transpose(0, 1)
    own = torch.arange(4500) // 64
    assert table[:, :, 0].all()
    for behind in (0, 1):
        rows = torch.arange(4500)[own >= behind]
        assert table[rows, :, own[rows] - behind].all()
    expected = (own + 1).clamp(max=16)
    assert torch.equal(table.sum(-1), expected[:, None].expand(-1, 2))
    assert (idx <= own[:, None, None]).all()
    present = idx.masked_fill(idx < 0, 99)
    assert torch.equal(present, present.sort(-1).values)


@pytest.mark.parametrize("tokens", [4096, 16384])
def test_related_selections_share_most_blocks(tokens: int) -> None:
    def share(kind: str) -> float:
        idx = inputs.draw_selection(kind, tokens, 1, 16, make_generator())
        return inputs.share(peers.make_table(idx, tokens // 64).transpose(0, 1))

    assert 0.85 < share("related") < 0.93
    assert share("unrelated") < {4096: 0.7, 16384: 0.45}[tokens]


@pytest.mark.parametrize(("length", "stride"), [(64, 64), (32, 16)])
def test_related_queries_make_neighbours_share_most_blocks(length: int, stride: int) -> None:
    tokens, group = 4096, 16
    work = Nsa(id="nsa", program="examples/nsa.nsa", dtype="f32", target="cpu", B=1, T=tokens,
               HQ=group, H=1, D=128, DV=1,
               params={"block": 64, "top": 16, "len": length, "stride": stride, "window": 512})
    shares = {}
    for kind in ("related", "unrelated"):
        generator = make_generator()
        q = inputs.draw_queries(kind, tokens, group, work.D, generator)
        k = torch.randn(tokens, work.D, generator=generator)
        chosen = [work.select(q[first:first + 512], k, torch.arange(first, first + 512))[1]
                  for first in range(0, tokens, 512)]
        shares[kind] = inputs.share(torch.cat(chosen)[:, None])
    assert 0.8 < shares["related"] < 0.9 and shares["unrelated"] < 0.65
    assert abs(float(q.std()) - 1) < 0.01


def test_tiles_share_a_selection() -> None:
    idx = inputs.draw_tiles(96, 3, 2, 32, 8, make_generator())
    assert idx.shape == (3, 3, 2) and (idx[:, :, 0] < idx[:, :, 1]).all()
    assert not torch.equal(idx[0], idx[1])


def test_lengths_are_those_of_the_neighbour() -> None:
    sparse, dense = WORKS["hstu-bsa"], WORKS["hstu-dense"]
    lengths = sparse.draw_lengths(3)
    assert lengths == dense.draw_lengths(3) != dense.draw_lengths(4)
    assert len(lengths) == 32 and min(lengths) >= 256 and max(lengths) <= 8192
    assert WORKS["ragged-mixed"].draw_lengths(1) == [65536] + [64] * 1000


# Peers.


@pytest.mark.filterwarnings("ignore:flex_attention called without")
@pytest.mark.parametrize("name", ["selected-g4-32k-related", "tiles-64"])
def test_flex_computes_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr(peers, "FLEX_BLOCK", 32)
    work = shrink(WORKS[name])
    tensors = draw(work)
    out = work.make_peer("flex", tensors).run()
    assert work.check(tensors, out, None, random.Random(1)) < 1e-5


def fake(monkeypatch: pytest.MonkeyPatch, module: str, name: str, value: object) -> None:
    """A package that isn't here."""
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        monkeypatch.setitem(sys.modules, ".".join(parts[:length]),
                            types.ModuleType(".".join(parts[:length])))
    setattr(sys.modules[module], name, value)


def attend_packed(work, q, k, v, idx, offsets) -> torch.Tensor:
    """The computation of XunhaoLai's and FSA's kernels on tensors in their layout."""
    assert q.shape == (work.T, work.HQ, work.D) and idx.shape == (work.H, work.T, work.top)
    assert offsets.tolist() == [0, work.T] and offsets.dtype == idx.dtype == torch.int32
    tensors = {"q": q[None], "k": k[None], "v": v[None], "idx": idx.transpose(0, 1)[None]}
    return torch.from_numpy(refer_to_all(work, tensors, work.T)[0]).to(q.dtype)


@pytest.mark.parametrize("name", ["lai", "fsa", "fla"])
def test_selected_peers_get_tensors_as_they_take_them(name: str,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    work = shrink(WORKS["selected-g4-32k-related"])
    tensors = draw(work)

    def attend_fsa(q, k, v, idx, block, offsets):
        assert block == work.block
        return attend_packed(work, q, k, v, idx, offsets)

    class Lai:
        @staticmethod
        def apply(q, k, v, idx, block, offsets, key_offsets, most, most_keys, scale):
            assert offsets is key_offsets and (most, most_keys, scale) == (work.T, work.T, None)
            return attend_fsa(q, k, v, idx, block, offsets)

    class Fla:
        @staticmethod
        def apply(q, k, v, idx, top, block, scale, offsets):
            assert (top, block, scale, offsets) == (work.top, work.block, work.D**-0.5, None)
            out = refer_to_all(work, {"q": q, "k": k, "v": v, "idx": idx}, work.T)[0]
            return torch.from_numpy(out)[None].to(q.dtype)

    fake(monkeypatch, "native_sparse_attention.ops.triton.topk_sparse_attention",
         "TopkSparseAttention", Lai)
    fake(monkeypatch, "fsa.ops.FSA_topk_sparse_attention", "FSA_topk_sparse_attention", attend_fsa)
    fake(monkeypatch, "fla.ops.nsa.parallel", "ParallelNSAFunction", Fla)
    peer = work.make_peer(name, tensors)
    assert peer.work is work
    assert work.check(tensors, peer.run(), None, random.Random(1)) < 1e-5


def test_a_peer_that_fails_when_it_is_called_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fla:
        @staticmethod
        def apply(*_: object) -> None:
            raise AssertionError("16 heads\n for each group")

    work = shrink(WORKS["selected-g4-32k-related"])
    with pytest.raises(Unavailable, match="ModuleNotFoundError"):
        work.make_peer("fla", draw(work))
    fake(monkeypatch, "fla.ops.nsa.parallel", "ParallelNSAFunction", Fla)
    with pytest.raises(Unavailable, match="AssertionError: 16 heads for each group"):
        work.make_peer("fla", draw(work))


def test_compressed_peers_get_tensors_as_they_take_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def attend_lai(q, k, v, length, stride, block, top, offsets, key_offsets, most, most_keys):
        work = shrink(WORKS["compressed-l32-64k"])
        assert (length, stride, block, top) == (8, 4, 64, -1)
        assert (offsets.tolist(), key_offsets.tolist()) == ([0, 160], [0, 39])
        assert (most, most_keys) == (160, work.windows) == (len(q), len(k))
        tensors = {"q": q[None], "kc": k[None], "vc": v[None]}
        return torch.from_numpy(refer_to_all(work, tensors, work.T)[0]).to(q.dtype), None

    def attend_fla(q, k, v, tokens, block, scale):
        work = shrink(WORKS["compressed-l64-64k"])
        assert (tokens, block, scale) == (160, 16, work.D**-0.5)
        out = refer_to_all(work, {"q": q, "kc": k, "vc": v}, work.T)[0]
        return torch.from_numpy(out)[None].to(q.dtype), None

    fake(monkeypatch, "native_sparse_attention.ops.triton.compressed_attention",
         "compressed_attention", attend_lai)
    fake(monkeypatch, "fla.ops.nsa.compression", "parallel_nsa_compression", attend_fla)
    for name, peer in (("compressed-l32-64k", "lai"), ("compressed-l64-64k", "fla")):
        work = shrink(WORKS[name])
        tensors = draw(work)
        out = work.make_peer(peer, tensors).run()
        assert work.check(tensors, out, None, random.Random(1)) < 1e-5


def test_peers_of_other_formulas_are_told() -> None:
    work = WORKS["nsa-l64-8k-related"]
    assert not work.has_formula_of("fla")
    assert work.make_dense().pattern == "flash"


# Times of kernels.


def test_the_floor_is_the_slowest_resource() -> None:
    ceilings = Ceilings(flop=1e3, exps=1e3, hbm_bytes=1e3, l2_bytes=1e3)
    assert find_floor(Counts(1, 2, 3, 4), ceilings) == (4.0, "L2")
    assert find_floor(Counts(5, 2, 3, 4) + Counts(hbm_bytes=7), ceilings) == (10.0, "memory")
    assert find_ceilings().flop == 782e12


def test_a_union_counts_blocks_of_a_tile_once() -> None:
    idx = torch.tensor([[0, 1], [1, 2], [1, -1], [0, 1]], dtype=torch.int32)[:, None]
    assert count_union(idx, 2, 3) == 5
    assert count_union(idx, 1, 3) == 7
    assert count_union(idx.expand(-1, 2, -1), 4, 3) == 6


def test_kernels_are_summed_by_name() -> None:
    events = [("void second<64>(int)", 30.0, 3), ("first", 900.0, 6), ("cudaLaunchKernel", 0.0, 9)]
    assert summarize(events, 3) == {"first x2": 0.3, "second<64>": 0.01}
    assert summarize([], 3) is None


# Records.


def test_records(tmp_path: Path) -> None:
    work = shrink(WORKS["nsa-l64-8k-related"], peers=["dense sdpa math"],
                  goals={"dense sdpa math": 1.2}, own_goals={"ms": 1.5, "hbm_share": 0.0})
    mixed = shrink(WORKS["ragged-mixed"])
    short, long = (shrink(WORKS[f"ragged-{name}"]) for name in ("short", "long"))
    every = {each.id: each for each in (work, mixed, short, long)}
    timer = FakeTimer({"dense sdpa math": 3e-3, "time of ragged-long + ragged-short": 1e-3})
    suite = make_suite(Setting(ROOT, torch.device("cpu"), timer, 1, works=every),
                       tmp_path / "records", rounds=1)
    suite.details = Details(Ceilings(), lambda run: {"kernel": 1.0})
    suite.run([[work], [mixed]])
    assert finish(suite) == 0
    whole, ragged = map(json.loads, suite.path.read_text().splitlines())
    assert set(whole) >= DETAILS and set(whole) == set(ragged)
    assert (whole["peer_result"], whole["ratio"], whole["inputs"]) == ("dense", 1.5, "related")
    assert whole["own_goals"] == {"ms": {"goal": 1.5, "found": 2.0, "met": False},
                                  "hbm_share": {"goal": 0.0, "found": whole["own_goals"][
                                      "hbm_share"]["found"], "met": True}}
    assert whole["kernels"] == {"kernel": 1.0} and whole["floor_bound"] in ("memory", "products")
    # Times, not operations in a second, are compared.
    assert (ragged["ratio"], ragged["goal"], ragged["peer_result"]) == (0.5, 0.9, None)
    assert ragged["peer_tflops"] == pytest.approx(2 * ragged["tflops"], rel=1e-3)


# Captured selections.


def test_captured_selections_are_cut_to_a_work(tmp_path: Path) -> None:
    idx = inputs.draw_selection("related", 256, 4, 5, make_generator(), 16)[None]
    path = tmp_path / "captured.npz"
    save_selection(path, idx, 16, steps=3)
    work = shrink(WORKS["selected-g16-32k-captured"], captured=path)
    tensors = draw(work)
    assert torch.equal(tensors["idx"], idx[:, :160, :2])
    for shape, block, message in (((1, 160, 2, 5), 64, "blocks of 16 tokens"),
                                  ((1, 160, 2, 4), 16, "has 5 blocks"),
                                  ((1, 512, 2, 5), 16, "at least")):
        with pytest.raises(ValueError, match=message):
            load_selection(path, shape, block)


def test_without_a_file_captured_works_are_skipped(tmp_path: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    work = shrink(WORKS["selected-g16-32k-captured"])
    with pytest.raises(Skipped, match="--captured FILE"):
        draw(work)
    setting = Setting(ROOT, torch.device("cpu"), FakeTimer(), 1)
    suite = make_suite(setting, tmp_path / "records")
    suite.run([[work]])
    assert finish(suite) == 0 and suite.skipped == [work.id] and not suite.path.exists()
    assert "skipped: selections of a trained model are missing" in capsys.readouterr().out


def test_a_wrong_file_is_no_result(tmp_path: Path) -> None:
    idx = inputs.draw_selection("related", 64, 2, 5, make_generator(), 16)[None]
    save_selection(tmp_path / "short.npz", idx, 16)
    work = shrink(WORKS["selected-g16-32k-captured"], captured=tmp_path / "short.npz")
    with pytest.raises(ValueError, match="expected at least"):
        Bench(work, Setting(ROOT, torch.device("cpu"), FakeTimer(), 1))
