"""Programs in C that run packages: built against the installed files, without LLVM and Python, and
run with the fake driver.

The driver computes nothing. It hands out the oracle's results for the example's inputs, so that the
example's check is tested, too.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nsacc

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "Runtime.md"
EXAMPLE = ROOT / "examples" / "host"
NSACC = shutil.which("nsacc")
BUILD = Path(NSACC).resolve().parents[1] if NSACC else None
FAKE_DRIVER = BUILD / "test" / "FakeCUDA" if BUILD else None
# Everything that building a program in C needs, and nothing else.
TOOLS = ("ar", "as", "cmake", "gcc", "ld", "make", "pkg-config", "ranlib")
BATCH, TOKENS, QUERY_HEADS, HEADS, WIDTH = 2, 100, 4, 2, 64


def run(command: list[str | Path], cwd: Path, environment: dict[str, str], status: int = 0) -> str:
    result = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    assert result.returncode == status, result.stdout[-6000:]
    return result.stdout


@functools.cache
def hiding() -> tuple[str, ...]:
    """A prefix of commands that hides LLVM and Python's libraries. It is empty if a process can't
    have private mounts."""
    folders = [str(folder) for pattern in ("llvm-*", "python3*")
               for folder in Path("/usr/lib").glob(pattern) if folder.is_dir()]
    unshare, mount = shutil.which("unshare"), shutil.which("mount")
    if not unshare or not mount:
        return ()
    script = "".join(f"{mount} -t tmpfs none {folder} || exit; " for folder in folders)
    command = (unshare, "-rm", "/bin/sh", "-c", script + 'exec "$@"', "sh")
    works = subprocess.run([*command, "true"], capture_output=True).returncode == 0
    return command if works else ()


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runtime's folder, moved from the folder that it was installed in."""
    assert BUILD, "nsacc isn't on PATH: build it, and add build/dev/bin"
    folder = tmp_path_factory.mktemp("installed")
    run(["cmake", "--install", BUILD, "--component", "rt", "--prefix", folder / "first"], folder,
        dict(os.environ))
    return (folder / "first").rename(folder / "moved")


@pytest.fixture(scope="module")
def libraries(prefix: Path) -> Path:
    (library,) = prefix.glob("lib*/**/libnsacc_rt.so")
    return library.parent


@pytest.fixture(scope="module")
def bare(libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with only a C compiler, CMake and pkg-config."""
    folder = tmp_path_factory.mktemp("bin")
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, f"{tool} isn't installed: run scripts/setup"
        (folder / tool).symlink_to(found)
    (folder / "cc").symlink_to(folder / "gcc")
    return {"PATH": str(folder), "PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "LC_ALL": "C"}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of flash.h and flash.o."""
    folder = tmp_path_factory.mktemp("package")
    run([NSACC, "compile", ROOT / "examples" / "flash.nsa", "--emit", "package", "--target",
         "sm_80,cpu", "--dims", f"HQ={QUERY_HEADS},H={HEADS},D={WIDTH},DV={WIDTH}", "-o",
         "flash.nsapkg"], folder, dict(os.environ))
    run([NSACC, "header", "flash.nsapkg", "-o", "flash.h", "--object", "flash.o"], folder,
        dict(os.environ))
    return folder


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The oracle's results for the inputs of causal.c."""
    program = nsacc.compile(ROOT / "examples" / "flash.nsa", target="oracle", dtype="f32")
    q = np.zeros((BATCH, TOKENS, QUERY_HEADS, WIDTH), np.float32)
    k = np.zeros((BATCH, TOKENS, HEADS, WIDTH), np.float32)
    i = np.arange(k.size).reshape(k.shape)
    v = (i * 7 // WIDTH % 16 / 8 + i % 3).astype(np.float32)
    out, lse = program(q, k, v)
    bits = np.asarray(out).view(np.uint32)
    halves = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    path = tmp_path_factory.mktemp("answers") / "answers"
    path.write_bytes(halves.tobytes() + np.asarray(lse, np.float32).tobytes())
    return path


def driver(libraries: Path, **variables: str | Path) -> dict[str, str]:
    """An environment with the fake driver."""
    return {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": f"{libraries}:{FAKE_DRIVER}",
            **{name: str(value) for name, value in variables.items()}}


@functools.cache
def has_driver() -> bool:
    """Whether the machine has a real driver."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def check_program(program: Path, libraries: Path, answers: Path, folder: Path) -> None:
    """Runs the example with and without a driver, and with wrong results."""
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", run(["readelf", "-d", program], folder,
                                                     dict(os.environ))))
    assert needed == {"libnsacc_rt.so.2", "libm.so.6", "libc.so.6"}
    log = folder / "launches"
    fake = functools.partial(driver, libraries, FAKE_CUDA_LOG=log)
    assert (run([program], folder, fake(FAKE_CUDA_ANSWERS=answers))
            == "flash for sm_80: all 52000 results are as expected\n")
    assert log.read_text().startswith("launch flash_attend_0 grid ")
    assert "expected" in run([program], folder, fake(), status=1)
    own = {"LD_LIBRARY_PATH": str(libraries)}
    if not has_driver():
        assert re.fullmatch(r"flash for x86-64-v[34]: all 52000 results are as expected\n",
                            run([program], folder, own))
    old = fake(FAKE_CUDA_DEVICES="7.5")
    told = run([program], folder, old, status=1)
    assert "loading the package: the package has code for sm_80, x86-64-v4" in told


def test_the_bare_environment_is_bare(bare, tmp_path):
    for command in ("python3", "clang-22", "llvm-config-22", "nsacc"):
        run([*hiding(), "/bin/sh", "-c", f"command -v {command}"], tmp_path, bare, status=127)


def test_the_runtime_needs_the_system_alone(libraries, tmp_path):
    dynamic = run(["readelf", "-d", libraries / "libnsacc_rt.so"], tmp_path, dict(os.environ))
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
    # The C library itself loads libgcc_s, to cancel threads.
    assert needed and needed <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0",
                                 "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    assert not re.search(r"R(UN)?PATH", dynamic)


def test_cc_and_pkg_config(bare, package, libraries, answers, tmp_path):
    for name in ("flash.h", "flash.o"):
        shutil.copy(package / name, tmp_path)
    # The command of the example's first comment.
    command = re.search(r"^ \*   (cc .*)$", (EXAMPLE / "causal.c").read_text(), re.MULTILINE)
    assert command
    shutil.copy(EXAMPLE / "causal.c", tmp_path)
    strict = command.group(1) + " -std=c11 -Wall -Wextra -pedantic -Werror"
    run([*hiding(), "/bin/sh", "-c", strict], tmp_path, bare)
    check_program(tmp_path / "causal", libraries, answers, tmp_path)


@pytest.mark.skipif(not has_driver(), reason="there is no CUDA driver")
def test_on_the_machines_gpu(package, prefix, libraries, tmp_path):
    run(["cmake", "-S", EXAMPLE, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}",
         f"-DFLASH_FOLDER={package}"], tmp_path, dict(os.environ))
    run(["cmake", "--build", tmp_path], tmp_path, dict(os.environ))
    output = run([tmp_path / "causal"], tmp_path,
                 dict(os.environ) | {"LD_LIBRARY_PATH": str(libraries)})
    assert output.endswith(": all 52000 results are as expected\n")


def test_cmake_without_nsacc(bare, package, prefix, libraries, answers, tmp_path):
    run([*hiding(), "cmake", "-S", EXAMPLE, "-B", tmp_path, "-G", "Unix Makefiles",
         f"-DCMAKE_PREFIX_PATH={prefix}", f"-DFLASH_FOLDER={package}"], tmp_path, bare)
    run([*hiding(), "cmake", "--build", tmp_path], tmp_path, bare)
    check_program(tmp_path / "causal", libraries, answers, tmp_path)


def test_cmake_makes_the_package(bare, prefix, libraries, answers, tmp_path):
    """Builds with an nsacc that is installed beside the runtime, and that no variable points to."""
    both = shutil.copytree(prefix, tmp_path / "both", symlinks=True)
    configure = ["cmake", "-S", EXAMPLE, "-B", tmp_path, "-G", "Unix Makefiles",
                 f"-DCMAKE_PREFIX_PATH={both}", "-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF"]
    assert "the nsacc command wasn't found" in run(configure, tmp_path, bare, status=1)
    run(["cmake", "--install", BUILD, "--component", "tools", "--prefix", both], tmp_path,
        dict(os.environ))
    run(configure, tmp_path, bare)
    run(["cmake", "--build", tmp_path], tmp_path, bare)
    check_program(tmp_path / "causal", libraries, answers, tmp_path)


PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(test LANGUAGES {language})
find_package(nsacc {version} REQUIRED COMPONENTS {component})
{rest}
"""


def configure(folder: Path, prefix: Path, environment: dict[str, str], status: int = 0,
              **fields: str) -> str:
    text = PROJECT.format(**{"language": "C", "version": "0.1", "rest": ""} | fields)
    (folder / "CMakeLists.txt").write_text(text)
    return run(["cmake", "-S", folder, "-B", folder / "build", "-G", "Unix Makefiles",
                f"-DCMAKE_PREFIX_PATH={prefix}", f"-DNSACC_EXECUTABLE={NSACC}"], folder,
               environment, status)


@pytest.mark.parametrize("rest, message", [
    ("nsacc_add_package(p)", "give PACKAGE FILE or PROGRAM FILE"),
    ("nsacc_add_package(p PACKAGE a PROGRAM b)", "give PACKAGE FILE or PROGRAM FILE"),
    ("nsacc_add_package(p PACKAGE a COMPILE_OPTIONS --target)", "drop COMPILE_OPTIONS"),
    ("nsacc_add_package(p PACKAGES a)", "unknown: PACKAGES;a"),
])
def test_wrong_uses_of_the_function(bare, prefix, tmp_path, rest, message):
    output = configure(tmp_path, prefix, bare, status=1, component="rt", rest=rest)
    assert message in re.sub(r"\s+", " ", output)


CPP = """
#include "p.h"
#include <cstdio>

static void tell(const char *what, nsacc_rt_status status) {
  std::printf("%s: %s\\n", what, status == NSACC_RT_OK ? "fine" : nsacc_rt_message());
}

int main() {
  first_module module;
  tell("null", first_load_bytes(&module, nullptr, 0, 0));
  tell("file", first_load_file(&module, "nowhere.nsapkg", 0));
  std::printf("%d\\n", module.rt == nullptr);
  tell("load", first_load(&module, 0));
  first_sizes sizes = {};
  sizes.B = 1, sizes.T = 1, sizes.S = 10;
  tell("reserve", first_reserve(&module, &sizes, nullptr));
  tell("no sizes", first_launch(&module, nullptr, nullptr, nullptr));
  first_tensors tensors = {};
  tell("no tensors", first_launch(&module, &sizes, &tensors, nullptr));
  void *data;
  tell("allocate", nsacc_rt_allocate(0, 1 << 20, &data));
  tensors.q = tensors.k = tensors.v = data;
  tensors.out = data;
  tensors.lse = static_cast<float *>(data) + (1 << 10);
  tell("shared", first_launch(&module, &sizes, &tensors, nullptr));
  tensors.out = static_cast<char *>(data) + (1 << 16);
  tensors.lse = static_cast<float *>(data) + (1 << 15);
  tell("launch", first_launch(&module, &sizes, &tensors, nullptr));
  // Caches with room for 16 tokens, and one of single channels.
  int64_t cache[] = {16 * 2 * 64, 2 * 64, 64, 1}, channels[] = {16, 16, 16, 16};
  first_strides strides = {};
  strides.k = strides.v = cache;
  tell("strided", first_launch_strided(&module, &sizes, &tensors, &strides, nullptr));
  strides.k = channels;
  tell("refused", first_launch_strided(&module, &sizes, &tensors, &strides, nullptr));
  tell("check", first_check(&module, nullptr));
  tell("load nowhere", first_load(nullptr, 0));
  tell("load file nowhere", first_load_file(nullptr, "p.nsapkg", 0));
  tell("no module", first_launch(nullptr, &sizes, &tensors, nullptr));
  tell("no module's check", first_check(nullptr, nullptr));
  first_unload(nullptr);
  first_unload(&module);
  nsacc_rt_free(0, data);
}
"""

CPP_PRINTS = """null: package is a null pointer
file: can't read 'nowhere.nsapkg': No such file or directory
1
load: fine
reserve: fine
no sizes: expected 5 tensors, inputs and then results, found 0: in functions of a header by nsacc, \
sizes is a null pointer
no tensors: input 'q': its data is a null pointer
allocate: fine
shared: result 'out': its memory is in part that of input 'q', which is still needed when it's \
written
launch: fine
strided: fine
refused: input 'k': dimension 3 has stride 16; this package was compiled for stride 1: \
pass a contiguous tensor
check: fine
load nowhere: module is a null pointer
load file nowhere: module is a null pointer
no module: module is a null pointer
no module's check: module is a null pointer
"""


def test_a_package_in_cpp(bare, package, prefix, libraries, tmp_path):
    """Every function of a header, in C++."""
    (tmp_path / "main.cpp").write_text(CPP)
    compiler = Path(bare["PATH"]) / "c++"
    if not compiler.exists():
        compiler.symlink_to(shutil.which("g++"))
    configure(tmp_path, prefix, bare, component="rt", language="CXX",
              rest="set(CMAKE_CXX_STANDARD 17)\nset(CMAKE_CXX_EXTENSIONS OFF)\n"
                   f"nsacc_add_package(p PACKAGE {package}/flash.nsapkg PREFIX first)\n"
                   "add_executable(main main.cpp)\ntarget_link_libraries(main PRIVATE p)\n")
    run(["cmake", "--build", tmp_path / "build"], tmp_path, bare)
    assert run([tmp_path / "build/main"], tmp_path, driver(libraries)) == CPP_PRINTS


PACKED = """
#include "packed.h"
#include <stdio.h>

int main(void) {
  float q[10 * 16] = {0}, v[10 * 16], out[10 * 16];
  /* Rows, offsets of 3 tokens with one between, offsets as lengths, more tokens than there are. */
  int32_t offsets[][4] = {{0, 4, 4, 10}, {1, 4, 4, 10}, {0, 6, 4, 10}, {0, 4, 4, 9}};
  packed_module module;
  packed_sizes sizes = {.T = 10, .offsets = 4};
  packed_tensors tensors = {.q = q, .v = v, .out = out};
  nsacc_rt_status status = packed_load(&module, NSACC_RT_HOST);
  for (int i = 0; i < 10 * 16; ++i)
    v[i] = (float)(i / 16);
  for (int i = 0; i < 4 && status == NSACC_RT_OK; ++i) {
    tensors.T_offsets = offsets[i];
    if (packed_launch(&module, &sizes, &tensors, NULL) == NSACC_RT_OK)
      printf("%g %g %g\\n", out[3 * 16], out[4 * 16], out[9 * 16]);
    else
      puts(nsacc_rt_message());
  }
  return status;
}
"""


def test_ragged_rows_in_c(bare, libraries, tmp_path):
    """A launch on the processor, which checks offsets."""
    (tmp_path / "packed.nsa").write_text(
        "kernel packed(q: f32[ragged T, 1, 16], v: f32[ragged T, 1, 16]) -> "
        "f32[ragged T, 1, 16] {\n  return attend(q, q, v) where j <= i;\n}\n")
    environment = dict(os.environ)
    run([NSACC, "compile", "packed.nsa", "--emit", "package", "-o", "packed.nsapkg"], tmp_path,
        environment)
    run([NSACC, "header", "packed.nsapkg", "-o", "packed.h", "--object", "packed.o"], tmp_path,
        environment)
    (tmp_path / "main.c").write_text(PACKED)
    command = "cc main.c packed.o $(pkg-config --cflags --libs nsacc_rt) -o main"
    run(["/bin/sh", "-c", command], tmp_path, bare)
    assert run([tmp_path / "main"], tmp_path, driver(libraries)) == (
        "1.5 4 6.5\n"
        "input 'T_offsets': offsets start with 0, found 1\n"
        "input 'T_offsets': offsets don't decrease: entry 2 is 4 after 6\n"
        "input 'T_offsets': offsets end with the number of tokens: the last is 9, and dimension "
        "T is 10\n")


def test_another_package_is_refused(bare, package, libraries, tmp_path):
    """A header and a package that was made later, for other sizes."""
    run([NSACC, "compile", ROOT / "examples" / "flash.nsa", "--emit", "package", "--target",
         "sm_80", "--dims", "HQ=8,H=2,D=64,DV=64", "-o", "other.nsapkg"], tmp_path,
        dict(os.environ))
    (tmp_path / "main.c").write_text('#include "flash.h"\n#include <stdio.h>\nint main(void) {\n'
                                     "  flash_module module;\n  nsacc_rt_status status =\n"
                                     '      flash_load_file(&module, "other.nsapkg", 0);\n'
                                     "  puts(nsacc_rt_message());\n"
                                     "  return module.rt ? 9 : (int)status;\n}\n")
    command = f"cc main.c -I{package} $(pkg-config --cflags --libs nsacc_rt) -o main"
    run(["/bin/sh", "-c", command], tmp_path, bare)
    output = run([tmp_path / "main"], tmp_path, driver(libraries), status=4)
    assert output.startswith("size 2 of input 'q' is 8 in the package, 4 in its header: write the "
                             "header again with nsacc header")


def test_components_that_are_missing(bare, prefix, tmp_path):
    output = configure(tmp_path, prefix, bare, status=1, component="capi")
    assert "component 'capi' isn't installed in" in output
    output = configure(tmp_path, prefix, bare, status=1, component="runtime")
    assert "there is no component 'runtime': there are 'capi' and 'rt'" in output
    output = configure(tmp_path, prefix, bare, status=1, component="rt", version="9.9")
    assert "version: 0.1.0" in output


def test_the_compiler_library(bare, tmp_path):
    """The other component, for CMake and pkg-config."""
    run(["cmake", "--install", BUILD, "--component", "capi", "--prefix", tmp_path / "first"],
        tmp_path, dict(os.environ))
    prefix = (tmp_path / "first").rename(tmp_path / "moved")
    (library,) = prefix.glob("lib*/**/libnsacc.so")
    source = ROOT / "test" / "unittests" / "CAPI" / "example.c"
    program = tmp_path / "mean.nsa"
    program.write_text("kernel causal(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV])"
                       " -> [B, T, HQ, DV] {\n  return attend(q, k, v) where j <= i;\n}\n")
    rest = f"add_executable(main {source})\ntarget_link_libraries(main PRIVATE nsacc::nsacc)\n"
    configure(tmp_path, prefix, bare, component="capi", rest=rest)
    run(["cmake", "--build", tmp_path / "build"], tmp_path, bare)
    command = f"cc {source} $(pkg-config --cflags --libs nsacc) -o main"
    run(["/bin/sh", "-c", command], tmp_path,
        bare | {"PKG_CONFIG_PATH": str(library.parent / "pkgconfig")})
    for main in (tmp_path / "build/main", tmp_path / "main"):
        output = run([main, program], tmp_path, {"LD_LIBRARY_PATH": str(library.parent)})
        assert "out = 0 0.5 1 1.5" in output


def section() -> str:
    return re.search(r"^## A program in C\n(.*?)^## ", PAGE.read_text(),
                     re.MULTILINE | re.DOTALL).group(1)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", section(), re.MULTILINE | re.DOTALL)


def test_the_page_shows_the_example(package):
    header, program = blocks("c")
    assert program == (EXAMPLE / "causal.c").read_text()
    assert header in (package / "flash.h").read_text()


def test_the_pages_commands_run(prefix, libraries, tmp_path):
    """A transcript: commands, and their output."""
    folder = tmp_path / "host"
    shutil.copytree(EXAMPLE, folder)
    shutil.copy(ROOT / "examples" / "flash.nsa", tmp_path)
    environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(libraries),
                   "PREFIX": str(prefix), "PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
    transcripts = blocks("console")
    assert len(transcripts) == 3
    for transcript in transcripts:
        commands = re.findall(r"^\$ (.*)$", transcript, re.MULTILINE)
        printed = re.sub(r"^\$ .*\n", "", transcript, flags=re.MULTILINE)
        output = run(["bash", "-euc", "\n".join(commands)], folder, environment)
        # Replaces the target by that of a processor with AVX-512, without a GPU.
        assert re.sub(r"for (sm_80|x86-64-v3):", "for x86-64-v4:", output) == printed
