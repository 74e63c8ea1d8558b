//===- AttendFold.h - States of an attention's rows -------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDFOLD_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDFOLD_H

#include "PairFold.h"
#include <memory>

namespace nsacc {

/// Output and log-sum-exp of an attention for the rows of a tile. The output is
/// null where only the log-sum-exp is wanted. A softmax also has the parts of
/// its log-sum-exp: the largest score and the sum of exponentials behind it.
struct AttendTiles {
  mlir::Value output, lse, max = {}, sum = {};
};

/// The fold of an attention.
class AttendFold : public PairFold {
public:
  AttendFold(ProgramBuilder &program, const QueryTile &tile, Scorer &scorer,
             nsa::ScoringOpInterface op, bool onlyLse);

  static std::unique_ptr<AttendFold>
  create(ProgramBuilder &program, const QueryTile &tile, Scorer &scorer,
         nsa::ScoringOpInterface op, bool onlyLse);

  void loadShared(KeyTile &keys) override;
  /// The results of rows that met all their keys.
  virtual AttendTiles finish(const QueryRows &rows, mlir::ValueRange state) = 0;

  nsa::ScoringOpInterface getOp() const { return op; }
  /// Whether the state has no accumulator.
  bool hasOnlyLse() const { return onlyLse; }
  /// Channels of values that the tile has.
  int64_t getChannels() const { return channels; }
  /// All channels of values, also where the tile has a slice of them.
  int64_t getAllChannels() const { return allChannels; }

protected:
  mlir::Value loadValues(const KeyTile &keys);
  /// Whether pairs have a score other than -inf. A key with a score of -inf
  /// isn't seen.
  mlir::Value takesPart(mlir::Value scores);

  ProgramBuilder &program;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const QueryTile &tile;
  Scorer &scorer;
  nsa::ScoringOpInterface op;
  bool onlyLse;
  int64_t allChannels, channels;
};

/// The state of softmax: maximum, sum of exponentials behind it, and
/// accumulator (Milakov and Gimelshein, 2018).
class SoftmaxFold final : public AttendFold {
public:
  using AttendFold::AttendFold;

  RowState getInitialState(int64_t rows) override;
  RowState fold(const QueryRows &rows, const nsatile::FoldDomain &domain,
                mlir::ValueRange initial, GetKeys getKeys) override;
  RowState merge(mlir::ValueRange lhs, mlir::ValueRange rhs) override;
  AttendTiles finish(const QueryRows &rows, mlir::ValueRange state) override;

private:
  void yieldScores(const QueryRows &rows, const KeyTile &keys);
};

/// The state of other weights: the accumulator and, if a normaliser asks for
/// them, the sum of weights, the number of visible keys and the number of keys
/// with a score other than -inf.
class WeightFold final : public AttendFold {
public:
  using AttendFold::AttendFold;

  RowState getInitialState(int64_t rows) override;
  RowState fold(const QueryRows &rows, const nsatile::FoldDomain &domain,
                mlir::ValueRange initial, GetKeys getKeys) override;
  RowState merge(mlir::ValueRange lhs, mlir::ValueRange rhs) override;
  AttendTiles finish(const QueryRows &rows, mlir::ValueRange state) override;

private:
  bool isNormalized() { return op.getNormalizer() != nullptr; }
  RowState step(const QueryRows &rows, const KeyTile &keys,
                mlir::ValueRange state);
  mlir::Value accumulate(mlir::Value weights, mlir::Value scores,
                         const KeyTile &keys, mlir::Value acc);
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDFOLD_H
