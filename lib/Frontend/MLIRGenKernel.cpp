//===- MLIRGenKernel.cpp - Kernels and their statements -------------------===//

#include "KernelGen.h"
#include "NSA/IR/NSADialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

KernelGen::KernelGen(const Source &source, Problems &problems,
                     const Options &options, const ast::Kernel &kernel,
                     ModuleOp module)
    : source(source), problems(problems), options(options), kernel(kernel),
      module(module), builder(module.getContext()),
      file(builder.getStringAttr(source.getName())) {}

void KernelGen::generate() {
  builder.setInsertionPointToEnd(module.getBody());
  op = nsa::KernelOp::create(builder, getLoc(kernel.name.range),
                             kernel.name.text, builder.getFunctionType({}, {}),
                             ArrayAttr(), ArrayAttr(), DictionaryAttr());
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
  declareParams();
  declareInputs();
  generateBody();
}

void KernelGen::generateBody() {
  bool returned = false;
  for (const ast::Statement &statement : kernel.body) {
    if (problems.full())
      return;
    if (returned && kernel.incomplete)
      return;
    if (returned) {
      problems.error(statement.range, "nothing is computed after 'return'")
          .note("'return' is the last statement of a kernel; remove what "
                "follows");
      return;
    }
    returned = statement.isReturn;
    if (statement.isReturn)
      generateReturn(statement);
    else
      generateAssignment(statement);
  }
  if (!returned && !kernel.incomplete)
    problems
        .error(kernel.end, "expected 'return' at the end of kernel " +
                               quote(kernel.name.text))
        .note("end the kernel with 'return' and as many values as it has "
              "results");
}

/// Stores the name in the location, for schedules and other users of the op's
/// name. A second name for the same value changes nothing.
static void nameOp(const Bound &bound, StringRef name) {
  Operation *op = bound.value ? bound.value.getDefiningOp() : nullptr;
  if (op && !op->getLoc()->findInstanceOf<NameLoc>())
    op->setLoc(
        NameLoc::get(StringAttr::get(op->getContext(), name), op->getLoc()));
}

/// Whether the parser could read the statement's values; if not, it has
/// reported an error.
static bool hasValues(const ast::Statement &statement) {
  return !statement.values.empty() &&
         !llvm::is_contained(statement.values, nullptr);
}

bool KernelGen::isDecimalComma(const ast::Expr &value,
                               const ast::Expr &next) const {
  uint32_t end = value.range.end;
  return llvm::isa<ast::IntegerExpr>(next) && end > 0 &&
         next.range.begin == end + 1 &&
         llvm::isDigit(source.getText()[end - 1]);
}

void KernelGen::explainComma(Problem &problem,
                             const ast::Statement &statement) const {
  for (auto [value, next] :
       llvm::zip(statement.values, statement.values.drop_front())) {
    if (isDecimalComma(*value, *next)) {
      problem.note({value->range.end, value->range.end + 1},
                   "a comma separates values; a real number has a point, as in "
                   "0.5");
      return;
    }
    const auto *call = llvm::dyn_cast<ast::CallExpr>(value);
    if (call && call->find(ast::Clause::Kind::Where) &&
        llvm::isa<ast::ComparisonExpr, ast::BinaryExpr>(next)) {
      problem.note({value->range.end, value->range.end + 1},
                   "a comma ends the clause; conditions are joined by 'and'");
      return;
    }
  }
}

void KernelGen::generateAssignment(const ast::Statement &statement) {
  size_t names = statement.names.size(), values = statement.values.size();
  if (names != values && hasValues(statement)) {
    Problem &problem = problems.error(
        statement.range, Twine(names) + (names == 1 ? " name" : " names") +
                             " but " + Twine(values) +
                             (values == 1 ? " value" : " values"));
    explainComma(problem, statement);
    problem.note(names > values
                     ? "each name needs a value of its own, separated by "
                       "commas; lse(x) gives the log-sum-exp of an attention"
                     : "each value needs a name of its own, separated by "
                       "commas");
  }
  SmallVector<Bound> bounds(names);
  for (size_t index = 0; index < values; ++index) {
    Bound bound = generate(statement.values[index]);
    if (index < names && names == values)
      bounds[index] = bound;
  }
  for (auto [name, bound] : llvm::zip_equal(statement.names, bounds)) {
    nameOp(bound, name.text);
    declare(name, {Symbol::Kind::Value, name.range, bound});
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// attend(q, k) exists only for functions of its scores; see generateAttend.
static void eraseScores(nsa::KernelOp op) {
  Block &body = op.getBody().front();
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(body)))
    if (auto attend = llvm::dyn_cast<nsa::AttendOp>(inner))
      if (attend.getKey() == attend.getValue() && attend.use_empty())
        attend.erase();
}

void KernelGen::generateReturn(const ast::Statement &statement) {
  size_t found = statement.values.size(), expected = kernel.results.size();
  if (found != expected) {
    if (hasValues(statement)) {
      Problem &problem = problems.error(
          statement.range,
          "kernel " + quote(kernel.name.text) + " has " + Twine(expected) +
              (expected == 1 ? " result" : " results") + ", found " +
              Twine(found) + (found == 1 ? " value" : " values"));
      explainComma(problem, statement);
      problem.note(kernel.name.range, "return as many values as the kernel "
                                      "declares behind '->'");
    }
    return;
  }
  SmallVector<Value> values;
  for (auto [result, expr] : llvm::zip_equal(kernel.results, statement.values))
    values.push_back(generateResult(result, expr));
  if (!llvm::is_contained(values, Value()) && !problems.hasErrors()) {
    nsa::ReturnOp::create(builder, getLoc(statement.range), values);
    finish(values);
    lint();
    checkUnused();
    eraseScores(op);
  }
}

Value KernelGen::generateResult(const ast::Result &result,
                                const ast::Expr *expr) {
  Type element = resolveDType(result.type.dtype);
  if (!expr)
    return {};
  Bound bound =
      isElementwise(expr) ? generateElementwise(expr, element) : generate(expr);
  if (!element)
    return {};
  Value value = bound.kind == Bound::Kind::Importance
                    ? returnImportance(bound, expr->range)
                    : asTensor(bound, expr->range, "a result");
  if (!value)
    return {};
  nsa::NamedTensorType declared = matchResult(result, value, expr->range);
  if (!declared)
    return {};
  return convert(value, declared.getElementType(), expr->range);
}

std::string KernelGen::getResultName(size_t index) const {
  const ast::Result &result = kernel.results[index];
  if (result.name)
    return result.name->text.str();
  return kernel.results.size() == 1 ? "out" : "out" + std::to_string(index);
}

void KernelGen::finish(ArrayRef<Value> results) {
  Block &body = op.getBody().front();
  op.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), llvm::map_to_vector(results, [](Value result) {
        return result.getType();
      })));
  StringRef attribute = nsa::NSADialect::getNameAttrName();
  size_t index = 0;
  StringRef order = nsa::NSADialect::getOrderAttrName();
  for (const ast::Input &input : kernel.inputs) {
    if (Attribute given = getOrderAttr(*input.type))
      op.setArgAttr(index, order, given);
    op.setArgAttr(index++, attribute, builder.getStringAttr(input.name.text));
  }
  for (; index < body.getNumArguments(); ++index) {
    auto type =
        llvm::cast<nsa::NamedTensorType>(body.getArgument(index).getType());
    auto dim = llvm::cast<nsa::OffsetsDimAttr>(type.getDims().front());
    op.setArgAttr(index, attribute,
                  builder.getStringAttr(dim.getOf() + "_offsets"));
  }
  llvm::StringMap<Range> names;
  for (size_t i = 0; i < results.size(); ++i) {
    std::string name = getResultName(i);
    const ast::Result &result = kernel.results[i];
    Range range = result.name ? result.name->range : result.type.range;
    auto [first, isNew] = names.try_emplace(name, range);
    if (!isNew)
      problems.error(range, "a second result " + quote(name))
          .note(first->second, "the first one is here; give each result its "
                               "own name");
    op.setResultAttr(i, attribute, builder.getStringAttr(name));
    if (Attribute given = getOrderAttr(result.type))
      op.setResultAttr(i, order, given);
  }
  if (!kernel.params.empty())
    op.setParamsAttr(getParamsAttr());
}
