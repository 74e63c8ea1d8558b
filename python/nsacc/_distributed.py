"""Calls with DTensors: each process calls with its part, if that gives its part of results.

No data is moved between processes. The compiler finds the dimensions that a program computes
independently (`Program._splits`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ._refusals import refuse
from .program import Program
from .signature import TensorSpec


def call(program: Program, values: Sequence[Any]) -> Any:
    """The results as DTensors that are sharded as the inputs are."""
    from torch.distributed.tensor import DTensor

    mesh = _find_mesh(program, values)
    cuts = [_find_cut(program, values, index) for index in range(mesh.ndim)]
    sizes = _find_sizes(program, values)
    _check_sizes(cuts, sizes, mesh)
    local = [value.to_local() if isinstance(value, DTensor) else value for value in values]
    results = program(*local)
    specs = program.signature.results
    if len(specs) == 1:
        return _join(specs[0], results, cuts, sizes, mesh)
    joined = [_join(spec, result, cuts, sizes, mesh) for spec, result in zip(specs, results)]
    return program._make_results(*joined)  # type: ignore[misc]


def _find_mesh(program: Program, values: Sequence[Any]) -> Any:
    """The mesh of processes, which all tensors share."""
    from torch.distributed.tensor import DTensor

    mesh = next(value.device_mesh for value in values if isinstance(value, DTensor))
    for spec, value in zip(program.signature.inputs, values):
        if isinstance(value, DTensor):
            if value.device_mesh != mesh:
                refuse(f"'{spec.name}' is of another mesh of processes than other inputs: "
                       f"redistribute them to one")
        elif spec.rank != 0:
            refuse(f"'{spec.name}' is no DTensor, and other inputs are: where every process has "
                   f"all of it, pass torch.distributed.tensor.DTensor.from_local({spec.name}, "
                   f"mesh, [Replicate()] * mesh.ndim); or pass .to_local() of the others")
    return mesh


def _find_cut(program: Program, values: Sequence[Any], index: int) -> tuple[str, ...]:
    """The set of dimensions that a dimension of the mesh cuts; empty where it cuts none."""
    from torch.distributed.tensor import DTensor, Replicate, Shard

    specs = program.signature.inputs
    cut: tuple[str, ...] = ()
    for spec, value in zip(specs, values):
        if isinstance(value, DTensor):
            placement = value.placements[index]
            if type(placement) is Shard:
                name = _get_name(spec, placement.dim)
                fitting = [split for split in program._splits if name in split]
                if not fitting:
                    _refuse(program, spec, placement.dim)
                cut = cut or fitting[0]
            elif type(placement) is not Replicate:
                refuse(f"'{spec.name}' is {_spell(placement)} over dimension {index} of its "
                       f"mesh, expected Shard or Replicate: redistribute it")
    for spec, value in zip(specs, values):
        if isinstance(value, DTensor):
            expected = _place(spec, cut)
            placement = value.placements[index]
            if placement != expected:
                refuse(f"'{spec.name}' is {_spell(placement)} over dimension {index} of its "
                       f"mesh, expected {_spell(expected)}, as other inputs are cut along "
                       f"{_list(cut)}: redistribute it. The program declares {spec}")
    return cut


def _get_name(spec: TensorSpec, dim: int) -> str:
    kind = spec.dims[dim]
    return kind.name if kind.kind == "named" else ""


def _place(spec: TensorSpec, cut: tuple[str, ...]) -> Any:
    """Placements of a tensor; at most one dimension is cut."""
    from torch.distributed.tensor import Replicate, Shard

    for dim in range(spec.rank):
        if _get_name(spec, dim) in cut:
            return Shard(dim)
    return Replicate()


def _refuse(program: Program, spec: TensorSpec, dim: int) -> NoReturn:
    where = spec.dims[dim]
    if program._package is not None:
        why = "a package doesn't tell which dimensions it computes apart"
    elif program._splits:
        apart = " or ".join(_list(split) for split in program._splits)
        why = f"kernel '{program.kernel}' computes parts of {apart} apart, not of {where}"
    else:
        why = f"kernel '{program.kernel}' computes no dimension in parts"
    refuse(f"'{spec.name}' is cut along dimension {dim}, {where}: {why}. Redistribute it with "
           f"Replicate(); or, if each process is to compute with its part alone, pass "
           f"{spec.name}.to_local() and so on. The program declares {spec}")


def _find_sizes(program: Program, values: Sequence[Any]) -> dict[str, Any]:
    """Sizes of whole tensors."""
    sizes: dict[str, Any] = {}
    for spec, value in zip(program.signature.inputs, values):
        if spec.rank != 0:
            for dim, size in zip(spec.dims, value.shape):
                if dim.kind == "named":
                    sizes.setdefault(dim.name, size)
    return sizes


def _check_sizes(cuts: Sequence[tuple[str, ...]], sizes: dict[str, Any], mesh: Any) -> None:
    """Key heads serve the query heads of their part if all parts are equal."""
    for cut in cuts:
        if len(cut) > 1:
            parts = 1
            for index, other in enumerate(cuts):
                parts *= mesh.size(index) if other == cut else 1
            for name in cut:
                if sizes[name] % parts != 0:
                    refuse(f"dimension {name} is {sizes[name]}, which {parts} processes can't "
                           f"have equal parts of, as {_list(cut)} need: redistribute with fewer "
                           f"of them, or Replicate()")


def _join(spec: TensorSpec, part: Any, cuts: Sequence[tuple[str, ...]], sizes: dict[str, Any],
          mesh: Any) -> Any:
    """A result; this process has a part of it."""
    from torch.distributed.tensor import DTensor

    placements = [_place(spec, cut) for cut in cuts]
    is_cut = [any(_get_name(spec, dim) in cut for cut in cuts) for dim in range(spec.rank)]
    shape = [sizes[spec.dims[dim].name] if is_cut[dim] else part.shape[dim]
             for dim in range(spec.rank)]
    strides = [1] * spec.rank
    for dim in range(spec.rank - 1, 0, -1):
        strides[dim - 1] = strides[dim] * shape[dim]
    return DTensor.from_local(part, mesh, placements, run_check=False, shape=tuple(shape),
                              stride=tuple(strides))


def _spell(placement: Any) -> str:
    """Spells a placement in a way that torch's compiler can trace."""
    dim = f"{placement.dim}" if hasattr(placement, "dim") else ""
    return f"{type(placement).__name__}({dim})"


def _list(names: Sequence[str]) -> str:
    return " and ".join(names)
