//===- QueryRows.h - Query rows that are independent ------------*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_QUERYROWS_H
#define NSACC_LIB_INTERPRETER_QUERYROWS_H

#include "Environment.h"
#include "NSA/IR/NSAOps.h"
#include <optional>

namespace nsacc::interpreter {

/// The packed query rows of a kernel, if all its ops have the same ones and
/// compute each without the others.
class QueryRows {
public:
  QueryRows(nsa::KernelOp kernel, const Environment &environment);

  /// 0 if rows depend on each other.
  int64_t getNumRows() const { return numRows; }
  /// The row of an element, or none if its tensor isn't one of query rows.
  std::optional<int64_t> find(nsa::NamedTensorType type, int64_t element,
                              int64_t numElements) const;

private:
  llvm::SmallVector<mlir::Attribute> dims;
  int64_t numRows = 0;
};

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_QUERYROWS_H
