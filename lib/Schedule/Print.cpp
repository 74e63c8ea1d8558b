//===- Print.cpp - Prints choices and their reasons -----------------------===//

#include "NSA/Transforms/Passes.h"
#include "nsacc/Schedule/Choose.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

static void printSizes(KernelOp kernel, llvm::raw_ostream &os) {
  auto sizes = kernel->getAttrOfType<DictionaryAttr>(kSizesAttrName);
  if (!sizes)
    return;
  for (NamedAttribute size : sizes)
    os << ", " << size.getName().getValue() << "="
       << cast<IntegerAttr>(size.getValue()).getInt();
}

/// Kind of program that an attention's order puts in front of the attention's
/// own: one that lists the blocks that tiles walk, or one that computes states
/// of tiles of keys.
static StringRef getProgramBefore(const OpChoice &op) {
  if (!op.has(Field::Order))
    return "";
  auto order = static_cast<nsatile::LoopOrder>(op.get(Field::Order));
  return order == nsatile::LoopOrder::Union      ? "union"
         : order == nsatile::LoopOrder::KeyMajor ? "partial"
                                                 : "";
}

/// Prints "program (attend): cmp, slc, swa". An op is listed in each program
/// that computes it.
static void printPrograms(const KernelChoice &choice, llvm::raw_ostream &os) {
  for (const Program &program : choice.cut.getPrograms()) {
    for (const OpChoice &op : choice.ops)
      if (StringRef before = getProgramBefore(op); !before.empty() &&
                                                   program.what == "attend" &&
                                                   program.ops.contains(op.op))
        os << "  program (" << before << "): " << op.name << "\n";
    std::vector<StringRef> names;
    for (const OpChoice &op : choice.ops)
      if (program.ops.contains(op.op))
        names.push_back(op.name);
    os << "  program (" << program.what << "): " << llvm::join(names, ", ")
       << "\n";
  }
}

/// Place of an op in the source, " at nsa.nsa:7:9".
static std::string describePlace(Operation *op) {
  auto place = op->getLoc()->findInstanceOf<FileLineColRange>();
  if (!place)
    return "";
  return (" at " + llvm::sys::path::filename(place.getFilename()) + ":" +
          Twine(place.getStartLine()) + ":" + Twine(place.getStartColumn()))
      .str();
}

/// Prints "slc (attend at nsa.nsa:7:9): order=union, …" and "slc.merge:
/// tokens=1", each followed by the reasons of its fields, one a line.
static void printOp(const OpChoice &choice, llvm::raw_ostream &os) {
  for (ProgramRole role : kProgramRoles) {
    std::vector<std::string> values, reasons;
    for (const FieldInfo &info : getFields()) {
      const auto &found = choice.fields[static_cast<size_t>(info.field)];
      if (!found || info.program != role)
        continue;
      values.push_back(
          (info.name + "=" + toString(info.field, found->value)).str());
      reasons.push_back((info.name + ": " + found->reason).str());
    }
    if (values.empty())
      continue;
    os << "  " << choice.name;
    if (role == ProgramRole::Main)
      os << " (" << choice.getInterface().getScheduleName()
         << describePlace(choice.op) << ")";
    else
      os << "." << getName(role);
    os << ": " << llvm::join(values, ", ") << "\n";
    for (const std::string &reason : reasons)
      os << "    " << reason << "\n";
  }
}

llvm::Error schedule::printSchedules(ModuleOp module, const Goal &goal,
                                     const Settings &settings,
                                     llvm::raw_ostream &os) {
  if (llvm::Error error = check(module, goal, settings))
    return error;
  warnOfUnread(module, goal, settings);
  for (KernelOp kernel : module.getOps<KernelOp>()) {
    llvm::Expected<KernelChoice> choice = choose(kernel, goal, settings);
    if (!choice)
      return choice.takeError();
    os << "kernel " << kernel.getSymName() << " for "
       << (goal.device ? goal.device->name : "cpu");
    printSizes(kernel, os);
    if (goal.queries != Queries::Any)
      os << ", " << describeQueries(goal.queries);
    os << '\n';
    printPrograms(*choice, os);
    for (const OpChoice &op : choice->ops)
      printOp(op, os);
  }
  return llvm::Error::success();
}
