//===- PackageTest.cpp - Packages of kernels with signatures --------------===//

#include "NSATile/IR/NSATileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "nsacc/Target/CUDA/CUDA.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace nsacc;
using ::testing::HasSubstr;

namespace {

class PackageTest : public ::testing::Test {
protected:
  PackageTest() {
    context.loadDialect<mlir::arith::ArithDialect, mlir::memref::MemRefDialect,
                        nsatile::NSATileDialect>();
  }

  rt::Package pack(llvm::StringRef text, const Signature &signature) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    cuda::Options options(*gpu::findDevice("sm_80"));
    options.signature = &signature;
    auto plan = *module->getOps<nsatile::PlanOp>().begin();
    mlir::FailureOr<rt::Package> package = cuda::packPlan(plan, options);
    EXPECT_TRUE(mlir::succeeded(package));
    return std::move(*package);
  }

  mlir::MLIRContext context;
};

} // namespace

static Dim makeNamed(const char *name) {
  Dim dim;
  dim.name = name;
  return dim;
}

static Dim makePool(int64_t len, int64_t stride, Dim::Tail tail) {
  Dim dim = makeNamed("S");
  dim.kind = Dim::Kind::Pool;
  dim.len = len;
  dim.stride = stride;
  dim.tail = tail;
  return dim;
}

/// A number of a plan of at most two parameters, all of whose dimensions have
/// `size`.
static int64_t evaluate(rt::Plan plan, uint32_t number, int64_t size) {
  plan.checks.clear();
  std::vector<int64_t> numbers;
  const int64_t sizes[] = {size, size};
  EXPECT_EQ(rt::computeNumbers(plan, {sizes, sizes}, numbers), std::nullopt);
  return numbers[number];
}

TEST_F(PackageTest, NamesDimensionsAsTheProgramDoes) {
  Signature signature;
  Dim heads;
  heads.kind = Dim::Kind::Constant;
  heads.size = 4;
  signature.inputs = {
      {"q", DType::F32, {makeNamed("B"), heads, makeNamed("S")}, {}}};
  signature.results = {{"o", DType::F32, {makeNamed("S")}, {}}};
  rt::Package package =
      pack("nsatile.plan @f(%q: memref<?x4x?xf32> {nsa.name = \"q\"}, "
           "%o: memref<?xf32> {nsa.name = \"o\"}) { nsatile.return }",
           signature);
  ASSERT_EQ(package.parameters.size(), 2u);
  EXPECT_EQ(package.parameters[0].sizes[0].name, "B");
  EXPECT_EQ(package.parameters[0].sizes[1].fixed, 4);
  EXPECT_EQ(package.parameters[0].sizes[1].name, "");
  EXPECT_EQ(package.parameters[1].sizes[0].name, "S");
  EXPECT_FALSE(package.parameters[0].isResult);
  EXPECT_TRUE(package.parameters[1].isResult);
  EXPECT_TRUE(package.variants[0].targets[0].plan.checks.empty());
  EXPECT_EQ(package.variants[0].targets[0].architecture, "sm_80");
}

// The steps compute the sizes that the signature requires.
TEST_F(PackageTest, ChecksSizesThatFollowFromOthers) {
  Dim blocks = makeNamed("S");
  blocks.kind = Dim::Kind::Blocks;
  blocks.block = 16;
  std::vector<Dim> derived = {blocks};
  for (Dim::Tail tail : {Dim::Tail::Drop, Dim::Tail::Average,
                         Dim::Tail::ZerosLeft, Dim::Tail::ZerosRight})
    derived.push_back(makePool(8, 3, tail));
  for (const Dim &dim : derived) {
    Signature signature;
    signature.inputs = {{"k", DType::F32, {makeNamed("S")}, {}}};
    signature.results = {{"o", DType::F32, {dim}, {}}};
    rt::Package package = pack("nsatile.plan @f(%k: memref<?xf32>, %o: "
                               "memref<?xf32>) { nsatile.return }",
                               signature);
    const rt::TargetCode &code = package.variants[0].targets[0];
    ASSERT_EQ(code.plan.checks.size(), 1u);
    EXPECT_THAT(code.plan.checks[0].what, HasSubstr("size 0 of 'o' ("));
    for (int64_t size = 0; size < 40; ++size) {
      DimSizes sizes;
      sizes.sizes["S"] = size;
      llvm::Expected<std::vector<int64_t>> shape =
          getShape(signature.results[0], sizes);
      ASSERT_TRUE(static_cast<bool>(shape)) << toString(shape.takeError());
      EXPECT_EQ(evaluate(code.plan, code.plan.checks[0].expected, size),
                (*shape)[0])
          << toString(dim) << " for " << size;
    }
  }
}

// One row of indices for 8 tokens each, also if the indices are computed from
// 'x'.
TEST_F(PackageTest, ChecksRowsOfIndices) {
  Signature signature;
  signature.inputs = {{"q", DType::F32, {makeNamed("T")}, {}},
                      {"x", DType::I32, {makeNamed("M")}, {}}};
  signature.tokenGroups = {
      {"a computed tensor", makeNamed("M"), makeNamed("T"), 8}};
  rt::Package package = pack("nsatile.plan @f(%q: memref<?xf32>, %x: "
                             "memref<?xi32>) { nsatile.return }",
                             signature);
  const rt::Plan &plan = package.variants[0].targets[0].plan;
  ASSERT_EQ(plan.checks.size(), 1u);
  EXPECT_EQ(plan.checks[0].what, "size 0 of 'x' (M)");
  for (int64_t size : {0, 1, 8, 9, 17})
    EXPECT_EQ(evaluate(plan, plan.checks[0].expected, size), (size + 7) / 8);
}

// A table that is read at b has one entry fewer than there are offsets.
TEST_F(PackageTest, ChecksTablesOfRaggedRows) {
  Dim offsets = makeNamed("T");
  offsets.kind = Dim::Kind::Offsets;
  Signature signature;
  signature.inputs = {{"slope", DType::F32, {makeNamed("R")}, {}},
                      {"T_offsets", DType::I32, {offsets}, {}}};
  signature.rowTables = {{"slope", 0}};
  rt::Package package = pack("nsatile.plan @f(%s: memref<?xf32>, %o: "
                             "memref<?xi32>) { nsatile.return }",
                             signature);
  const rt::Plan &plan = package.variants[0].targets[0].plan;
  ASSERT_EQ(plan.checks.size(), 1u);
  EXPECT_EQ(plan.checks[0].what, "size 0 of 'slope' (R)");
  EXPECT_EQ(evaluate(plan, plan.checks[0].expected, 4), 3);
}

// A number counts rows at its own place alone.
TEST_F(PackageTest, ChecksNumbersOfRaggedRows) {
  Dim offsets = makeNamed("T"), number;
  offsets.kind = Dim::Kind::Offsets;
  number.kind = Dim::Kind::Constant;
  number.size = 3;
  Signature signature;
  signature.inputs = {{"w", DType::F32, {number, number}, {}},
                      {"T_offsets", DType::I32, {offsets}, {}}};
  signature.rowTables = {{"w", 1}};
  rt::Package package = pack("nsatile.plan @f(%s: memref<3x3xf32>, %o: "
                             "memref<?xi32>) { nsatile.return }",
                             signature);
  const rt::Plan &plan = package.variants[0].targets[0].plan;
  ASSERT_EQ(plan.checks.size(), 1u);
  EXPECT_EQ(plan.checks[0].what, "size 1 of 'w' (3)");
  EXPECT_EQ(evaluate(plan, plan.checks[0].expected, 5), 4);
}

TEST_F(PackageTest, RaggedSizesArentChecked) {
  Dim ragged = makeNamed("S");
  ragged.kind = Dim::Kind::Ragged;
  Signature signature;
  signature.inputs = {{"k", DType::F32, {ragged}, {}}};
  signature.results = {
      {"o", DType::F32, {makePool(8, 4, Dim::Tail::Drop)}, {}}};
  rt::Package package = pack("nsatile.plan @f(%k: memref<?xf32>, %o: "
                             "memref<?xf32>) { nsatile.return }",
                             signature);
  EXPECT_TRUE(package.variants[0].targets[0].plan.checks.empty());
}
