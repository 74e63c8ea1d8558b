"""Programs as attention of Hugging Face transformers."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

import torch

from .errors import ArgumentError
from .program import Program, _not_traced
from .signature import Dim, TensorSpec

Source = str | Callable[..., Any]
"""Where an input comes from: what transformers calls it, or a function of what it passes."""

# What models pass beside the tensors, and results depend on.
_MEANINGFUL = ("softcap", "s_aux", "position_bias", "head_mask", "indexer_topk")
# What a program can have in itself.
_OWN = ("mask", "scaling", *_MEANINGFUL)
# Those before give other arguments to masks.
_OLDEST = (5, 17)
_INSTALL = f"pip install 'transformers>={_OLDEST[0]}.{_OLDEST[1]}'"
_registered: set[str] = set()


class Attention:
    """The two functions that transformers asks for under one name."""

    def __init__(self, name: str, program: Program, inputs: Mapping[str, Source],
                 own: Collection[str], heads_first: bool | None) -> None:
        self._name, self._program, self._own = name, program, frozenset(own)
        specs = program.signature.inputs
        if len(specs) < 3 or any(spec.rank != 4 for spec in specs[:3]):
            raise ArgumentError(f"kernel '{program.kernel}' is no attention of transformers: "
                                f"expected queries, keys and values of 4 dimensions as its first "
                                f"inputs, found {program.kernel}{program.signature}")
        self._extra = specs[3:]
        self._inputs = dict(inputs)
        self._check_inputs()
        self._padding = next((one for one, source in inputs.items() if source == "padding"), None)
        self._misspelled = next((one for one, source in inputs.items()
                                 if _is_nearly_padding(source)), None)
        self._heads_first = _find_order(program) if heads_first is None else heads_first
        _check_order(program)
        self._gives_heads_first = _find_result_order(program, self._heads_first)

    def _check_inputs(self) -> None:
        names = [spec.name for spec in self._extra]
        for name in self._inputs:
            if name not in names:
                raise ArgumentError(f"kernel '{self._program.kernel}' has no input '{name}' behind "
                                    f"queries, keys and values: it is {self._program.kernel}"
                                    f"{self._program.signature}")
        for name, source in self._inputs.items():
            if not (isinstance(source, str) or callable(source)):
                raise ArgumentError(f"inputs has {source!r} for '{name}', expected 'scaling', "
                                    f"'padding', another argument of transformers' attention, or "
                                    f"a function of them")
            if source == "attention_mask":
                raise ArgumentError(f"inputs has 'attention_mask' for '{name}': what of it hides "
                                    f"padding, bool[B, S], is '{name}': 'padding'; the rest is the "
                                    f"program's mask")
        missing = [spec for spec in self._extra if spec.name not in self._inputs]
        if missing:
            first = missing[0]
            raise ArgumentError(
                f"nothing says where input '{first.name}' of kernel '{self._program.kernel}' comes "
                f"from: pass inputs={{'{first.name}': …}}, with 'scaling', 'padding' (bool[B, S]), "
                f"another argument of transformers' attention, or a function of them. The program "
                f"declares {first}")

    # -- Attention ----------------------------------------------------------------------------

    def attend(self, module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor,
               value: torch.Tensor, attention_mask: torch.Tensor | None = None,
               scaling: float | None = None, dropout: float = 0.0,
               **more: Any) -> tuple[torch.Tensor, None]:
        """Queries, keys and values are ``[B, H, T, D]``; the result is ``[B, T, H, D]``."""
        if dropout:
            raise ArgumentError(f"attention '{self._name}' has no dropout, found "
                                f"{_round(dropout)}: call model.eval(), or set the configuration's "
                                f"attention_dropout to 0")
        self._check_arguments(more)
        if attention_mask is not None and (self._padding is None or attention_mask.dim() != 2):
            raise ArgumentError(f"attention '{self._name}' has the mask of its program, and takes "
                                f"none of shape {list(attention_mask.shape)}: pass an "
                                f"attention_mask of 2 dimensions, or none")
        default = query.shape[-1] ** -0.5
        scaling = default if scaling is None else scaling
        if not self._takes("scaling") and abs(scaling - default) > 1e-6 * default:
            raise ArgumentError(f"the model scales scores by {_round(scaling)}, attention "
                                f"'{self._name}' by 1/sqrt({query.shape[-1]}): declare an input "
                                f"for it in the program, as in attend(q, k, v) scale z, and "
                                f"register it with inputs={{'z': 'scaling'}}")
        given = {"scaling": scaling, "padding": attention_mask, **more}
        tensors = [query, key, value]
        if not self._heads_first:
            tensors = [tensor.transpose(1, 2) for tensor in tensors]
        extra = [self._get(spec, module, (query, key, value), given) for spec in self._extra]
        results = self._program(*tensors, *extra)
        out = results if len(self._program.signature.results) == 1 else results[0]
        return out.transpose(1, 2) if self._gives_heads_first else out, None

    def _takes(self, argument: str) -> bool:
        """Whether the program sees the argument, or has it in itself."""
        return argument in self._own or argument in self._inputs.values()

    def _check_arguments(self, given: Mapping[str, Any]) -> None:
        if given.get("output_attentions"):
            raise ArgumentError(f"attention '{self._name}' has no weights to give: call without "
                                f"output_attentions, or with attn_implementation='eager'")
        for name in _MEANINGFUL:
            if given.get(name) is not None and not self._takes(name):
                raise ArgumentError(
                    f"the model passes '{name}' to its attention, which the program of "
                    f"'{self._name}' doesn't take: declare an input for it and register it with "
                    f"inputs={{…: '{name}'}}; or, if the program has it in itself, with "
                    f"own=['{name}']")

    def _get(self, spec: TensorSpec, module: torch.nn.Module, tensors: tuple[torch.Tensor, ...],
             given: Mapping[str, Any]) -> Any:
        source = self._inputs[spec.name]
        if callable(source):
            return source(module, *tensors, **given)
        if given.get(source) is not None:
            return given[source]
        if source == "padding":
            batch, keys = tensors[1].shape[0], tensors[1].shape[2]
            return torch.ones((batch, keys), dtype=torch.bool, device=tensors[1].device)
        passed = sorted(key for key in given if given[key] is not None)
        raise ArgumentError(f"the model passes no '{source}' to its attention, which input "
                            f"'{spec.name}' of '{self._name}' is to be"
                            f"{_suggest(source, ('padding', *passed, *_MEANINGFUL))}: it passes "
                            f"{', '.join(passed)}")

    # -- Masks --------------------------------------------------------------------------------

    def make_mask(self, batch_size: int, q_length: int, kv_length: int, q_offset: Any = 0,
                  kv_offset: int = 0, mask_function: Any = None,
                  attention_mask: torch.Tensor | None = None,
                  **_more: Any) -> torch.Tensor | None:
        """What `attend` gets as a mask: which keys are no padding, ``[B, S]``, or None."""
        from transformers.masking_utils import causal_mask_function

        if isinstance(q_offset, torch.Tensor) or q_offset + q_length != kv_offset + kv_length:
            raise ArgumentError(f"attention '{self._name}' takes the queries for the last of "
                                f"{kv_length} keys, and this cache has room behind them: use a "
                                f"DynamicCache instead of a static one")
        if mask_function not in (None, causal_mask_function) and "mask" not in self._own:
            raise ArgumentError(
                f"the model asks attention '{self._name}' for another mask than the causal one, as "
                f"a window, packed sequences or none; torch.compile can't see that positions are "
                f"those of one sequence. If the program's mask is what is meant, register it with "
                f"own=['mask']")
        if attention_mask is None:
            return None
        padding = attention_mask[:, kv_offset:kv_offset + kv_length]
        if padding.shape[1] < kv_length:
            padding = torch.nn.functional.pad(padding, (0, kv_length - padding.shape[1]))
        if self._padding is not None:
            return padding.to(torch.bool).contiguous()
        if torch.compiler.is_compiling():
            self._refuse_padding("an attention_mask, of which torch.compile can't see whether it "
                                 "hides padding")
        if not bool(padding.all()):
            self._refuse_padding("padding, which its attention_mask hides")
        return None

    def _refuse_padding(self, found: str) -> NoReturn:
        if self._misspelled is not None:
            raise ArgumentError(
                f"the model has {found}, and input '{self._misspelled}' of '{self._name}' is "
                f"registered as '{self._inputs[self._misspelled]}': did you mean 'padding'?")
        raise ArgumentError(
            f"the model has {found}, and the program of '{self._name}' takes no padding: declare "
            f"an input m: bool[B, S], add 'and m[b, j]' to the program's where, and register it "
            f"with inputs={{'m': 'padding'}}")


def register(name: str, program: Program, inputs: Mapping[str, Source] | None,
             own: Collection[str], heads_first: bool | None) -> None:
    try:
        import transformers
    except ImportError as cause:
        raise ArgumentError(f"nsacc.torch.register_attention needs transformers: {_INSTALL}"
                            ) from cause
    found = transformers.__version__
    if tuple(map(int, found.split(".")[:2])) < _OLDEST:
        raise ArgumentError(f"transformers is {found}, expected {_OLDEST[0]}.{_OLDEST[1]} or "
                            f"later: {_INSTALL}")
    _check_name(name, transformers.AttentionInterface())
    inputs = {} if inputs is None else inputs
    if not isinstance(inputs, Mapping):
        raise ArgumentError(f"inputs is {inputs!r}, expected a mapping of the program's inputs to "
                            f"where they come from, as {{'m': 'padding'}}")
    _check_own(own)
    if not (heads_first is None or isinstance(heads_first, bool)):
        raise ArgumentError(f"heads_first is {heads_first!r}, expected True, False or None")
    attention = Attention(name, program, inputs, own, heads_first)
    transformers.AttentionInterface.register(name, attention.attend)
    transformers.AttentionMaskInterface.register(name, attention.make_mask)
    _registered.add(name)


def _check_name(name: Any, known: Mapping[str, Any]) -> None:
    if not isinstance(name, str) or not name or any(mark in name for mark in "/:|@"):
        raise ArgumentError(f"name is {name!r}, expected a word without '/', ':', '|' and '@', "
                            f"which transformers reads as places of kernels")
    if name == "eager" or (name in known and name not in _registered):
        raise ArgumentError(f"transformers has an attention '{name}' of its own: choose another "
                            f"name")


def _check_own(own: Any) -> None:
    if isinstance(own, str):
        raise ArgumentError(f"own is the string {own!r}, expected a list, as ['{own}']")
    if not isinstance(own, Collection):
        raise ArgumentError(f"own is {own!r}, expected a list, as ['mask']")
    for name in own:
        if name not in _OWN:
            raise ArgumentError(f"own names {name!r}, which no program has in itself"
                                f"{_suggest(name, _OWN)}: expected {', '.join(map(repr, _OWN))}")


# -- Messages ---------------------------------------------------------------------------------


def _is_nearly_padding(source: Source) -> bool:
    """Whether it looks like a misspelling; it may still be what a model passes."""
    return not callable(source) and bool(_suggest(source, ("padding",)))


@_not_traced
def _suggest(name: Any, known: Collection[str]) -> str:
    others = [one for one in known if one != name]
    close = difflib.get_close_matches(str(name), others, n=1, cutoff=0.72)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _round(number: float) -> float:
    """For messages. Torch's compiler can't spell numbers that may change, unless it has to round
    them."""
    return round(number, 6)


# -- The order of dimensions ------------------------------------------------------------------


def _find_order(program: Program) -> bool:
    """Whether heads stand in front of tokens. Tried with sizes of which one order alone makes
    the query heads a multiple of the key heads."""
    fits = [heads_first for heads_first in (False, True) if _fits(program, heads_first)]
    if len(fits) == 1:
        return fits[0]
    raise ArgumentError(f"kernel '{program.kernel}' doesn't show whether its tensors are "
                        f"[B, T, H, D] or [B, H, T, D]: pass heads_first=False or True. It is "
                        f"{program.kernel}{program.signature}")


def _fits(program: Program, heads_first: bool) -> bool:
    """Sizes for the order: 5 queries of 4 heads, 7 keys of 2."""
    query, key, value = program.signature.inputs[:3]
    sizes: dict[str, int] = {}
    for spec, tokens, heads in ((query, 5, 4), (key, 7, 2), (value, 7, 2)):
        shape = (1, heads, tokens, 8) if heads_first else (1, tokens, heads, 8)
        for dim, size in zip(spec.dims, shape):
            sizes.setdefault(dim.name, size)
    shapes = [tuple(sizes.get(dim.name, 1) if dim.kind == "named" else dim.size
                    for dim in spec.dims) for spec in (query, key, value)]
    tokens, heads = (2, 1) if heads_first else (1, 2)
    # Dimensions of one name are the same thing.
    if query.dims[heads].name == key.dims[tokens].name:
        return False
    if query.dims[tokens].name == key.dims[tokens].name:
        return query.dims[heads].name != key.dims[heads].name
    if shapes[0][heads] % shapes[1][heads]:
        return False
    others = [tuple(sizes.get(dim.name, 1) for dim in spec.dims)
              for spec in program.signature.inputs[3:]]
    try:
        program.result_shapes(*shapes, *others)
    except ArgumentError:
        return False
    return True


def _identify(dim: Dim) -> str | int:
    return dim.name or dim.size


def _check_order(program: Program) -> None:
    _query, key, value = program.signature.inputs[:3]
    if list(map(_identify, key.dims[:3])) != list(map(_identify, value.dims[:3])):
        raise ArgumentError(f"'{key.name}' and '{value.name}' of kernel '{program.kernel}' have "
                            f"tokens and heads in different orders, expected one order for all "
                            f"inputs. It is {program.kernel}{program.signature}")


def _find_result_order(program: Program, heads_first: bool) -> bool:
    """Whether heads stand in front of tokens in the first result."""
    query, _key, value = program.signature.inputs[:3]
    batch, first, second, _channels = map(_identify, query.dims)
    result = program.signature.results[0]
    found = tuple(map(_identify, result.dims))
    last = _identify(value.dims[3])
    if found == (batch, first, second, last):
        return heads_first
    if found == (batch, second, first, last):
        return not heads_first
    raise ArgumentError(f"the first result of kernel '{program.kernel}' is {result}, expected the "
                        f"attention's, one row of the channels of '{value.name}' for each of the "
                        f"query tokens and heads of '{query.name}'. It is "
                        f"{program.kernel}{program.signature}")
