//===- SetSchedule.cpp - Choose how kernels are tiled ---------------------===//

#include "NSA/IR/NSAOps.h"
#include "NSA/Transforms/Passes.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"
#include "llvm/ADT/StringExtras.h"

namespace nsacc {
#define GEN_PASS_DEF_NSASETSCHEDULE
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"
} // namespace nsacc

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

static std::optional<int64_t> getHeads(KernelOp kernel, Value tensor) {
  auto type = cast<NamedTensorType>(tensor.getType());
  Attribute dim = type.getDims()[type.isRagged() ? 1 : 2];
  if (auto size = dyn_cast<IntegerAttr>(dim))
    return size.getInt();
  auto sizes = kernel->getAttrOfType<DictionaryAttr>(kSizesAttrName);
  auto named = dyn_cast<NamedDimAttr>(dim);
  if (!sizes || !named)
    return std::nullopt;
  if (auto size = sizes.getAs<IntegerAttr>(named.getName()))
    return size.getInt();
  return std::nullopt;
}

/// As many tokens as fill 64 rows with the heads of a group.
static int64_t getDefaultTokens(KernelOp kernel) {
  int64_t group = 1;
  kernel.walk([&](ScoringOpInterface op) {
    std::optional<int64_t> queries = getHeads(kernel, op.getQuery());
    std::optional<int64_t> keys = getHeads(kernel, op.getKey());
    if (queries && keys && *keys > 0)
      group = std::max<int64_t>(1, *queries / *keys);
    return WalkResult::interrupt();
  });
  return std::max<int64_t>(1, 64 / group);
}

/// "order=union,tokens=16" as the attribute spells it.
static std::string spell(StringRef schedule, int64_t tokens) {
  SmallVector<StringRef> settings;
  schedule.split(settings, ',', -1, /*KeepEmpty=*/false);
  auto names = [&](StringRef name) {
    return llvm::any_of(settings, [&](StringRef setting) {
      return setting.split('=').first.trim() == name;
    });
  };
  std::string text = llvm::join(settings, ", ");
  auto add = [&](StringRef name, int64_t value) {
    if (names(name))
      return;
    text += text.empty() ? "" : ", ";
    text += (name + " = " + Twine(value)).str();
  };
  add("tokens", tokens);
  add("keys", 64);
  return "#nsatile.schedule<" + text + ">";
}

namespace {

struct SetSchedule : nsacc::impl::NSASetScheduleBase<SetSchedule> {
  using NSASetScheduleBase::NSASetScheduleBase;

  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      if (failed(setSchedule(kernel)))
        return signalPassFailure();
  }

  LogicalResult setSchedule(KernelOp kernel) {
    std::string problem;
    Attribute attribute;
    {
      // The parser knows nothing of the kernel that it reads for.
      ScopedDiagnosticHandler collect(&getContext(), [&](Diagnostic &found) {
        if (problem.empty())
          problem = found.str();
      });
      attribute = parseAttribute(spell(schedule, getDefaultTokens(kernel)),
                                 &getContext());
    }
    if (auto parsed = dyn_cast_or_null<nsatile::ScheduleAttr>(attribute)) {
      kernel->setAttr(nsatile::NSATileDialect::getScheduleAttrName(), parsed);
      return success();
    }
    InFlightDiagnostic error = kernel.emitError("can't use the schedule '")
                               << schedule << "': " << problem;
    error.attachNote() << "expected order=query_major, union or key_major, "
                          "tokens=N, keys=N, splits=N, separated by commas";
    return error;
  }
};

} // namespace
