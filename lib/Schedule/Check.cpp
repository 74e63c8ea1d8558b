//===- Check.cpp - Checks settings against a program's ops ----------------===//

#include "nsacc/Schedule/Choose.h"
#include "nsacc/Support/Suggestions.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

/// "cmp (attend), sel (topk)"
static std::string listOps(ArrayRef<ScheduledOp> ops) {
  std::vector<std::string> names;
  for (const ScheduledOp &op : ops)
    names.push_back(op.name + " (" + op.getInterface().getScheduleName().str() +
                    ")");
  return names.empty() ? "none" : llvm::join(names, ", ");
}

static llvm::Error explainName(const Settings &settings, const Setting &setting,
                               ArrayRef<ScheduledOp> ops) {
  SmallVector<StringRef> names;
  for (const ScheduledOp &op : ops)
    names.push_back(op.name);
  StringRef nearest = findNearest(setting.op, names);
  std::string suggestion =
      !nearest.empty() ? "did you mean '" + nearest.str() + "'? "
      : findProgram(setting.op)
          ? "did you mean '*." + setting.op + "', of all ops? "
          : "";
  return settings.explain(setting.opColumn,
                          "the program has no op '" + setting.op +
                              "': " + suggestion + "ops are " + listOps(ops));
}

/// "a topk", "an attend"
static std::string getPhrase(StringRef name) {
  bool beginsWithVowel = StringRef("aeiou").contains(name.front());
  return ((beginsWithVowel ? "an " : "a ") + name).str();
}

static llvm::Error checkSetting(const Settings &settings,
                                const Setting &setting, const Goal &goal,
                                ArrayRef<ScheduledOp> ops) {
  const FieldInfo &info = getInfo(setting.field);
  ScheduleOpInterface named;
  bool isFound = false;
  for (const ScheduledOp &op : ops) {
    if (!setting.op.empty() && op.name != setting.op)
      continue;
    named = op.getInterface();
    isFound |= named.has(info.field);
  }
  if (!setting.op.empty() && !named)
    return explainName(settings, setting, ops);
  if (!isFound && setting.op.empty())
    return settings.explain(setting.column,
                            "no op of the program has a field '" +
                                getFullName(info.field) + "': ops are " +
                                listOps(ops));
  if (!isFound)
    return settings.explain(setting.column,
                            "'" + setting.op + "' is " +
                                getPhrase(named.getScheduleName()) +
                                " without a field '" + getFullName(info.field) +
                                "': it has " + listFields(named.getFields()));
  if (info.isOfGPU && !goal.device)
    return settings.explain(setting.column,
                            "'" + getFullName(info.field) +
                                "' is of GPUs, and target 'cpu' is none");
  return llvm::Error::success();
}

llvm::Error schedule::check(ModuleOp module, const Goal &goal,
                            const Settings &settings) {
  std::vector<ScheduledOp> ops;
  for (KernelOp kernel : module.getOps<KernelOp>())
    llvm::append_range(ops, getScheduledOps(kernel));
  for (const Setting &setting : settings.getList())
    if (llvm::Error error = checkSetting(settings, setting, goal, ops))
      return error;
  for (KernelOp kernel : module.getOps<KernelOp>())
    if (llvm::Error error = choose(kernel, goal, settings).takeError())
      return error;
  return llvm::Error::success();
}
