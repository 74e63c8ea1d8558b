"""Tensors that aren't contiguous or aligned: right, or an error that names the input."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch

import nsacc
from nsacc.errors import ArgumentError
from programs import DTYPES, NAMES, TARGET, Case, run_all, to_device
from waiting import wait

Layout = Callable[[torch.Tensor], torch.Tensor]


def strided(tensor: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """The values of `tensor` in new memory, in the layout that `change` gives; gaps are NaN."""
    size = 4 * tensor.numel() + 4096
    value = float("nan") if tensor.is_floating_point() else -77
    memory = torch.full((size,), value, dtype=tensor.dtype, device=tensor.device)
    view = change(memory)
    view.copy_(tensor)
    return view


def swapped(tensor: torch.Tensor) -> torch.Tensor:
    """Heads before tokens, as in [B, H, T, D], of tensors that have heads and channels."""
    if tensor.dim() < 3:
        return tensor
    dims = (1, 2) if tensor.dim() == 4 else (0, 1)
    return tensor.transpose(*dims).contiguous().transpose(*dims)


def padded(tensor: torch.Tensor, by: int) -> torch.Tensor:
    """Rows of channels with room behind each."""
    shape = [*tensor.shape[:-1], tensor.shape[-1] + by]
    count = torch.Size(shape).numel()
    return strided(tensor, lambda memory: memory[:count].view(shape)[..., :tensor.shape[-1]])


def moved(tensor: torch.Tensor, by: int) -> torch.Tensor:
    return strided(tensor, lambda memory: memory[by:by + tensor.numel()].view(tensor.shape))


def spread(tensor: torch.Tensor) -> torch.Tensor:
    """Every second element."""
    count = 2 * tensor.numel()
    return strided(tensor, lambda memory: memory[:count].view(*tensor.shape, 2)[..., 0])


LAYOUTS: dict[str, Layout] = {
    "heads first": swapped,
    "16 bytes between rows": lambda tensor: padded(tensor, 16 // tensor.element_size()),
    "an element between rows": lambda tensor: padded(tensor, 1),
    "16 bytes off": lambda tensor: moved(tensor, 16 // tensor.element_size()),
    "an element off": lambda tensor: moved(tensor, 1),
    "8 bytes off": lambda tensor: moved(tensor, 8 // tensor.element_size()),
    "every second element": spread,
}
MUST_RUN = ("heads first", "16 bytes between rows", "16 bytes off")
CASES = [*(Case.small(name) for name in [*NAMES, "ragged_flash"]),
         Case("flash", channels=(40, 24)), Case("flash", channels=(7, 7)),
         Case("flash", dtype="f32"), Case("flash", target="sm_80"), Case("nsa", target="sm_80")]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_input(case, layout):
    program = case.program()
    inputs = to_device(case.inputs(tokens=150))
    expected = run_all(program, inputs)
    for index, spec in enumerate(program.signature.inputs):
        if inputs[index].dim() == 0:
            continue
        changed = LAYOUTS[layout](inputs[index])
        assert torch.equal(changed, inputs[index])
        try:
            results = run_all(program, [*inputs[:index], changed, *inputs[index + 1:]])
        except ArgumentError as error:
            assert layout not in MUST_RUN
            assert f"'{spec.name}'" in str(error)
            continue
        wait(f"{case} with {spec.name}, {layout}")
        assert all(map(torch.equal, results, expected)), spec.name


_SHAPES = {"Q": "[B, T, HQ, D]", "K": "[B, S, H, D]", "V": "[B, S, H, DV]", "O": "[B, T, HQ, DV]",
           "G": "[B, T, HQ]", "I": "[B, T, H, 3]", "RQ": "[ragged T, HQ, D]",
           "RK": "[ragged S, H, D]", "RV": "[ragged S, H, DV]", "RO": "[ragged T, HQ, DV]",
           "RG": "[ragged T, HQ]"}
_DECLARED = {
    "lse": "kernel f(q: {Q}, k: {K}, v: {V}) -> (o: {O}, l: f32{G}) "
           "{{ a = attend(q, k, v) where j <= i; return a, lse(a); }}",
    "gates": "kernel f(q: {Q}, k: {K}, v: {V}, g: f32{G}) -> {O} "
             "{{ return sigmoid(g) * attend(q, k, v); }}",
    "selection": "kernel f(q: {Q}, k: {K}, v: {V}, idx: i32{I}) -> {O} "
                 "{{ return attend(q, k, v) in selection(idx, 16, of=S) where j <= i; }}",
    "pooled": "kernel f(q: {Q}, k: {K}, v: {V}) -> (o: {O}, i: i32{I}) "
              "{{ sel = topk(prob(attend(q, pool(k, 16))), 3) keep last 1; "
              "return attend(q, k, v) in sel, indices(sel); }}",
    "ragged": "kernel f(q: {RQ}, k: {RK}, v: {RV}) -> (o: {RO}, l: f32{RG}) "
              "{{ a = attend(q, k, v) where j <= i; return a, lse(a); }}",
}


def _declare(name: str, heads_first: bool) -> str:
    shapes = dict(_SHAPES)
    if heads_first:
        order = re.compile(r"((?:ragged )?[TS]), (HQ|H)\b")
        shapes = {key: order.sub(r"heads \2, \1", text) for key, text in shapes.items()}
    return _DECLARED[name].format(**shapes)


def _heads_first(tensor: torch.Tensor, dims: tuple[str, ...]) -> torch.Tensor:
    for at, pair in enumerate(zip(dims, dims[1:])):
        if pair[0].removeprefix("ragged ") in "TS" and pair[1] in ("HQ", "H"):
            return tensor.transpose(at, at + 1)
    return tensor


@pytest.mark.parametrize("target", [TARGET, "sm_80"])
@pytest.mark.parametrize("heads,tokens", [((4, 2), 150), ((3, 1), 65), ((7, 7), 1)])
@pytest.mark.parametrize("name", _DECLARED)
def test_declared_heads_first(name, heads, tokens, target):
    """A program that says `heads`, on contiguous [B, H, T, D], gives the results of [B, T, H,
    D]."""
    first = nsacc.compile(_declare(name, False), target=target)
    second = nsacc.compile(_declare(name, True), target=target)
    sizes = {"B": 2, "T": tokens, "S": tokens, "HQ": heads[0], "H": heads[1], "D": 64, "DV": 64}
    generator = torch.Generator("cuda").manual_seed(0)
    inputs = []
    for spec in first.signature.inputs:
        shape = [sizes.get(dim.name, dim.size) for dim in spec.dims]
        if spec.is_offsets:
            value = torch.tensor([0, tokens // 3, tokens], dtype=torch.int32, device="cuda")
        elif spec.dtype == "i32":
            value = torch.randint(-1, -(-tokens // 16), shape, dtype=torch.int32, device="cuda",
                                  generator=generator)
        else:
            value = torch.randn(shape, device="cuda", generator=generator).to(DTYPES[spec.dtype])
        inputs.append(value)
    dims = [tuple(map(str, spec.dims)) for spec in first.signature.inputs]
    expected = run_all(first, inputs)
    views = [_heads_first(value, each) for value, each in zip(inputs, dims)]
    packed = [view.contiguous() for view in views]
    # Neighbours are along the last dimension, which gates have no channels for.
    mixed = [view if each[-1] in ("D", "DV", "3") else copy
             for view, copy, each in zip(views, packed, dims)]
    for results in (run_all(second, packed), run_all(second, mixed)):
        wait(f"{name} with heads first")
        for spec, found, wanted in zip(first.signature.results, results, expected):
            assert found.is_contiguous()
            assert torch.equal(found, _heads_first(wanted, tuple(map(str, spec.dims)))), spec.name


@pytest.mark.parametrize("case", [Case("flash", heads=(2, 2)), Case("nsa", heads=(2, 2))], ids=str)
def test_parts_of_one_tensor(case):
    inputs = to_device(case.inputs(tokens=150))
    expected = run_all(case.program(), inputs)
    packed = torch.stack(inputs[:3], dim=2)
    results = run_all(case.program(), [*packed.unbind(2), *inputs[3:]])
    assert all(map(torch.equal, results, expected))


@pytest.mark.parametrize("case", [Case("flash"), Case("window_sink"), Case("nsa")], ids=str)
def test_repeated_rows(case):
    """One batch row, and one key head, stand for all."""
    inputs = to_device(case.inputs(tokens=150))
    for dim in (0, 2):
        parts = [each.narrow(dim, 0, 1).expand_as(each) for each in inputs[1:3]]
        expected = run_all(case.program(), [inputs[0], *(part.contiguous() for part in parts),
                                            *inputs[3:]])
        results = run_all(case.program(), [inputs[0], *parts, *inputs[3:]])
        assert all(map(torch.equal, results, expected))
