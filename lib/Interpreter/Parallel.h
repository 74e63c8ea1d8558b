//===- Parallel.h - Work on rows by several threads -------------*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_PARALLEL_H
#define NSACC_LIB_INTERPRETER_PARALLEL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>

namespace nsacc::interpreter {

/// Computes one row. Owns the scratch memory of its thread.
using RowWorker = std::function<llvm::Error(int64_t row)>;

/// Calls workers for the rows [0, rows), each row once, each worker from one
/// thread. A row's results must depend only on the row, so that they are the
/// same with any number of threads. Returns the error of the first row that
/// fails.
llvm::Error forEachRow(int64_t rows, unsigned threads,
                       llvm::function_ref<RowWorker()> makeWorker);

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_PARALLEL_H
