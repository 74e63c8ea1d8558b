"""A bounded run of a libFuzzer target over mutations of the tests' inputs."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import junit

SECONDS_PER_INPUT = 20
MEMORY_MB = 4096


@dataclass(frozen=True)
class Target:
    """A fuzzer. Its seeds are relative to the repository; without seeds it makes its inputs."""

    max_length: int
    seeds: tuple[str, ...] = ()
    dictionary: str = ""


TARGETS = {
    "frontend-fuzzer": Target(4096, ("examples/*.nsa", "test/Frontend/**/*.nsa",
                                     "test/fuzz/corpus/*"), "test/fuzz/nsa.dict"),
    "package-fuzzer": Target(16384),
}


def main() -> int:
    arguments = parse_arguments()
    fuzzer = arguments.root / "build/asan/bin" / arguments.target
    if not fuzzer.exists():
        failures = [f"{fuzzer} was not built"]
    else:
        start = time.monotonic()
        failures = run(fuzzer, arguments)
        print(f"{arguments.runs} runs in {arguments.jobs} processes took "
              f"{time.monotonic() - start:.0f} s")
    for failure in failures:
        print(failure)
    junit.write(arguments.junit, {arguments.target: "\n".join(failures)})
    return 1 if failures else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the repository")
    parser.add_argument("--target", choices=TARGETS, default="frontend-fuzzer",
                        help="the fuzzer to run")
    parser.add_argument("--runs", type=int, default=100_000, help="inputs to run, in all")
    parser.add_argument("--seconds", type=int, default=900, help="the most it may take")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--seed", type=int, default=1, help="first random seed")
    parser.add_argument("--junit", type=Path, required=True, help="result file to write")
    return parser.parse_args()


def run(fuzzer: Path, arguments: argparse.Namespace) -> list[str]:
    artifacts = arguments.root / "build/asan/fuzz-artifacts"
    artifacts.mkdir(parents=True, exist_ok=True)
    runs = -(-arguments.runs // arguments.jobs)
    with tempfile.TemporaryDirectory() as scratch:
        processes = []
        for job in range(arguments.jobs):
            corpus = Path(scratch) / f"corpus{job}"
            copy_seeds(arguments.root, TARGETS[arguments.target].seeds, corpus)
            log = Path(scratch) / f"log{job}"
            command = fuzzer_command(fuzzer, arguments, runs, arguments.seed + job, artifacts)
            with log.open("wb") as output:
                processes.append((log, subprocess.Popen(
                    [*command, str(corpus)], stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.STDOUT)))
        failures = [judge(process.wait(), log, runs, arguments.target)
                    for log, process in processes]
        return [failure for failure in failures if failure]


def copy_seeds(root: Path, patterns: tuple[str, ...], corpus: Path) -> None:
    corpus.mkdir()
    seeds = [path for pattern in patterns for path in sorted(root.glob(pattern)) if path.is_file()]
    for number, path in enumerate(seeds):
        shutil.copyfile(path, corpus / f"{number:04}-{path.name}")


def fuzzer_command(fuzzer: Path, arguments: argparse.Namespace, runs: int, seed: int,
                   artifacts: Path) -> list[str]:
    target = TARGETS[arguments.target]
    command = [str(fuzzer), f"-runs={runs}", f"-seed={seed}", f"-max_len={target.max_length}",
               f"-timeout={SECONDS_PER_INPUT}", f"-rss_limit_mb={MEMORY_MB}",
               f"-max_total_time={arguments.seconds}", "-print_final_stats=1",
               f"-artifact_prefix={artifacts}/"]
    if target.dictionary:
        command.append(f"-dict={arguments.root / target.dictionary}")
    return command


def judge(status: int, log: Path, runs: int, target: str) -> str:
    """The failure of one process, or an empty string."""
    text = log.read_text(errors="replace")
    if status != 0:
        return f"the fuzzer found a fault (exit code {status}):\n{report(text, target)}"
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    if not executed or int(executed.group(1)) < runs:
        return (f"only {executed.group(1) if executed else 'an unknown number'} of {runs} "
                "inputs ran in the time allowed")
    return ""


def report(log: str, target: str) -> str:
    """The sanitizer's words on the fault, and the command that repeats it."""
    start = re.search(r"^.*(?:ERROR: |runtime error: )", log, re.MULTILINE)
    lines = (log[start.start():] if start else log[-4000:]).splitlines()[:40]
    artifact = re.search(r"Test unit written to (\S+)", log)
    if artifact:
        lines.append(f"Repeat with: build/asan/bin/{target} {artifact.group(1)}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
