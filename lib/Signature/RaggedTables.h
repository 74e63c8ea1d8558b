//===- RaggedTables.h - Dense tables that ragged rows read ------*- C++ -*-===//

#ifndef NSACC_LIB_SIGNATURE_RAGGEDTABLES_H
#define NSACC_LIB_SIGNATURE_RAGGEDTABLES_H

#include "NSA/IR/NSAOps.h"
#include "nsacc/Tensor/Signature.h"

namespace nsacc {

struct RaggedTables {
  std::vector<RowTable> rows;
  std::vector<PositionTable> positions;
};

/// Finds them in a ragged kernel; others have none.
RaggedTables findRaggedTables(nsa::KernelOp kernel);

} // namespace nsacc

#endif // NSACC_LIB_SIGNATURE_RAGGEDTABLES_H
