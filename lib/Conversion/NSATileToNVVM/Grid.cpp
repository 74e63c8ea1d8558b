//===- Grid.cpp - Points of grids that blocks go through ------------------===//

#include "Grid.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nsacc;

Value Grid::getNumPoints(CodeBuilder &b) const { return b.mul(b.mul(x, y), z); }

/// The point that is `back` points from the end of a column.
Point Grid::getPoint(CodeBuilder &b, Value back, Value column) const {
  Value last = b.make<arith::SubIOp>(x, b.i32(1));
  return {b.make<arith::SubIOp>(last, back), b.make<arith::RemUIOp>(column, y),
          b.make<arith::DivUIOp>(column, y)};
}

Point Grid::getPoint(CodeBuilder &b, Value number) const {
  return getPoint(b, b.make<arith::RemUIOp>(number, x),
                  b.make<arith::DivUIOp>(number, x));
}

Point Grid::getSectionPoint(CodeBuilder &b, Value blocks, Value number) const {
  Value columns = b.mul(y, z);
  auto atLeastOne = [&](Value value) -> Value {
    return b.make<arith::MaxUIOp>(value, b.i32(1));
  };
  Value enough = b.make<arith::CeilDivUIOp>(b.mul(blocks, b.i32(2)), x);
  Value sections = atLeastOne(b.make<arith::DivUIOp>(columns, enough));
  Value width = b.make<arith::CeilDivUIOp>(columns, sections);
  Value points = b.mul(width, x);
  Value first = b.mul(b.make<arith::DivUIOp>(number, points), width);
  Value inSection = b.make<arith::RemUIOp>(number, points);
  // The last section may be narrower, and no section follows it.
  Value left = b.make<arith::SubIOp>(columns, first);
  width = atLeastOne(b.make<arith::MinUIOp>(width, left));
  Value column = b.add(first, b.make<arith::RemUIOp>(inSection, width));
  return getPoint(b, b.make<arith::DivUIOp>(inSection, width), column);
}

void nsacc::mapPoint(ProgramValues &program, Region &body, ValueRange point) {
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), point))
    program.map(argument, value);
}
