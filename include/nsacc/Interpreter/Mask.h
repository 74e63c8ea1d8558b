//===- Mask.h - Masks evaluated without a run -------------------*- C++ -*-===//

#ifndef NSACC_INTERPRETER_MASK_H
#define NSACC_INTERPRETER_MASK_H

#include "nsacc/Tensor/Signature.h"
#include "llvm/ADT/ArrayRef.h"
#include <memory>
#include <optional>

namespace mlir {
class Region;
} // namespace mlir

namespace nsacc::interpreter {

/// Evaluates a mask that depends on positions and sizes alone.
class MaskRunner {
public:
  /// None if the mask reads tables, which only a run has. The sizes are for one
  /// batch row, in which nothing is ragged.
  static std::optional<MaskRunner> create(mlir::Region &mask, DimSizes sizes);
  MaskRunner(MaskRunner &&);
  MaskRunner &operator=(MaskRunner &&);
  ~MaskRunner();

  /// Sets the query: `token` of its batch row, at `position`.
  void setQuery(int64_t batchRow, int64_t head, int64_t token,
                int64_t position);
  /// The mask's value for each of these keys, not 0 if the query sees it; none
  /// if the mask has no value for one. Valid until the next call.
  std::optional<llvm::ArrayRef<int64_t>> look(llvm::ArrayRef<int64_t> keys);

private:
  class State;
  explicit MaskRunner(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace nsacc::interpreter

#endif // NSACC_INTERPRETER_MASK_H
