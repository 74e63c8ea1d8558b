//===- Attributes.cpp - Choices as attributes of ops ----------------------===//

#include "NSATile/IR/NSATileOps.h"
#include "nsacc/Schedule/Choose.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;
using nsatile::LoopOrder;

Attribute OpChoice::getAttr() const {
  auto value = [&](Field field, int64_t otherwise) {
    const auto &found = fields[static_cast<size_t>(field)];
    return found ? found->value : otherwise;
  };
  MLIRContext *context = op->getContext();
  auto program = static_cast<nsatile::ProgramUse>(value(Field::Program, 0));
  if (kind == OpKind::Pool)
    return nsatile::PoolScheduleAttr::get(context, get(Field::Windows));
  if (kind == OpKind::Map)
    return nsatile::MapScheduleAttr::get(context, get(Field::Rows),
                                         get(Field::Columns), program);
  int64_t tokens = get(Field::Tokens), part = get(Field::Part);
  return nsatile::ScheduleAttr::get(
      context, static_cast<LoopOrder>(value(Field::Order, 0)), tokens,
      get(kind == OpKind::TopK ? Field::Blocks : Field::Keys),
      value(Field::Splits, 1), value(Field::MergeTokens, 0),
      value(Field::MergeHeads, 0), value(Field::Chunk, 0),
      part == tokens ? 0 : part, value(Field::Channels, 0), program,
      static_cast<nsatile::SelectMethod>(value(Field::Method, 0)),
      static_cast<nsatile::Halo>(value(Field::Halo, 0)), value(Field::Warps, 0),
      value(Field::BlocksPerSM, 1), value(Field::Stages, 2),
      value(Field::QueryStages, 0),
      static_cast<nsatile::Switch>(value(Field::PingPong, 0)),
      value(Field::ColumnsInRegisters, -1),
      static_cast<nsatile::SoftmaxOrder>(value(Field::Softmax, 0)),
      static_cast<nsatile::Rescale>(value(Field::Rescale, 0)),
      static_cast<nsatile::GridOrder>(value(Field::Grid, 0)),
      static_cast<nsatile::Switch>(value(Field::Peel, 0)),
      value(Field::ExactTokens, 0), value(Field::ExactKeys, 0));
}

void schedule::setSchedules(const KernelChoice &choice) {
  for (const OpChoice &op : choice.ops)
    op.op->setAttr(nsatile::NSATileDialect::getScheduleAttrName(),
                   op.getAttr());
}
