"""Errors of calls, also of those that torch's compiler traces."""

from __future__ import annotations

import functools
import sys
from typing import Any, NoReturn

from .errors import ArgumentError


def refuse(message: str) -> NoReturn:
    """Raises `ArgumentError` with a message that torch's compiler knows while it traces."""
    raise make_error(message)


# Torch's compiler calls it, instead of tracing it.
refuse._dynamo_marked_constant = True  # type: ignore[attr-defined]


def make_error(*arguments: Any) -> ArgumentError:
    """An error from the arguments of an `ArgumentError`. While torch's compiler is at work, it has
    a type that the compiler passes on unchanged: it wraps others."""
    torch = sys.modules.get("torch")
    if torch is None or torch._guards.TracingContext.try_get() is None:
        return ArgumentError(*arguments)
    return _make_class()(*arguments)


@functools.cache
def _make_class() -> type[ArgumentError]:
    from torch._dynamo.exc import Unsupported

    class Refusal(ArgumentError, Unsupported):
        def __init__(self, *arguments: Any) -> None:
            Unsupported.__init__(self, *arguments[:1], gb_type="ArgumentError of nsacc")
            self.args = arguments

    Refusal.__name__ = Refusal.__qualname__ = ArgumentError.__name__
    Refusal.__module__ = ArgumentError.__module__
    return Refusal
