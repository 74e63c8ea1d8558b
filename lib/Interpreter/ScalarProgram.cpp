//===- ScalarProgram.cpp - Compiles regions of scalar code ----------------===//

#include "ScalarProgram.h"
#include "Context.h"
#include "NSA/IR/NSAOps.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

namespace nsacc::interpreter {

class ScalarCompiler {
public:
  ScalarCompiler(const Context &context) : context(context) {}

  llvm::Error compile(Region &region);
  ScalarProgram take() { return std::move(program); }

private:
  llvm::Error lower(Operation *op);
  llvm::Expected<StepFunction> makeFunction(Operation *op, unsigned result,
                                            ArrayRef<unsigned> operands);
  llvm::Expected<unsigned> addRegister(Type type);

  const Context &context;
  ScalarProgram program;
  llvm::DenseMap<Value, unsigned> registers;
};

} // namespace nsacc::interpreter

static Step::Needs getNeeds(Operation *op) {
  if (isa<arith::SelectOp>(op))
    return Step::Needs::Select;
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isInteger(1))
    return Step::Needs::All;
  if (isa<arith::AndIOp>(op))
    return Step::Needs::And;
  if (isa<arith::OrIOp>(op))
    return Step::Needs::Or;
  return Step::Needs::All;
}

llvm::Expected<unsigned> ScalarCompiler::addRegister(Type type) {
  bool isReal = type.isF32() || type.isF64();
  if (!isReal && !type.isIndex() && !type.isInteger(1) && !type.isInteger(64)) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return makeError("scalar code with values of type " + text +
                     " isn't supported yet");
  }
  program.registerIsReal.push_back(isReal);
  program.stepOf.push_back(-1);
  return program.registerIsReal.size() - 1;
}

llvm::Error ScalarCompiler::compile(Region &region) {
  Block &block = region.front();
  program.arguments.resize(block.getNumArguments());
  for (BlockArgument argument : block.getArguments()) {
    if (argument.use_empty())
      continue;
    llvm::Expected<unsigned> index = addRegister(argument.getType());
    if (!index)
      return index.takeError();
    program.arguments[argument.getArgNumber()] = registers[argument] = *index;
  }
  for (Operation &op : block.without_terminator())
    if (!op.use_empty())
      if (llvm::Error error = lower(&op))
        return error;
  program.result = registers.at(block.getTerminator()->getOperand(0));
  return llvm::Error::success();
}

/// Operands come from the same region: scalar code can't see other values.
llvm::Error ScalarCompiler::lower(Operation *op) {
  Step step;
  for (Value operand : op->getOperands())
    if (!isa<nsa::NamedTensorType>(operand.getType()))
      step.operands.push_back(registers.at(operand));
  if (op->getNumResults() != 1)
    return makeError("scalar code can't hold '" + op->getName().getStringRef() +
                     "'");
  llvm::Expected<unsigned> result = addRegister(op->getResult(0).getType());
  if (!result)
    return result.takeError();
  llvm::Expected<StepFunction> function =
      makeFunction(op, *result, step.operands);
  if (!function)
    return function.takeError();

  step.run = std::move(*function);
  if (context.rounding && program.registerIsReal[*result])
    step.run = [run = std::move(step.run), result = *result,
                rounding = context.rounding](Frame &frame) {
      run(frame);
      double *values = frame.getRegister<double>(result);
      for (size_t lane = 0, e = frame.getLanes(); lane != e; ++lane)
        values[lane] = rounding(values[lane]);
    };
  step.result = *result;
  step.needs = getNeeds(op);
  if (isa<arith::ConstantOp>(op)) {
    program.constants.push_back(std::move(step));
  } else {
    program.stepOf[*result] = program.steps.size();
    program.steps.push_back(std::move(step));
  }
  registers[op->getResult(0)] = *result;
  return llvm::Error::success();
}

llvm::Expected<StepFunction>
ScalarCompiler::makeFunction(Operation *op, unsigned result,
                             ArrayRef<unsigned> operands) {
  if (isa<nsa::DimOp>(op))
    return makeDimStep(op, result, context);
  if (isa<nsa::TableReadOp>(op))
    return makeTableReadStep(op, result, operands, context);
  if (StepFunction function = makeArithStep(op, result, operands))
    return function;
  if (StepFunction function = makeMathStep(op, result, operands))
    return function;
  return makeError("'" + op->getName().getStringRef() +
                   "' isn't supported in scalar code yet");
}

llvm::Expected<ScalarProgram> ScalarProgram::compile(Region &region,
                                                     const Context &context) {
  ScalarCompiler compiler(context);
  if (llvm::Error error = compiler.compile(region))
    return std::move(error);
  return compiler.take();
}
