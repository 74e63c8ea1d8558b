//===- Lint.cpp - Valid code that is most likely a mistake ----------------===//

#include "NSA/Analysis/Lint.h"
#include "NSA/Analysis/LintChecks.h"
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

/// Marks a location that has the places of operands behind the op's own.
static constexpr StringRef kOperands = "operands";

Location nsacc::nsa::addOperandPlaces(Location place,
                                      ArrayRef<Location> operands) {
  SmallVector<Location> places = {place};
  llvm::append_range(places, operands);
  MLIRContext *context = place.getContext();
  return FusedLoc::get(context, places, StringAttr::get(context, kOperands));
}

Location nsacc::nsa::getOperandPlace(Operation *op, unsigned index,
                                     Value operand) {
  auto fused = op->getLoc()->findInstanceOf<FusedLoc>();
  auto mark =
      fused ? dyn_cast_or_null<StringAttr>(fused.getMetadata()) : StringAttr();
  if (mark && mark == kOperands && index + 1 < fused.getLocations().size())
    return fused.getLocations()[index + 1];
  return operand.getLoc();
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
  auto fused = place->findInstanceOf<FusedLoc>();
  return fused && isa_and_present<ArrayAttr>(fused.getMetadata());
}
