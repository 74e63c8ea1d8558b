//===- SemaWarnings.cpp - Warnings about valid code -----------------------===//

#include "NSA/Analysis/Lint.h"
#include "Sequence.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;

//===----------------------------------------------------------------------===//
// Warnings about IR
//===----------------------------------------------------------------------===//

void KernelGen::lint() {
  for (const nsa::Finding &finding : nsa::lint(op)) {
    Range range = getRange(source, finding.place);
    // Its code is a constant, -inf.
    if (finding.isOutcome && problems.hasWarning(range, kLogarithmOfZero))
      continue;
    Problem &warning = problems.warning(range, finding.message);
    for (const nsa::Finding::Note &note : finding.notes)
      warning.note(getRange(source, note.place), note.message);
  }
}

//===----------------------------------------------------------------------===//
// Names that nothing uses
//===----------------------------------------------------------------------===//

static StringRef describeNamed(Symbol::Kind kind) {
  switch (kind) {
  case Symbol::Kind::Param:
    return "parameter";
  case Symbol::Kind::Input:
    return "input";
  default:
    return "value";
  }
}

bool KernelGen::givesSize(const Symbol &input, llvm::StringSet<> &sized) const {
  if (input.kind != Symbol::Kind::Input || !input.bound.isTensor())
    return false;
  bool gives = input.isUsed;
  SmallVector<StringRef> names;
  for (Attribute dim : input.bound.getTensorType().getDims())
    if (auto named = dyn_cast<nsa::NamedDimAttr>(dim)) {
      names.push_back(named.getName());
      gives |= symbols.find(named.getName())->second.isUsed &&
               !sized.contains(named.getName());
    }
  if (gives)
    sized.insert_range(names);
  return gives;
}

void KernelGen::checkUnused() {
  llvm::StringSet<> sized;
  for (const auto &[name, symbol] : symbols)
    if (symbol.isUsed)
      givesSize(symbol, sized);
  for (const auto &[name, symbol] : symbols) {
    if (symbol.isUsed || symbol.kind == Symbol::Kind::Dim ||
        name.starts_with("_") || givesSize(symbol, sized))
      continue;
    problems
        .warning(symbol.range,
                 describeNamed(symbol.kind) + " " + quote(name) + " isn't used")
        .note("remove it, or write '_" + name + "' if that is meant");
  }
}

//===----------------------------------------------------------------------===//
// Types of queries, keys and values
//===----------------------------------------------------------------------===//

void KernelGen::checkElementTypes(ArrayRef<Value> operands,
                                  ArrayRef<const ast::Expr *> exprs) {
  // A computed tensor has the type that its formula gives it.
  auto isInput = [](Value value) { return isa<BlockArgument>(value); };
  for (size_t i = 1; i < operands.size(); ++i) {
    Type first =
             cast<nsa::NamedTensorType>(operands[0].getType()).getElementType(),
         type =
             cast<nsa::NamedTensorType>(operands[i].getType()).getElementType();
    if (first == type || !isInput(operands[0]) || !isInput(operands[i]))
      continue;
    auto print = [](Type type) {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      return text;
    };
    problems
        .warning(exprs[i]->range, quote(source.getText(exprs[i]->range)) +
                                      " has elements of " + print(type) +
                                      " but " +
                                      quote(source.getText(exprs[0]->range)) +
                                      " of " + print(first))
        .note("each is rounded to its own type before they are multiplied; "
              "declare both alike");
  }
}
