//===- TileTestDialect.h - An op that tiles itself --------------*- C++ -*-===//
//
// Shows that convert-nsa-to-nsatile takes ops that nothing else names.
//
//===----------------------------------------------------------------------===//

#ifndef TEST_LIB_TILETEST_TILETESTDIALECT_H
#define TEST_LIB_TILETEST_TILETESTDIALECT_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace nsacc::tiletest {

void registerTileTestDialect(mlir::DialectRegistry &registry);

} // namespace nsacc::tiletest

#endif // TEST_LIB_TILETEST_TILETESTDIALECT_H
