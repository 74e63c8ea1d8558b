"""Trains the small model on the repository's text and writes the selections that it makes."""
from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F

from .. import record
from .captured import save_selection
from .model import Model, Size

SUFFIXES = {".md", ".py", ".cpp", ".h", ".td", ".nsa", ".mlir", ".test"}
FOLDERS = ("README.md", "docs", "lib", "dialects", "include", "tools", "python", "examples",
           "benchmarks", "scripts", "test", "tests", "programs", "nsacc")
# Share of the text that training doesn't see.
HELD_OUT = 8


def read_text(root: Path, seed: int) -> bytes:
    """Documents and sources behind each other, in random order."""
    paths = [path for name in FOLDERS for path in sorted([root / name, *(root / name).rglob("*")])
             if path.suffix in SUFFIXES and path.is_file()]
    random.Random(seed).shuffle(paths)
    return b"\n".join(path.read_bytes() for path in paths)


def train(model: Model, text: torch.Tensor, tokens: int, batch: int, steps: int,
          most_seconds: float, order: random.Random,
          say: Callable[[str], None] = print) -> list[float]:
    """The losses, in bits per byte."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps + 1,
                                                   pct_start=0.1)
    end, losses = time.monotonic() + most_seconds, []
    for step in range(steps):
        if time.monotonic() >= end:
            say(f"out of time after {step} steps")
            break
        starts = [order.randrange(len(text) - tokens) for _ in range(batch)]
        rows = torch.stack([text[start:start + tokens + 1] for start in starts]).long()
        loss = find_loss(model, rows)[0]
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item() / math.log(2))
        if step % 20 == 0 or step == steps - 1:
            say(f"step {step}: {losses[-1]:.3f} bits per byte")
    return losses


def find_loss(model: Model, rows: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The loss of bytes i64 [B, T + 1] in nats per byte, and each layer's selections."""
    with torch.autocast(rows.device.type, torch.bfloat16, enabled=rows.is_cuda):
        logits, selections = model(rows[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1), rows[:, 1:].flatten()), selections


def parse(arguments: list[str] | None) -> argparse.Namespace:
    size = Size()
    parser = argparse.ArgumentParser(
        prog="benchmarks/capture",
        description="Trains a small model on the repository's text, and writes the blocks that "
                    "it selects in text that it hasn't seen, for benchmarks/run --captured.")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--tokens", type=int, default=32768, help="of a row (32768)")
    parser.add_argument("--batch", type=int, default=1, help="rows of a step, and of the file (1)")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--most-seconds", type=float, default=400.0,
                        help="stop training after so long (400)")
    parser.add_argument("--layer", type=int, default=-1, help="whose selections (the last)")
    parser.add_argument("--seed", type=int, default=1)
    for name in ("width", "layers", "heads", "group", "head_size", "block", "top"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=getattr(size, name),
                            help=f"of the model ({getattr(size, name)})")
    options = parser.parse_args(arguments)
    if options.tokens % options.block:
        parser.error(f"--tokens {options.tokens} isn't a multiple of --block {options.block}")
    return options


def main(root: Path, arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(options.seed)
    text = torch.frombuffer(bytearray(read_text(root, options.seed)), dtype=torch.uint8).to(device)
    held_out = max(len(text) // HELD_OUT, options.batch * options.tokens + 1)
    if len(text) < held_out + options.tokens + 1:
        print(f"benchmarks/capture: {root} has {len(text)} bytes of text, too few for rows of "
              f"{options.tokens}: lower --tokens")
        return 1
    size = Size(*(getattr(options, name) for name in (
        "width", "layers", "heads", "group", "head_size", "block", "top")))
    model = Model(size).to(device)
    print(f"{len(text)} bytes of text, {sum(p.numel() for p in model.parameters())} parameters, "
          f"{device}", flush=True)
    losses = train(model, text[:-held_out], options.tokens, options.batch, options.steps,
                   options.most_seconds, random.Random(options.seed))
    rows = torch.stack([text[-held_out + row * options.tokens:][:options.tokens + 1]
                        for row in range(options.batch)]).long()
    with torch.no_grad():
        loss, selections = find_loss(model, rows)
    bits = loss.item() / math.log(2)
    save_selection(options.output, selections[options.layer], options.block, steps=len(losses),
                   bits_per_byte=bits, seed=options.seed, commit=record.describe_commit(root))
    print(f"{bits:.3f} bits per byte of text that it hasn't seen; selections "
          f"{list(selections[options.layer].shape)}: {options.output}")
    return 0
