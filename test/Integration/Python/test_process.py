"""Ends of programs and processes: exits while threads run, signals, forks, memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import nsacc
from nsacc.errors import ArgumentError

PROLOGUE = """
import os, signal, sys, threading, time
import numpy as np
import nsacc
SOURCE = '''kernel causal(q, k, v: [B, T, H, D]) -> [B, T, H, D] {
  return attend(q, k, v) where j <= i;
}'''
def make(target="cpu"):
    return nsacc.compile(SOURCE, dtype="f32", target=target)
def tensors(tokens):
    return [np.ones((1, tokens, 4, 64), np.float32)] * 3
def start(body):
    begun = threading.Event()
    def run():
        begun.set()
        body()
    threading.Thread(target=run, daemon=True).start()
    begun.wait()
    time.sleep(0.2)
"""


def start(body: str, **options) -> subprocess.Popen:
    path = os.pathsep.join([str(Path(nsacc.__file__).parent.parent),
                            os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen([sys.executable, "-c", PROLOGUE + textwrap.dedent(body)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "PYTHONPATH": path}, **options)


def finish(process: subprocess.Popen, status: int = 0, seconds: float = 120) -> str:
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail(f"the process doesn't end: {process.communicate()}")
    assert process.returncode == status, (process.returncode, out, err)
    assert err == ""
    return out


WORK = {
    "runs": "p = make(); p(*tensors(8)); x = tensors(30000)\nstart(lambda: p(*x))",
    "short_runs": """
        p, x = make(), tensors(16)
        def loop():
            while True:
                p(*x)
        start(loop)""",
    "oracle": "p, x = make('oracle'), tensors(3000)\nstart(lambda: p(*x))",
    "compiles": """
        def loop():
            while True:
                make()(*tensors(8))
        start(loop)""",
    "several": """
        p, x = make(), tensors(20000)
        for _ in range(4):
            start(lambda: p(*x))""",
}


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("end, status", [("", 0), ("sys.exit(3)", 3), ("os._exit(4)", 4)])
def test_exit_while_a_daemon_thread_is_at_work(work, end, status):
    body = textwrap.dedent(WORK[work]) + f"\nprint('end'); sys.stdout.flush()\n{end}"
    assert finish(start(body), status) == "end\n"


def test_output_is_kept_where_a_call_outlives_the_interpreter():
    body = textwrap.dedent(WORK["oracle"]) + "\nprint('end')\nsys.exit(7)"
    assert finish(start(body), 7) == "end\n"


def test_handlers_of_the_exit_may_run_programs():
    finish(start("""
        import atexit
        p = make()
        p(*tensors(8))
        atexit.register(lambda: p(*tensors(8)))
        start(lambda: p(*tensors(20000)))
    """))
    body = "import atexit\natexit.register(lambda: p(*tensors(8)))\n" + PROLOGUE
    finish(start(body + "p = make()\np(*tensors(8))\n"))


def test_an_interrupt_ends_a_run():
    # A shell that runs the tests in the background may have made them ignore interrupts,
    # and children inherit that.
    process = start("""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        p = make()
        p(*tensors(8))
        begin = time.monotonic()
        p(*tensors(4000))
        # One run takes a minute at any speed of the machine.
        minutes = (time.monotonic() - begin) / 60
        x = tensors(min(200000, max(20000, int(4000 * minutes**-0.5))))
        print('begin', flush=True)
        try:
            while True:
                p(*x)
        except KeyboardInterrupt:
            print('interrupted', p(*tensors(8)).shape)
    """)
    assert process.stdout.readline() == "begin\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    assert finish(process) == "interrupted (1, 8, 4, 64)\n"
    # A second on an idle machine; tests may share theirs.
    assert time.monotonic() - sent < 20


@pytest.mark.parametrize("before", ["pass", "p(*tensors(300))",
                                    "start(lambda: p(*tensors(30000)))"])
def test_forks(before):
    body = f"""
        p = make()
        p(*tensors(8))
        {before}
        child = os.fork()
        result = p(*tensors(300))
        assert np.allclose(result, 1), result
        if child == 0:
            make()(*tensors(9))
            print('child', flush=True)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print('parent')
    """
    assert finish(start(body)) == "child\nparent\n"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PROLOGUE + textwrap.dedent(f"""
        import multiprocessing
        def work(tokens):
            return round(float(make()(*tensors(tokens)).sum()))
        if __name__ == "__main__":
            work(7)
            with multiprocessing.get_context({method!r}).Pool(2) as pool:
                print(pool.map(work, [1, 2, 33]))
    """))
    environment = {**os.environ, "PYTHONPATH": str(Path(nsacc.__file__).parent.parent)}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True,
                          text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "[256, 512, 8448]\n"), done.stderr


def test_memory_is_given_back():
    """200 programs take no more memory than some of them."""
    out = finish(start("""
        def resident():
            with open('/proc/self/statm') as file:
                return int(file.read().split()[1]) * os.sysconf('SC_PAGESIZE')
        def use(first, last):
            for number in range(first, last):
                p = nsacc.compile('kernel f<n = 1>(x: [A, B]) -> [A, B] { return x * n + 1; }',
                                  dtype='f32', n=number)
                assert (p(np.ones((3, 5), np.float32)) == number + 1).all()
        use(0, 40)
        before = resident()
        use(40, 240)
        print(resident() - before)
    """), seconds=600)
    # A kept program takes more than 300 KB.
    assert int(out) < 32 << 20


def test_threads_compile_together():
    out = finish(start("""
        from concurrent.futures import ThreadPoolExecutor
        def use(number):
            source = SOURCE.replace('j <= i', f'j <= i + {number}')
            p = nsacc.compile(source, dtype='f32')
            x = [np.ones((1, 5, 1 + number % 3, 8), np.float32)] * 3
            return np.allclose(p(*x), 1) and p.ir('tile', H=2, D=8) != ''
        with ThreadPoolExecutor(8) as pool:
            print(all(pool.map(use, range(24))))
    """), seconds=600)
    assert out == "True\n"


SEVERAL = """kernel several(q, k, v: [B, T, H, D]) -> ([B, T, H, D], [B, T, H, D]) {
  full = attend(q, k, v) where j <= i;
  band = attend(q, k, v) where j <= i and j > i - 16;
  return full, band;
}"""


def test_results_dont_depend_on_the_compilers_threads(monkeypatch):
    x = np.random.default_rng(0).standard_normal((1, 40, 2, 16)).astype(np.float32)
    results = []
    for threads in ("1", "2", "9"):
        monkeypatch.setenv("NSACC_THREADS", threads)
        results.append([each.tobytes() for each in nsacc.compile(SEVERAL, dtype="f32")(x, x, x)])
    assert results[0] == results[1] == results[2]


def test_a_wrong_number_of_threads_is_told(monkeypatch):
    monkeypatch.setenv("NSACC_THREADS", "many")
    with pytest.raises(ArgumentError, match="NSACC_THREADS is 'many', expected a number"):
        nsacc.compile(SEVERAL, dtype="f32")


HOST = """
    import ctypes, faulthandler, tempfile
    from pathlib import Path
    os.environ["NSACC_CACHE_DIR"] = tempfile.mkdtemp()
    os.environ["NSACC_CACHE"] = "readwrite"
    arrived = []
    for number in set(range(1, 65)) - {9, 19, 32, 33}:
        signal.signal(number, lambda number, frame: arrived.append(number))
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, chain=True)
    libc = ctypes.CDLL(None, use_errno=True)
    def look():
        actions = []
        for number in range(1, 65):
            action = ctypes.create_string_buffer(256)
            libc.sigaction(number, None, action)
            # The handler, 8 bytes of 128 of its mask, and flags.
            actions.append(action.raw[:16] + action.raw[136:140])
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        return actions, mask, [signal.getitimer(timer)[1] for timer in TIMERS]
    TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGIO])
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1000, 1000)
    signal.setitimer(signal.ITIMER_PROF, 1000, 1000)
    before = look()
    assert all(before[2])
    folder = Path(tempfile.mkdtemp())
    SIZES = {"B": 1, "T": 8, "H": 4, "D": 64}
"""
STEPS = {
    "run": "make()(*tensors(8))",
    "load": "p.package(folder / 'p', {'H': 4, 'D': 64}); nsacc.load(folder / 'p')(*tensors(8))",
    "compile for a GPU": "make('sm_90a').package(folder / 'p', {'H': 4, 'D': 64})",
    "explain": "p.explain(SIZES); make('sm_80').explain(SIZES)",
    "tune": "p.tune(SIZES, effort='seeds', seeds=['keys=16'])",
    "interpret": "make('oracle')(*tensors(8))",
    "fail": """
        try:
            nsacc.compile('kernel')
        except nsacc.errors.CompileError:
            pass""",
}


@pytest.mark.parametrize("step", STEPS)
def test_signals_and_timers_stay_as_the_host_has_them(step):
    """All handlers, the mask and the timers; an alarm that comes every 10 ms goes on coming."""
    body = textwrap.dedent(HOST) + "p = make()\n" + textwrap.dedent(STEPS[step]) + """
assert look() == before
arrived.clear()
time.sleep(0.1)
assert signal.SIGALRM in arrived
signal.setitimer(signal.ITIMER_REAL, 0)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXFSZ):
    os.kill(os.getpid(), number)
    assert number in arrived
"""
    finish(start(body))


def test_small_calls_wake_no_thread():
    """The calling thread does runs that are known to be small."""
    out = finish(start("""
        import resource
        p, x = make(), tensors(2)
        p(*x)
        def count():
            return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        before = count()
        for _ in range(1000):
            p(*x)
        print(count() - before)
    """))
    # A call that waits for another thread makes one at least; on a busy machine some take longer
    # than was known.
    assert int(out) < 500
