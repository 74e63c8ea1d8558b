//===- SizeChecks.cpp - Sizes that follow from others ---------------------===//

#include "Parameters.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace nsacc;
using Kind = rt::Step::Kind;

namespace {

/// Sizes of dimensions as numbers of a plan.
class SizeChecker {
public:
  SizeChecker(const Signature &signature, ArrayRef<rt::Parameter> parameters,
              PlanNumbers &numbers)
      : signature(signature), parameters(parameters), numbers(numbers) {
    uint32_t index = 0;
    for (const auto *arguments : {&signature.inputs, &signature.results})
      for (const nsacc::Argument &argument : *arguments) {
        for (auto [dim, each] : enumerate(argument.dims))
          note(each, index, dim);
        ++index;
      }
  }

  std::vector<rt::Check> run() {
    std::vector<rt::Check> checks;
    uint32_t index = 0;
    for (const auto *arguments : {&signature.inputs, &signature.results})
      for (const nsacc::Argument &argument : *arguments) {
        for (auto [dim, each] : enumerate(argument.dims))
          if (std::optional<uint32_t> expected =
                  getExpected(argument, dim, each))
            checks.push_back({getSize(index, dim), *expected,
                              describe(argument, dim, each)});
        ++index;
      }
    return checks;
  }

private:
  /// The size of dimension `dim` in the caller's order.
  uint32_t getSize(uint32_t index, size_t dim) {
    return numbers.dim(index, parameters[index].order[dim]);
  }

  void note(const Dim &dim, uint32_t index, size_t at) {
    if (dim.kind == Dim::Kind::Ragged)
      ragged.insert(dim.name);
    if (dim.kind == Dim::Kind::Named && !sizes.contains(dim.name))
      sizes[dim.name] = getSize(index, at);
    if (dim.kind == Dim::Kind::Offsets && !numOffsets)
      numOffsets = getSize(index, at);
  }

  static std::string describe(const nsacc::Argument &argument, size_t dim,
                              const Dim &each) {
    return "size " + std::to_string(dim) + " of '" + argument.name + "' (" +
           toString(each) + ")";
  }

  /// Whether clauses read dimension `at` with the batch row, by this name or
  /// this number.
  bool countsRows(const nsacc::Argument &argument, size_t at,
                  const Dim &dim) const {
    return any_of(signature.rowTables, [&](const RowTable &table) {
      if (table.tensor == argument.name && table.place == at)
        return true;
      const Dim *read = findDim(signature, table.tensor, table.place);
      return dim.kind == Dim::Kind::Named && read && read->name == dim.name;
    });
  }

  /// What follows from the size of a dimension that isn't ragged.
  std::optional<uint32_t> getExpected(const nsacc::Argument &argument,
                                      size_t at, const Dim &dim) {
    if (numOffsets && countsRows(argument, at, dim))
      return numbers.add(Kind::Sub, {*numOffsets, numbers.constant(1)});
    for (const TokenGroups &groups : signature.tokenGroups) {
      auto tokens = sizes.find(groups.of.name);
      // An equal number in another tensor may have another meaning.
      bool isMeant = dim.kind == Dim::Kind::Named ||
                     groups.tensor == "'" + argument.name + "'";
      if (isMeant && toString(groups.groups) == toString(dim) &&
          tokens != sizes.end()) {
        uint32_t count = numbers.add(
            Kind::CeilDiv, {tokens->second, numbers.constant(groups.tokens)});
        return groups.areOffsets
                   ? numbers.add(Kind::Add, {count, numbers.constant(1)})
                   : count;
      }
    }
    bool isDerived =
        dim.kind == Dim::Kind::Pool || dim.kind == Dim::Kind::Blocks;
    auto size = sizes.find(dim.name);
    if (!isDerived || size == sizes.end() || ragged.contains(dim.name))
      return std::nullopt;
    uint32_t tokens = size->second;
    if (dim.kind == Dim::Kind::Blocks)
      return numbers.add(Kind::CeilDiv, {tokens, numbers.constant(dim.block)});
    return countWindows(dim, tokens);
  }

  /// The number of pooled keys over that many tokens (docs/spec.md, pool).
  uint32_t countWindows(const Dim &dim, uint32_t tokens) {
    uint32_t stride = numbers.constant(dim.stride);
    uint32_t one = numbers.constant(1), zero = numbers.constant(0);
    uint32_t behind =
        numbers.add(Kind::Sub, {tokens, numbers.constant(dim.len)});
    switch (dim.tail) {
    case Dim::Tail::Drop: {
      // For fewer tokens than a window: floor(negative / stride) + 1 <= 0.
      uint32_t steps = numbers.add(Kind::FloorDiv, {behind, stride});
      return numbers.add(Kind::Max,
                         {numbers.add(Kind::Add, {steps, one}), zero});
    }
    case Dim::Tail::ZerosLeft:
      return numbers.add(Kind::FloorDiv, {tokens, stride});
    case Dim::Tail::Average:
    case Dim::Tail::ZerosRight: {
      uint32_t positive = numbers.add(Kind::Max, {behind, zero});
      uint32_t steps = numbers.add(Kind::CeilDiv, {positive, stride});
      uint32_t windows = numbers.add(Kind::Add, {steps, one});
      uint32_t isEmpty = numbers.add(Kind::Equal, {tokens, zero});
      return numbers.add(Kind::Select, {isEmpty, zero, windows});
    }
    }
    llvm_unreachable("not a tail");
  }

  const Signature &signature;
  ArrayRef<rt::Parameter> parameters;
  PlanNumbers &numbers;
  StringMap<uint32_t> sizes;
  StringSet<> ragged;
  /// The size of some ragged dimension's offsets.
  std::optional<uint32_t> numOffsets;
};

} // namespace

std::vector<rt::Check> nsacc::makeChecks(const Signature &signature,
                                         ArrayRef<rt::Parameter> parameters,
                                         PlanNumbers &numbers) {
  return SizeChecker(signature, parameters, numbers).run();
}
