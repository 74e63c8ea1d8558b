//===- Signature.cpp - The signature of a kernel op -----------------------===//

#include "nsacc/Signature/Signature.h"
#include "NSA/Analysis/MaskAnalysis.h"
#include "NSA/IR/NSANames.h"
#include "NSA/IR/NSAOps.h"
#include "RaggedTables.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;

static Dim::Tail convertTail(nsa::Tail tail) {
  switch (tail) {
  case nsa::Tail::Drop:
    return Dim::Tail::Drop;
  case nsa::Tail::Average:
    return Dim::Tail::Average;
  case nsa::Tail::ZerosLeft:
    return Dim::Tail::ZerosLeft;
  case nsa::Tail::ZerosRight:
    return Dim::Tail::ZerosRight;
  }
  llvm_unreachable("unknown tail");
}

static Dim convertDim(Attribute attribute) {
  Dim dim;
  llvm::TypeSwitch<Attribute>(attribute)
      .Case([&](IntegerAttr size) {
        dim.kind = Dim::Kind::Constant;
        dim.size = size.getInt();
      })
      .Case([&](nsa::NamedDimAttr named) {
        dim.kind = named.getRagged() ? Dim::Kind::Ragged : Dim::Kind::Named;
        dim.name = named.getName();
      })
      .Case([&](nsa::OffsetsDimAttr offsets) {
        dim.kind = Dim::Kind::Offsets;
        dim.name = offsets.getOf();
      })
      .Case([&](nsa::PooledDimAttr pooled) {
        dim.kind = pooled.isDeclared() ? Dim::Kind::Pooled : Dim::Kind::Pool;
        dim.name = pooled.getBase();
        if (pooled.isDeclared())
          dim.count = pooled.getCount().str();
        dim.len = pooled.getLen();
        dim.stride = pooled.getStride();
        dim.tail = convertTail(pooled.getTail());
        dim.ragged = pooled.getRagged();
      })
      .Case([&](nsa::BlocksDimAttr blocks) {
        dim.kind = Dim::Kind::Blocks;
        dim.name = blocks.getBase();
        dim.block = blocks.getBlock();
      })
      .DefaultUnreachable("the type's verifier knows every kind of dimension");
  return dim;
}

static DType convertElementType(Type type) {
  if (type.isBF16())
    return DType::BF16;
  if (type.isF16())
    return DType::F16;
  if (type.isInteger(1))
    return DType::Bool;
  if (type.isInteger(32))
    return DType::I32;
  if (type.isInteger(64))
    return DType::I64;
  return DType::F32;
}

/// An argument with its dimensions in the caller's order.
static Argument convertArgument(std::string name, Type type,
                                ArrayRef<int64_t> order) {
  auto tensor = cast<nsa::NamedTensorType>(type);
  Argument argument;
  argument.name = std::move(name);
  argument.dtype = convertElementType(tensor.getElementType());
  for (int64_t dim : order)
    argument.dims.push_back(convertDim(tensor.getDims()[dim]));
  return argument;
}

/// A parameter's value as a user would write it: `16`, `0.5`, `1.0`,
/// `true`, `bf16`.
static std::string printParameter(Attribute value) {
  if (auto text = dyn_cast<StringAttr>(value))
    return text.str();
  if (auto real = dyn_cast<FloatAttr>(value)) {
    SmallString<16> digits;
    real.getValue().toString(digits, /*FormatPrecision=*/0,
                             /*FormatMaxPadding=*/3);
    // A whole number stays a real: `50.0`.
    if (llvm::all_of(digits,
                     [](char c) { return llvm::isDigit(c) || c == '-'; }))
      digits += ".0";
    return std::string(digits);
  }
  std::string printed;
  llvm::raw_string_ostream os(printed);
  value.print(os, /*elideType=*/true);
  return printed;
}

/// The query heads of `op` must be a multiple of the heads of its keys.
static std::optional<Multiple> getHeadMultiple(nsa::ScoringOpInterface op) {
  auto query = cast<nsa::NamedTensorType>(op.getQuery().getType());
  auto key = cast<nsa::NamedTensorType>(op.getKey().getType());
  Attribute queryHeads = query.getDims()[query.getRank() - 2];
  Attribute keyHeads = key.getDims()[key.getRank() - 2];
  if (queryHeads == keyHeads ||
      (isa<IntegerAttr>(queryHeads) && isa<IntegerAttr>(keyHeads)))
    return std::nullopt;
  return Multiple{convertDim(queryHeads), convertDim(keyHeads)};
}

/// The heads that share a selection must divide the heads of the importance.
static std::optional<Multiple> getSharingMultiple(nsa::TopKOp op) {
  auto importance = cast<nsa::NamedTensorType>(op.getImportance().getType());
  Attribute heads = importance.getDims()[importance.getRank() - 2];
  if (op.getShareHeads() == 1 || isa<IntegerAttr>(heads))
    return std::nullopt;
  Dim shared;
  shared.kind = Dim::Kind::Constant;
  shared.size = op.getShareHeads();
  return Multiple{convertDim(heads), shared, Multiple::Reason::Sharing};
}

static std::vector<Multiple> getMultiples(nsa::KernelOp kernel) {
  std::vector<Multiple> multiples;
  llvm::StringSet<> seen;
  kernel.walk([&](Operation *op) {
    std::optional<Multiple> multiple;
    if (auto scoring = dyn_cast<nsa::ScoringOpInterface>(op))
      multiple = getHeadMultiple(scoring);
    else if (auto topk = dyn_cast<nsa::TopKOp>(op))
      multiple = getSharingMultiple(topk);
    if (!multiple)
      return;
    std::string key = multiple->multiple.name + "," + multiple->of.name + "," +
                      std::to_string(multiple->multiple.size) + "," +
                      std::to_string(multiple->of.size);
    if (seen.insert(key).second)
      multiples.push_back(std::move(*multiple));
  });
  return multiples;
}

/// Groups of attentions whose selection is an input for groups of tokens, or
/// lists with offsets.
static std::vector<TokenGroups> getTokenGroups(nsa::KernelOp kernel) {
  std::vector<TokenGroups> found;
  auto add = [&](nsa::DeclareSelectionOp declare, Attribute tokens) {
    auto type = cast<nsa::SelectionType>(declare.getResult().getType());
    Value counted =
        declare.getOffsets() ? declare.getOffsets() : declare.getIndices();
    TokenGroups groups = {nsa::describeTensor(counted),
                          convertDim(type.getRowDim()), convertDim(tokens),
                          type.getTokens(), declare.getOffsets() != nullptr};
    bool isNew = llvm::none_of(found, [&](const TokenGroups &each) {
      return each.tensor == groups.tensor && each.of.name == groups.of.name &&
             each.tokens == groups.tokens;
    });
    if (type.getRowDim() != tokens && isNew)
      found.push_back(std::move(groups));
  };
  kernel.walk([&](nsa::ScoringOpInterface op) {
    if (!op.getSelection())
      return;
    auto query = cast<nsa::NamedTensorType>(op.getQuery().getType());
    for (Value part : nsa::getParts(op.getSelection()))
      if (auto declare = part.getDefiningOp<nsa::DeclareSelectionOp>())
        add(declare, query.getDims()[query.getRank() - 3]);
  });
  return found;
}

static std::vector<BlockScores> getBlockScores(nsa::KernelOp kernel) {
  std::vector<BlockScores> scores;
  kernel.walk([&](nsa::DeclareBlocksOp op) {
    auto getLast = [](Value tensor) {
      return convertDim(
          cast<nsa::NamedTensorType>(tensor.getType()).getDims().back());
    };
    scores.push_back({nsa::describeTensor(op.getInput()),
                      getLast(op.getInput()), getLast(op.getResult())});
  });
  return scores;
}

/// Whether queries at negative positions see no key.
static bool isCausal(nsa::ScoringOpInterface op) {
  if (op.getMask().empty())
    return false;
  nsa::MaskInfo mask = nsa::analyzeMask(op);
  auto hidesKeys = [&](AffineExpr upper) {
    AffineExpr last = getAffineConstantExpr(-1, op.getContext());
    auto bound = dyn_cast_if_present<AffineConstantExpr>(
        nsa::boundOverRows(upper, last, last, /*greatest=*/true));
    return bound && bound.getValue() <= 0;
  };
  return !mask.intervals.empty() &&
         llvm::all_of(mask.intervals, [&](const nsa::KeyInterval &interval) {
           return llvm::any_of(interval.upper, hidesKeys);
         });
}

/// The dimensions of attentions. Ragged rows have none, since their tokens are
/// packed.
static std::vector<AttentionDims> getAttentions(nsa::KernelOp kernel) {
  std::vector<AttentionDims> attentions;
  kernel.walk([&](nsa::ScoringOpInterface op) {
    auto query = cast<nsa::NamedTensorType>(op.getQuery().getType());
    auto key = cast<nsa::NamedTensorType>(op.getKey().getType());
    auto getName = [](nsa::NamedTensorType type, int64_t fromEnd) {
      auto named =
          dyn_cast<nsa::NamedDimAttr>(type.getDims()[type.getRank() - fromEnd]);
      return named ? named.getName().str() : std::string();
    };
    if (query.isRagged() || key.isRagged())
      return;
    AttentionDims dims;
    dims.queries = getName(query, 3);
    dims.keys = nsa::getTokenDim(key.getDims()[key.getRank() - 3]);
    dims.queryHeads = getName(query, 2);
    dims.keyHeads = getName(key, 2);
    if (dims.queries.empty() || dims.keys.empty() || dims.queryHeads.empty() ||
        dims.keyHeads.empty())
      return;
    dims.isCausal = isCausal(op);
    attentions.push_back(std::move(dims));
  });
  return attentions;
}

/// Sets the values that selections and counts may have as inputs.
static void findDomains(nsa::KernelOp kernel, std::vector<Argument> &inputs) {
  auto setDomain = [&](Value value, const Domain &domain) {
    auto argument = dyn_cast_if_present<BlockArgument>(value);
    if (argument && argument.getOwner()->getParentOp() == kernel)
      inputs[argument.getArgNumber()].domain = domain;
  };
  kernel.walk([&](nsa::DeclareSelectionOp op) {
    auto selection = cast<nsa::SelectionType>(op.getResult().getType());
    Domain domain;
    domain.kind = Domain::Kind::Blocks;
    domain.of = selection.getOf().str();
    domain.block = selection.getBlock();
    if (op.getOffsets())
      domain.rows = convertDim(op.getEntryDim()).name;
    setDomain(op.getIndices(), domain);
    Domain count;
    count.high = selection.getTop();
    setDomain(op.getCount(), count);
    if (!op.getOffsets())
      return;
    Domain offsets;
    offsets.kind = Domain::Kind::Offsets;
    offsets.high = selection.getTop();
    offsets.of = convertDim(op.getEntryDim()).name;
    offsets.rows = convertDim(selection.getRowDim()).name;
    setDomain(op.getOffsets(), offsets);
  });
  kernel.walk([&](nsa::TopKOp op) {
    Domain domain;
    domain.high = op.getTop();
    setDomain(op.getCount(), domain);
  });
}

/// Whether heads are marked: then tensors have an order of their dimensions.
static bool marksHeads(nsa::KernelOp kernel) {
  auto hasOrder = [](std::optional<ArrayAttr> attributes) {
    return attributes && llvm::any_of(*attributes, [](Attribute each) {
             return cast<DictionaryAttr>(each).contains(
                 nsa::NSADialect::getOrderAttrName());
           });
  };
  return hasOrder(kernel.getArgAttrs()) || hasOrder(kernel.getResAttrs());
}

Signature nsacc::getSignature(nsa::KernelOp kernel) {
  Signature signature;
  signature.kernel = kernel.getName().str();
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes()))
    signature.inputs.push_back(convertArgument(
        kernel.getArgumentName(index), type, kernel.getArgumentOrder(index)));
  findDomains(kernel, signature.inputs);
  for (auto [index, type] : llvm::enumerate(kernel.getResultTypes()))
    signature.results.push_back(convertArgument(
        kernel.getResultName(index), type, kernel.getResultOrder(index)));
  if (DictionaryAttr params = kernel.getParamsAttr())
    for (NamedAttribute param : params)
      signature.params.emplace_back(param.getName().str(),
                                    printParameter(param.getValue()));
  signature.multiples = getMultiples(kernel);
  signature.tokenGroups = getTokenGroups(kernel);
  signature.blockScores = getBlockScores(kernel);
  RaggedTables tables = findRaggedTables(kernel);
  signature.rowTables = std::move(tables.rows);
  signature.positionTables = std::move(tables.positions);
  signature.attentions = getAttentions(kernel);
  signature.marksHeads = marksHeads(kernel);
  return signature;
}
