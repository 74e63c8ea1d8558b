//===- PtxasTest.cpp - Machine code from PTX ------------------------------===//

#include "nsacc/Target/CUDA/Ptxas.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace nsacc::cuda;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

static std::string failAssemble(llvm::StringRef ptxas, llvm::StringRef ptx) {
  auto code = assemble(ptxas, ptx, "sm_90a");
  return code ? "no error" : toString(code.takeError());
}

TEST(PtxasTest, ReadsReports) {
  AssemblerReport report = parseReport(
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async "
      "instructions are serialized in function 'attend'\n"
      "ptxas info    : 4 bytes gmem\n"
      "ptxas info    : Compiling entry function 'fill' for 'sm_90a'\n"
      "ptxas info    : Function properties for fill\n"
      "    16 bytes stack frame, 8 bytes spill stores, 28 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 5 barriers, 16 bytes "
      "cumulative "
      "stack size, 1024 bytes smem\n"
      "ptxas warning : Something else\n"
      "ptxas info    : Compiling entry function 'attend' for 'sm_90a'\n"
      "ptxas info    : Function properties for attend\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 0 barriers\n"
      "ptxas info    : Compile time = 6.178 ms\n");
  ASSERT_EQ(report.kernels.size(), 2u);
  EXPECT_EQ(report.kernels[0].kernel, "fill");
  EXPECT_EQ(report.kernels[0].registers, 168u);
  EXPECT_EQ(report.kernels[0].stackBytes, 16u);
  EXPECT_EQ(report.kernels[0].spillStoreBytes, 8u);
  EXPECT_EQ(report.kernels[0].spillLoadBytes, 28u);
  EXPECT_EQ(report.kernels[0].sharedBytes, 1024u);
  EXPECT_EQ(report.kernels[0].barriers, 5u);
  EXPECT_EQ(report.kernels[1].registers, 40u);
  EXPECT_EQ(report.kernels[1].spillStoreBytes, 0u);
  EXPECT_EQ(report.warnings.size(), 2u);
  EXPECT_THAT(report.getLosses(),
              ElementsAre("'fill' has more values than registers: 8 bytes of "
                          "each thread's are stored and 28 loaded on the way: "
                          "smaller 'tokens' or 'keys' in a schedule may be "
                          "faster or slower, which nsacc tune measures",
                          HasSubstr("(ptxas: C7510)")));
  EXPECT_THAT(report.getLosses({{"fill", "f.nsa:1:2: the code of 'a'"}}),
              ElementsAre("f.nsa:1:2: the code of 'a' has more values than "
                          "registers: 8 bytes of each thread's are stored and "
                          "28 loaded on the way: smaller 'tokens' or 'keys' "
                          "in a schedule may be faster or slower, which "
                          "nsacc tune measures",
                          HasSubstr("(ptxas: C7510)")));
  report.kernels[0].spillLoadBytes = 24;
  EXPECT_THAT(report.getLosses(), ElementsAre(HasSubstr("(ptxas: C7510)")));
}

TEST(PtxasTest, TellsOfSerializedProducts) {
  llvm::StringMap<std::string> names = {
      {"attend", "f.nsa:1:2: the code of 'a'"}};
  auto getLoss = [&](llvm::StringRef reason) {
    return parseReport(("ptxas info    : (C7512) Potential Performance Loss: "
                        "wgmma.mma_async instructions are serialized due to " +
                        reason + " 'attend'\n")
                           .str())
        .getLosses(names);
  };
  std::string what = "f.nsa:1:2: the code of 'a' waits for each of its "
                     "products in place of computing meanwhile, which costs "
                     "much of its speed";
  EXPECT_THAT(
      getLoss("insufficient register resources for the function"),
      ElementsAre(what +
                  ", as its threads have too few registers: give smaller "
                  "'keys', fewer 'warps' or fewer 'blocks_per_sm' (ptxas: "
                  "C7512)"));
  EXPECT_THAT(getLoss("ill formed pipeline stage in the function"),
              ElementsAre(what + ": ill formed pipeline stage (ptxas: C7512)"));
}

TEST(PtxasTest, ReadsNothingFromNothing) {
  AssemblerReport report = parseReport("");
  EXPECT_TRUE(report.kernels.empty());
  EXPECT_TRUE(report.getLosses().empty());
  EXPECT_TRUE(parseReport("(C7").getLosses().empty());
  EXPECT_TRUE(parseReport("(C7600) other").getLosses().empty());
}

TEST(PtxasTest, TellsWhereItCantBeRun) {
  EXPECT_THAT(failAssemble("/nowhere/ptxas", ""), HasSubstr("can't be run"));
}

static const char *const kPTX = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry fill(.param .u64 out)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 7;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

namespace {

class AssembleTest : public ::testing::Test {
protected:
  void SetUp() override {
    ptxas = findPtxas({});
    if (!ptxas)
      GTEST_SKIP() << "no ptxas on the PATH";
  }

  std::optional<std::string> ptxas;
};

} // namespace

TEST_F(AssembleTest, MakesMachineCode) {
  auto found = assemble(*ptxas, kPTX, "sm_90a");
  ASSERT_TRUE(static_cast<bool>(found)) << toString(found.takeError());
  std::optional<MachineCode> &code = *found;
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(code->cubin.substr(0, 4), "\x7f"
                                      "ELF");
  ASSERT_EQ(code->report.kernels.size(), 1u);
  EXPECT_EQ(code->report.kernels[0].kernel, "fill");
  EXPECT_GT(code->report.kernels[0].registers, 0u);
  EXPECT_TRUE(code->report.getLosses().empty());
}

TEST_F(AssembleTest, MakesTheSameKernelsWithLittleEffort) {
  auto found = assemble(*ptxas, kPTX, "sm_90a", Effort::Short);
  ASSERT_TRUE(static_cast<bool>(found)) << toString(found.takeError());
  ASSERT_TRUE(found->has_value());
  ASSERT_EQ((*found)->report.kernels.size(), 1u);
  EXPECT_EQ((*found)->report.kernels[0].kernel, "fill");
}

// Each thread waits for its process.
TEST_F(AssembleTest, RunsSideBySide) {
  std::string wrong = kPTX;
  wrong.replace(wrong.find("ret;"), 4, "rot;");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      auto code = assemble(*ptxas, i % 2 ? wrong : kPTX, "sm_90a");
      EXPECT_EQ(static_cast<bool>(code), i % 2 == 0);
      if (!code)
        EXPECT_THAT(toString(code.takeError()), HasSubstr("ptxas refuses"));
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(AssembleTest, MayNotBeRun) {
  auto code = assemble("/nonexistent/ptxas", kPTX, "sm_90a");
  ASSERT_FALSE(static_cast<bool>(code));
  llvm::Error error = code.takeError();
  EXPECT_TRUE(error.isA<NotAskedError>());
  EXPECT_THAT(toString(std::move(error)),
              HasSubstr("'/nonexistent/ptxas' can't be run: "));
}

// The driver compiles for GPUs that ptxas doesn't know.
TEST_F(AssembleTest, HasNoCodeForWhatPtxasDoesNotKnow) {
  auto code = assemble(*ptxas, kPTX, "sm_999");
  ASSERT_TRUE(static_cast<bool>(code)) << toString(code.takeError());
  EXPECT_FALSE(code->has_value());
}

TEST_F(AssembleTest, TellsWhatIsWrong) {
  std::string wrong = kPTX;
  wrong.replace(wrong.find("st.global"), 9, "st.globel");
  EXPECT_THAT(failAssemble(*ptxas, wrong),
              AllOf(HasSubstr("refuses the code for sm_90a"),
                    HasSubstr("'.globel'"), Not(HasSubstr("ptxas info"))));
}
