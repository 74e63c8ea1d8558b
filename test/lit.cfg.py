import glob
import os
import shutil
import sys

import lit.formats
import lit.util

config.name = "nsacc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".nsa", ".test"]
config.excludes = ["Inputs", "programs", "unittests", "fuzz", "Python", "Wheel"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.nsacc_test_bin

config.environment["PATH"] = os.path.pathsep.join([
    config.nsacc_tools_dir, config.llvm_tools_dir, config.environment["PATH"],
    # Where scripts/setup puts ptxas.
    *glob.glob(config.nsacc_source_root + "/.venv/lib/python*/site-packages/nvidia/cu*/bin"),
])
# Tests of the cache have their own.
config.environment["NSACC_CACHE"] = "off"
config.environment["NSACC_TUNE"] = "off"
if shutil.which("ptxas", path=config.environment["PATH"]):
    config.available_features.add("ptxas")
config.substitutions.append(("%examples", config.nsacc_source_root + "/examples"))
config.substitutions.append(
    ("%programs", config.nsacc_source_root + "/test/Integration/programs"))
config.substitutions.append(("%fake-cuda", config.nsacc_test_bin + "/FakeCUDA"))
config.substitutions.append(("%source", config.nsacc_source_root))
config.substitutions.append(("%mlir-include", config.mlir_include_dirs.split(";")[0]))
config.substitutions.append(("%python", sys.executable))
if config.nsacc_sanitize:
    config.available_features.add("sanitizer")
# Tests that take minutes: lit --param big=1.
if lit_config.params.get("big"):
    config.available_features.add("big")
