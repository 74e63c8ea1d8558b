//===- TileOpInterface.h - How ops are computed in tiles --------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_TILEOPINTERFACE_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_TILEOPINTERFACE_H

#include "Evaluator.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace nsacc {

/// Attaches models of TileOpInterface to the ops of the nsa dialect.
void registerTileModels(mlir::DialectRegistry &registry);

} // namespace nsacc

#include "nsacc/Conversion/NSAToNSATile/TileOpInterface.h.inc"

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_TILEOPINTERFACE_H
