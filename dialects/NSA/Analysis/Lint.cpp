//===- Lint.cpp - Valid code that is most likely a mistake ----------------===//

#include "NSA/Analysis/Lint.h"
#include "NSA/Analysis/LintChecks.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc::nsa;

Finding &LintReport::warning(Location place, const Twine &message) {
  std::string text = message.str();
  bool isKnown = llvm::any_of(findings, [&](const Finding &known) {
    return known.place == place && known.message == text;
  });
  if (isKnown)
    return repeated.emplace(Finding{place, std::move(text)});
  return findings.emplace_back(Finding{place, std::move(text)});
}

Finding &LintReport::outcome(Region &clause, const Twine &message) {
  bool hasCause = llvm::any_of(clause.getOps(), [&](Operation &op) {
    return isa<math::SqrtOp, math::LogOp, math::Log2Op>(op) &&
           llvm::any_of(findings, [&](const Finding &known) {
             return known.place == op.getLoc();
           });
  });
  if (hasCause)
    return repeated.emplace(Finding{getPlace(clause), message.str()});
  Finding &finding = warning(getPlace(clause), message);
  finding.isOutcome = true;
  return finding;
}

SequenceDims::SequenceDims(Value tensor) {
  ArrayRef<Attribute> dims = cast<NamedTensorType>(tensor.getType()).getDims();
  tokens = dims[dims.size() - 3];
  heads = dims[dims.size() - 2];
  features = dims[dims.size() - 1];
}

static void lintOp(Operation *op, LintReport &report) {
  if (auto scoring = dyn_cast<ScoringOpInterface>(op)) {
    lintMask(scoring, report);
    lintScale(scoring, report);
    lintConstants(scoring, report);
    lintScores(scoring, report);
    if (auto attend = dyn_cast<AttendOp>(op))
      lintSelection(attend, report);
  } else if (auto topk = dyn_cast<TopKOp>(op)) {
    lintMask(topk, report);
  } else if (auto merge = dyn_cast<MergeOp>(op)) {
    lintBranches(merge, report);
  }
}

Findings nsacc::nsa::lint(KernelOp kernel) {
  LintReport report;
  kernel.walk([&](Operation *op) { lintArithmetic(op, report); });
  for (Operation &op : kernel.getBody().front())
    lintOp(&op, report);
  return report.take();
}

void nsacc::nsa::emitFindings(KernelOp kernel) {
  for (const Finding &finding : lint(kernel)) {
    InFlightDiagnostic warning = emitWarning(finding.place);
    warning << finding.message;
    for (const Finding::Note &note : finding.notes)
      warning.attachNote(note.place) << note.message;
  }
}

//===----------------------------------------------------------------------===//
// Places that ops keep for warnings, in their locations
//===----------------------------------------------------------------------===//

// They are metadata: code that comes from the op has the op's own place.

Location nsacc::nsa::addOperandPlaces(Location place,
                                      ArrayRef<Location> operands) {
  MLIRContext *context = place.getContext();
  SmallVector<Attribute> places(operands.begin(), operands.end());
  return FusedLoc::get(context, {place}, ArrayAttr::get(context, places));
}

/// The metadata of a place; null if it has none.
static ArrayAttr getNotes(Location place) {
  auto fused = place->findInstanceOf<FusedLoc>();
  return fused ? dyn_cast_or_null<ArrayAttr>(fused.getMetadata()) : ArrayAttr();
}

Location nsacc::nsa::getOperandPlace(Operation *op, unsigned index,
                                     Value operand) {
  ArrayAttr places = getNotes(op->getLoc());
  auto place = places && index < places.size()
                   ? dyn_cast<LocationAttr>(places[index])
                   : LocationAttr();
  return place ? Location(place) : operand.getLoc();
}

Location nsacc::nsa::addSwitches(Location place,
                                 ArrayRef<StringRef> constants) {
  if (constants.empty())
    return place;
  Builder builder(place.getContext());
  return FusedLoc::get(place.getContext(), {place},
                       builder.getStrArrayAttr(constants));
}

bool nsacc::nsa::hasSwitches(Location place) {
  ArrayAttr names = getNotes(place);
  return names && llvm::any_of(names, llvm::IsaPred<StringAttr>);
}
