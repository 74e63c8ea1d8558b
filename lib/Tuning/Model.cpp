//===- Model.cpp - Estimated run times of programs ------------------------===//

#include "nsacc/Tuning/Model.h"
#include "KernelWork.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/Transforms/Passes.h"
#include "ProgramTime.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "nsacc/Pipelines/Phases.h"
#include "nsacc/Schedule/QueryShape.h"
#include "nsacc/Tuning/KeyBounds.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;
using namespace nsacc::tuning;

namespace {

/// Predicts the programs of one kernel.
class Predictor {
public:
  Predictor(KernelOp kernel, const Goal &goal, const KernelChoice &choice,
            const DimSizes &sizes, const ModelOptions &options)
      : kernel(kernel), choice(choice), sizes(kernel, sizes), options(options),
        rates(Rates::get(goal, options.threads)),
        target{!goal.device,
               goal.device && goal.device->code.hasWarpgroupProducts},
        values([this](Value buffer, ArrayRef<int64_t> place) {
          return readTable(buffer, place);
        }) {}

  Prediction run(nsatile::PlanOp plan);

private:
  /// A buffer of the plan. If its contents are known, `table` has the number
  /// at each place where numbers change.
  struct Buffer {
    std::vector<int64_t> shape;
    double bytes = 0;
    std::map<int64_t, int64_t> table;
  };

  void setBuffers(nsatile::PlanOp plan);
  void addBuffer(Value buffer, std::vector<int64_t> shape);
  void addOffsets(Value value, StringRef dim);
  std::optional<int64_t> readTable(Value buffer, ArrayRef<int64_t> place);
  void fillTable(nsatile::ProgramOp program, int64_t points);

  void read(Block &plan, double times);
  void readLaunch(nsatile::LaunchOp launch, double times);
  std::vector<size_t> listOps(nsatile::ProgramOp program) const;
  std::optional<ListFacts> getLists(ArrayRef<size_t> ops) const;
  double getMemorySeconds(const ProgramRun &run) const;
  void addTime(const ProgramRun &run, const ProgramTime &time,
               ArrayRef<size_t> ops, double times);

  KernelOp kernel;
  const KernelChoice &choice;
  CallSizes sizes;
  ModelOptions options;
  Rates rates;
  ProductCode target;
  ScalarValues values;
  llvm::DenseMap<Value, Buffer> buffers;
  /// The plan's buffers that are a program's arguments.
  llvm::DenseMap<Value, Value> arguments;
  llvm::StringSet<> exact;
  Prediction found;
  /// Seconds of programs that prepare the next one's inputs.
  double pending = 0;
  /// By op: the fold whose steps and tiles the op's prediction has.
  llvm::DenseMap<size_t, Operation *> longestFolds;
};

} // namespace

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

void Predictor::addBuffer(Value value, std::vector<int64_t> shape) {
  Buffer buffer;
  buffer.bytes = llvm::divideCeil(
      cast<MemRefType>(value.getType()).getElementTypeBitWidth(), 8);
  for (int64_t size : shape)
    buffer.bytes *= static_cast<double>(size);
  buffer.shape = std::move(shape);
  buffers[value] = std::move(buffer);
}

void Predictor::setBuffers(nsatile::PlanOp plan) {
  Block &inputs = kernel.getBody().front();
  auto results = inputs.getTerminator()->getOperands();
  auto all = plan.getBody().getArguments();
  auto add = [&](Value value, Type type) {
    auto dims = cast<NamedTensorType>(type).getDims();
    if (auto offsets = dims.empty() ? OffsetsDimAttr()
                                    : dyn_cast<OffsetsDimAttr>(dims.front()))
      return addOffsets(value, offsets.getOf());
    std::vector<int64_t> shape;
    for (Attribute dim : dims)
      shape.push_back(std::llround(sizes.get(dim)));
    addBuffer(value, std::move(shape));
  };
  for (auto [value, input] : llvm::zip(all, inputs.getArguments()))
    add(value, input.getType());
  for (auto [value, result] : llvm::zip(all.take_back(results.size()), results))
    add(value, result.getType());
}

/// Adds the offsets of ragged rows: known ones, or those of rows of equal
/// lengths.
void Predictor::addOffsets(Value value, StringRef dim) {
  const DimSizes &given = sizes.getSizes();
  int64_t rows = given.batchRows.value_or(1);
  addBuffer(value, {rows + 1});
  std::map<int64_t, int64_t> &table = buffers[value].table;
  if (auto known = given.offsets.find(dim); known != given.offsets.end()) {
    for (auto [row, offset] : llvm::enumerate(known->second))
      table[static_cast<int64_t>(row)] = offset;
    return;
  }
  int64_t tokens = sizes.find(dim).value_or(0);
  for (int64_t row = 0; row <= rows; ++row)
    table[row] = tokens * row / std::max<int64_t>(rows, 1);
}

std::optional<int64_t> Predictor::readTable(Value buffer,
                                            ArrayRef<int64_t> place) {
  const auto &table = buffers[arguments.lookup(buffer)].table;
  if (place.size() != 1)
    return std::nullopt;
  auto behind = table.upper_bound(place[0]);
  return behind == table.begin() ? std::nullopt
                                 : std::optional(std::prev(behind)->second);
}

/// Fills the table of a program that writes one number to each part of it: the
/// batch row of each tile of ragged rows.
void Predictor::fillTable(nsatile::ProgramOp program, int64_t points) {
  constexpr int64_t mostPoints = 1 << 14;
  for (auto loop : program.getBody().getOps<scf::ForOp>())
    for (auto store : loop.getBody()->getOps<nsatile::StoreOp>()) {
      auto splat = store.getTile().getDefiningOp<tensor::SplatOp>();
      nsatile::AtOp at = store.getAt();
      if (!splat || at.getOffsets().size() != 1 || points > mostPoints)
        continue;
      auto &table = buffers[arguments.lookup(at.getBuffer())].table;
      for (int64_t point = 0; point < points; ++point) {
        values.setPoint({point, 0, 0});
        auto first = values.get(loop.getLowerBound()),
             number = values.get(splat.getInput());
        if (first && number)
          table[*first] = *number;
      }
    }
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

void Predictor::read(Block &plan, double times) {
  constexpr int64_t mostRepeats = 8;
  for (Operation &op : plan) {
    if (auto dim = dyn_cast<memref::DimOp>(op)) {
      const std::vector<int64_t> &shape = buffers[dim.getSource()].shape;
      if (auto index = dim.getConstantIndex();
          index && *index < static_cast<int64_t>(shape.size()))
        values.set(dim, shape[*index]);
    } else if (auto workspace = dyn_cast<nsatile::WorkspaceOp>(op)) {
      std::vector<int64_t> shape(
          cast<MemRefType>(workspace.getBuffer().getType()).getShape());
      auto next = workspace.getSizes().begin();
      for (int64_t &size : shape)
        if (ShapedType::isDynamic(size))
          size = values.get(*next++).value_or(1);
      addBuffer(workspace.getBuffer(), std::move(shape));
    } else if (auto repeat = dyn_cast<nsatile::RepeatOp>(op)) {
      for (auto [number, count] :
           spread(values.get(repeat.getCount()).value_or(1), mostRepeats)) {
        values.forgetFrom(0);
        values.set(repeat.getNumber(), number);
        read(repeat.getBody().front(), times * static_cast<double>(count));
      }
    } else if (auto launch = dyn_cast<nsatile::LaunchOp>(op)) {
      readLaunch(launch, times);
    }
  }
}

std::vector<size_t> Predictor::listOps(nsatile::ProgramOp program) const {
  std::vector<size_t> ops;
  if (auto names = program->getAttrOfType<ArrayAttr>(nsatile::kOpsAttrName))
    for (auto [index, op] : llvm::enumerate(choice.ops))
      if (llvm::is_contained(names.getAsValueRange<StringAttr>(), op.name))
        ops.push_back(index);
  return ops;
}

std::optional<ListFacts> Predictor::getLists(ArrayRef<size_t> ops) const {
  for (size_t index : ops) {
    const OpChoice &op = choice.ops[index];
    auto scoring = dyn_cast<ScoringOpInterface>(op.op);
    if (!scoring || !scoring.getValue() || !scoring.getSelection())
      continue;
    auto type = cast<SelectionType>(scoring.getSelection().getType());
    QueryShape shape = getQueryShape(kernel, scoring);
    auto block = static_cast<double>(type.getBlock());
    int64_t tokens = op.get(Field::Tokens);
    TileLists lists(type, shape.dims, tokens, shape.group);
    ListFacts facts;
    facts.blocks = std::max(1.0, std::ceil(countKeys(scoring, sizes) / block));
    facts.top = std::min(static_cast<double>(type.getTop()), facts.blocks);
    facts.parts = std::ceil(block / static_cast<double>(op.get(Field::Keys)));
    facts.tokens = static_cast<double>(tokens);
    facts.queries = sizes.getLength(shape.dims.token);
    // A few queries don't fill a tile.
    double there = std::clamp(std::ceil(facts.queries), 1.0, facts.tokens);
    facts.lists =
        std::ceil(there * static_cast<double>(lists.count) / facts.tokens);
    facts.agreement = options.agreement;
    return facts;
  }
  return std::nullopt;
}

void Predictor::readLaunch(nsatile::LaunchOp launch, double times) {
  if (exact.contains(launch.getProgram()))
    return;
  auto program = SymbolTable::lookupNearestSymbolFrom<nsatile::ProgramOp>(
      launch, launch.getProgramAttr());
  std::array<int64_t, 3> grid;
  for (auto [size, value] :
       llvm::zip(grid, std::array{launch.getX(), launch.getY(), launch.getZ()}))
    size = values.get(value).value_or(1);
  for (auto [argument, value] : llvm::zip_equal(
           program.getBody().getArguments(), launch.getArguments())) {
    if (isa<MemRefType>(value.getType()))
      arguments[argument] = value;
    else
      values.set(argument, values.get(value).value_or(1));
  }
  fillTable(program, grid[0]);
  std::vector<size_t> ops = listOps(program);
  ProgramRun run(program, values, target, getLists(ops));
  run.run(grid);
  ProgramTime time = getTime(program, run, target, rates);
  time.seconds = std::max(time.seconds, getMemorySeconds(run)) + rates.launch;
  addTime(run, time, ops, times);
}

/// Seconds in which memory reads and writes the program's buffers once, or the
/// parts of them that it uses.
double Predictor::getMemorySeconds(const ProgramRun &run) const {
  CodeCost all = run.rest;
  for (const ProgramRun::Fold &fold : run.folds)
    all.add(fold.cost, 1);
  double bytes = 0;
  for (const auto &[argument, copied] : all.bytes) {
    auto buffer = buffers.find(arguments.lookup(argument));
    bytes += buffer == buffers.end() ? copied
                                     : std::min(copied, buffer->second.bytes);
  }
  return bytes / rates.memoryBytes;
}

void Predictor::addTime(const ProgramRun &run, const ProgramTime &time,
                        ArrayRef<size_t> ops, double times) {
  pending += times * time.seconds;
  if (ops.empty())
    return;
  // A program that fuses ops gives each fold its op's place.
  auto findOp = [&](nsatile::FoldOp fold) {
    const auto *own = llvm::find_if(ops, [&](size_t op) {
      return choice.ops[op].op->getLoc() == fold.getLoc();
    });
    return own == ops.end() ? ops.front() : *own;
  };
  double all = 0;
  for (auto [fold, step] : llvm::zip_equal(run.folds, time.steps))
    all += fold.steps * step.all;
  for (auto [fold, step] : llvm::zip_equal(run.folds, time.steps)) {
    size_t place = findOp(fold.op);
    Prediction::Op &op = found.ops[place];
    double cycles = fold.steps * step.all;
    if (all > 0)
      op.seconds += pending * cycles / all;
    op.cacheBytes += times * fold.cost.getBytes();
    Operation *&longest = longestFolds[place];
    // The program is launched once for each slice.
    if (longest == fold.op) {
      op.tiles += times * run.points;
      op.steps += times * fold.steps;
      continue;
    }
    if (times * cycles <= op.steps * op.step.all)
      continue;
    longest = fold.op;
    op.step = step;
    op.tileCycles = time.tileCycles;
    op.tiles = times * run.points;
    op.steps = times * fold.steps;
  }
  if (all <= 0)
    found.ops[ops.front()].seconds += pending;
  pending = 0;
}

Prediction Predictor::run(nsatile::PlanOp plan) {
  std::vector<Operation *> ops;
  for (const OpChoice &op : choice.ops)
    ops.push_back(op.op);
  KernelWork work = countWork(kernel, ops, sizes, options.budget);
  found.ops.resize(ops.size());
  for (auto program :
       plan->getParentOfType<ModuleOp>().getOps<nsatile::ProgramOp>())
    if (auto other = program->getAttrOfType<FlatSymbolRefAttr>(
            nsatile::kExactProgramAttrName))
      exact.insert(other.getValue());
  setBuffers(plan);
  read(plan.getBody().front(), 1);
  if (!found.ops.empty())
    found.ops.back().seconds += pending;
  for (auto [op, own] : llvm::zip_equal(found.ops, work.ops)) {
    op.work = own.work;
    op.seenKeys = own.seenKeys;
    if (op.steps > 0 && own.work.pairs > 0)
      op.seconds = std::max(op.seconds, op.work.getFloors(rates).getHighest());
    found.seconds += op.seconds;
  }
  found.work = work.all;
  found.leastSeconds = found.work.getLeastFloor(rates);
  return std::move(found);
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

/// Converts a copy of the kernel to programs over tiles, as compiling does.
static llvm::Expected<OwningOpRef<ModuleOp>>
convert(KernelOp kernel, const Goal &goal, const Settings &settings) {
  auto module = kernel->getParentOfType<ModuleOp>();
  OwningOpRef<ModuleOp> copy = module.clone();
  for (KernelOp other : llvm::make_early_inc_range(copy->getOps<KernelOp>()))
    if (other.getSymName() != kernel.getSymName())
      other.erase();
  PhaseOptions options;
  options.schedule = settings;
  options.device = goal.device;
  options.queries = goal.queries;
  std::string message = "it can't be converted to programs over tiles";
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          message = diagnostic.str();
        return success();
      });
  auto prepare = [](PassManager &manager, ModuleOp, Phase) {
    manager.enableVerifier(false);
  };
  if (failed(runPhase(*copy, Phase::Tile, options, prepare)))
    return llvm::createStringError(message);
  return std::move(copy);
}

llvm::Expected<Prediction> tuning::predict(KernelOp kernel, const Goal &goal,
                                           const Settings &settings,
                                           const DimSizes &sizes,
                                           const ModelOptions &options) {
  auto choice = choose(kernel, goal, settings);
  if (!choice)
    return choice.takeError();
  auto programs = convert(kernel, goal, settings);
  if (!programs)
    return programs.takeError();
  return Predictor(kernel, goal, *choice, sizes, options)
      .run(*(*programs)->getOps<nsatile::PlanOp>().begin());
}
