//===- Clause.h - Clauses of ops, run at positions --------------*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_CLAUSE_H
#define NSACC_LIB_INTERPRETER_CLAUSE_H

#include "NSA/IR/NSAClauses.h"
#include "ScalarProgram.h"

namespace nsacc::interpreter {

/// The position at which clauses are evaluated: batch entry, query head, the
/// query's row within its batch entry and its absolute position.
struct Position {
  int64_t b = 0, h = 0, t = 0, i = 0;
};

/// A clause's compiled region. Empty regions have no program.
struct Clause {
  nsa::Clause kind = nsa::Clause::Mask;
  std::optional<ScalarProgram> program;

  static llvm::Expected<Clause> compile(nsa::Clause kind, mlir::Region &region,
                                        const Context &context);
  bool isEmpty() const { return !program; }
};

/// Runs a clause. Owns the memory for it, so each thread needs its own runner.
class ClauseRunner {
public:
  /// Takes at most `lanes` keys at a time. An empty clause must not be run.
  ClauseRunner(const Clause &clause, size_t lanes);

  bool isEmpty() const { return clause.isEmpty(); }
  void setPosition(const Position &position);

  /// Runs for each key, with its score if the clause has one: any number of
  /// keys.
  llvm::Error run(llvm::ArrayRef<int64_t> keys, llvm::ArrayRef<double> scores,
                  std::vector<double> &result);
  llvm::Error run(llvm::ArrayRef<int64_t> keys, std::vector<int64_t> &result);

  /// Runs a clause of a row.
  llvm::Expected<double> runNormalize(double sum, int64_t visible);
  llvm::Expected<double> runRow();

private:
  unsigned getFirstPosition() const;
  llvm::Error runLanes(llvm::ArrayRef<int64_t> keys);

  const Clause &clause;
  std::optional<Frame> frame;
  Position position;
};

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_CLAUSE_H
