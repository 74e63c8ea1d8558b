"""Reports of how programs are compiled, and why."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _nsacc, _tune

if TYPE_CHECKING:
    from .program import Program
    from .signature import TensorSpec

# Larger maps would keep a notebook waiting.
_MOST_TOKENS = 1 << 20


@dataclass(frozen=True)
class Explanation:
    """A report of `Program.explain`; a notebook shows the page."""

    text: str = field(repr=False)
    """The report that ``nsacc explain`` prints."""
    html: str = field(repr=False)
    """A page that needs no other file: the report, pictures, and the IR of every phase beside the
    source."""
    data: Mapping[str, Any] = field(repr=False)
    """The report as numbers, which ``nsacc explain --json`` prints."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        data = self.data
        return (f"<nsacc.Explanation of {data['kernel']} for {data['target']}, {data['sizes']}: "
                f"{data['predicted_ms']:.4g} ms predicted>")

    def _repr_html_(self) -> str:
        # A frame keeps the styles of the page and the notebook apart.
        return (f'<iframe srcdoc="{html.escape(self.html)}" title="nsacc explain" '
                f'style="width: 100%; height: 800px; border: 1px solid #8a94a3"></iframe>')


def explain(program: Program, sizes: Any) -> Explanation:
    request = {"sizes": _tune.check_sizes(sizes), "threads": _nsacc.threads_from_environment()}
    found = json.loads(_nsacc.explain(program._program, json.dumps(request)))
    return Explanation(found["text"], found["page"], found["data"])


def draw_tiles(program: Program, sizes: Mapping[str, Any] | None) -> str:
    """A picture of the tiles of each attention; empty if there is none. It never raises: a notebook
    asks for every program."""
    if not sizes:
        return ""
    try:
        checked = _tune.check_sizes(sizes)
        if any(isinstance(size, int) and size > _MOST_TOKENS for size in checked.values()):
            return ""
        request = json.dumps({"sizes": checked, "what": "tiles"})
        return json.loads(_nsacc.explain(program._program, request))["tiles"]
    except Exception:
        return ""


def find_sizes(specs: Sequence[TensorSpec], shapes: Sequence[Sequence[int]]) -> dict[str, int]:
    """Sizes of dimensions from a call's shapes; without the rows of ragged ones."""
    return {dim.name: int(size) for spec, shape in zip(specs, shapes)
            for dim, size in zip(spec.dims, shape) if dim.kind == "named"}
