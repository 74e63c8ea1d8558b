//===- TileOpInterface.h - How ops are computed in tiles --------*- C++ -*-===//

#ifndef NSACC_CONVERSION_NSATONSATILE_TILEOPINTERFACE_H
#define NSACC_CONVERSION_NSATONSATILE_TILEOPINTERFACE_H

#include "NSA/IR/NSATypes.h"
#include "NSATile/IR/ScheduleFields.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace nsacc {

class Evaluator;
class PlanBuilder;
class TileSource;
struct Tile;

/// Attaches models of TileOpInterface to the ops of the nsa dialect.
void registerTileModels(mlir::DialectRegistry &registry);

} // namespace nsacc

#include "nsacc/Conversion/NSAToNSATile/TileOpInterface.h.inc"

#endif // NSACC_CONVERSION_NSATONSATILE_TILEOPINTERFACE_H
