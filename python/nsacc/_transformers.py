"""Programs as attention of Hugging Face transformers."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

import torch

from . import _masks
from ._positions import Checker
from ._refusals import refuse
from .errors import ArgumentError
from .program import Program, _not_traced
from .signature import Dim, TensorSpec

Source = str | Callable[..., Any]
"""The source of an input: its name in transformers, or a function of the arguments that it
passes."""

# Arguments that models pass beside the tensors, and that results depend on.
_MEANINGFUL = ("softcap", "s_aux", "position_bias", "head_mask", "indexer_topk")
# Further arguments that they pass; models of others may pass more.
_PASSED = ("scaling", "padding", "sliding_window", "is_causal", "indices", "block_indices")
# Types of inputs for what has one.
_TYPES = {"padding": (("bool",), 2, "bool[B, S]"), "scaling": (("f32", "f16", "bf16"), 0, "f32"),
          "sliding_window": (("i32", "i64"), 0, "i32")}
# What a program can have in itself.
_OWN = ("mask", "scaling", *_MEANINGFUL)
# Versions before this one give other arguments to masks.
_OLDEST = (5, 17)
_INSTALL = f"pip install 'transformers>={_OLDEST[0]}.{_OLDEST[1]}'"
_registered: set[str] = set()
# Words that transformers looks for anywhere in a name.
_WORDS = {"flash": "a FlashAttention, whose kernel it loads from the hub",
          "flex_attention": "FlexAttention, and asks whether the model supports that",
          "sdpa": "SDPA, and asks whether the model supports that"}
_PLAIN_NAME = "nsacc_attention"


class Bound:
    """One program, and the sources of its inputs."""

    def __init__(self, program: Program, inputs: Mapping[str, Source],
                 heads_first: bool | None) -> None:
        self.program = program
        specs = program.signature.inputs
        if len(specs) < 3 or any(spec.rank != 4 for spec in specs[:3]):
            raise ArgumentError(f"kernel '{program.kernel}' is no attention of transformers: "
                                f"expected queries, keys and values of 4 dimensions as its first "
                                f"inputs, found {program.kernel}{program.signature}")
        self.extra = specs[3:]
        self._inputs = inputs
        self._check_inputs()
        self.heads_first = _find_order(program) if heads_first is None else heads_first
        _check_order(program)
        self.gives_heads_first = _find_result_order(program, self.heads_first)
        self.has_window = _masks.has_window(program)
        self.windows: dict[int, Bound] = {}
        self._faults: dict[tuple[bool, int | None, bool], str | None] = {}

    def _check_inputs(self) -> None:
        missing = [spec for spec in self.extra if spec.name not in self._inputs]
        if missing:
            first = missing[0]
            raise ArgumentError(
                f"nothing says where input '{first.name}' of kernel '{self.program.kernel}' comes "
                f"from: pass inputs={{'{first.name}': …}}, with 'scaling', 'padding' (bool[B, S]), "
                f"another argument of transformers' attention, or a function of them. The program "
                f"declares {first}")

    @_not_traced
    def set_window(self, window: int) -> None:
        """Compiles the program for layers with this window, into `windows`."""
        if window not in self.windows:
            self.windows[window] = Bound(_masks.set_window(self.program, window), self._inputs,
                                         self.heads_first)

    @_not_traced
    def find_fault(self, causal: bool, window: int | None, is_mixed: bool) -> str | None:
        """A text that says why the program isn't for such layers, and how to fix it."""
        key = causal, window, is_mixed
        if key not in self._faults:
            if self.program._package is not None:
                fault = None if causal and window is None else (
                    "the program is of a package, which can't be asked which keys it sees")
            else:
                probe = _masks.Probe(_masks.for_oracle(self.program), self._inputs,
                                     self.heads_first, self.gives_heads_first)
                whole = self.program.params["window"] if is_mixed and self.has_window else None
                fault = probe.find_fault(causal, window, whole)
            self._faults[key] = fault
        return self._faults[key]


class Attention:
    """The two functions that transformers asks for under one name."""

    def __init__(self, name: str, program: Program | Mapping[str, Program],
                 inputs: Mapping[str, Source], own: Collection[str],
                 heads_first: bool | None) -> None:
        self._name, self._own, self._inputs = name, frozenset(own), dict(inputs)
        programs = program if isinstance(program, Mapping) else {"": program}
        self._check_inputs(list(programs.values()))
        self._bounds = {kind: Bound(one, self._inputs, heads_first)
                        for kind, one in programs.items()}
        self._padding = next((one for one, source in inputs.items() if source == "padding"), None)
        self._misspelled = next((one for one, source in inputs.items()
                                 if _is_nearly_padding(source)), None)
        self._packed = (
            f"position_ids begin again within a row, so that it has several sequences, which the "
            f"program of attention '{name}' doesn't keep apart: give each a row of its own, with "
            f"padding, or register a program that keeps them apart, as with doc[b, i] == "
            f"doc[b, j], with own=['mask'] (docs/Transformers.md, packed sequences)")
        self._positions = Checker(self._packed)

    def _check_inputs(self, programs: list[Program]) -> None:
        names = {spec.name for program in programs for spec in program.signature.inputs[3:]}
        for name in self._inputs:
            if name not in names:
                raise ArgumentError(f"kernel '{programs[0].kernel}' has no input '{name}' behind "
                                    f"queries, keys and values: it is {programs[0].kernel}"
                                    f"{programs[0].signature}")
        for name, source in self._inputs.items():
            if not (isinstance(source, str) or callable(source)):
                raise ArgumentError(f"inputs has {source!r} for '{name}', expected 'scaling', "
                                    f"'padding', another argument of transformers' attention, or "
                                    f"a function of them")
            if source == "attention_mask":
                raise ArgumentError(f"inputs has 'attention_mask' for '{name}': what of it hides "
                                    f"padding, bool[B, S], is '{name}': 'padding'; the rest is the "
                                    f"program's mask")
        for program in programs:
            for spec in program.signature.inputs[3:]:
                _check_type(program, spec, self._inputs.get(spec.name))

    # -- Attention ----------------------------------------------------------------------------

    def attend(self, module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor,
               value: torch.Tensor, attention_mask: torch.Tensor | None = None,
               scaling: float | None = None, dropout: float = 0.0,
               **more: Any) -> tuple[torch.Tensor, None]:
        """Queries, keys and values are ``[B, H, T, D]``; the result is ``[B, T, H, D]``."""
        if dropout:
            refuse(f"attention '{self._name}' has no dropout, found "
                   f"{_round(dropout)}: call model.eval(), or set the configuration's "
                   f"attention_dropout to 0")
        self._check_arguments(more)
        if attention_mask is not None and not self._is_ours(attention_mask):
            refuse(f"attention '{self._name}' has the mask of its program, and takes "
                   f"none of shape {list(attention_mask.shape)}: pass an "
                   f"attention_mask of 2 dimensions, or none")
        default = query.shape[-1] ** -0.5
        scaling = default if scaling is None else scaling
        if not self._takes("scaling") and abs(scaling - default) > 1e-6 * default:
            refuse(f"the model scales scores by {_round(scaling)}, attention "
                   f"'{self._name}' by 1/sqrt({query.shape[-1]}): declare an input "
                   f"for it in the program, as in attend(q, k, v) scale z, and "
                   f"register it with inputs={{'z': 'scaling'}}")
        causal, window = self._read_layer(module, attention_mask, more)
        bound = self._choose(module, causal, window)
        if attention_mask is not None and attention_mask.dim() == 3:
            attention_mask = attention_mask[:, 0]
        if causal and "mask" not in self._own:
            self._positions.check(module, more.get("position_ids"), attention_mask,
                                  query.shape[2])
        given = {"scaling": scaling, "padding": attention_mask, **more}
        tensors = [query, key, value]
        if not bound.heads_first:
            tensors = [tensor.transpose(1, 2) for tensor in tensors]
        extra = [self._get(spec, module, (query, key, value), given) for spec in bound.extra]
        results = bound.program(*tensors, *extra)
        out = results if len(bound.program.signature.results) == 1 else results[0]
        return out.transpose(1, 2) if bound.gives_heads_first else out, None

    def _is_ours(self, mask: torch.Tensor) -> bool:
        """Whether `make_mask` gave it; else the model passes on the caller's."""
        return mask.dim() == 3 or (mask.dim() == 2 and self._padding is not None)

    def _choose(self, module: torch.nn.Module, causal: bool, window: int | None) -> Bound:
        """The program of a layer's kind."""
        kind = _masks.name_kind(causal, window)
        if "" not in self._bounds and kind not in self._bounds:
            refuse(
                f"the model asks attention '{self._name}' for {_masks.describe(causal, window)}: "
                f"register a program for '{kind}' layers, found those of "
                f"{', '.join(map(repr, self._bounds))}")
        bound = self._bounds["" if "" in self._bounds else kind]
        if "mask" in self._own:
            return bound
        if window is not None and bound.has_window:
            bound.set_window(window)
            bound = bound.windows[window]
        layers = getattr(getattr(module, "config", None), "layer_types", None) or ()
        is_mixed = window is None and "" in self._bounds and "sliding_attention" in layers
        fault = bound.find_fault(causal, window, is_mixed)
        if fault is not None:
            refuse(
                f"the model asks attention '{self._name}' for "
                f"{_masks.describe(causal, window)}, and {fault}. If the program's mask is what "
                f"is meant, register it with own=['mask']")
        return bound

    def _read_layer(self, module: torch.nn.Module, mask: torch.Tensor | None,
                    more: Mapping[str, Any]) -> tuple[bool, int | None]:
        """Whether the layer is causal, and its window. Without a mask, modules say so."""
        window = more.get("sliding_window")
        if mask is None or mask.dim() == 2:
            causal = more.get("is_causal")
            return getattr(module, "is_causal", True) if causal is None else causal, window
        kind = _masks.KINDS[mask.shape[1] - 1]
        if "window" not in kind:
            return kind == "causal", None
        if window is None and "mask" not in self._own:
            refuse(
                f"the model's mask has a window, which its layers don't pass to attention "
                f"'{self._name}' as 'sliding_window': if the program has it in itself, register "
                f"it with own=['mask']")
        return kind == "causal_window", window

    def _takes(self, argument: str) -> bool:
        """Whether the program takes the argument, or implements it itself."""
        return argument in self._own or argument in self._inputs.values()

    def _check_arguments(self, given: Mapping[str, Any]) -> None:
        if given.get("output_attentions"):
            refuse(f"attention '{self._name}' has no weights to give: call without "
                   f"output_attentions, or with attn_implementation='eager'")
        for name in _MEANINGFUL:
            if given.get(name) is not None and not self._takes(name):
                refuse(
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
        if source == "sliding_window":
            return _masks.EVERYTHING
        if source == "padding":
            batch, keys = tensors[1].shape[0], tensors[1].shape[2]
            return torch.ones((batch, keys), dtype=torch.bool, device=tensors[1].device)
        passed = sorted(key for key in given if given[key] is not None)
        refuse(f"the model passes no '{source}' to its attention, which input "
               f"'{spec.name}' of '{self._name}' is to be"
               f"{_suggest(source, ('padding', *passed, *_MEANINGFUL))}: it passes "
               f"{', '.join(passed)}")

    # -- Masks --------------------------------------------------------------------------------

    def make_mask(self, batch_size: int, q_length: int, kv_length: int, q_offset: Any = 0,
                  kv_offset: int = 0, mask_function: Any = None,
                  attention_mask: torch.Tensor | None = None, local_size: int | None = None,
                  **more: Any) -> torch.Tensor | None:
        """The mask that `attend` gets: the keys that are no padding, once for each of the kinds up
        to the model's, ``[B, 1 to 4, S]``; or None, if modules name the kind themselves."""
        kind = _masks.read_mask(mask_function, local_size,
                                {**more, "attention_mask": attention_mask})
        if kind != "bidirectional" and (isinstance(q_offset, torch.Tensor) or
                                        q_offset + q_length != kv_offset + kv_length):
            refuse(f"attention '{self._name}' takes the queries for the last of "
                   f"{kv_length} keys, and this cache has room behind them: use a "
                   f"DynamicCache instead of a static one")
        if kind is None and "mask" not in self._own:
            self._refuse_mask(mask_function)
        padding = self._find_padding(attention_mask, kv_length, kv_offset)
        # Modules of models that were made bidirectional say that they are causal.
        is_told = kind in (None, "causal") or (
            kind == "bidirectional" and getattr(more.get("config"), "is_causal", None) is not False)
        if padding is None and is_told:
            return None
        if padding is None:
            padding = torch.ones((batch_size, kv_length), dtype=torch.bool,
                                 device=more.get("device"))
        if kind is None:
            return padding
        return padding[:, None].expand(-1, _masks.KINDS.index(kind) + 1, -1)

    def _refuse_mask(self, function: Any) -> NoReturn:
        if torch.compiler.is_compiling():
            refuse(
                f"the model asks attention '{self._name}' for a mask that torch.compile can't "
                f"see into, which may keep packed sequences or chunks apart: for one sequence in "
                f"each row call with use_cache=True, which checks position_ids when it runs, or "
                f"pass an attention_mask, and register an input of the program for it with "
                f"inputs={{'m': 'padding'}}. If the program's mask is what is meant, register it "
                f"with own=['mask']")
        if _masks.is_for_packed(function):
            refuse(self._packed)
        refuse(
            f"the model asks attention '{self._name}' for another mask than a causal or a "
            f"bidirectional one with or without a window, as one of chunks or images. If the "
            f"program's mask is what is meant, register it with own=['mask']")

    def _find_padding(self, attention_mask: torch.Tensor | None, kv_length: int,
                      kv_offset: int) -> torch.Tensor | None:
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
            refuse(
                f"the model has {found}, and input '{self._misspelled}' of '{self._name}' is "
                f"registered as '{self._inputs[self._misspelled]}': did you mean 'padding'?")
        refuse(
            f"the model has {found}, and the program of '{self._name}' takes no padding: declare "
            f"an input m: bool[B, S], add 'and m[b, j]' to the program's where, and register it "
            f"with inputs={{'m': 'padding'}}")


def register(name: str, program: Program | Mapping[str, Program],
             inputs: Mapping[str, Source] | None,
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
    _warn_of_sources(inputs)
    transformers.AttentionInterface.register(name, attention.attend)
    transformers.AttentionMaskInterface.register(name, attention.make_mask)
    _registered.add(name)


def _check_name(name: Any, known: Mapping[str, Any]) -> None:
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"name is {name!r}, expected a word, as '{_PLAIN_NAME}'")
    found = next((mark for mark in "/:|@" if mark in name), None)
    if found is not None:
        raise ArgumentError(f"name is {name!r}, and transformers reads names with '{found}' as "
                            f"places of kernels: expected a word, as "
                            f"'{_mend_name(name, known)}'")
    word = next((word for word in _WORDS if word in name and name not in known), None)
    if word is not None:
        raise ArgumentError(f"name is {name!r}, and transformers takes each name with '{word}' "
                            f"for {_WORDS[word]}: choose a name without it, as "
                            f"'{_mend_name(name, known)}'")
    if name == "eager" or (name in known and name not in _registered):
        raise ArgumentError(f"transformers has an attention '{name}' of its own: choose another "
                            f"name")


def _mend_name(name: str, known: Collection[str]) -> str:
    """A similar name that transformers takes."""
    for word in _WORDS:
        name = name.replace(word, "")
    name = re.sub(r"[_-]*[/:|@][_-]*|__+", "_", name).strip("_-. ")
    is_taken = name == "eager" or (name in known and name not in _registered)
    return name if name and not is_taken else _PLAIN_NAME


def _check_type(program: Program, spec: TensorSpec, source: Source | None) -> None:
    known = _TYPES.get(source) if isinstance(source, str) else None
    if known is not None and (spec.dtype not in known[0] or spec.rank != known[1]):
        raise ArgumentError(f"input '{spec.name}' of kernel '{program.kernel}' is to be "
                            f"'{source}', expected {spec.name}: {known[2]}, found {spec}")


def _warn_of_sources(inputs: Mapping[str, Source]) -> None:
    """A model of the caller's own may pass anything, so that a misspelled name is no error yet."""
    from transformers.utils import TransformersKwargs

    known = (*_PASSED, *_MEANINGFUL, *TransformersKwargs.__annotations__)
    for name, source in inputs.items():
        if isinstance(source, str) and source not in known:
            warnings.warn(f"input '{name}' is to be '{source}', which no model of transformers is "
                          f"known to pass to its attention{_suggest(source, known)}: expected "
                          f"'scaling', 'padding', an argument that the model passes, as 'softcap' "
                          f"or 'position_ids', or a function of them",
                          stacklevel=4)


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
    """Whether it looks like a misspelling; a model may still pass it."""
    return not callable(source) and bool(_suggest(source, ("padding",)))


@_not_traced
def _suggest(name: Any, known: Collection[str]) -> str:
    others = [one for one in known if one != name]
    close = (difflib.get_close_matches(str(name), others, n=1, cutoff=0.72)
             or [one for one in others if len(str(name)) > 2 and one.startswith(str(name))])
    return f" (did you mean '{close[0]}'?)" if close else ""


def _round(number: float) -> float:
    """A number for messages. Torch's compiler can't format numbers that may change, unless it has
    to round them."""
    return round(number, 6)


# -- The order of dimensions ------------------------------------------------------------------


def _find_order(program: Program) -> bool:
    """Whether heads stand in front of tokens. This is tried with sizes that make the query heads a
    multiple of the key heads in one order only."""
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
    # Dimensions of one name are one dimension.
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
