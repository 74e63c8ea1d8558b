//===- NSATileToVector.cpp - Tile programs as loops over vectors ----------===//

#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"
#include "NSATile/IR/Assertions.h"
#include "TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace nsacc {
#define GEN_PASS_DEF_CONVERTNSATILETOVECTOR
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h.inc"
} // namespace nsacc

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

struct ConvertNSATileToVector
    : nsacc::impl::ConvertNSATileToVectorBase<ConvertNSATileToVector> {
  using Base::Base;

  void runOnOperation() override {
    if (vectorBits < 128 || vectorBits > 512 ||
        !llvm::isPowerOf2_32(vectorBits)) {
      getOperation().emitError(
          "expected vector-bits to be 128, 256 or 512, found ")
          << Twine(vectorBits.getValue());
      return signalPassFailure();
    }
    for (auto plan :
         llvm::make_early_inc_range(getOperation().getOps<PlanOp>()))
      plan.erase();
    if (numberAssertions(getOperation()))
      declareReport();
    for (auto program :
         llvm::make_early_inc_range(getOperation().getOps<ProgramOp>()))
      if (failed(convert(program)))
        return signalPassFailure();
  }

  /// Declares the function that programs call if a condition doesn't hold.
  void declareReport() {
    auto builder = OpBuilder::atBlockBegin(getOperation().getBody());
    auto type = builder.getFunctionType(
        {builder.getI64Type(), builder.getIndexType()}, {});
    func::FuncOp::create(builder, getOperation().getLoc(), kReportFailureName,
                         type)
        .setPrivate();
  }

  LogicalResult convert(ProgramOp program) {
    OpBuilder builder(program);
    SmallVector<Type> types(program.getArgumentTypes());
    types.append(3, builder.getIndexType());
    auto function =
        func::FuncOp::create(builder, program.getLoc(), program.getSymName(),
                             builder.getFunctionType(types, {}));
    Block *entry = function.addEntryBlock();
    auto arguments = entry->getArguments();
    TilePlacement placement(program);
    LiveRows liveRows(program);
    // AVX-512 has twice as many registers, each of twice the size.
    int64_t registers = vectorBits == 512 ? 32 : 16;
    TileEmitter emitter(placement, liveRows, entry, arguments.take_back(3),
                        vectorBits / 32, registers);
    for (auto [from, to] : llvm::zip_equal(program.getBody().getArguments(),
                                           arguments.drop_back(3)))
      emitter.map(from, to);
    LogicalResult result = emitter.emitBlock(program.getBody().front(), [&] {
      func::ReturnOp::create(emitter.getBuilder(), program.getLoc());
    });
    function->setAttr(kScratchBytesAttrName,
                      builder.getI64IntegerAttr(emitter.getScratchBytes()));
    if (MemRefType largest = emitter.getLargestScratch())
      function->setAttr(kLargestScratchAttrName, TypeAttr::get(largest));
    program.erase();
    return result;
  }
};

} // namespace
