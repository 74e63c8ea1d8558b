//===- RegisterLoad.cpp - Tiles from memory to registers ------------------===//

#include "RegisterAccess.h"
#include "TileAccess.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

class RegisterLoad {
public:
  RegisterLoad(CodeBuilder &b, ThreadMap &threads, ProgramValues &program,
               LoadOp op)
      : b(b), threads(threads), type(getTile(op.getTile())),
        element(type.getElementType()), layout(program.getLayout(type)),
        access(b, program, op.getAt()), bytes(getMemoryBytes(element)),
        groups(getGroups(layout, bytes,
                         access.isContiguous && !element.isInteger(1))),
        none(b.zero(element)) {}

  SmallVector<Value> load();

private:
  SmallVector<Value> loadGroup(RegisterGroup group);
  SmallVector<Value> loadVectors();
  Value loadElement(int64_t index);
  SmallVector<Value> loadElements();

  CodeBuilder &b;
  ThreadMap &threads;
  RankedTensorType type;
  Type element;
  const TileLayout &layout;
  TileAccess access;
  int64_t bytes;
  SmallVector<RegisterGroup> groups;
  Value none;
};

} // namespace

SmallVector<Value> RegisterLoad::loadGroup(RegisterGroup group) {
  if (layout.isPadding(group.first))
    return SmallVector<Value>(group.count, none);
  Value pointer =
      access.getPointer(threads.getCoordinates(layout, group.first));
  auto loadAll = [&]() -> SmallVector<Value> {
    if (group.count == 1)
      return {b.load(element, pointer, bytes)};
    Value vector = b.load(VectorType::get({group.count}, element), pointer,
                          group.count * bytes);
    SmallVector<Value> loaded;
    for (int64_t i = 0; i < group.count; ++i)
      loaded.push_back(b.element(vector, i));
    return loaded;
  };
  return b.branch(threads.getInside(layout, group.first),
                  SmallVector<Type>(group.count, element), loadAll,
                  [&] { return SmallVector<Value>(group.count, none); });
}

SmallVector<Value> RegisterLoad::loadVectors() {
  SmallVector<Value> values;
  for (RegisterGroup group : groups)
    values.append(loadGroup(group));
  access.forgetNested();
  return values;
}

Value RegisterLoad::loadElement(int64_t index) {
  if (layout.isPadding(index))
    return none;
  SmallVector<IndexSum> coordinates = threads.getCoordinates(layout, index);
  Value inside =
      b.both(threads.getInside(layout, index), access.getInside(coordinates));
  Value pointer = access.getPointer(coordinates);
  return b.branch(
      inside, element,
      [&] { return SmallVector<Value>{b.load(element, pointer, bytes)}; },
      [&] { return SmallVector<Value>{none}; })[0];
}

SmallVector<Value> RegisterLoad::loadElements() {
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index)
    values.push_back(loadElement(index));
  return values;
}

SmallVector<Value> RegisterLoad::load() {
  int64_t vectorBytes = groups.front().count * bytes;
  Value isFast = access.getAllInside();
  if (groups.front().count > 1)
    isFast = b.both(isFast, access.getAligned(vectorBytes));
  access.forgetNested();
  // A second variant doesn't pay for few elements.
  if (groups.front().count == 1 && groups.size() <= 2)
    return loadElements();
  SmallVector<Type> types(layout.getNumRegisters(), element);
  return b.branch(
      isFast, types, [&] { return loadVectors(); },
      [&] { return loadElements(); });
}

SmallVector<Value> nsacc::loadRegisters(CodeBuilder &b, ThreadMap &threads,
                                        ProgramValues &program, LoadOp op) {
  return RegisterLoad(b, threads, program, op).load();
}
