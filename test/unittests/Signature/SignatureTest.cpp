//===- SignatureTest.cpp - Signatures of kernel ops -----------------------===//

#include "nsacc/Signature/Signature.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nsacc;

namespace {

class SignatureTest : public ::testing::Test {
protected:
  Signature parse(llvm::StringRef text) {
    context.loadDialect<nsa::NSADialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    if (!module)
      return {};
    return getSignature(*module->getOps<nsa::KernelOp>().begin());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(SignatureTest, NamesTypesAndParametersComeFromTheProgram) {
  Signature signature = parse(R"(
    nsa.kernel @copy(%x: !nsa.tensor<[B, 8], f16> {nsa.name = "x"},
                     %m: !nsa.tensor<[T], i1> {nsa.name = "m"},
                     %n: !nsa.tensor<[], i64>)
        -> (!nsa.tensor<[B, 8], f16> {nsa.name = "y"},
            !nsa.tensor<[], i64>)
        attributes {params = {top = 16 : i64, rate = 5.000000e-01 : f64,
                              deep = true, storage = "bf16"}} {
      nsa.return %x, %n : !nsa.tensor<[B, 8], f16>, !nsa.tensor<[], i64>
    })");
  EXPECT_EQ(signature.kernel, "copy");
  ASSERT_EQ(signature.inputs.size(), 3u);
  EXPECT_EQ(signature.inputs[0].name, "x");
  EXPECT_EQ(signature.inputs[0].dtype, DType::F16);
  EXPECT_EQ(signature.inputs[0].dims[0].kind, Dim::Kind::Named);
  EXPECT_EQ(signature.inputs[0].dims[0].name, "B");
  EXPECT_EQ(signature.inputs[0].dims[1].kind, Dim::Kind::Constant);
  EXPECT_EQ(signature.inputs[0].dims[1].size, 8);
  EXPECT_EQ(signature.inputs[1].dtype, DType::Bool);
  EXPECT_EQ(signature.inputs[2].name, "arg2");
  EXPECT_TRUE(signature.inputs[2].dims.empty());
  ASSERT_EQ(signature.results.size(), 2u);
  EXPECT_EQ(signature.results[0].name, "y");
  EXPECT_EQ(signature.results[1].name, "out1");
  std::vector<std::pair<std::string, std::string>> params = {
      {"deep", "true"}, {"rate", "0.5"}, {"storage", "bf16"}, {"top", "16"}};
  EXPECT_EQ(signature.params, params);
  EXPECT_TRUE(signature.multiples.empty());
  EXPECT_FALSE(signature.marksHeads);
}

// Callers see the order that the program declares.
TEST_F(SignatureTest, DimensionsStandAsDeclared) {
  Signature signature = parse(R"(
    nsa.kernel @copy(%x: !nsa.tensor<[B, T, H, 8], f16> {nsa.name = "x", nsa.order = array<i64: 2, 0, 1, 3>},
                     %y: !nsa.tensor<[B, T], f32>)
        -> (!nsa.tensor<[B, T, H, 8], f16> {nsa.order = array<i64: 0, 2, 1, 3>}) {
      nsa.return %x : !nsa.tensor<[B, T, H, 8], f16>
    })");
  EXPECT_EQ(toString(signature.inputs[0]), "x: f16[H, B, T, 8]");
  EXPECT_EQ(toString(signature.inputs[1]), "arg1: f32[B, T]");
  EXPECT_EQ(toString(signature.results[0]), "out: f16[B, H, T, 8]");
  EXPECT_TRUE(signature.marksHeads);
}

TEST_F(SignatureTest, EveryKindOfDimension) {
  Signature signature = parse(R"(
    nsa.kernel @dims(%x: !nsa.tensor<[ragged T, H, D], bf16>,
                     %p: !nsa.tensor<[ragged pool(T, 32, 16, zeros_left), H, D], bf16>,
                     %q: !nsa.tensor<[B, pooled(N of S, 4, 2, -1, 3), H, D], bf16>,
                     %r: !nsa.tensor<[B, U, H, blocks(S, 64)], f32>,
                     %o: !nsa.tensor<[offsets(T)], i32>) {
      nsa.return
    })");
  const Dim &ragged = signature.inputs[0].dims[0];
  EXPECT_EQ(ragged.kind, Dim::Kind::Ragged);
  EXPECT_EQ(ragged.name, "T");
  const Dim &pool = signature.inputs[1].dims[0];
  EXPECT_EQ(pool.kind, Dim::Kind::Pool);
  EXPECT_EQ(pool.name, "T");
  EXPECT_EQ(pool.len, 32);
  EXPECT_EQ(pool.stride, 16);
  EXPECT_EQ(pool.tail, Dim::Tail::ZerosLeft);
  EXPECT_TRUE(pool.ragged);
  const Dim &pooled = signature.inputs[2].dims[1];
  EXPECT_EQ(pooled.kind, Dim::Kind::Pooled);
  EXPECT_EQ(pooled.name, "S");
  EXPECT_EQ(pooled.count, "N");
  EXPECT_FALSE(pooled.ragged);
  const Dim &blocks = signature.inputs[3].dims[3];
  EXPECT_EQ(blocks.kind, Dim::Kind::Blocks);
  EXPECT_EQ(blocks.name, "S");
  EXPECT_EQ(blocks.block, 64);
  EXPECT_TRUE(signature.inputs[4].isOffsets());
  EXPECT_EQ(signature.inputs[4].dims[0].name, "T");
}

TEST_F(SignatureTest, HeadsAreMultiplesOnce) {
  Signature signature = parse(R"(
    nsa.kernel @heads(%q: !nsa.tensor<[B, T, HQ, D], bf16>,
                      %k: !nsa.tensor<[B, S, H, D], bf16>,
                      %p: !nsa.tensor<[B, T, H, blocks(S, 64)], f32>) {
      %o, %l = nsa.attend(%q, %k, %k)
          : (!nsa.tensor<[B, T, HQ, D], bf16>, !nsa.tensor<[B, S, H, D], bf16>, !nsa.tensor<[B, S, H, D], bf16>)
          -> (!nsa.tensor<[B, T, HQ, D], f32>, !nsa.tensor<[B, T, HQ], f32>)
      %o2, %l2 = nsa.attend(%q, %k, %k)
          : (!nsa.tensor<[B, T, HQ, D], bf16>, !nsa.tensor<[B, S, H, D], bf16>, !nsa.tensor<[B, S, H, D], bf16>)
          -> (!nsa.tensor<[B, T, HQ, D], f32>, !nsa.tensor<[B, T, HQ], f32>)
      %o3, %l3 = nsa.attend(%q, %q, %q)
          : (!nsa.tensor<[B, T, HQ, D], bf16>, !nsa.tensor<[B, T, HQ, D], bf16>, !nsa.tensor<[B, T, HQ, D], bf16>)
          -> (!nsa.tensor<[B, T, HQ, D], f32>, !nsa.tensor<[B, T, HQ], f32>)
      %sel = nsa.topk %p top 4 share_heads 2 by sum
          : (!nsa.tensor<[B, T, H, blocks(S, 64)], f32>)
          -> !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
      nsa.return
    })");
  ASSERT_EQ(signature.multiples.size(), 2u);
  EXPECT_EQ(signature.multiples[0].multiple.name, "HQ");
  EXPECT_EQ(signature.multiples[0].of.name, "H");
  EXPECT_EQ(signature.multiples[1].multiple.name, "H");
  EXPECT_EQ(signature.multiples[1].of.kind, Dim::Kind::Constant);
  EXPECT_EQ(signature.multiples[1].of.size, 2);
  EXPECT_EQ(signature.multiples[0].reason, Multiple::Reason::Groups);
  EXPECT_EQ(signature.multiples[1].reason, Multiple::Reason::Sharing);
}

TEST_F(SignatureTest, DomainsOfSelectionsAndCounts) {
  Signature signature = parse(R"(
    nsa.kernel @selected(%idx: !nsa.tensor<[B, T, H, 16], i32>,
                         %p: !nsa.tensor<[B, T, H, blocks(S, 64)], f32>,
                         %n: !nsa.tensor<[B, T, H], i32>) {
      %given = nsa.declare_selection %idx : (!nsa.tensor<[B, T, H, 16], i32>)
          -> !nsa.selection<[B, T, H], top = 16, block = 64, of = S>
      %sel = nsa.topk %p count %n top 4
          : (!nsa.tensor<[B, T, H, blocks(S, 64)], f32>, !nsa.tensor<[B, T, H], i32>)
          -> !nsa.selection<[B, T, H], top = 4, block = 64, of = S>
      nsa.return
    })");
  ASSERT_TRUE(signature.inputs[0].domain);
  EXPECT_EQ(signature.inputs[0].domain->kind, Domain::Kind::Blocks);
  EXPECT_EQ(signature.inputs[0].domain->of, "S");
  EXPECT_EQ(signature.inputs[0].domain->block, 64);
  EXPECT_FALSE(signature.inputs[1].domain);
  ASSERT_TRUE(signature.inputs[2].domain);
  EXPECT_EQ(signature.inputs[2].domain->kind, Domain::Kind::Range);
  EXPECT_EQ(signature.inputs[2].domain->low, 0);
  EXPECT_EQ(signature.inputs[2].domain->high, 4);
}

TEST_F(SignatureTest, TablesThatRaggedRowsRead) {
  Signature signature = parse(R"(
    nsa.kernel @f(%q: !nsa.tensor<[ragged T, H, D], f32> {nsa.name = "q"},
                  %doc: !nsa.tensor<[N], i32> {nsa.name = "doc"},
                  %slope: !nsa.tensor<[R, H], f32> {nsa.name = "slope"},
                  %near: !nsa.tensor<[M], f32> {nsa.name = "near"},
                  %own: !nsa.tensor<[ragged T], i32> {nsa.name = "own"},
                  %o: !nsa.tensor<[offsets(T)], i32> {nsa.name = "T_offsets"})
        -> !nsa.tensor<[ragged T, H, D], f32> {
      %out, %lse = nsa.attend(%q, %q, %q)
          mask (%b, %h, %t, %i, %j) {
            %one = arith.constant 1 : index
            %before = arith.subi %j, %one : index
            %d = nsa.table_read %doc[%before] : !nsa.tensor<[N], i32>
            %e = nsa.table_read %own[%j] row %b : !nsa.tensor<[ragged T], i32>
            %m = arith.cmpi eq, %d, %e : index
            nsa.yield %m : i1
          }
          score (%s, %b, %h, %t, %i, %j) {
            %x = nsa.table_read %slope[%b, %h] : !nsa.tensor<[R, H], f32>
            %far = arith.subi %i, %j : index
            %y = nsa.table_read %near[%far] : !nsa.tensor<[M], f32>
            %z = arith.addf %x, %y : f32
            nsa.yield %z : f32
          }
          : (!nsa.tensor<[ragged T, H, D], f32>, !nsa.tensor<[ragged T, H, D], f32>, !nsa.tensor<[ragged T, H, D], f32>)
          -> (!nsa.tensor<[ragged T, H, D], f32>, !nsa.tensor<[ragged T, H], f32>)
      nsa.return %out : !nsa.tensor<[ragged T, H, D], f32>
    })");
  EXPECT_EQ(signature.rowTables, (std::vector<RowTable>{{"slope", 0}}));
  EXPECT_EQ(signature.positionTables,
            (std::vector<PositionTable>{{"doc", 0, "T"}}));
}

} // namespace
