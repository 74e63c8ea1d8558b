//===- RaggedTables.h - Dense tables read by ragged rows --------*- C++ -*-===//

#ifndef NSACC_LIB_SIGNATURE_RAGGEDTABLES_H
#define NSACC_LIB_SIGNATURE_RAGGEDTABLES_H

#include "NSA/IR/NSAOps.h"
#include "nsacc/Tensor/Signature.h"

namespace nsacc {

struct RaggedTables {
  std::vector<RowTable> rows;
  std::vector<PositionTable> positions;
};

/// Finds the tables of a ragged kernel; other kernels have none.
RaggedTables findRaggedTables(nsa::KernelOp kernel);

} // namespace nsacc

#endif // NSACC_LIB_SIGNATURE_RAGGEDTABLES_H
