//===- Problems.cpp - Errors and warnings of a program --------------------===//

#include "Problems.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "nsacc/Support/Suggestions.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace nsacc::frontend;

Problem &Problem::suggest(StringRef unknown, ArrayRef<StringRef> known) {
  StringRef nearest = nsacc::findNearest(unknown, known);
  return nearest.empty() ? *this : note("did you mean " + quote(nearest) + "?");
}

Problem &Problems::ignore() {
  ignored.notes.clear();
  return ignored;
}

const Problem *Problems::getFirstError() const {
  auto error = llvm::find_if(problems, [](const Problem &problem) {
    return problem.severity == Problem::Error;
  });
  return error == problems.end() ? nullptr : &*error;
}

Problem &Problems::add(Problem::Severity severity, Range range,
                       std::string message) {
  if (counts[severity] == limit) {
    dropped[severity] = true;
    return ignore();
  }
  ++counts[severity];
  return problems.emplace_back(severity, range, std::move(message),
                               problems.size());
}

Problem &Problems::error(Range range, const Twine &message) {
  return add(Problem::Error, range, message.str());
}

Problem &Problems::warning(Range range, const Twine &message) {
  std::string text = message.str();
  bool isKnown = llvm::any_of(problems, [&](const Problem &known) {
    return known.severity == Problem::Warning && known.range == range &&
           known.message == text;
  });
  return isKnown || hasErrors() ? ignore()
                                : add(Problem::Warning, range, std::move(text));
}

bool Problems::hasWarning(Range range, StringRef message) const {
  return llvm::any_of(problems, [&](const Problem &known) {
    return known.severity == Problem::Warning && known.message == message &&
           range.begin <= known.range.begin && known.range.end <= range.end;
  });
}

void Problems::emit(const Source &source, mlir::MLIRContext &context) const {
  SmallVector<const Problem *> sorted;
  for (const Problem &problem : problems)
    sorted.push_back(&problem);
  llvm::sort(sorted, [](const Problem *a, const Problem *b) {
    return std::pair(a->range.begin, a->order) <
           std::pair(b->range.begin, b->order);
  });
  // Problems of an expression are found before problems of the name before it.
  auto *error = llvm::find_if(sorted, [](const Problem *problem) {
    return problem->severity == Problem::Error;
  });
  sorted.erase(std::remove_if(error, sorted.end(),
                              [](const Problem *problem) {
                                return problem->severity == Problem::Warning;
                              }),
               sorted.end());
  const Problem *last[2] = {nullptr, nullptr};
  for (const Problem *problem : sorted)
    last[problem->severity] = problem;

  auto file = mlir::StringAttr::get(&context, source.getName());
  for (const Problem *problem : sorted) {
    bool isError = problem->severity == Problem::Error;
    mlir::Location location = getLocation(source, problem->range, file);
    mlir::InFlightDiagnostic diagnostic =
        isError ? mlir::emitError(location) : mlir::emitWarning(location);
    diagnostic << problem->message;
    for (const Problem::Note &note : problem->notes)
      diagnostic.attachNote(getLocation(source, note.range, file))
          << note.message;
    if (dropped[problem->severity] && problem == last[problem->severity])
      diagnostic.attachNote()
          << "stopped here: only the first " << limit << " "
          << (isError ? "errors" : "warnings") << " are shown";
  }
}

mlir::Location nsacc::frontend::getLocation(const Source &source, Range range,
                                            mlir::StringAttr file) {
  Position begin = source.getPosition(range.begin);
  Position end = source.getPosition(std::max(range.begin, range.end));
  return mlir::FileLineColRange::get(file, begin.line, begin.column, end.line,
                                     end.column);
}

Range nsacc::frontend::getRange(const Source &source, mlir::Location location) {
  auto place = location->findInstanceOf<mlir::FileLineColRange>();
  return {source.getOffset({place.getStartLine(), place.getStartColumn()}),
          source.getOffset({place.getEndLine(), place.getEndColumn()})};
}
