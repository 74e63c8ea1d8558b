//===- CompilationTest.cpp - Kernels compile in parallel ------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Driver/Devices.h"
#include "nsacc/Frontend/Frontend.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>
#include <set>

using namespace nsacc;

/// An attention, and the program that repairs its rows: two kernels.
static const char *const kProgram = R"(
kernel f(q: [B, T, HQ, D], k, v: [B, S, H, D]) -> [B, T, HQ, D] {
  return attend(q, k, v) where j <= i;
})";

static std::unique_ptr<CompiledProgram>
compile(const char *target, unsigned threads, const std::string &ptxas = "") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = frontend::compile(llvm::MemoryBufferRef(kProgram, "test.nsa"),
                                  {}, context);
  EXPECT_TRUE(module && succeeded(runPhases(*module, Phase::NSA)));
  CompileOptions options;
  llvm::cantFail(
      resolveTarget(*findTarget(target), /*deviceFile=*/{}, options));
  options.threads = threads;
  options.ptxas = {ptxas};
  return llvm::cantFail(CompiledProgram::create(*module, options));
}

static DimSizes makeHeads(int64_t heads) {
  DimSizes sizes;
  sizes.sizes = {{"HQ", heads}, {"H", 2}, {"D", 16}};
  return sizes;
}

static std::string write(const char *target, unsigned threads) {
  DimSizes sizes[] = {makeHeads(4), makeHeads(2)};
  return llvm::cantFail(compile(target, threads)->package("f", sizes));
}

class CompilationTest : public ::testing::TestWithParam<const char *> {};

TEST_P(CompilationTest, GivesTheSameBytesForAnyThreads) {
  std::string alone = write(GetParam(), 1);
  for (unsigned threads : {0, 3})
    EXPECT_EQ(write(GetParam(), threads), alone) << threads << " threads";
}

/// A kernel's text from the PTX of its module, without label numbers, which
/// count the module's kernels.
static std::string findKernel(llvm::StringRef ptx, llvm::StringRef name) {
  llvm::StringRef rest = ptx.substr(ptx.find((".entry " + name + "(").str()));
  std::string text = rest.take_front(rest.find("\n}")).str(), found;
  llvm::Regex label("\\$L__([A-Za-z_]+)[0-9]+");
  llvm::StringRef left = text;
  llvm::SmallVector<llvm::StringRef> parts;
  while (label.match(left, &parts)) {
    auto [before, after] = left.split(parts[0]);
    found += (before + "$L__" + parts[1]).str();
    left = after;
  }
  return found + left.str();
}

// A kernel's code is the same in a module with others and alone.
TEST_P(CompilationTest, HasTheKernelsOfOneModule) {
  auto program = compile(GetParam(), 0);
  DimSizes sizes = makeHeads(4);
  std::string bytes = llvm::cantFail(program->package("f", sizes));
  rt::Package package = rt::readPackage(bytes.data(), bytes.size());
  rt::Image whole = llvm::cantFail(program->image("f", sizes));
  // The variant for any number of queries.
  const rt::TargetCode &code = package.variants.back().targets[0];
  EXPECT_GT(code.plan.launches.size(), 1u);
  // Each kernel has a separate image; several variants share it.
  std::set<uint32_t> used;
  for (const rt::Variant &variant : package.variants)
    for (const rt::Launch &launch : variant.targets[0].plan.launches)
      used.insert(launch.image);
  EXPECT_EQ(package.images.size(), used.size());
  for (const rt::Launch &launch : code.plan.launches) {
    std::string own =
        findKernel(package.images[launch.image].ptx, launch.kernel);
    EXPECT_GT(own.size(), 1000u);
    EXPECT_EQ(own, findKernel(whole.ptx, launch.kernel));
  }
}

/// A ptxas that rejects all kernels, the first one late.
static llvm::SmallString<128> writeRefusingPtxas() {
  llvm::SmallString<128> path;
  int file = 0;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("ptxas", "sh", file, path));
  llvm::raw_fd_ostream script(file, /*shouldClose=*/true);
  script << "#!/bin/sh\n"
            "for each; do name=$(grep -o -- 'entry f_[a-z]*_[0-9]*' \"$each\" "
            "2>/dev/null </dev/null) && break; done\n"
            "case $name in *_0) sleep 0.2;; esac\n"
            "echo \"error: no $name\"; exit 1\n";
  script.close();
  EXPECT_FALSE(llvm::sys::fs::setPermissions(path, llvm::sys::fs::all_all));
  return path;
}

TEST_P(CompilationTest, TellsTheFirstKernelsError) {
  llvm::SmallString<128> ptxas = writeRefusingPtxas();
  llvm::FileRemover remover(ptxas);
  for (unsigned threads : {1, 8}) {
    auto program = compile(GetParam(), threads, ptxas.str().str());
    auto bytes = program->package("f", makeHeads(4));
    ASSERT_FALSE(static_cast<bool>(bytes));
    EXPECT_EQ(toString(bytes.takeError()), "ptxas refuses the code for " +
                                               std::string(GetParam()) +
                                               ": error: no entry f_partial_0");
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CompilationTest,
                         ::testing::Values("sm_80", "sm_90a"));
