//===- NSAVerify.cpp - What makes an nsa op well-formed -------------------===//

#include "NSA/IR/NSAOps.h"

using namespace mlir;
using namespace nsacc::nsa;

LogicalResult KernelOp::verifyRegions() { return success(); }
LogicalResult ReturnOp::verify() { return success(); }
LogicalResult DimOp::verify() { return success(); }
LogicalResult TableReadOp::verify() { return success(); }
LogicalResult MapOp::verify() { return success(); }
LogicalResult MapOp::verifyRegions() { return success(); }
LogicalResult PoolOp::verify() { return success(); }
LogicalResult DeclarePooledOp::verify() { return success(); }
LogicalResult AttendOp::verify() { return success(); }
LogicalResult AttendOp::verifyRegions() { return success(); }
LogicalResult ImportanceOp::verify() { return success(); }
LogicalResult ImportanceOp::verifyRegions() { return success(); }
LogicalResult MergeOp::verify() { return success(); }
LogicalResult BlocksOp::verify() { return success(); }
LogicalResult DeclareBlocksOp::verify() { return success(); }
LogicalResult TopKOp::verify() { return success(); }
LogicalResult TopKOp::verifyRegions() { return success(); }
LogicalResult DeclareSelectionOp::verify() { return success(); }
LogicalResult IndicesOp::verify() { return success(); }
