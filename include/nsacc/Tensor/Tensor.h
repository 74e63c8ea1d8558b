//===- Tensor.h - Strided tensors in host memory ----------------*- C++ -*-===//

#ifndef NSACC_TENSOR_TENSOR_H
#define NSACC_TENSOR_TENSOR_H

#include "nsacc/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace nsacc {

/// "bool", "i32", "i64", "f16", "bf16", "f32", "f64".
llvm::StringRef getName(DType dtype);
std::optional<DType> parseDType(llvm::StringRef name);
/// Bytes of one element.
int64_t getSize(DType dtype);
bool isReal(DType dtype);

/// `value` rounded to the nearest value that `dtype` holds, ties to even.
double roundTo(DType dtype, double value);

/// The largest finite number of a type of reals.
double getLargest(DType dtype);

/// A tensor in host memory: owned, or borrowed from `owner`. Copies share the
/// memory. Strides count elements and may be 0 or negative.
class Tensor {
public:
  Tensor() = default;

  /// A zero-filled, contiguous (row-major) tensor.
  static Tensor zeros(DType dtype, llvm::ArrayRef<int64_t> shape);
  /// Memory that another object owns, kept alive by `owner`.
  static Tensor borrow(void *data, DType dtype, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> strides,
                       std::shared_ptr<void> owner);

  DType getDType() const { return dtype; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  llvm::ArrayRef<int64_t> getStrides() const { return strides; }
  int64_t getRank() const { return shape.size(); }
  int64_t getNumElements() const;
  void *getData() const { return data; }
  bool isContiguous() const;
  /// A view of the same memory with dimensions in another order: dimension i of
  /// the view is this tensor's dimension order[i].
  Tensor permute(llvm::ArrayRef<int64_t> order) const;
  /// The inverse of permute: dimension order[i] of the view is this tensor's
  /// dimension i.
  Tensor permuteBack(llvm::ArrayRef<int64_t> order) const;
  /// This tensor if it is in row-major order, or else a copy that is.
  Tensor toContiguous() const;

  /// All elements in row-major order. Integers and booleans convert exactly up
  /// to 2^53 with toReals; use toIntegers for indices.
  std::vector<double> toReals() const;
  std::vector<int64_t> toIntegers() const;
  /// Overwrites all elements from row-major values, rounding to the dtype.
  void setReals(llvm::ArrayRef<double> values);
  void setIntegers(llvm::ArrayRef<int64_t> values);

private:
  DType dtype = DType::F32;
  llvm::SmallVector<int64_t, 4> shape, strides;
  void *data = nullptr;
  std::shared_ptr<void> owner;
};

/// Copies equally shaped tensors of one dtype, bit by bit.
void copyElements(const Tensor &from, const Tensor &to);

} // namespace nsacc

#endif // NSACC_TENSOR_TENSOR_H
