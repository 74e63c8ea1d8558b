"""The figures; the only module that needs matplotlib."""
from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

from .rows import OURS, Row  # noqa: E402

COLORS = {OURS: "#1b4f9c", "sdpa cudnn": "#76a832", "sdpa flash": "#e08a1e",
          "sdpa efficient": "#9a6fb0", "flex": "#c2413b",
          "lai": "#2a9d8f", "fla": "#b5838d", "fsa": "#6d597a", "fa4": "#d4a017",
          "dense sdpa cudnn": "#76a832", "dense fa4": "#d4a017"}
NEIGHBOUR = "another size of ours"
OTHER_COLOR = "#666666"
GOAL = {"marker": "|", "markersize": 14, "markeredgewidth": 2.5}
INCHES_OF_LINE = 0.2


def draw_ratios(rows: list[Row]) -> Figure:
    """A line for each work: a dot for each peer, and a mark in its color at the goal."""
    rows = [row for row in rows if row.ratios]
    figure, axes = _make_axes(len(rows))
    names: list[str] = []
    for y, row in enumerate(rows):
        for peer, ratio in row.ratios.items():
            name = NEIGHBOUR if peer.startswith(f"{OURS} ") else peer
            names += [] if name in names else [name]
            axes.plot(ratio, y, "o", color=_color(name), markersize=6)
            if peer in row.goals:
                axes.plot(row.goals[peer], y, color=_color(name), **GOAL)
    axes.axvline(1, color="#999999", linewidth=1)
    axes.set_xlim(left=0)
    axes.set_yticks(range(len(rows)), [row.work for row in rows])
    axes.set_xlabel("useful FLOP/s, ratio to the peer: right of 1, ours is faster")
    marks = [Line2D([], [], marker="o", linestyle="", color=_color(name), label=name)
             for name in names]
    marks.append(Line2D([], [], linestyle="", color=OTHER_COLOR, label="goal", **GOAL))
    return _finish(figure, axes, rows, marks)


def draw_speeds(rows: list[Row]) -> Figure:
    """Bars of ours and of each peer; whiskers show the spread."""
    figure, axes = _make_axes(sum(len(row.speeds) + 1 for row in rows))
    names = list(dict.fromkeys(name for row in rows for name in row.speeds))
    y, ticks = 0, []
    for row in rows:
        ticks.append(y + (len(row.speeds) - 1) / 2)
        for name, speed in row.speeds.items():
            whiskers = [[speed.median - speed.least], [speed.most - speed.median]]
            axes.barh(y, speed.median, height=0.85, color=_color(name), xerr=whiskers,
                      error_kw={"elinewidth": 1, "capsize": 2})
            axes.text(speed.most, y, f"  {speed.median:.3g}", va="center", fontsize=7)
            y += 1
        y += 1
    axes.set_yticks(ticks, [row.work for row in rows])
    axes.set_xlabel("useful TFLOP/s: median, least and most")
    axes.margins(x=0.08)
    marks = [Line2D([], [], marker="s", linestyle="", color=_color(name), label=name)
             for name in names]
    return _finish(figure, axes, rows, marks)


def draw_times(rows: list[Row]) -> Figure:
    """A line for each work with measured kernels: their shares of its time, the longest first, and
    its floor."""
    rows = [row for row in rows if row.kernels]
    figure, axes = _make_axes(len(rows))
    for y, row in enumerate(rows):
        total, start = sum(row.kernels.values()), 0.0
        for number, ms in enumerate(row.kernels.values()):
            axes.barh(y, ms / total, left=start, height=0.85, color=COLORS[OURS],
                      alpha=max(0.15, 1 - 0.25 * number), edgecolor="white")
            start += ms / total
        if row.floor_ms is not None:
            axes.plot(min(1.0, row.floor_ms / total), y, color=OTHER_COLOR, **GOAL)
        axes.text(1, y, f"  {total:.3g} ms", va="center", fontsize=7)
    axes.set_yticks(range(len(rows)), [row.work for row in rows])
    axes.set_xlabel("share of a launch's time, kernel by kernel")
    marks = [Line2D([], [], linestyle="", color=OTHER_COLOR, label="floor", **GOAL)]
    return _finish(figure, axes, rows, marks)


def save(figure: Figure, path: Path) -> None:
    # A fixed salt makes equal records give equal files.
    with matplotlib.rc_context({"svg.hashsalt": "nsacc", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _make_axes(lines: int) -> tuple[Figure, Axes]:
    height = 1.6 + INCHES_OF_LINE * lines
    return plt.subplots(figsize=(9, height), layout="constrained")


def _finish(figure: Figure, axes: Axes, rows: list[Row], marks: list[Line2D]) -> Figure:
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.tick_params(axis="y", labelsize=8, length=0)
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    machines = dict.fromkeys(row.machine for row in rows)
    axes.set_title(", ".join(filter(None, machines)), loc="left", fontsize=10)
    figure.legend(handles=marks, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _color(name: str) -> str:
    return COLORS.get(name, OTHER_COLOR)
