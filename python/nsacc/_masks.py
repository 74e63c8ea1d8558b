"""Masks that transformers asks of an attention, and the masks that programs have.

A program doesn't name its mask, so a run finds the keys that its queries see: the oracle runs it
with equal queries and keys, and values that distinguish keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from . import _dtypes
from .errors import ArgumentError, CompileError
from .program import Program
from .signature import TensorSpec

KINDS = ("causal", "bidirectional", "causal_window", "bidirectional_window")
"""Kinds of layers: in a window, queries and keys are less than its length apart."""
EVERYTHING = 1 << 30
"""Window of layers that have none, for programs that take it as an input."""
# Larger products of queries and keys would keep the caller waiting.
_MOST_PAIRS = 1 << 21
# Value of scales, gates and biases: a distance times it doesn't make a weight vanish.
_SMALL = 2.0**-10
# Channels of values that distinguish keys.
_CHANNELS = 8


def name_kind(causal: bool, window: int | None) -> str:
    return ("causal" if causal else "bidirectional") + ("" if window is None else "_window")


def describe(causal: bool, window: int | None) -> str:
    """A kind of layer, in words."""
    if window is None:
        return "a causal mask" if causal else "no mask, so that queries see later keys"
    return f"a {'causal' if causal else 'bidirectional'} window of {window} tokens"


# -- Masks of models --------------------------------------------------------------------------


def read_mask(function: Any, local_size: int | None, more: Mapping[str, Any]) -> str | None:
    """The kind of layer that a mask function of transformers is for; None for other masks, as
    chunks and packed sequences.

    Args:
        function: as transformers hands it to an interface of masks; None is causal.
        local_size: the window, or the length of chunks.
        more: further arguments of the interface.
    """
    from transformers import masking_utils

    if function is None or function is masking_utils.causal_mask_function:
        return "causal"
    if function is masking_utils.bidirectional_mask_function:
        return "bidirectional"
    if local_size is None:
        return None
    causal = "allow_is_bidirectional_skip" not in more
    if torch.compiler.is_compiling():
        plain = _is_window_of_compiler(function, local_size, more)
    else:
        plain = _is_window(function, causal)
    return name_kind(causal, local_size) if plain else None


def _is_window(function: Callable[..., Any], causal: bool) -> bool:
    """Whether it is the conjunction of only a window and a kind of layer."""
    from transformers import masking_utils as masks

    made = (masks.sliding_window_causal_mask_function(1) if causal else
            masks.sliding_window_bidirectional_mask_function(1))
    return _spell(function) == _spell(made)


def is_for_packed(function: Any) -> bool:
    """Whether it keeps sequences apart that are packed into one row."""
    from transformers import masking_utils

    code = masking_utils.packed_sequence_mask_function(torch.empty(0)).__code__
    if isinstance(function, tuple):
        return any(map(is_for_packed, function))
    cells = getattr(function, "__closure__", None) or ()
    return (getattr(function, "__code__", None) is code
            or any(is_for_packed(cell.cell_contents) for cell in cells))


def _spell(function: Any) -> Any:
    """Its code, and the code of the functions that it was made from."""
    if isinstance(function, tuple):
        return tuple(map(_spell, function))
    if not callable(function):
        return type(function)
    cells = getattr(function, "__closure__", None) or ()
    return getattr(function, "__code__", function), *(_spell(cell.cell_contents) for cell in cells)


def _is_window_of_compiler(function: Callable[..., Any], local_size: int,
                           more: Mapping[str, Any]) -> bool:
    """Torch's compiler doesn't show the parts of a function. Packed sequences are looked for where
    there is no mask of padding, and the model's functions are mapped."""
    return (function.__qualname__ == "and_masks.<locals>.and_mask" and not more.get("use_vmap")
            and more.get("attention_mask") is not None
            and getattr(more.get("config"), "sliding_window", None) == local_size)


# -- Masks of programs ------------------------------------------------------------------------


class Probe:
    """Finds which keys a program sees."""

    def __init__(self, program: Program, inputs: Mapping[str, Any], heads_first: bool,
                 gives_heads_first: bool) -> None:
        self._program, self._inputs = program, inputs
        self._window = EVERYTHING
        self._heads_first, self._gives_heads_first = heads_first, gives_heads_first

    def find_fault(self, causal: bool, window: int | None, whole: int | None) -> str | None:
        """A text that says how the program's mask differs from the layer's, and how to fix it; None
        if it doesn't. Causal layers without a window may have any mask that hides later keys, as
        sparse programs do.

        Args:
            whole: the program's window, where a layer without a window has to see beyond it.
        """
        self._window = EVERYTHING if window is None else window
        try:
            if window is None:
                return self._check_sides(causal, whole)
            fault = self._check_window(causal, window)
            return None if fault is None else f"{fault}: {_suggest_window(causal)}"
        except (ArgumentError, CompileError) as error:
            if causal and window is None:
                return None
            return (f"the program can't be asked which keys it sees: "
                    f"{str(error).splitlines()[0]}")

    def _check_sides(self, causal: bool, whole: int | None) -> str | None:
        tokens = 4
        seen = self._see(tokens, tokens, range(tokens))
        ahead = any(seen[i][j] for i in range(tokens) for j in range(i + 1, tokens))
        if causal and ahead:
            return "the program sees later keys: add 'j <= i' to its where"
        if not causal and not ahead:
            return ("the program sees no later keys: leave 'j <= i' out of its where, or register "
                    "a program for each kind of layer, {'causal': …, 'bidirectional': …}")
        if whole is not None and whole < _MOST_PAIRS and not self._see(1, whole + 1, [0])[0][0]:
            return (f"the program sees {whole} tokens back, and layers without a window see all: "
                    f"compile it with window={EVERYTHING}, which stands for none; layers with a "
                    f"window have it set")
        return None

    def _check_window(self, causal: bool, window: int) -> str | None:
        # The first key is just outside of the window of the last query but one.
        before, after = self._see(2, window + 2, [0, 1, 2, window + 1])
        if before[0] or after[0] or after[1]:
            return "the program sees keys further back"
        if not before[1] or not after[2]:
            return "the program sees fewer keys back"
        if causal:
            return "the program sees later keys" if before[3] else None
        # The other side takes as many queries as keys.
        if (window + 1)**2 > _MOST_PAIRS:
            return None
        seen = self._see(window + 1, window + 1, [window - 1, window])[0]
        if seen[1]:
            return "the program sees keys further ahead"
        return None if seen[0] else "the program sees fewer keys ahead"

    def _see(self, queries: int, keys: int, marked: Sequence[int]) -> list[list[bool]]:
        """Tests whether each of the last tokens sees each of the marked keys."""
        specs = self._program.signature.inputs
        sizes: dict[str, int] = {}
        # Keys come first: a program of one name for both lengths has as many queries.
        for spec, tokens in zip((specs[2], specs[1], specs[0]), (keys, keys, queries)):
            shape = (1, 1, tokens, _CHANNELS) if self._heads_first else (1, tokens, 1, _CHANNELS)
            for dim, size in zip(spec.dims, shape):
                sizes.setdefault(dim.name, size)
        if sizes.get(specs[0].dims[2 if self._heads_first else 1].name, 1) * keys > _MOST_PAIRS:
            raise ArgumentError(f"{keys} tokens are too many to try")
        tensors = [self._make(spec, sizes) for spec in specs]
        values = tensors[2].transpose(1, 2) if self._heads_first else tensors[2]
        if values.shape[-1] < len(marked):
            raise ArgumentError(f"it has {values.shape[-1]} channels of values, of {len(marked)}")
        for channel, key in enumerate(marked):
            values[:, key, :, channel] = 1
        found, _timing = self._program._run(tensors, f64_results=True)
        out = found if isinstance(found, torch.Tensor) else found[0]
        out = out.transpose(1, 2) if self._gives_heads_first else out
        seen: list[list[bool]] = (out[0, -queries:, 0, :len(marked)] > 0).tolist()
        return seen

    def _make(self, spec: TensorSpec, sizes: Mapping[str, int]) -> torch.Tensor:
        """Queries and keys are 1, values 0; masks are true, and entries of tables 0."""
        shape = [sizes.get(dim.name, 1) if dim.kind == "named" else dim.size for dim in spec.dims]
        value: float = spec.name != self._program.signature.inputs[2].name
        if self._inputs.get(spec.name) == "sliding_window":
            value = self._window
        elif spec.name in self._inputs and spec.dtype != "bool":
            value = 0 if spec.dtype in ("i32", "i64") else _SMALL
        return torch.full(shape, value, dtype=getattr(torch, _dtypes.TORCH[spec.dtype]),
                          device="cpu")


def _suggest_window(causal: bool) -> str:
    least = "0 <=" if causal else "-window <"
    kind = name_kind(causal, None)
    return (f"declare a parameter, as in kernel f<window = {EVERYTHING}>(…) with where {least} i - "
            f"j < window, which is set for each layer, or register a program for each kind of "
            f"layer, {{'{kind}': …, '{kind}_window': …}}")


def for_oracle(program: Program) -> Program:
    source, file, _target, _device, _schedule, dtype, kernel, params = program._arguments
    return Program(source, file, target="oracle", device=None, schedule="", dtype=dtype,
                   kernel=kernel, params=params)


def set_window(program: Program, window: int) -> Program:
    """The program with another value of its parameter `window`."""
    source, file, target, device, schedule, dtype, kernel, params = program._arguments
    return Program(source, file, target=target, device=device, schedule=schedule, dtype=dtype,
                   kernel=kernel, params={**params, "window": str(window)})


def has_window(program: Program) -> bool:
    """Whether its parameter `window` can be set."""
    value = program.params.get("window")
    return program._package is None and isinstance(value, int) and not isinstance(value, bool)
