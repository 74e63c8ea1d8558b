//===- PlanBuilder.cpp - Launch plans and programs under way --------------===//

#include "PlanBuilder.h"
#include "NSA/IR/NSANames.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "nsacc/Schedule/Programs.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// Booleans take a byte in memory.
static Type getMemoryType(Type elementType) {
  if (elementType.isInteger(1))
    return IntegerType::get(elementType.getContext(), 8);
  return elementType;
}

//===----------------------------------------------------------------------===//
// PlanBuilder
//===----------------------------------------------------------------------===//

PlanBuilder::PlanBuilder(KernelOp kernel, OpBuilder outer,
                         int64_t multiprocessors)
    : kernel(kernel), builder(outer), multiprocessors(multiprocessors) {
  for (const schedule::ScheduledOp &op : schedule::getScheduledOps(kernel))
    names[op.op] = builder.getStringAttr(op.name);
  SmallVector<Type> types;
  SmallVector<Location> places;
  SmallVector<DictionaryAttr> attributes;
  auto add = [&](Type type, StringRef name, ArrayRef<int64_t> order) {
    types.push_back(getInputType(cast<NamedTensorType>(type), order));
    StringAttr nameAttr = builder.getStringAttr(name);
    places.push_back(NameLoc::get(nameAttr, getLoc()));
    SmallVector<NamedAttribute> all = {
        builder.getNamedAttr(NSADialect::getNameAttrName(), nameAttr)};
    if (!llvm::is_sorted(order))
      all.push_back(builder.getNamedAttr(NSADialect::getOrderAttrName(),
                                         builder.getDenseI64ArrayAttr(order)));
    attributes.push_back(builder.getDictionaryAttr(all));
  };
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes()))
    add(type, kernel.getArgumentName(index), kernel.getArgumentOrder(index));
  for (auto [index, type] : llvm::enumerate(kernel.getResultTypes()))
    add(type, kernel.getResultName(index), kernel.getResultOrder(index));
  builder.setInsertionPoint(kernel);
  OperationState state(getLoc(), nsatile::PlanOp::getOperationName());
  state.addAttribute(nsatile::PlanOp::getSymNameAttrName(state.name),
                     kernel.getSymNameAttr());
  state.addAttribute(
      nsatile::PlanOp::getFunctionTypeAttrName(state.name),
      TypeAttr::get(builder.getFunctionType(types, TypeRange())));
  state.addRegion();
  plan = cast<nsatile::PlanOp>(builder.create(state));
  plan.setAllArgAttrs(attributes);
  Block *block = builder.createBlock(&plan.getBody(), {}, types, places);
  builder.setInsertionPointToStart(block);
  for (auto [argument, buffer] :
       llvm::zip(kernel.getArguments(), block->getArguments()))
    buffers[argument] = buffer;
}

std::string nsacc::describeElement(Value tensor, unsigned first) {
  std::string text = "[";
  for (int64_t dim : getDeclaredOrder(tensor))
    text += (text == "[" ? "{" : ", {") + std::to_string(first + dim) + "}";
  return text + "]";
}

MemRefType PlanBuilder::getInputType(NamedTensorType type,
                                     ArrayRef<int64_t> order) {
  SmallVector<int64_t> shape;
  for (Attribute dim : type.getDims())
    shape.push_back(getStaticSize(dim).value_or(ShapedType::kDynamic));
  SmallVector<int64_t> strides(shape.size(), ShapedType::kDynamic);
  if (!strides.empty())
    strides[order.back()] = 1;
  auto layout =
      StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(shape, getMemoryType(type.getElementType()), layout);
}

std::optional<int64_t> PlanBuilder::getStaticSize(Attribute dim) {
  return nsacc::getStaticSize(kernel, dim);
}

Value PlanBuilder::getSize(Attribute dim) {
  if (std::optional<int64_t> size = getStaticSize(dim))
    return math().constant(*size);
  if (Value known = sizes.lookup(dim))
    return known;
  return sizes[dim] = computeSize(dim);
}

Value PlanBuilder::computeSize(Attribute dim) {
  // Inputs tell the sizes of their dimensions.
  for (BlockArgument argument : kernel.getArguments()) {
    auto dims = cast<NamedTensorType>(argument.getType()).getDims();
    auto *found = llvm::find(dims, dim);
    if (found != dims.end())
      return memref::DimOp::create(builder, getLoc(), buffers.lookup(argument),
                                   found - dims.begin());
  }
  if (auto blocks = dyn_cast<BlocksDimAttr>(dim)) {
    auto tokens = NamedDimAttr::get(dim.getContext(), blocks.getBase(),
                                    /*ragged=*/false);
    return math().ceilDiv(getSize(tokens), blocks.getBlock());
  }
  return computePooledSize(cast<PooledDimAttr>(dim));
}

Value PlanBuilder::computePooledSize(PooledDimAttr pooled) {
  MLIRContext *context = pooled.getContext();
  if (pooled.isDeclared())
    return getSize(
        NamedDimAttr::get(context, pooled.getCount(), pooled.getRagged()));
  Value tokens =
      getSize(NamedDimAttr::get(context, pooled.getBase(), pooled.getRagged()));
  IndexMath m = math();
  if (pooled.getRagged()) {
    // Each row has at most one window more than full strides.
    return m.add(m.floorDiv(tokens, pooled.getStride()),
                 getNumRows(pooled.getBase()));
  }
  return getNumWindows(m, pooled, tokens);
}

Value nsacc::getNumWindows(const IndexMath &m, PooledDimAttr pooled,
                           Value tokens) {
  Value zero = m.constant(0);
  Value beyond = m.sub(tokens, m.constant(pooled.getLen()));
  switch (pooled.getTail()) {
  case Tail::Drop:
    return m.max(m.add(m.floorDiv(beyond, pooled.getStride()), 1), zero);
  case Tail::ZerosLeft:
    return m.floorDiv(tokens, pooled.getStride());
  case Tail::Average:
  case Tail::ZerosRight: {
    Value windows =
        m.add(m.ceilDiv(m.max(beyond, zero), pooled.getStride()), 1);
    return m.select(m.compare(arith::CmpIPredicate::eq, tokens, zero), zero,
                    windows);
  }
  }
  llvm_unreachable("unknown tail");
}

Value PlanBuilder::getResultBuffer(unsigned index) {
  return plan.getBody().getArgument(kernel.getNumArguments() + index);
}

Value PlanBuilder::getBufferSize(Value buffer, int64_t dim) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.isDynamicDim(dim))
    return math().constant(type.getDimSize(dim));
  return memref::DimOp::create(builder, getLoc(), buffer, dim);
}

void PlanBuilder::bind(Value tensor, Value buffer) { buffers[tensor] = buffer; }

Value PlanBuilder::allocate(MemRefType type, ValueRange dynamicSizes) {
  return nsatile::WorkspaceOp::create(builder, getLoc(), type, dynamicSizes);
}

Value PlanBuilder::allocate(Value tensor) {
  Value buffer = createBuffer(tensor);
  bind(tensor, buffer);
  return buffer;
}

Value PlanBuilder::createBuffer(Value tensor) {
  if (auto selection = dyn_cast<SelectionType>(tensor.getType())) {
    SmallVector<Attribute> dims(selection.getDims());
    dims.push_back(builder.getI64IntegerAttr(selection.getTop()));
    return createBuffer(dims, builder.getI32Type(), tensor);
  }
  auto type = cast<NamedTensorType>(tensor.getType());
  return createBuffer(type.getDims(), getMemoryType(type.getElementType()),
                      tensor);
}

Value PlanBuilder::createScaledF16(Value output) {
  auto type = cast<NamedTensorType>(output.getType());
  scales[output] =
      createBuffer(type.getDims().drop_back(), builder.getF32Type(), output);
  return createBuffer(type.getDims(), builder.getF16Type(), output);
}

Value PlanBuilder::createBuffer(ArrayRef<Attribute> dims, Type elementType,
                                Value tensor) {
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamicSizes;
  if (isSliced(tensor)) {
    dynamicSizes = {resultSlices->rows, resultSlices->tokens};
    shape.assign(2, ShapedType::kDynamic);
  }
  for (Attribute dim : dims.drop_front(shape.size())) {
    std::optional<int64_t> size = getStaticSize(dim);
    shape.push_back(size.value_or(ShapedType::kDynamic));
    if (!size)
      dynamicSizes.push_back(getSize(dim));
  }
  return allocate(MemRefType::get(shape, elementType), dynamicSizes);
}

Value PlanBuilder::getOffsetsInput(StringRef dim) {
  for (BlockArgument argument : kernel.getArguments()) {
    auto dims = cast<NamedTensorType>(argument.getType()).getDims();
    if (dims.size() != 1)
      continue;
    auto offsets = dyn_cast<OffsetsDimAttr>(dims.front());
    if (offsets && offsets.getOf() == dim)
      return buffers.lookup(argument);
  }
  return {};
}

NamedDimAttr PlanBuilder::getNamedDim(StringRef name) {
  return NamedDimAttr::get(kernel.getContext(), name, isRagged(name));
}

Value PlanBuilder::getNumRows(StringRef dim) {
  Value offsets = getSize(OffsetsDimAttr::get(kernel.getContext(), dim));
  return math().add(offsets, -1);
}

Value PlanBuilder::getOffsets(Attribute raggedDim) {
  if (auto named = dyn_cast<NamedDimAttr>(raggedDim))
    return getOffsetsInput(named.getName());
  auto pooled = cast<PooledDimAttr>(raggedDim);
  if (pooled.isDeclared())
    return getOffsetsInput(pooled.getCount().getValue());
  if (Value known = pooledOffsets.lookup(pooled))
    return known;
  return pooledOffsets[pooled] = computePooledOffsets(pooled);
}

/// One program sums the windows of the rows before each row.
Value PlanBuilder::computePooledOffsets(PooledDimAttr pooled) {
  auto tokens = NamedDimAttr::get(kernel.getContext(), pooled.getBase(),
                                  /*ragged=*/true);
  Type type = builder.getI32Type();
  Value buffer = allocate(
      MemRefType::get({ShapedType::kDynamic}, type),
      getSize(OffsetsDimAttr::get(kernel.getContext(), pooled.getBase())));
  ProgramBuilder program(*this, getLoc(), "offsets");
  OpBuilder &inner = program.getBuilder();
  IndexMath m = program.math();
  Value argument = program.import(buffer);
  Value rows = program.import(getNumRows(pooled.getBase()));
  auto store = [&](Value offset, Value row) {
    Value stored = arith::IndexCastOp::create(inner, getLoc(), type, offset);
    memref::StoreOp::create(inner, getLoc(), stored, argument, ValueRange{row});
  };
  store(m.constant(0), m.constant(0));
  scf::ForOp::create(
      inner, getLoc(), m.constant(0), rows, m.constant(1), m.constant(0),
      [&](OpBuilder &, Location, Value row, ValueRange carried) {
        Value windows =
            getNumWindows(m, pooled, program.getRow(tokens, row).size);
        Value next = m.add(carried[0], windows);
        store(next, m.add(row, 1));
        scf::YieldOp::create(inner, getLoc(), next);
      });
  Value one = math().constant(1);
  program.launch(one, one, one);
  return buffer;
}

StringAttr PlanBuilder::getName(Operation *op) {
  if (StringAttr name = names.lookup(op))
    return name;
  return builder.getStringAttr(op->getName().getStringRef());
}

/// Examples: "S", "S_windows", "S_blocks".
static std::string nameSize(Attribute dim) {
  if (auto pooled = dyn_cast<PooledDimAttr>(dim))
    return (pooled.getBase() + "_windows").str();
  if (auto blocks = dyn_cast<BlocksDimAttr>(dim))
    return (blocks.getBase() + "_blocks").str();
  if (auto offsets = dyn_cast<OffsetsDimAttr>(dim))
    return (offsets.getOf() + "_offsets").str();
  return toString(dim);
}

StringAttr PlanBuilder::findName(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == &plan.getBody().front())
    if (auto place = dyn_cast<NameLoc>(argument.getLoc()))
      return place.getName();
  for (auto [dim, size] : sizes)
    if (size == value)
      return builder.getStringAttr(nameSize(dim));
  for (auto [tensor, buffer] : buffers) {
    Operation *op = tensor.getDefiningOp();
    StringAttr name = buffer == value && op ? names.lookup(op) : StringAttr();
    if (!name)
      continue;
    bool isFirst = cast<OpResult>(tensor).getResultNumber() == 0;
    return isFirst ? name : builder.getStringAttr(name.getValue() + "_lse");
  }
  return {};
}

std::string PlanBuilder::nameProgram(StringRef what) {
  return (kernel.getSymName() + "_" + what + "_" + Twine(programs++)).str();
}

nsatile::ProgramOp PlanBuilder::createProgram(Location loc, StringRef what,
                                              nsatile::ScheduleAttr schedule) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(plan);
  OperationState state(loc, nsatile::ProgramOp::getOperationName());
  state.addAttribute(nsatile::ProgramOp::getSymNameAttrName(state.name),
                     builder.getStringAttr(nameProgram(what)));
  state.addAttribute(
      nsatile::ProgramOp::getFunctionTypeAttrName(state.name),
      TypeAttr::get(builder.getFunctionType(TypeRange(), TypeRange())));
  if (schedule)
    state.addAttribute(nsatile::ProgramOp::getScheduleAttrName(state.name),
                       schedule);
  state.addRegion()->emplaceBlock();
  return cast<nsatile::ProgramOp>(builder.create(state));
}

void PlanBuilder::finish() { nsatile::ReturnOp::create(builder, getLoc()); }

/// Whether products ask for visible pairs, as a softmax's products will.
static bool looksAtPairs(nsatile::ProgramOp program) {
  return program
      ->walk([](Operation *op) {
        auto dot = dyn_cast<nsatile::DotOp>(op);
        auto yield = dyn_cast<nsatile::YieldScoresOp>(op);
        return (dot && dot.getVisible()) || (yield && yield.getValues())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

FailureOr<nsatile::ProgramOp> PlanBuilder::buildWithExact(
    Operation *op, llvm::function_ref<FailureOr<nsatile::ProgramOp>()> build) {
  FailureOr<nsatile::ProgramOp> program = build();
  if (failed(program) || nsacc::getSchedule(op).getExactTokens() == 0 ||
      !looksAtPairs(*program))
    return program;
  buildsExact = true;
  FailureOr<nsatile::ProgramOp> exact = build();
  buildsExact = false;
  if (failed(exact))
    return failure();
  (*program)->setAttr(nsatile::kExactProgramAttrName,
                      FlatSymbolRefAttr::get(exact->getSymNameAttr()));
  return program;
}

//===----------------------------------------------------------------------===//
// ProgramBuilder
//===----------------------------------------------------------------------===//

ProgramBuilder::ProgramBuilder(PlanBuilder &plan, Location loc, StringRef what,
                               nsatile::ScheduleAttr schedule)
    : plan(plan), program(plan.createProgram(loc, what, schedule)),
      builder(program.getBody()) {}

void ProgramBuilder::setOps(ArrayRef<Operation *> ops) {
  SmallVector<Attribute> names;
  for (Operation *op : ops)
    names.push_back(plan.getName(op));
  program->setAttr(nsatile::kOpsAttrName, builder.getArrayAttr(names));
}

Value ProgramBuilder::importNumber(OpFoldResult number) {
  if (auto value = dyn_cast<Value>(number))
    return import(value);
  return math().constant(cast<IntegerAttr>(cast<Attribute>(number)).getInt());
}

Value ProgramBuilder::import(Value planValue) {
  Value &argument = arguments[planValue];
  if (!argument) {
    StringAttr name = plan.findName(planValue);
    Location place = name ? NameLoc::get(name, getLoc()) : getLoc();
    argument = program.getBody().addArgument(planValue.getType(), place);
  }
  return argument;
}

Value ProgramBuilder::getSize(Attribute dim) {
  if (std::optional<int64_t> size = plan.getStaticSize(dim))
    return math().constant(*size);
  return import(plan.getSize(dim));
}

Value ProgramBuilder::programId(int64_t axis) {
  return nsatile::ProgramIdOp::create(builder, getLoc(), axis);
}

ProgramBuilder::Row ProgramBuilder::getRow(Attribute dim, Value batchRow) {
  auto named = dyn_cast<NamedDimAttr>(dim);
  auto pooled = dyn_cast<PooledDimAttr>(dim);
  if (!(named && named.getRagged()) && !(pooled && pooled.getRagged()))
    return {math().constant(0), getSize(dim)};
  Value offsets = import(plan.getOffsets(dim));
  auto load = [&](Value index) -> Value {
    Value offset =
        memref::LoadOp::create(builder, getLoc(), offsets, ValueRange{index});
    return arith::IndexCastOp::create(builder, getLoc(), builder.getIndexType(),
                                      offset);
  };
  Value start = load(batchRow);
  Value end = load(math().add(batchRow, 1));
  return {start, math().sub(end, start)};
}

void ProgramBuilder::launch(Value x, Value y, Value z) {
  nsatile::ReturnOp::create(builder, getLoc());
  SmallVector<Value> operands;
  SmallVector<Type> types;
  for (auto [planValue, argument] : arguments) {
    operands.push_back(planValue);
    types.push_back(argument.getType());
  }
  program.setFunctionType(builder.getFunctionType(types, TypeRange()));
  nsatile::LaunchOp::create(plan.getBuilder(), getLoc(), program.getSymName(),
                            x, y, z, operands);
}
