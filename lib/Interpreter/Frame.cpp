//===- Frame.cpp - Runs scalar programs -----------------------------------===//

#include "ScalarProgram.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace nsacc::interpreter;

Frame::Frame(const ScalarProgram &program, size_t capacity)
    : program(program), capacity(capacity),
      reals(program.registerIsReal.size()),
      integers(program.registerIsReal.size()) {
  for (auto [index, isReal] : llvm::enumerate(program.registerIsReal)) {
    if (isReal)
      reals[index].resize(capacity);
    else
      integers[index].resize(capacity);
  }
  lanes = capacity;
  for (const Step &step : program.constants)
    step.run(*this);
}

template <typename T> void Frame::fillRegister(unsigned argument, T value) {
  if (std::optional<unsigned> index = program.arguments[argument])
    std::fill_n(getRegister<T>(*index), capacity, value);
}

template <typename T>
void Frame::assignRegister(unsigned argument, llvm::ArrayRef<T> values) {
  if (std::optional<unsigned> index = program.arguments[argument])
    llvm::copy(values, getRegister<T>(*index));
}

void Frame::fill(unsigned argument, int64_t value) {
  fillRegister(argument, value);
}
void Frame::fill(unsigned argument, double value) {
  fillRegister(argument, value);
}
void Frame::assign(unsigned argument, llvm::ArrayRef<int64_t> values) {
  assignRegister(argument, values);
}
void Frame::assign(unsigned argument, llvm::ArrayRef<double> values) {
  assignRegister(argument, values);
}

llvm::ArrayRef<double> Frame::getReals() const {
  return llvm::ArrayRef<double>(reals[program.result]).take_front(lanes);
}

llvm::ArrayRef<int64_t> Frame::getIntegers() const {
  return llvm::ArrayRef<int64_t>(integers[program.result]).take_front(lanes);
}

std::optional<FailedAssertion> Frame::run(size_t numLanes, int64_t row) {
  lanes = numLanes;
  batchRow = row;
  failedLanes.clear();
  for (const Step &step : program.steps)
    step.run(*this);
  if (failedLanes.empty())
    return std::nullopt;
  return runFailedLanes();
}

void Frame::fail(size_t lane, llvm::function_ref<std::string()> message) {
  if (known.empty())
    failedLanes.push_back(lane);
  else if (failureMessage.empty())
    failureMessage = message();
}

//===----------------------------------------------------------------------===//
// Lanes with a failed assertion: evaluate by need
//===----------------------------------------------------------------------===//

std::optional<FailedAssertion> Frame::runFailedLanes() {
  if (!single) {
    single = std::make_unique<Frame>(program, /*capacity=*/1);
    single->known.resize(program.registerIsReal.size());
  }
  llvm::sort(failedLanes);
  failedLanes.erase(llvm::unique(failedLanes), failedLanes.end());
  for (size_t lane : failedLanes) {
    single->runOnlyLane(lane, *this);
    if (!single->failureMessage.empty())
      return FailedAssertion{lane, single->failureMessage};
    if (resultIsReal())
      reals[program.result][lane] = single->getReals().front();
    else
      integers[program.result][lane] = single->getIntegers().front();
  }
  return std::nullopt;
}

void Frame::runOnlyLane(size_t lane, Frame &all) {
  lanes = 1;
  batchRow = all.batchRow;
  failureMessage.clear();
  for (std::optional<unsigned> index : program.arguments) {
    if (!index)
      continue;
    if (program.registerIsReal[*index])
      reals[*index][0] = all.reals[*index][lane];
    else
      integers[*index][0] = all.integers[*index][lane];
  }
  for (size_t index = 0, e = known.size(); index != e; ++index)
    known[index] = program.stepOf[index] < 0;
  need(program.result);
}

/// Computes a register and its operands. False after a failed assertion.
bool Frame::need(unsigned index) {
  if (known[index])
    return true;
  const Step &step = program.steps[program.stepOf[index]];
  llvm::ArrayRef<unsigned> operands = step.operands;
  known[index] = true;

  if (step.needs == Step::Needs::Select) {
    if (!need(operands[0]))
      return false;
    // Operands that aren't needed keep an old value, which doesn't matter.
    if (!need(integers[operands[0]][0] ? operands[1] : operands[2]))
      return false;
  } else if (step.needs != Step::Needs::All) {
    bool decides = step.needs == Step::Needs::Or;
    if (!need(operands[0]))
      return false;
    if (bool(integers[operands[0]][0]) == decides) {
      integers[index][0] = decides;
      return true;
    }
    if (!need(operands[1]))
      return false;
  } else {
    for (unsigned operand : operands)
      if (!need(operand))
        return false;
  }
  step.run(*this);
  return failureMessage.empty();
}
