//===- SemaTypes.cpp - Types and dimensions of inputs and results ---------===//

#include "KernelGen.h"
#include "NSA/IR/NSADialect.h"
#include "Spellings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

std::string nsacc::frontend::spell(nsa::NamedTensorType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (type.getElementType().isInteger(1))
    os << "bool";
  else
    os << type.getElementType();
  if (type.getRank() != 0)
    os << nsa::toString(type.getDims());
  return text;
}

bool KernelGen::declare(const ast::Name &name, Symbol symbol) {
  if (isFixedName(name.text)) {
    problems
        .error(name.range,
               quote(name.text) + " has a fixed meaning and can't be a name")
        .note("it is a position or a value in clauses; choose another name, "
              "such as '" +
              source.findFreeName(name.text) + "'");
    // What uses it isn't complained of.
    symbols.insert({name.text, {symbol.kind, name.range, {}, symbol.dim}});
    return false;
  }
  auto [found, isNew] = symbols.insert({name.text, symbol});
  if (isNew)
    return true;
  StringRef what = found->second.kind == Symbol::Kind::Dim
                       ? "the name of a dimension"
                       : "defined";
  problems.error(name.range, quote(name.text) + " is already " + what)
      .note(found->second.range, "the first one is here; a name stands for "
                                 "one thing: choose another one");
  return false;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

void KernelGen::declareInputs() {
  Block &body = op.getBody().front();
  collectRoles();
  llvm::DenseMap<const ast::Type *, nsa::NamedTensorType> types;
  for (const ast::Input &input : kernel.inputs) {
    auto [entry, isNew] = types.try_emplace(input.type);
    if (isNew)
      entry->second = resolveType(*input.type);
    Bound bound;
    if (nsa::NamedTensorType type = entry->second)
      bound = bindTensor(body.addArgument(type, getLoc(input.name.range)));
    declare(input.name, {Symbol::Kind::Input, input.name.range, bound,
                         /*dim=*/{}, getOrder(*input.type)});
  }
  declareOffsets();
}

void KernelGen::declareOffsets() {
  Block &body = op.getBody().front();
  for (auto &[name, symbol] : symbols) {
    if (symbol.kind != Symbol::Kind::Dim || !symbol.dim.getRagged())
      continue;
    auto *taken = symbols.find((name + "_offsets").str());
    if (taken != symbols.end())
      problems
          .error(taken->second.range, quote(taken->first) +
                                          " is the name of the offsets of "
                                          "the ragged dimension " +
                                          quote(name))
          .note("they are added as an input behind the others; choose another "
                "name");
    Attribute dim = nsa::OffsetsDimAttr::get(builder.getContext(), name);
    body.addArgument(getTensorType(dim, builder.getI32Type()),
                     getLoc(symbol.range));
  }
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

Type KernelGen::findDType(const ast::Name &name) {
  return llvm::StringSwitch<Type>(name.text)
      .Case("bf16", builder.getBF16Type())
      .Case("f16", builder.getF16Type())
      .Case("f32", builder.getF32Type())
      .Case("i32", builder.getI32Type())
      .Case("i64", builder.getI64Type())
      .Case("bool", builder.getI1Type())
      .Default(Type());
}

Type KernelGen::resolveDType(const std::optional<ast::Name> &name) {
  if (!name) {
    Type storage = findDType({options.dtype, {}});
    return storage ? storage : builder.getBF16Type();
  }
  if (Type known = findDType(*name))
    return known;
  auto param = symbols.find(name->text);
  if (param != symbols.end() && param->second.kind == Symbol::Kind::Param) {
    param->second.isUsed = true;
    const Bound &bound = param->second.bound;
    if (bound.isUnknown())
      return {};
    if (bound.constant.type == ScalarType::DType)
      return bound.constant.dtype;
    problems
        .error(name->range, "expected an element type, found parameter " +
                                quote(name->text) + ", which is " +
                                describe(bound.constant.type))
        .note(param->second.range, "declare it as " + name->text + ": dtype");
    return {};
  }
  bool known = llvm::StringSwitch<bool>(name->text)
                   .Cases({"f64", "double", "f8", "f8e4m3", "f8e5m2"}, true)
                   .Cases({"e4m3", "e5m2", "fp8", "i8", "u8", "i16"}, true)
                   .Default(false);
  Problem &problem = problems.error(
      name->range,
      known ? "element type " + quote(name->text) + " isn't supported yet"
            : "unknown element type " + quote(name->text));
  StringRef spelling = explainType(name->text);
  if (!spelling.empty())
    problem.note(spelling);
  else if (!known)
    problem.suggest(name->text, {"bf16", "f16", "f32", "i32", "i64", "bool"});
  problem.note("element types are bf16, f16, f32, i32, i64 and bool");
  return {};
}

nsa::NamedTensorType KernelGen::resolveType(const ast::Type &type) {
  Type element = resolveDType(type.dtype);
  Dims declared;
  SmallVector<int64_t, 4> order = getOrder(type);
  for (auto [dim, index] : llvm::zip_equal(type.dims, order))
    if (Attribute resolved = resolveDim(dim, index))
      declared.push_back(resolved);
  if (!element || declared.size() != type.dims.size() ||
      !checkDistinct(type, declared))
    return {};
  Dims dims(declared.size());
  for (auto [dim, index] : llvm::zip_equal(declared, order))
    dims[index] = dim;
  return getTensorType(dims, element);
}

bool KernelGen::checkDistinct(const ast::Type &type, ArrayRef<Attribute> dims) {
  llvm::SmallDenseSet<Attribute> seen;
  for (auto [syntax, dim] : llvm::zip_equal(type.dims, dims)) {
    if (llvm::isa<IntegerAttr>(dim) || seen.insert(dim).second)
      continue;
    problems
        .error(syntax.range, "dimension " + quote(nsa::toString(dim)) +
                                 " stands twice in one type")
        .note("dimensions are told apart by name; give one of them another "
              "name");
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

Attribute KernelGen::resolveDim(const ast::Dim &dim, size_t index) {
  if (dim.ragged && index != 0) {
    problems.error(dim.range, "a ragged dimension must be the first one")
        .note("it packs the rows of the batch behind each other and so takes "
              "the place of the batch dimension: [ragged T, H, D], or [heads "
              "H, ragged T, D]");
    return {};
  }
  const auto *name = llvm::dyn_cast<ast::NameExpr>(dim.size);
  auto known = name ? symbols.find(name->name) : symbols.end();
  bool isConstant =
      known != symbols.end() && known->second.kind == Symbol::Kind::Param;
  if (name && !isConstant)
    return resolveNamedDim(dim, {name->name, name->range});
  if (!dim.ragged)
    return resolveConstantDim(dim);
  problems.error(dim.range, "a ragged dimension needs a name")
      .note("write, for example, 'ragged T'");
  return {};
}

Attribute KernelGen::resolveNamedDim(const ast::Dim &dim, ast::Name name) {
  auto named =
      nsa::NamedDimAttr::get(builder.getContext(), name.text, dim.ragged);
  auto known = symbols.find(name.text);
  if (known == symbols.end())
    return declare(name, {Symbol::Kind::Dim, name.range, {}, named})
               ? named
               : Attribute();
  const Symbol &symbol = known->second;
  if (symbol.kind != Symbol::Kind::Dim) {
    problems
        .error(name.range,
               quote(name.text) + " is an input and can't be a dimension")
        .note(symbol.range, "the input is declared here; choose another name");
    return {};
  }
  if (symbol.dim == named)
    return named;
  problems
      .error(dim.range, "dimension " + quote(name.text) + " is " +
                            (dim.ragged ? "ragged here but not elsewhere"
                                        : "ragged elsewhere but not here"))
      .note(symbol.range, "it stands here first; write 'ragged " + name.text +
                              "' everywhere, or choose another name");
  return {};
}

Attribute KernelGen::resolveConstantDim(const ast::Dim &dim) {
  // An input behind this one may be the first to name a dimension.
  auto isDim = [&](StringRef name) {
    auto found = symbols.find(name);
    return found == symbols.end() ? llvm::isUpper(name.front())
                                  : found->second.kind == Symbol::Kind::Dim;
  };
  if (llvm::isa<ast::BinaryExpr>(dim.size) && ast::mentions(dim.size, isDim)) {
    problems
        .error(dim.size->range,
               "a dimension is a name, a number or computed of parameters, "
               "found a formula of another dimension")
        .note("give it a name of its own: of query heads, 'HQ', which may be "
              "any multiple of 'H'");
    return {};
  }
  std::optional<int64_t> size = evaluateInt(dim.size, "a dimension", 1);
  return size ? builder.getI64IntegerAttr(*size) : Attribute();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Null where `dim` can't mean the dimension `found` of a returned tensor.
Attribute KernelGen::matchResultDim(const ast::Dim &dim, Attribute found) {
  const auto *name = llvm::dyn_cast<ast::NameExpr>(dim.size);
  auto known = name ? symbols.find(name->name) : symbols.end();
  if (!name ||
      (known != symbols.end() && known->second.kind == Symbol::Kind::Param)) {
    std::optional<int64_t> size = evaluateInt(dim.size, "a dimension", 1);
    return size && builder.getI64IntegerAttr(*size) == found ? found
                                                             : Attribute();
  }
  if (known != symbols.end() && known->second.kind == Symbol::Kind::Dim) {
    auto pooled = llvm::dyn_cast<nsa::PooledDimAttr>(found);
    if (pooled && pooled.isDeclared() &&
        pooled.getCount().getValue() == name->name)
      return found;
    return known->second.dim == found &&
                   dim.ragged == known->second.dim.getRagged()
               ? found
               : Attribute();
  }
  // A name that no input has stands for a size that the program computes.
  if (llvm::isa<nsa::NamedDimAttr>(found))
    return {};
  Attribute meaning = resultDims.try_emplace(name->name, found).first->second;
  return meaning == found ? found : Attribute();
}

/// A result's dimensions as inputs order theirs, where its own names don't
/// tell.
KernelGen::Dims KernelGen::orderAsInputs(ArrayRef<Attribute> dims,
                                         ArrayRef<int64_t> order) const {
  SmallVector<int64_t, 4> best(order);
  if (order.size() != dims.size() || llvm::is_sorted(order)) {
    best = llvm::to_vector<4>(
        llvm::seq<int64_t>(0, static_cast<int64_t>(dims.size())));
    for (const ast::Input &input : kernel.inputs)
      if (input.type && input.type->dims.size() == dims.size())
        if (auto other = getOrder(*input.type); !llvm::is_sorted(other))
          best = other;
  }
  return llvm::map_to_vector(best, [&](int64_t dim) { return dims[dim]; });
}

/// Tells how a result with such dimensions can be declared; `dims` has them in
/// the order of what was.
std::string KernelGen::adviseResult(const ast::Type &declared,
                                    ArrayRef<Attribute> dims,
                                    nsa::NamedTensorType type) {
  llvm::StringMap<Attribute> computed;
  auto isFree = [&](StringRef name) {
    return !symbols.contains(name) && !isFixedName(name) &&
           !computed.contains(name);
  };
  // The name that was given, or another.
  auto chooseName = [&](Attribute dim) {
    const Attribute *place = llvm::find(dims, dim);
    StringRef given = dims.size() == declared.dims.size()
                          ? declared.dims[place - dims.begin()].getName()
                          : StringRef();
    if (!given.empty() && isFree(given))
      return given.str();
    std::string name = "N";
    for (int64_t number = 1; !isFree(name); ++number)
      name = "N" + std::to_string(number);
    return name;
  };
  std::string meanings;
  Dims written(type.getDims());
  for (Attribute &dim : written) {
    auto pooled = llvm::dyn_cast<nsa::PooledDimAttr>(dim);
    bool isDeclared = pooled && pooled.isDeclared();
    if (!isDeclared && !isa<nsa::PooledDimAttr, nsa::BlocksDimAttr>(dim))
      continue;
    std::string name =
        isDeclared ? pooled.getCount().getValue().str() : chooseName(dim);
    if (!isDeclared) {
      computed[name] = dim;
      meanings += "; " + name + ", a name that no input has, stands for " +
                  nsa::toString(dim) + ", a size that the program computes";
    }
    dim = nsa::NamedDimAttr::get(builder.getContext(), name, /*ragged=*/false);
  }
  StringRef element = source.getText(declared.range).take_until([](char c) {
    return c == '[';
  });
  std::string advice =
      "declare the result as " +
      (element + nsa::toString(orderAsInputs(written, getOrder(declared))))
          .str();
  if (std::string marked = spellHeadsFirst(declared, written); !marked.empty())
    advice += ", or as " + (element + marked).str() +
              " with heads in front of the tokens";
  return advice + meanings;
}

/// The importance of keys that a value is made of; null without one.
static nsa::ImportanceOp findImportance(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto importance = dyn_cast_if_present<nsa::ImportanceOp>(op))
    return importance;
  if (isa_and_present<nsa::BlocksOp, nsa::TopKOp, nsa::IndicesOp, nsa::MapOp>(
          op))
    for (Value operand : op->getOperands())
      if (auto importance = findImportance(operand))
        return importance;
  return {};
}

/// Query heads were declared, and groups of them reduced to key heads.
void KernelGen::explainHeads(Problem &problem, StringRef declared,
                             Value value) {
  auto importance = findImportance(value);
  if (!importance || importance.getHeads() == nsa::HeadReduction::None)
    return;
  auto getHeads = [](Value tensor) {
    auto type = cast<nsa::NamedTensorType>(tensor.getType());
    return type.getDims()[type.isRagged() ? 1 : 2];
  };
  auto queries = dyn_cast<nsa::NamedDimAttr>(getHeads(importance.getQuery()));
  if (queries && queries.getName() == declared)
    problem.note("an importance is one of the key heads " +
                 nsa::toString(getHeads(importance.getResult())) +
                 ", each for its group of the query heads " + declared +
                 "; those have their own with 'heads=none', as in " +
                 stringifyImportanceKind(importance.getKind()) +
                 "(a, heads=none)");
}

/// A declared type with the white space of messages: `f32[B, heads HQ, T]`.
static std::string spellDeclared(const Source &source, const ast::Type &type) {
  std::string text = type.dtype ? type.dtype->text.str() : "";
  if (type.dims.empty())
    return text;
  auto dims = llvm::map_range(type.dims, [&](const ast::Dim &dim) {
    SmallVector<StringRef> words;
    llvm::SplitString(source.getText(dim.range), words);
    return llvm::join(words, " ");
  });
  return text + "[" + llvm::join(dims, ", ") + "]";
}

/// The declared type of a result with the dimensions of what is returned.
nsa::NamedTensorType KernelGen::matchResult(const ast::Result &result,
                                            Value value, Range range) {
  auto type = cast<nsa::NamedTensorType>(value.getType());
  Type element = resolveDType(result.type.dtype);
  if (!element)
    return {};
  bool matches = type.getDims().size() == result.type.dims.size();
  Dims dims(type.getDims());
  if (matches)
    for (auto [dim, index] : llvm::zip_equal(dims, getOrder(result.type)))
      dim = type.getDims()[index];
  const ast::Dim *wrong = nullptr;
  if (matches)
    for (auto [syntax, dim] : llvm::zip(result.type.dims, dims))
      if (!matchResultDim(syntax, dim) && !wrong)
        wrong = &syntax;
  if (matches && !wrong)
    return getTensorType(type.getDims(), element);

  Problem &problem =
      problems.error(range, "expected a result with dimensions " +
                                spellDeclared(source, result.type) +
                                ", found " + nsa::toString(dims));
  problem.note(wrong ? wrong->range : result.type.range,
               wrong ? "this dimension doesn't agree"
                     : "declared here with " + Twine(result.type.dims.size()) +
                           (result.type.dims.size() == 1 ? " dimension"
                                                         : " dimensions") +
                           ", found " + Twine(dims.size()));
  problem.note(adviseResult(result.type, dims, type));
  if (wrong)
    explainHeads(problem, wrong->getName(), value);
  return {};
}
