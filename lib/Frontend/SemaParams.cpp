//===- SemaParams.cpp - Parameters of kernels and their values ------------===//

#include "KernelGen.h"
#include "Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

static std::optional<ScalarType> parseParamType(StringRef name) {
  return llvm::StringSwitch<std::optional<ScalarType>>(name)
      .Case("int", ScalarType::Int)
      .Case("real", ScalarType::Real)
      .Case("bool", ScalarType::Bool)
      .Case("dtype", ScalarType::DType)
      .Default(std::nullopt);
}

/// The type's name in programs.
static StringRef getTypeName(ScalarType type) {
  switch (type) {
  case ScalarType::Int:
    return "int";
  case ScalarType::Real:
    return "real";
  case ScalarType::Bool:
    return "bool";
  case ScalarType::DType:
    return "dtype";
  }
  llvm_unreachable("unknown type");
}

void KernelGen::declareParams() {
  for (const ast::Param &param : kernel.params) {
    Bound bound;
    if (std::optional<Constant> constant = evaluateParam(param)) {
      bound.kind = Bound::Kind::Constant;
      bound.constant = *constant;
    }
    declare(param.name, {Symbol::Kind::Param, param.name.range, bound});
  }
  reportUnknownParams();
}

void KernelGen::reportUnknownParams() {
  SmallVector<StringRef> known;
  for (const ast::Param &param : kernel.params)
    known.push_back(param.name.text);
  SmallVector<StringRef> given(options.params.keys());
  llvm::sort(given);
  for (StringRef name : given) {
    if (llvm::is_contained(known, name))
      continue;
    Problem &problem = problems.error(kernel.name.range,
                                      "kernel " + quote(kernel.name.text) +
                                          " has no parameter " + quote(name));
    auto isInput = [&](const ast::Input &input) {
      return input.name.text == name;
    };
    auto isDim = [&](const ast::Input &input) {
      return llvm::any_of(input.type->dims, [&](const ast::Dim &dim) {
        return dim.getName() == name;
      });
    };
    if (llvm::any_of(kernel.inputs, isInput))
      problem.note(quote(name) +
                   " is an input, which a run is given: --input " + name +
                   "=FILE.npy, or an argument of the call in Python");
    else if (llvm::any_of(kernel.inputs, isDim))
      problem.note(quote(name) +
                   " is a dimension, whose size the inputs of a run tell: "
                   "--dims " +
                   name + "=… where they are random");
    else
      problem.suggest(name, known);
    problem.note(known.empty()
                     ? "it has no parameters at all"
                     : "its parameters are " + llvm::join(known, ", "));
  }
}

std::optional<Constant> KernelGen::evaluateParam(const ast::Param &param) {
  if (param.type && !parseParamType(param.type->text)) {
    problems
        .error(param.type->range,
               "unknown type of parameter " + quote(param.type->text))
        .suggest(llvm::StringSwitch<StringRef>(param.type->text)
                     .Cases({"float", "double", "f32", "number"}, "real")
                     .Cases({"i32", "i64", "long", "size_t"}, "int")
                     .Cases({"type", "typename"}, "dtype")
                     .Default(param.type->text),
                 {"int", "real", "bool", "dtype"})
        .note("parameters are int, real, bool or dtype");
    return std::nullopt;
  }
  auto given = options.params.find(param.name.text);
  if (given != options.params.end()) {
    std::optional<Constant> value = parseGiven(param, given->second);
    return value ? convertParam(param, *value, /*given=*/true) : std::nullopt;
  }
  if (!param.defaultValue) {
    problems
        .error(param.name.range,
               "parameter " + quote(param.name.text) + " has no value")
        .note("give one (--set " + param.name.text +
              "=…, or a keyword argument in Python), or write a default: " +
              param.name.text + " = …");
    return std::nullopt;
  }
  if (const auto *name = llvm::dyn_cast<ast::NameExpr>(param.defaultValue))
    if (!symbols.contains(name->name))
      if (Type dtype = findDType({name->name, name->range}))
        return convertParam(param, Constant::ofDType(dtype), /*given=*/false);
  std::optional<Constant> value = evaluate(param.defaultValue);
  return value ? convertParam(param, *value, /*given=*/false) : std::nullopt;
}

/// Parses a value from outside: a program of one expression without names.
std::optional<Constant> KernelGen::parseGiven(const ast::Param &param,
                                              StringRef text) {
  if (Type dtype = findDType({text, param.name.range}))
    return Constant::ofDType(dtype);
  Source given(llvm::MemoryBufferRef(text, "value"));
  Problems ignored;
  ast::File file;
  std::optional<Constant> value;
  if (text.size() < 1000 && checkText(given, ignored)) {
    ast::Expr *expr = Parser(given, ignored, file).parseWholeExpr();
    ScalarScope scope;
    Symbols none;
    ScalarGen scalars(given, ignored, none, scope, builder);
    std::optional<Scalar> scalar = scalars.generate(expr);
    if (scalar && !ignored.hasErrors())
      value = scalar->constant;
  }
  if (value)
    return value;
  // Whether it is part of a name. Names in values mean something else outside
  // of programs.
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  bool isName = llvm::all_of(text, isPart) && !text.empty() &&
                !llvm::isDigit(text.front());
  const Problem *reason = isName ? nullptr : ignored.getFirstError();
  Problem &problem = problems.error(
      param.name.range, "parameter " + quote(param.name.text) + " was given " +
                            quote(text) + ", which is no value" +
                            (reason ? ": " + reason->message : std::string()));
  if (reason && !reason->notes.empty())
    problem.note(reason->notes.front().message);
  else
    problem.note("values look like 64, 0.5, true or bf16");
  return std::nullopt;
}

std::optional<Constant> KernelGen::convertParam(const ast::Param &param,
                                                const Constant &value,
                                                bool given) {
  // The type comes from the declaration, or else from the default.
  std::optional<ScalarType> type;
  if (param.type)
    type = parseParamType(param.type->text);
  else if (!given)
    type = value.type;
  else if (!param.defaultValue)
    type = ScalarType::Int;
  else if (const auto *name = llvm::dyn_cast<ast::NameExpr>(param.defaultValue);
           name && !symbols.contains(name->name) &&
           findDType({name->name, name->range}))
    type = ScalarType::DType;
  else if (std::optional<Constant> standard = evaluate(param.defaultValue))
    type = standard->type;
  if (!type || *type == value.type)
    return type ? std::optional(value) : std::nullopt;
  if (*type == ScalarType::Real && value.type == ScalarType::Int)
    return Constant::ofReal(value.asReal());
  Problem &problem = problems.error(
      param.name.range,
      "parameter " + quote(param.name.text) + " is " + describe(*type) +
          ", but " + (given ? "was given " : "its default is ") +
          toString(value) + ", which is " + describe(value.type));
  if (given)
    problem.note("give it " + describe(*type) +
                 (*type == ScalarType::Int && value.type == ScalarType::Real
                      ? "; one that takes fractions is declared '" +
                            param.name.text + ": real'"
                      : ""));
  else
    problem.note(param.type->range, "write " + quote(getTypeName(value.type)) +
                                        " here, or a default that is " +
                                        describe(*type));
  return std::nullopt;
}

DictionaryAttr KernelGen::getParamsAttr() {
  SmallVector<NamedAttribute> attributes;
  for (const ast::Param &param : kernel.params) {
    const Bound &bound = symbols.find(param.name.text)->second.bound;
    if (bound.kind != Bound::Kind::Constant)
      continue;
    const Constant &value = bound.constant;
    Attribute attribute;
    switch (value.type) {
    case ScalarType::Int:
      attribute = builder.getI64IntegerAttr(value.integer);
      break;
    case ScalarType::Real:
      attribute = builder.getF64FloatAttr(value.real);
      break;
    case ScalarType::Bool:
      attribute = builder.getBoolAttr(value.boolean);
      break;
    case ScalarType::DType:
      attribute = TypeAttr::get(value.dtype);
      break;
    }
    attributes.push_back(builder.getNamedAttr(param.name.text, attribute));
  }
  return builder.getDictionaryAttr(attributes);
}
