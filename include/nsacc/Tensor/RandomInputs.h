//===- RandomInputs.h - Reproducible inputs of kernels ----------*- C++ -*-===//

#ifndef NSACC_TENSOR_RANDOMINPUTS_H
#define NSACC_TENSOR_RANDOMINPUTS_H

#include "nsacc/Tensor/Signature.h"

namespace nsacc {

/// Random numbers that depend only on a seed, an input's name and a counter, by
/// integer arithmetic: every machine and any language computes the same bits.
/// Modulo 2^64, with
///
///   mix(z) = z ^= z >> 30; z *= 0xbf58476d1ce4e5b9;
///            z ^= z >> 27; z *= 0x94d049bb133111eb; z ^ z >> 31
///   key = mix(mix(seed) ^ fnv1a64(name))
///
/// draw number `n` is mix(key + (n + 1) * 0x9e3779b97f4a7c15).
class RandomStream {
public:
  RandomStream(uint64_t seed, llvm::StringRef name);

  uint64_t draw(uint64_t counter) const;
  /// Element `index` of a standard normal sample: the sum of the twelve 16-bit
  /// parts, each plus 1/2, of draws 3 * index to 3 * index + 2, over 2^16, less
  /// 6. A multiple of 2^-16 between -6 and 6.
  double drawNormal(uint64_t index) const;
  /// low + (high - low) * (draw(index) >> 11) / 2^53.
  double drawUniform(uint64_t index, double low, double high) const;
  /// low + draw(index) modulo (high - low + 1).
  int64_t drawInteger(uint64_t index, int64_t low, int64_t high) const;

private:
  uint64_t key;
};

/// An input of the shape that `sizes` gives: reals are standard normal, rounded
/// to the input's type; booleans 0 or 1; integers uniform over the input's
/// domain. Indices of blocks are distinct, ascending and padded with -1.
/// Offsets come from `sizes`. Fails for integers whose domain isn't known.
llvm::Expected<Tensor> makeRandomInput(const Argument &argument,
                                       const DimSizes &sizes, uint64_t seed);

/// Options for drawing lists of blocks.
struct ListStyle {
  /// The share of a list that all lists of one run of `kRun` have in common.
  double agreement = 0;
  static constexpr int64_t kRun = 32;
  /// The dimension along which lists follow each other, and the dimension of
  /// queries.
  std::string lists = {}, queries = {};
  /// Number of queries that share a list, under a causal mask: no query sees a
  /// key after its position, and the last query is at the last key. 0: every
  /// query sees all keys.
  int64_t causalQueries = 0;
};

/// Indices of blocks as `makeRandomInput` makes them, with a style.
llvm::Expected<Tensor> makeRandomLists(const Argument &argument,
                                       const DimSizes &sizes, uint64_t seed,
                                       const ListStyle &style);

/// An input of reals that are uniform between `low` and `high`, rounded to the
/// input's type.
llvm::Expected<Tensor> makeUniformInput(const Argument &argument,
                                        const DimSizes &sizes, uint64_t seed,
                                        double low, double high);

} // namespace nsacc

#endif // NSACC_TENSOR_RANDOMINPUTS_H
