//===- CodeBuilder.h - Code of one thread -----------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_CODEBUILDER_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_CODEBUILDER_H

#include "mlir/IR/Builders.h"

namespace nsacc {

/// Builds scalar code, branches and accesses at one place, for one line of the
/// program. It knows nothing about tiles, other threads or synchronization.
class CodeBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  template <typename OpTy, typename... Args> mlir::Value make(Args &&...args) {
    return OpTy::create(*this, std::forward<Args>(args)...);
  }

  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value f32(float value);
  mlir::Value zero(mlir::Type type);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  /// Conjunction of two conditions; null stands for true.
  mlir::Value both(mlir::Value lhs, mlir::Value rhs);
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no);
  /// An index as a 64-bit offset.
  mlir::Value extend(mlir::Value index);
  /// An element of a vector or a struct.
  mlir::Value element(mlir::Value aggregate, int64_t index);

  /// Values of one type as a vector.
  mlir::Value join(llvm::ArrayRef<mlir::Value> values);

  /// The values of `body` if `condition` holds, else those of `other`. A null
  /// condition always holds.
  llvm::SmallVector<mlir::Value>
  branch(mlir::Value condition, mlir::TypeRange types,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> body,
         llvm::function_ref<llvm::SmallVector<mlir::Value>()> other);
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// Calls `body` for each round; unrolled for at most `unrolled` rounds.
  void forEach(int64_t count, int64_t unrolled,
               llvm::function_ref<void(mlir::Value)> body);

  void createLoop(mlir::Value first, mlir::Value end, mlir::Value step,
                  llvm::function_ref<void(mlir::Value)> body);
  /// Creates a loop that carries a value.
  mlir::Value
  createLoop(mlir::Value first, mlir::Value end, mlir::Value step,
             mlir::Value carried,
             llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> body);

  /// Goes over the bits that are set in a word, from the lowest on, and carries
  /// values from one to the next. With several words, their next bits are
  /// visited together; 32 stands for a word that has no more.
  llvm::SmallVector<mlir::Value>
  forEachBit(llvm::ArrayRef<mlir::Value> words,
             llvm::ArrayRef<mlir::Value> carried,
             llvm::function_ref<llvm::SmallVector<mlir::Value>(
                 mlir::ValueRange bits, mlir::ValueRange carried)>
                 body);

  /// Accesses to global or shared memory; `align` is in bytes.
  mlir::Value load(mlir::Type type, mlir::Value pointer, int64_t align);
  void store(mlir::Value value, mlir::Value pointer, int64_t align);
  mlir::Value advance(mlir::Value pointer, int64_t bytes);
};

/// Type of an element in a register; an index has 32 bits.
mlir::Type getRegisterType(mlir::Type elementType);
/// Type of an element in memory; a bool takes a byte.
mlir::Type getMemoryType(mlir::Type type);
int64_t getMemoryBytes(mlir::Type type);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_CODEBUILDER_H
