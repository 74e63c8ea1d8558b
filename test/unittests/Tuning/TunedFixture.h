//===- TunedFixture.h - Programs whose tuned schedules are kept -*- C++ -*-===//

#ifndef NSACC_UNITTESTS_TUNING_TUNEDFIXTURE_H
#define NSACC_UNITTESTS_TUNING_TUNEDFIXTURE_H

#include "TuningTest.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Driver/TunedSchedules.h"
#include "llvm/Support/FileSystem.h"

namespace nsacc {

/// A valid entry of a store.
inline TunedSchedule makeTuned(llvm::StringRef schedule) {
  TunedSchedule tuned;
  tuned.schedule = schedule.str();
  tuned.whole = "a: tokens=16, keys=16";
  tuned.sizes = "B=1";
  tuned.policy = "quick, eager, warm cache";
  tuned.date = "2026-11-27T15:00:00";
  tuned.milliseconds = tuned.low = tuned.high = tuned.chosenMilliseconds = 1;
  return tuned;
}

} // namespace nsacc

namespace nsacc::tuning {

/// A program that uses a separate folder.
class TunedFixture : public TuningTest {
protected:
  TunedFixture() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("nsacc-tuned", root));
    options.tuning.mode = TuneMode::Replay;
    options.tuning.store.mode = CacheMode::ReadWrite;
    options.tuning.store.folder = std::string(root);
  }
  ~TunedFixture() override { llvm::sys::fs::remove_directories(root); }

  std::unique_ptr<CompiledProgram> create() {
    compile(text);
    return llvm::cantFail(CompiledProgram::create(*module, options));
  }
  std::string getKey() {
    return llvm::cantFail(create()->getTuningKey("", sizes));
  }
  void tune(llvm::StringRef schedule) {
    TunedSchedules(options.tuning.store, nullptr)
        .store(getKey(), makeTuned(schedule));
  }
  std::string print() {
    return llvm::cantFail(create()->printSchedule("", sizes.sizes));
  }

  std::string text =
      "kernel f<cap = 4>(q: f32[B, T, HQ, D], k: f32[B, S, H, D]) -> f32[B, T, "
      "HQ, D] { a = attend(q, k, k) where j <= i + cap; return a; }";
  llvm::SmallString<128> root;
  CompileOptions options;
  DimSizes sizes = makeSizes(
      {{"B", 1}, {"T", 1000}, {"S", 1000}, {"HQ", 4}, {"H", 2}, {"D", 64}});
};

} // namespace nsacc::tuning

#endif // NSACC_UNITTESTS_TUNING_TUNEDFIXTURE_H
