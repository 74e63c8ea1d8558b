//===- Mask.cpp - Masks evaluated without a run ---------------------------===//

#include "nsacc/Interpreter/Mask.h"
#include "Clause.h"
#include "Context.h"
#include "NSA/IR/NSAOps.h"

using namespace nsacc;
using namespace nsacc::interpreter;

static constexpr size_t kMaskLanes = 1024;

class MaskRunner::State {
public:
  State(DimSizes sizes) : context{Environment::of(std::move(sizes))} {}

  /// The clause's code refers to the context, and the runner to the clause.
  Context context;
  Clause clause;
  std::optional<ClauseRunner> runner;
  std::vector<int64_t> sees;
};

MaskRunner::MaskRunner(std::unique_ptr<State> state)
    : state(std::move(state)) {}
MaskRunner::MaskRunner(MaskRunner &&) = default;
MaskRunner &MaskRunner::operator=(MaskRunner &&) = default;
MaskRunner::~MaskRunner() = default;

std::optional<MaskRunner> MaskRunner::create(mlir::Region &mask,
                                             DimSizes sizes) {
  bool readsTables = false;
  mask.walk([&](nsa::TableReadOp) { readsTables = true; });
  if (mask.empty() || readsTables)
    return std::nullopt;
  auto state = std::make_unique<State>(std::move(sizes));
  auto clause = Clause::compile(nsa::Clause::Mask, mask, state->context);
  if (!clause) {
    llvm::consumeError(clause.takeError());
    return std::nullopt;
  }
  state->clause = std::move(*clause);
  state->runner.emplace(state->clause, kMaskLanes);
  return MaskRunner(std::move(state));
}

void MaskRunner::setQuery(int64_t batchRow, int64_t head, int64_t token,
                          int64_t position) {
  state->runner->setPosition({batchRow, head, token, position});
}

std::optional<llvm::ArrayRef<int64_t>>
MaskRunner::look(llvm::ArrayRef<int64_t> keys) {
  if (keys.empty())
    return llvm::ArrayRef<int64_t>();
  if (llvm::Error error = state->runner->run(keys, state->sees)) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  return llvm::ArrayRef(state->sees);
}
