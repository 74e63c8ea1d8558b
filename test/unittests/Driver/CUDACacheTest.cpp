//===- CUDACacheTest.cpp - Code from the cache of another process ---------===//

#include "CUDAProgramTest.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <gmock/gmock.h>

using namespace nsacc;
using ::testing::HasSubstr;
namespace fs = llvm::sys::fs;

namespace {

/// Each program represents a process: only files connect them.
class CUDACacheTest : public CUDAProgramTest {
protected:
  CUDACacheTest() {
    EXPECT_FALSE(fs::createUniqueDirectory("nsacc-cache", root));
    options.cache.mode = CacheMode::ReadWrite;
    options.cache.folder = getPath("code");
    // Only a ptxas that a test writes.
    options.ptxas = {getPath("ptxas")};
    writePtxas("1");
  }
  ~CUDACacheTest() override { fs::remove_directories(root); }

  std::string getPath(llvm::StringRef name) const {
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, name);
    return std::string(path);
  }
  void writePtxas(llvm::StringRef text) {
    std::error_code error;
    {
      llvm::raw_fd_ostream os(getPath("ptxas"), error);
      os << text;
    }
    EXPECT_FALSE(error || fs::setPermissions(getPath("ptxas"), fs::all_all));
  }
  /// Number of compilations of a new program's run.
  int countCompilations(const char *text = kFlash,
                        DimSizes sizes = CUDAProgramTest::makeSizes(),
                        const char *target = "sm_90a",
                        std::string schedule = "") {
    int count = 0;
    auto compiler = [&count](mlir::ModuleOp module,
                             const cuda::Options &options) {
      ++count;
      return compileStandIn(module, options);
    };
    compile(text, target, compiler, std::move(schedule));
    RunStatistics statistics;
    auto results = program->run("", makeInputs(sizes), {}, &statistics);
    EXPECT_TRUE(static_cast<bool>(results)) << toString(results.takeError());
    EXPECT_EQ(statistics.isFromCache, count == 0);
    EXPECT_GT(statistics.compileSeconds, 0);
    return count;
  }

  llvm::SmallString<128> root;
};

} // namespace

static DimSizes makeSizes(llvm::StringRef name, int64_t size) {
  DimSizes sizes;
  sizes.sizes = {{"B", 2}, {"T", 40}, {"S", 70}, {"HQ", 4},
                 {"H", 2}, {"D", 16}, {"DV", 16}};
  sizes.sizes[name] = size;
  return sizes;
}

TEST_F(CUDACacheTest, TheNextProcessCompilesNothing) {
  EXPECT_EQ(countCompilations(), 1);
  EXPECT_EQ(countCompilations(), 0);
  // Code doesn't depend on these sizes.
  EXPECT_EQ(countCompilations(kFlash, ::makeSizes("T", 41)), 0);
  EXPECT_EQ(countCompilations(kFlash, ::makeSizes("B", 1)), 0);
}

/// Anything that code depends on changes the key.
TEST_F(CUDACacheTest, EachIngredientOfTheKeyIsAMiss) {
  EXPECT_EQ(countCompilations(), 1);
  std::string text = kFlash;
  auto change = [&](llvm::StringRef from, llvm::StringRef to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  EXPECT_EQ(countCompilations(change("j <= i", "j < i").c_str()), 1);
  EXPECT_EQ(countCompilations(change("kernel flash", "kernel f").c_str()), 1);
  EXPECT_EQ(
      countCompilations(change("kernel flash(q:", "kernel flash( q:").c_str()),
      1)
      << "columns are places, too";
  // Code contains the places of the program's lines.
  EXPECT_EQ(countCompilations(("\n" + text).c_str()), 1);
  EXPECT_EQ(countCompilations(kFlash, ::makeSizes("D", 32)), 1);
  EXPECT_EQ(countCompilations(kFlash, ::makeSizes("HQ", 2)), 1);
  EXPECT_EQ(countCompilations(kFlash, makeSizes(), "sm_80"), 1);
  EXPECT_EQ(countCompilations(kFlash, makeSizes(), "sm_90a", "keys=32"), 1);
  writePtxas("another");
  EXPECT_EQ(countCompilations(), 1);
  options.ptxas = {getPath("none")};
  EXPECT_EQ(countCompilations(), 1);
  // All of them are in the cache now, except for the first ptxas.
  EXPECT_EQ(countCompilations(), 0);
  options.ptxas = {getPath("ptxas")};
  EXPECT_EQ(countCompilations(), 0);
}

/// The spelling of a schedule, and text after the program.
TEST_F(CUDACacheTest, WhatChangesNothingIsAHit) {
  EXPECT_EQ(countCompilations(kFlash, makeSizes(), "sm_90a", "keys=32"), 1);
  EXPECT_EQ(countCompilations(kFlash, makeSizes(), "sm_90a", " keys = 32"), 0);
  std::string text = kFlash;
  EXPECT_EQ(countCompilations((text + "// the end\n").c_str(), makeSizes(),
                              "sm_90a", "keys=32"),
            0);
}

TEST_F(CUDACacheTest, DamagedCodeIsCompiledAgain) {
  EXPECT_EQ(countCompilations(), 1);
  std::vector<CacheEntry> entries =
      llvm::cantFail(listCache(options.cache.folder));
  ASSERT_EQ(entries.size(), 1u);
  std::error_code error;
  llvm::raw_fd_ostream(entries.front().path, error) << "damaged";
  std::string warning;
  options.warn = [&](llvm::StringRef text) { warning = text.str(); };
  EXPECT_EQ(countCompilations(), 1);
  EXPECT_THAT(warning, HasSubstr("is damaged and isn't used"));
  EXPECT_EQ(countCompilations(), 0);
}

TEST_F(CUDACacheTest, RequiredCodeIsThereOrAnError) {
  options.cache.mode = CacheMode::Require;
  compile(kFlash, "sm_90a");
  EXPECT_EQ(fail(makeInputs(makeSizes())),
            "the cache '" + options.cache.folder +
                "' has no code of kernel 'flash' for HQ=4,D=16,H=2,DV=16 and "
                "sm_90a, and nothing else may be run: compile it once with "
                "NSACC_CACHE=readwrite, by this nsacc and its ptxas");
  options.cache.mode = CacheMode::ReadWrite;
  EXPECT_EQ(countCompilations(), 1);
  options.cache.mode = CacheMode::Require;
  EXPECT_EQ(countCompilations(), 0);
}

TEST_F(CUDACacheTest, PackagesAreMadeOfCachedCode) {
  auto package = [&](CacheMode mode) {
    options.cache.mode = mode;
    compile(kFlash, "sm_90a");
    DimSizes other = makeSizes();
    other.sizes["D"] = 32;
    auto bytes = program->package("", {makeSizes(), other});
    return bytes ? *bytes : toString(bytes.takeError());
  };
  std::string uncached = package(CacheMode::Off);
  EXPECT_EQ(package(CacheMode::ReadWrite), uncached);
  EXPECT_EQ(package(CacheMode::Require), uncached);
  // Runs use the same code.
  EXPECT_EQ(countCompilations(), 0);
}
