"""Calls with DTensors: each process calls with its part, if that gives its part of results.

No data is moved between processes. The compiler finds the dimensions that a program computes
independently (`Program._splits`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

from ._refusals import refuse
from .program import Program, _not_traced
from .signature import TensorSpec


def call(program: Program, values: Sequence[Any]) -> Any:
    """The results as DTensors that are sharded as the inputs are."""
    from torch.distributed.tensor import DTensor

    mesh = _find_mesh(program, values)
    cuts = [_find_cut(program, values, index) for index in range(mesh.ndim)]
    sizes = _find_sizes(program, values)
    _check_sizes(program, cuts, sizes, mesh)
    for spec, value in zip(program.signature.inputs, values):
        if isinstance(value, DTensor):
            _check_placements(program, spec, value, cuts)
        elif spec.rank != 0:
            _refuse_plain(program, spec, cuts)
    local = [value.to_local() if isinstance(value, DTensor) else value for value in values]
    results = program(*local)
    specs = program.signature.results
    if len(specs) == 1:
        return _join(specs[0], results, cuts, sizes, mesh)
    joined = [_join(spec, result, cuts, sizes, mesh) for spec, result in zip(specs, results)]
    return program._make_results(*joined)  # type: ignore[misc]


def _find_mesh(program: Program, values: Sequence[Any]) -> Any:
    """The mesh of processes, which all DTensors have."""
    from torch.distributed.tensor import DTensor

    mesh = next(value.device_mesh for value in values if isinstance(value, DTensor))
    for spec, value in zip(program.signature.inputs, values):
        if isinstance(value, DTensor) and value.device_mesh != mesh:
            refuse(f"'{spec.name}' is of another mesh of processes than other inputs: "
                   f"redistribute them to one")
    return mesh


def _find_cut(program: Program, values: Sequence[Any], index: int) -> tuple[str, ...]:
    """The set of dimensions that a dimension of the mesh cuts; empty where it cuts none."""
    from torch.distributed.tensor import DTensor, Replicate, Shard

    cut: tuple[str, ...] = ()
    for spec, value in zip(program.signature.inputs, values):
        if isinstance(value, DTensor):
            placement = value.placements[index]
            if type(placement) is Shard:
                name = _get_name(spec, placement.dim)
                fitting = [split for split in program._splits if name in split]
                if not fitting:
                    refuse(_explain_cut(program, spec.name, placement.dim))
                cut = cut or fitting[0]
            elif type(placement) is not Replicate:
                refuse(f"'{spec.name}' is {_spell(placement)} over dimension {index} of its "
                       f"mesh, expected Shard or Replicate: redistribute it")
    return cut


def _check_placements(program: Program, spec: TensorSpec, value: Any,
                      cuts: Sequence[tuple[str, ...]]) -> None:
    for index, cut in enumerate(cuts):
        expected, placement = _place(spec, cut), value.placements[index]
        if placement != expected:
            refuse(f"'{spec.name}' is {_spell(placement)} over dimension {index} of its "
                   f"mesh, expected {_spell(expected)}, as other inputs are cut along "
                   f"{_list(cut)}: redistribute it. {_quote(program, spec.name)}")


def _refuse_plain(program: Program, spec: TensorSpec,
                  cuts: Sequence[tuple[str, ...]]) -> NoReturn:
    placements = ", ".join(_spell(_place(spec, cut)) for cut in cuts)
    refuse(f"'{spec.name}' is no DTensor, and other inputs are: where every process has all of "
           f"it, pass torch.distributed.tensor.distribute_tensor({spec.name}, mesh, "
           f"[{placements}]), or .to_local() of the others. {_quote(program, spec.name)}")


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


def _find(program: Program, name: str) -> TensorSpec:
    return next(spec for spec in program.signature.inputs if spec.name == name)


@_not_traced
def _quote(program: Program, name: str) -> str:
    return f"The program declares {_find(program, name)}"


@_not_traced
def _explain_cut(program: Program, name: str, dim: int) -> str:
    """Why an input can't be cut along the dimension."""
    spec = _find(program, name)
    where = spec.dims[dim]
    mend = "Redistribute it with Replicate()"
    if program._package is not None:
        why = "a package doesn't tell which dimensions it computes apart"
        mend += (f"; or, where the program computes them apart, pass {spec.name}.to_local() and "
                 f"so on, and join the parts of results")
    elif program._splits:
        apart = " or ".join(_list(split) for split in program._splits)
        why = f"kernel '{program.kernel}' computes parts of {apart} apart, not of {where}"
        mend += f", or cut inputs along {apart}"
    else:
        why = f"kernel '{program.kernel}' computes no dimension in parts"
    return (f"'{name}' is cut along dimension {dim}, {where}: {why}"
            f"{_explain_mixing(program, _get_name(spec, dim))}. {mend}. {_quote(program, name)}")


def _explain_mixing(program: Program, name: str) -> str:
    """Why heads or batch rows aren't computed apart, as far as the program shows."""
    if program._package is not None:
        return ""
    text = program.ir("nsa")
    operands = [[dims.split(", ") for dims in re.findall(r"!nsa\.tensor<\[([^\]]*)\]", types)]
                for types in re.findall(r"nsa\.attend\(.*? : \((.*?)\) ->", text, re.DOTALL)]
    heads = [[dims[-2] for dims in tensors] for tensors in operands]
    rows = [[dims[0] for dims in tensors if len(dims) == 4] for tensors in operands]
    for index, word, names in (("h", "heads", heads), ("b", "rows", rows)):
        of = next((of[0] for of in names if name in of), None)
        if of is None:
            continue
        found = [index] if re.search(rf"= (?!nsa\.table_read)[^\n]*%{index}\b", text) else []
        found += [one for one in dict.fromkeys((of, name)) if f'nsa.dim "{one}"' in text]
        if found:
            return (f", as {_list([repr(one) for one in found])} in a formula would count a "
                    f"process's own {word} alone; hand in what the formula makes of "
                    f"{'it' if len(found) == 1 else 'them'} as a table, f32[{of}], which is cut "
                    f"with them")
        if index == "h" and "share_heads" in text:
            return ", as 'share heads' mixes them"
    return ""


def _find_sizes(program: Program, values: Sequence[Any]) -> dict[str, Any]:
    """Sizes of whole tensors."""
    sizes: dict[str, Any] = {}
    for spec, value in zip(program.signature.inputs, values):
        if spec.rank != 0:
            for dim, size in zip(spec.dims, value.shape):
                if dim.kind == "named":
                    sizes.setdefault(dim.name, size)
    return sizes


def _check_sizes(program: Program, cuts: Sequence[tuple[str, ...]], sizes: dict[str, Any],
                 mesh: Any) -> None:
    """Key heads serve the query heads of their own part where all parts are equal."""
    for cut in cuts:
        if len(cut) > 1:
            parts = 1
            for index, other in enumerate(cuts):
                parts *= mesh.size(index) if other == cut else 1
            for name in cut:
                if sizes[name] % parts != 0:
                    _refuse_parts(program, cut, name, sizes[name], parts)


def _refuse_parts(program: Program, cut: tuple[str, ...], name: str, size: Any,
                  parts: Any) -> NoReturn:
    mend = f"cut over as many processes as divide {name}, or redistribute all with Replicate()"
    if size == 1:
        holders = [spec for spec in program.signature.inputs
                   if any(_get_name(spec, dim) == name for dim in range(spec.rank))]
        names = _list([f"'{spec.name}'" for spec in holders])
        others = _list([other for other in cut if other != name])
        mend = (f"declare it as 1 in place of {name} in {names}, which are Replicate() then: where "
                f"the program computes parts of {others} apart, these alone are cut. Or "
                f"redistribute all with Replicate()")
    refuse(f"dimension {name} is {size}, which {parts} processes can't have equal parts of, as "
           f"{_list(cut)} need: {mend}")


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
