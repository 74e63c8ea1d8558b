"""Tensors that aren't contiguous or aligned: right, or an error that names the input."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from nsacc.errors import ArgumentError
from programs import NAMES, Case, run_all, to_device
from waiting import wait

Layout = Callable[[torch.Tensor], torch.Tensor]


def strided(tensor: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """The values of `tensor` where `change` of new memory is; what lies between is NaN."""
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


@pytest.mark.parametrize("case", [Case("flash", heads=(2, 2)), Case("nsa", heads=(2, 2))], ids=str)
def test_parts_of_one_tensor(case):
    inputs = to_device(case.inputs(tokens=150))
    expected = run_all(case.program(), inputs)
    packed = torch.stack(inputs[:3], dim=2)
    results = run_all(case.program(), [*packed.unbind(2), *inputs[3:]])
    assert all(map(torch.equal, results, expected))


@pytest.mark.parametrize("case", [Case("flash"), Case("window_sink"), Case("nsa")], ids=str)
def test_repeated_rows(case):
    """One batch row, and one key head, that stands for all."""
    inputs = to_device(case.inputs(tokens=150))
    for dim in (0, 2):
        parts = [each.narrow(dim, 0, 1).expand_as(each) for each in inputs[1:3]]
        expected = run_all(case.program(), [inputs[0], *(part.contiguous() for part in parts),
                                            *inputs[3:]])
        results = run_all(case.program(), [inputs[0], *parts, *inputs[3:]])
        assert all(map(torch.equal, results, expected))
