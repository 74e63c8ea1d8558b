//===- ProgramRun.h - How often a call runs a program's code ----*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_PROGRAMRUN_H
#define NSACC_LIB_TUNING_PROGRAMRUN_H

#include "CodeCost.h"
#include "ScalarValues.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "nsacc/Tuning/CallRows.h"

namespace nsacc::tuning {

/// Statistics of the lists of a selection, which only a run knows.
struct ListFacts {
  /// Blocks of a row's list, and of all keys.
  double top = 1, blocks = 1;
  /// Tiles of keys of a block.
  double parts = 1;
  /// Number of lists of the rows of a tile.
  double lists = 1;
  /// Queries of a batch row, and of a tile.
  double queries = 1, tokens = 1;
  /// ModelOptions::agreement
  double agreement = 0;

  /// Blocks that some of these neighbouring lists have.
  double countVisited(double lists) const;
  /// Fraction of the room for inverted lists that has entries.
  double getFilledShare() const;
};

/// A launch's program, and how often its loops run.
class ProgramRun {
public:
  /// `values` has the program's arguments.
  ProgramRun(nsatile::ProgramOp program, ScalarValues &values,
             const ProductCode &target, std::optional<ListFacts> lists);

  using Grid = std::array<int64_t, 3>;
  /// Runs the scalar code of all points of a grid, or of a sample of them.
  void run(const Grid &grid);

  /// A fold that stands in no other fold. The cost is that of all its steps.
  struct Fold {
    nsatile::FoldOp op;
    double steps = 0;
    CodeCost cost;
  };
  std::vector<Fold> folds;
  /// Code outside of these folds, and steps of the loops there.
  CodeCost rest;
  double otherSteps = 0;
  /// Number of points with rows, and the sum of the parts of their rows that
  /// exist.
  double points = 0, rows = 0;

  /// Points that run folds equally often.
  struct Point {
    double count = 0;
    llvm::SmallVector<double, 3> steps;
  };
  std::vector<Point> looked;

private:
  struct Steps {
    double all = 0, partial = 0;
  };

  Grid findSizes(const Grid &grid);
  void runPoint(double count);
  double countRows();
  void visit(mlir::Block &block, double times);
  void visitFold(nsatile::FoldOp fold, double times);
  void visitLoop(mlir::scf::ForOp loop, double times);
  void visitBranch(mlir::scf::IfOp branch, double times);
  /// Visits a loop's body for some of its steps, if they may differ.
  void visitSteps(mlir::Block &body, mlir::Value index, int64_t first,
                  int64_t step, double steps, double times);
  Steps countSteps(nsatile::FoldOp fold);
  llvm::ArrayRef<mlir::Operation *> getNested(mlir::Block &block);

  nsatile::ProgramOp program;
  ScalarValues &values;
  ProductCode target;
  std::optional<ListFacts> lists;
  /// Whether lists in memory name the rows of the tiles.
  bool hasListedRows = false;
  /// The load of the rows that products have, if there is one.
  nsatile::LoadOp queries;
  /// Number of times that a block runs, and the fold that it belongs to.
  struct Runs {
    int fold = -1;
    double times = 0;
  };
  llvm::MapVector<mlir::Block *, Runs> runs;
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<mlir::Operation *>> nested;
  /// The probability that a step of a fold is partial.
  llvm::DenseMap<mlir::Value, double> partial;
  /// The fold around the code that is visited; -1: none.
  int current = -1;
  /// Branches around this code that depend on what lists have.
  int dataBranches = 0;
  Point *point = nullptr;
};

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_PROGRAMRUN_H
