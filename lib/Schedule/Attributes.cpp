//===- Attributes.cpp - Choices as attributes of ops ----------------------===//

#include "NSATile/IR/NSATileOps.h"
#include "nsacc/Schedule/Choose.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

nsatile::ScheduleAttr OpChoice::getAttr() const {
  PerField<int64_t> values;
  for (const FieldInfo &info : getFields())
    if (const auto &found = fields[static_cast<size_t>(info.field)])
      values[static_cast<size_t>(info.field)] = found->value;
  auto &part = values[static_cast<size_t>(Field::Part)];
  if (part == values[static_cast<size_t>(Field::Tokens)])
    part.reset();
  return nsatile::ScheduleAttr::get(op->getContext(), values);
}

void schedule::setSchedules(const KernelChoice &choice) {
  for (const OpChoice &op : choice.ops)
    op.op->setAttr(nsatile::NSATileDialect::getScheduleAttrName(),
                   op.getAttr());
}
