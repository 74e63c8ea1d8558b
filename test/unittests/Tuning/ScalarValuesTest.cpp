//===- ScalarValuesTest.cpp - Numbers that programs compute ---------------===//

#include "ScalarValues.h"
#include "TuningTest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"

using namespace nsacc;
using namespace nsacc::tuning;

namespace {
class ScalarValuesTest : public TuningTest {
protected:
  /// Values of the operands of a program's last op at a point.
  std::vector<std::optional<int64_t>> evaluate(std::array<int64_t, 3> point,
                                               std::optional<int64_t> assumed) {
    context.loadDialect<mlir::arith::ArithDialect, mlir::memref::MemRefDialect,
                        nsatile::NSATileDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(R"(
nsatile.program @p(%n: index, %known: memref<?xi32>, %unknown: memref<?xi32>) {
  %c2 = arith.constant 2 : index
  %c-7 = arith.constant -7 : index
  %c0 = arith.constant 0 : index
  %x = nsatile.program_id 0
  %negative = arith.floordivsi %c-7, %c2 : index
  %entry = memref.load %known[%x] : memref<?xi32>
  %index = arith.index_cast %entry : i32 to index
  %isLess = arith.cmpi slt, %index, %n : index
  %chosen = arith.select %isLess, %index, %n : index
  %other = memref.load %unknown[%c0] : memref<?xi32>
  %count = arith.index_cast %other : i32 to index
  %parts = arith.ceildivsi %count, %c2 : index
  %never = arith.floordivsi %n, %c0 : index
  %big = arith.constant 4611686018427387904 : index
  %beyond = arith.muli %big, %n : index
  "test.use"(%negative, %chosen, %parts, %never, %beyond) : (index, index, index, index, index) -> ()
  nsatile.return
})",
                                                     &context);
    EXPECT_TRUE(module);
    auto program = *module->getOps<nsatile::ProgramOp>().begin();
    mlir::Value known = program.getBody().getArgument(1);
    ScalarValues values(
        [&](mlir::Value buffer,
            llvm::ArrayRef<int64_t> place) -> std::optional<int64_t> {
          if (buffer != known)
            return std::nullopt;
          return 10 * place[0];
        });
    values.set(program.getBody().getArgument(0), 15);
    values.assumed = assumed;
    values.setPoint(point);
    std::vector<std::optional<int64_t>> found;
    auto &use = *std::prev(program.getBody().front().end(), 2);
    for (mlir::Value operand : use.getOperands())
      found.push_back(values.get(operand));
    EXPECT_TRUE(values.dimsRead[0]);
    EXPECT_FALSE(values.dimsRead[1]);
    return found;
  }
};
} // namespace

TEST_F(ScalarValuesTest, PointsAndTables) {
  context.allowUnregisteredDialects();
  using Values = std::vector<std::optional<int64_t>>;
  EXPECT_EQ(evaluate({1, 0, 0}, std::nullopt),
            (Values{-4, 10, std::nullopt, std::nullopt, std::nullopt}));
  EXPECT_EQ(evaluate({2, 5, 0}, 9), (Values{-4, 15, 5, 9, 9}));
}
