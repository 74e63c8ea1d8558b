//===- SemaCalls.cpp - Arguments of tensor functions ----------------------===//

#include "KernelGen.h"
#include "Spellings.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using llvm::Twine;

/// Advice on code to write instead of `argument`, which isn't an argument of
/// `call`.
static std::string explainArgument(const ast::CallExpr &call,
                                   StringRef argument, const std::string &usage,
                                   bool isMask = false) {
  StringRef threshold = explainFunction("topp");
  if (call.callee.text == "topk" && explainFunction(argument) == threshold)
    return "write " + usage + "; " + threshold.str();
  StringRef clause =
      call.callee.text == "attend" ? explainClause(argument) : "";
  if (!clause.empty())
    return "write " + usage + "; " + clause.str();
  bool isClause = llvm::is_contained({"in", "where", "score", "scale", "weight",
                                      "normalize", "sink", "keep", "plus",
                                      "count", "share"},
                                     argument);
  if (isMask)
    return "write " + usage +
           "; a mask stands behind the brackets, as in 'where j <= i', or "
           "'where mask[b, j]' of a table";
  return "write " + usage +
         (isClause ? "; " + quote(argument) +
                         " is a clause and stands behind the brackets"
                   : "");
}

std::optional<SmallVector<const ast::Expr *>>
KernelGen::bindArguments(const ast::CallExpr *call,
                         ArrayRef<Parameter> parameters) {
  std::string usage = call->callee.text.str() + "(";
  SmallVector<StringRef> names;
  for (const Parameter &parameter : parameters) {
    usage += parameter.required ? "" : "[";
    usage += names.empty() ? "" : ", ";
    usage += parameter.name;
    usage += parameter.labelOnly ? "=…" : "";
    usage += parameter.required ? "" : "]";
    names.push_back(parameter.name);
  }
  usage += ")";

  SmallVector<const ast::Expr *> values(parameters.size());
  size_t next = 0;
  for (const ast::Argument &argument : call->arguments) {
    size_t index = next;
    if (argument.label) {
      index = llvm::find(names, argument.label->text) - names.begin();
      if (index == names.size()) {
        problems
            .error(argument.label->range, quote(call->callee.text) +
                                              " has no argument " +
                                              quote(argument.label->text))
            .suggest(argument.label->text, names)
            .note(explainArgument(*call, argument.label->text, usage));
        return std::nullopt;
      }
    } else if (index >= parameters.size() || parameters[index].labelOnly) {
      problems
          .error(argument.value->range,
                 "too many arguments of " + quote(call->callee.text))
          .note(explainArgument(*call, source.getText(argument.value->range),
                                usage,
                                /*isMask=*/call->callee.text == "attend"));
      return std::nullopt;
    } else {
      ++next;
    }
    if (values[index]) {
      Problem &problem =
          problems.error(argument.value->range,
                         "argument " + quote(names[index]) + " of " +
                             quote(call->callee.text) + " is given twice");
      problem.note(values[index]->range, "it is given here");
      // Other libraries' 'p' is a number.
      if (call->callee.text == "topk" && names[index] == "p")
        problem.note(explainFunction("topp"));
      return std::nullopt;
    }
    values[index] = argument.value;
  }
  for (auto [parameter, value] : llvm::zip(parameters, values))
    if (parameter.required && !value) {
      problems
          .error(call->range, "argument " + quote(parameter.name) + " of " +
                                  quote(call->callee.text) + " is missing")
          .note("write " + usage);
      return std::nullopt;
    }
  return values;
}
