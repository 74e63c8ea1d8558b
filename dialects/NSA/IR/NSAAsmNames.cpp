//===- NSAAsmNames.cpp - Names of values in assembly ----------------------===//

#include "NSA/IR/NSAClauses.h"
#include "NSA/IR/NSAOps.h"

using namespace mlir;
using namespace nsacc::nsa;

static ArrayRef<StringRef> getArgumentNames(Clause clause) {
  static constexpr StringRef mask[] = {"b", "h", "t", "i", "j"};
  static constexpr StringRef score[] = {"s", "b", "h", "t", "i", "j"};
  static constexpr StringRef normalize[] = {"sum", "visible", "b",
                                            "h",   "t",       "i"};
  static constexpr StringRef sink[] = {"b", "h", "t", "i"};
  switch (clause) {
  case Clause::Scale:
    return {};
  case Clause::Mask:
    return mask;
  case Clause::Score:
  case Clause::Weight:
    return score;
  case Clause::Normalize:
    return normalize;
  case Clause::Sink:
    return sink;
  }
  llvm_unreachable("unknown clause");
}

/// Invalid IR may have any arguments: then the arguments keep their numbers.
static void nameArguments(Region &region, Clause clause,
                          OpAsmSetValueNameFn setName) {
  ArrayRef<StringRef> names = getArgumentNames(clause);
  if (region.getNumArguments() != names.size())
    return;
  for (auto [argument, name] : llvm::zip_equal(region.getArguments(), names))
    setName(argument, name);
}

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    if (auto name = getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                 NSADialect::getNameAttrName()))
      setName(argument, name);
}

void AttendOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), "o");
  if (getLse())
    setName(getLse(), "lse");
}

void AttendOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  if (&region == &getMask())
    nameArguments(region, Clause::Mask, setName);
  else if (&region == &getScore())
    nameArguments(region, Clause::Score, setName);
  else if (&region == &getWeight())
    nameArguments(region, Clause::Weight, setName);
  else if (&region == &getNormalize())
    nameArguments(region, Clause::Normalize, setName);
  else if (&region == &getSink())
    nameArguments(region, Clause::Sink, setName);
}

void ImportanceOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "p");
}

void ImportanceOp::getAsmBlockArgumentNames(Region &region,
                                            OpAsmSetValueNameFn setName) {
  if (&region == &getMask())
    nameArguments(region, Clause::Mask, setName);
  else if (&region == &getScore())
    nameArguments(region, Clause::Score, setName);
  else if (&region == &getWeight())
    nameArguments(region, Clause::Weight, setName);
}

void TopKOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "sel");
}

void TopKOp::getAsmBlockArgumentNames(Region &region,
                                      OpAsmSetValueNameFn setName) {
  nameArguments(region, Clause::Mask, setName);
}

void MapOp::getAsmBlockArgumentNames(Region &region,
                                     OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, "x");
}

void MergeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), "o");
  setName(getLse(), "lse");
}

void PoolOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "pooled");
}

void DeclarePooledOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "pooled");
}

void BlocksOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "blocks");
}

void DeclareBlocksOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "blocks");
}

void DeclareSelectionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "sel");
}

void UnionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "sel");
}

void IndicesOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "idx");
}

void DimOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getSize(), getDim());
}
