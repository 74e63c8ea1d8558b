//===- SignatureTextTest.cpp - Signatures as JSON, and back ---------------===//

#include "nsacc/Tensor/SignatureText.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace nsacc;

/// A signature with all possible fields.
static Signature makeSignature() {
  Signature signature;
  signature.kernel = "f";
  Dim heads, tokens, offsets, pool, pooled, blocks, constant;
  heads.name = "H";
  tokens.kind = Dim::Kind::Ragged;
  tokens.name = "T";
  offsets.kind = Dim::Kind::Offsets;
  offsets.name = "T";
  pool.kind = Dim::Kind::Pool;
  pool.name = "T";
  pool.len = 32;
  pool.stride = 16;
  pool.tail = Dim::Tail::ZerosLeft;
  pool.ragged = true;
  pooled.kind = Dim::Kind::Pooled;
  pooled.name = "T";
  pooled.count = "N";
  pooled.len = pooled.stride = 4;
  pooled.tail = Dim::Tail::Average;
  blocks.kind = Dim::Kind::Blocks;
  blocks.name = "T";
  blocks.block = 64;
  constant.kind = Dim::Kind::Constant;
  constant.size = 7;
  Argument q = {"q", DType::BF16, {tokens, heads, constant}, {}};
  Argument at = {"T_offsets", DType::I32, {offsets}, {}};
  Argument idx = {"idx", DType::I64, {pool, pooled, blocks}, Domain{}};
  idx.domain->kind = Domain::Kind::Blocks;
  idx.domain->of = "T";
  idx.domain->block = 64;
  idx.domain->rows = "P";
  Argument count = {"n", DType::I32, {heads}, Domain{}};
  count.domain->low = -1;
  count.domain->high = 16;
  signature.inputs = {q, at, idx, count};
  signature.results = {{"out", DType::Bool, {}, {}}};
  signature.params = {{"top", "16"}, {"x", "0.5"}};
  signature.multiples = {{heads, constant, Multiple::Reason::Sharing}};
  signature.tokenGroups = {{"idx", pool, tokens, 64, true}};
  signature.blockScores = {{"x", pooled, blocks}};
  signature.rowTables = {{"q", 2}};
  signature.positionTables = {{"n", 0, "T"}};
  signature.attentions = {{"T", "S", "HQ", "H", true}};
  return signature;
}

TEST(SignatureText, ReadsWhatWasWritten) {
  std::string text = writeSignature(makeSignature());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  Signature read = llvm::cantFail(readSignature(text));
  EXPECT_EQ(writeSignature(read), text);
  EXPECT_EQ(toString(read.inputs[2]), toString(makeSignature().inputs[2]));
  EXPECT_EQ(read.inputs[3].domain->low, -1);
  EXPECT_EQ(read.results[0].dtype, DType::Bool);
  EXPECT_TRUE(read.attentions[0].isCausal);
  EXPECT_EQ(read.rowTables, makeSignature().rowTables);
  EXPECT_EQ(read.positionTables, makeSignature().positionTables);
}

/// Every changed byte gives another signature or an error.
TEST(SignatureText, DamageIsAnError) {
  std::string text = writeSignature(makeSignature());
  for (size_t i = 0; i < text.size(); ++i) {
    for (char other : {'[', '{', '"', '0', 'x', ','}) {
      std::string damaged = text;
      damaged[i] = other;
      llvm::consumeError(readSignature(damaged).takeError());
    }
    EXPECT_TRUE(errorToBool(
        readSignature(llvm::StringRef(text).take_front(i)).takeError()));
  }
}

TEST(SignatureText, OtherShapesAreErrors) {
  for (const char *text :
       {"",
        "[]",
        "5",
        "null",
        "\"a\"",
        "true",
        "{\"inputs\":[5]}",
        "{\"inputs\":[[]]}",
        "{\"inputs\":{}}",
        "{\"attentions\":[5]}",
        "{\"multiples\":[[]]}",
        "{\"params\":[[\"a\"]]}",
        "{\"inputs\":[{\"dims\":[5]}]}",
        "{\"inputs\":[{\"name\":\"\",\"dtype\":\"f32\"}]}",
        "{\"kernel\":\"f\",\"inputs\":[{\"name\":\"a b\",\"dtype\":\"f32\"}]}",
        "{\"kernel\":\"f\",\"inputs\":[{\"name\":\"q\",\"dtype\":\"f31\"}]}",
        "{\"kernel\":\"f\",\"inputs\":[{\"name\":\"q\",\"dtype\":\"f32\"},"
        "{\"name\":\"q\",\"dtype\":\"f32\"}]}",
        "{\"kernel\":\"f\",\"inputs\":[{\"name\":\"q\",\"dtype\":\"f32\","
        "\"dims\":[{\"kind\":\"blocks\",\"block\":0}]}]}",
        "{\"kernel\":\"f\",\"inputs\":[{\"name\":\"q\",\"dtype\":\"f32\","
        "\"dims\":[{\"kind\":\"pool\",\"len\":4,\"stride\":0}]}]}",
        "{\"kernel\":\"f\",\"row_tables\":[{\"tensor\":\"q\",\"place\":0}]}",
        "{\"kernel\":\"f\",\"inputs\":[{\"name\":\"q\",\"dtype\":\"f32\"}],"
        "\"position_tables\":[{\"tensor\":\"q\",\"place\":0}]}",
        "{\"kernel\":\"f\",\"token_groups\":[{\"tokens\":0}]}"})
    EXPECT_TRUE(errorToBool(readSignature(text).takeError())) << text;
  for (std::string text : {std::string(1'000'000, '['), std::string()}) {
    for (int i = 0; text.empty() && i < 100'000; ++i)
      text += "{\"a\":";
    EXPECT_TRUE(errorToBool(readSignature(text).takeError()));
  }
  EXPECT_FALSE(errorToBool(
      readSignature("{\"kernel\":\"f\",\"more\":[{}]}").takeError()));
}
