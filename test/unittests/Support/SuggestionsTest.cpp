//===- SuggestionsTest.cpp - Suggestions for unknown names ----------------===//

#include "nsacc/Support/Suggestions.h"
#include "gtest/gtest.h"

using namespace nsacc;

TEST(Suggestions, AreNear) {
  EXPECT_EQ(findNearest("atend", {"attend", "topk"}), "attend");
  EXPECT_EQ(findNearest("Return", {"return"}), "return");
  EXPECT_EQ(findNearest("retrun", {"return"}), "return");
  EXPECT_EQ(findNearest("tanh", {"attend", "topk"}), "");
  EXPECT_EQ(findNearest("end", {"attend", "topk"}), "");
}

TEST(Suggestions, KnowTypesOfOtherLibraries) {
  EXPECT_EQ(findStorageType("bf16"), "bf16");
  EXPECT_EQ(findStorageType("torch.bfloat16"), "bf16");
  EXPECT_EQ(findStorageType("FP16"), "f16");
  EXPECT_EQ(findStorageType("np.float32"), "f32");
  EXPECT_EQ(findStorageType("double"), "");
  EXPECT_EQ(findStorageType(""), "");
  EXPECT_EQ(explainStorageType("half"),
            "expected 'bf16', 'f16' or 'f32'; use 'f16'");
  EXPECT_EQ(explainStorageType("f64"), "expected 'bf16', 'f16' or 'f32'");
}
