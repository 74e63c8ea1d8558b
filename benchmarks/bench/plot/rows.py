"""Contents of records, work by work."""
from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OURS = "ours"


@dataclass
class Speed:
    """TFLOP/s: median, least and most."""

    median: float
    least: float
    most: float


@dataclass
class Row:
    """One work: speeds by name, ratios and goals by peer, milliseconds by kernel."""

    work: str
    speeds: dict[str, Speed] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    goals: dict[str, float] = field(default_factory=dict)
    kernels: dict[str, float] = field(default_factory=dict)
    floor_ms: float | None = None
    machine: str = ""


def collect(paths: Iterable[Path]) -> list[Row]:
    """Rows in the order in which works first appear."""
    rows: dict[str, Row] = {}
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if "tflops" in record:
                _add(rows.setdefault(record["work"], Row(record["work"])), record)
    return list(rows.values())


def _add(row: Row, record: dict[str, Any]) -> None:
    row.machine = str(record["machine"].get("gpu", ""))
    row.speeds[OURS] = _speed(record["tflops"], record["ms"], record["spread"])
    row.kernels = record.get("kernels") or {}
    row.floor_ms = record.get("floor_ms")
    peer = record["peer"]
    if peer is None:
        return
    row.ratios[peer] = record["ratio"]
    if record["goal"] is not None:
        row.goals[peer] = record["goal"]
    else:
        row.goals.pop(peer, None)
    # Another work of ours has a separate row.
    if not peer.startswith(f"{OURS} "):
        row.speeds[peer] = _speed(record["peer_tflops"], record["peer_ms"],
                                  record["peer_spread"])


def _speed(tflops: float, ms: float, spread: list[float]) -> Speed:
    least, most = spread
    return Speed(tflops, tflops * ms / most, tflops * ms / least)
