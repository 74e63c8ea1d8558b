//===- Print.cpp - What was chosen, and why -------------------------------===//

#include "NSA/Transforms/Passes.h"
#include "nsacc/Schedule/Choose.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

/// The name that the program gives the op's value, or where it stands.
static std::string findName(Operation *op) {
  if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
    return name.getName().str();
  auto place = op->getLoc()->findInstanceOf<FileLineColRange>();
  if (!place)
    return "_";
  return (llvm::sys::path::filename(place.getFilename()) + ":" +
          Twine(place.getStartLine()) + ":" + Twine(place.getStartColumn()))
      .str();
}

static void printSizes(KernelOp kernel, llvm::raw_ostream &os) {
  auto sizes = kernel->getAttrOfType<DictionaryAttr>(kSizesAttrName);
  if (!sizes)
    return;
  for (NamedAttribute size : sizes)
    os << ", " << size.getName().getValue() << "="
       << cast<IntegerAttr>(size.getValue()).getInt();
}

/// "order=union, tokens=16, …: why"
static void printChoice(nsatile::ScheduleAttr attr, StringRef reason,
                        llvm::raw_ostream &os) {
  os << "order=" << nsatile::stringifyLoopOrder(attr.getOrder())
     << ", tokens=" << attr.getTokens() << ", keys=" << attr.getKeys()
     << ", splits=" << attr.getSplits() << ", warps=" << attr.getWarps()
     << ", stages=" << attr.getStages() << ": " << reason << "\n";
}

llvm::Error schedule::printSchedules(ModuleOp module, const Goal &goal,
                                     StringRef text, llvm::raw_ostream &os) {
  llvm::Expected<Settings> settings = parseSettings(text);
  if (!settings)
    return settings.takeError();
  module.getContext()->loadDialect<nsatile::NSATileDialect>();
  for (KernelOp kernel : module.getOps<KernelOp>()) {
    Choice choice = choose(kernel, goal, *settings);
    std::string problem;
    auto attr = makeAttr(choice, module.getContext(), problem);
    if (!attr)
      return llvm::createStringError(explainProblem(text, problem));
    os << "kernel " << kernel.getSymName() << " for "
       << (goal.device ? goal.device->name : "cpu");
    printSizes(kernel, os);
    os << (goal.hasManyQueries ? ", many queries\n" : "\n");
    kernel.walk([&](ScoringOpInterface op) {
      os << "  " << findName(op) << " (" << op->getName().stripDialect()
         << "): ";
      printChoice(attr, choice.reason, os);
    });
  }
  return llvm::Error::success();
}
