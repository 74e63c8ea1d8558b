//===- Clause.cpp - Clauses of ops, run at positions ----------------------===//

#include "Clause.h"
#include "Values.h"
#include "mlir/IR/Region.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;
using namespace nsacc::interpreter;

llvm::Expected<Clause> Clause::compile(nsa::Clause kind, mlir::Region &region,
                                       const Context &context) {
  Clause clause;
  clause.kind = kind;
  if (region.empty())
    return clause;
  llvm::Expected<ScalarProgram> program =
      ScalarProgram::compile(region, context);
  if (!program)
    return program.takeError();
  clause.program = std::move(*program);
  return clause;
}

ClauseRunner::ClauseRunner(const Clause &clause, size_t lanes)
    : clause(clause) {
  if (clause.program)
    frame.emplace(*clause.program, lanes);
}

/// Number of arguments before b, h, t, i (and j); see nsa.attend.
unsigned ClauseRunner::getFirstPosition() const {
  switch (clause.kind) {
  case nsa::Clause::Score:
  case nsa::Clause::Weight:
    return 1;
  case nsa::Clause::Normalize:
    return 2;
  case nsa::Clause::Scale:
  case nsa::Clause::Mask:
  case nsa::Clause::Sink:
    return 0;
  }
  llvm_unreachable("unknown clause");
}

void ClauseRunner::setPosition(const Position &newPosition) {
  position = newPosition;
  if (isEmpty() || clause.kind == nsa::Clause::Scale)
    return;
  unsigned first = getFirstPosition();
  frame->fill(first, position.b);
  frame->fill(first + 1, position.h);
  frame->fill(first + 2, position.t);
  frame->fill(first + 3, position.i);
}

/// The clause's keyword in programs.
static llvm::StringRef getKeyword(nsa::Clause kind) {
  return kind == nsa::Clause::Mask ? "where" : nsa::getClauseName(kind);
}

llvm::Error ClauseRunner::runLanes(llvm::ArrayRef<int64_t> keys) {
  size_t lanes = keys.empty() ? 1 : keys.size();
  std::optional<FailedAssertion> failed = frame->run(lanes, position.b);
  if (!failed)
    return llvm::Error::success();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << failed->message << " in '" << getKeyword(clause.kind)
     << "' at b = " << position.b;
  if (clause.kind != nsa::Clause::Scale)
    os << ", h = " << position.h << ", t = " << position.t
       << ", i = " << position.i;
  if (!keys.empty())
    os << ", j = " << keys[failed->lane];
  return makeError(text);
}

llvm::Error ClauseRunner::run(llvm::ArrayRef<int64_t> keys,
                              llvm::ArrayRef<double> scores,
                              std::vector<double> &result) {
  result.resize(keys.size());
  for (size_t done = 0; done < keys.size(); done += frame->getCapacity()) {
    size_t lanes = std::min(frame->getCapacity(), keys.size() - done);
    llvm::ArrayRef<int64_t> chunk = keys.slice(done, lanes);
    frame->assign(0, scores.slice(done, lanes));
    frame->assign(5, chunk);
    if (llvm::Error error = runLanes(chunk))
      return error;
    llvm::copy(frame->getReals(), result.begin() + done);
  }
  return llvm::Error::success();
}

llvm::Error ClauseRunner::run(llvm::ArrayRef<int64_t> keys,
                              std::vector<int64_t> &result) {
  result.resize(keys.size());
  for (size_t done = 0; done < keys.size(); done += frame->getCapacity()) {
    size_t lanes = std::min(frame->getCapacity(), keys.size() - done);
    llvm::ArrayRef<int64_t> chunk = keys.slice(done, lanes);
    frame->assign(4, chunk);
    if (llvm::Error error = runLanes(chunk))
      return error;
    llvm::copy(frame->getIntegers(), result.begin() + done);
  }
  return llvm::Error::success();
}

llvm::Expected<double> ClauseRunner::runNormalize(double sum, int64_t visible) {
  frame->fill(0, sum);
  frame->fill(1, visible);
  return runRow();
}

llvm::Expected<double> ClauseRunner::runRow() {
  if (llvm::Error error = runLanes({}))
    return std::move(error);
  return frame->getReals().front();
}
