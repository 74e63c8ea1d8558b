//===- Space.cpp - Schedules that may be faster ---------------------------===//

#include "nsacc/Tuning/Space.h"
#include "NSA/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;
using namespace nsacc::tuning;
using nsatile::LoopOrder;

namespace {

/// Values of some fields.
using Point = std::vector<std::pair<Field, int64_t>>;

/// Fields of named ops.
using Assignment = std::map<std::pair<std::string, Field>, int64_t>;

} // namespace

static Assignment read(const Settings &schedule) {
  Assignment values;
  for (const Setting &setting : schedule.getList())
    values[{setting.op, setting.field}] = setting.value;
  return values;
}

static Settings toSettings(const Assignment &values) {
  Settings settings;
  for (const auto &[place, value] : values)
    settings.set(place.first, place.second, value);
  return settings;
}

/// "slc: order=union, tokens=8, …", for all ops.
static std::string spell(const KernelChoice &choice) {
  std::vector<std::string> ops;
  for (const OpChoice &op : choice.ops)
    ops.push_back(spellFields(
        [&](Field field) -> std::optional<int64_t> {
          const auto &found = op.fields[static_cast<size_t>(field)];
          return found ? std::optional(found->value) : std::nullopt;
        },
        op.name));
  return llvm::join(ops, "; ");
}

static Settings join(const Settings &given, const Settings &schedule) {
  Settings settings = given;
  settings.addTuned(schedule);
  return settings;
}

static llvm::Expected<KernelChoice> chooseWith(KernelOp kernel,
                                               const Goal &goal,
                                               const Settings &given,
                                               const Settings &schedule) {
  return choose(kernel, goal, join(given, schedule));
}

llvm::Expected<Candidate>
tuning::makeCandidate(KernelOp kernel, const Goal &goal, const Settings &given,
                      const Settings &schedule, const DimSizes &sizes,
                      const ModelOptions &options) {
  auto choice = chooseWith(kernel, goal, given, schedule);
  if (!choice)
    return choice.takeError();
  auto times = predict(kernel, goal, join(given, schedule), sizes, options);
  if (!times)
    return times.takeError();
  return Candidate{schedule, spell(*choice), times->seconds};
}

llvm::Expected<std::vector<Group>>
tuning::listGroups(KernelOp kernel, const Goal &goal, const Settings &given,
                   const Settings &schedule, const DimSizes &sizes,
                   const ModelOptions &options) {
  auto choice = chooseWith(kernel, goal, given, schedule);
  if (!choice)
    return choice.takeError();
  auto times = predict(kernel, goal, join(given, schedule), sizes, options);
  if (!times)
    return times.takeError();
  std::vector<Group> groups;
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (const OpChoice &op : choice->ops) {
    if (!seen.insert(op.op).second)
      continue;
    Group &group = groups.emplace_back();
    llvm::SmallPtrSet<Operation *, 4> members = {op.op};
    for (Operation *other : choice->cut.getSharing(op.op))
      members.insert(other);
    for (auto [index, other] : llvm::enumerate(choice->ops))
      if (members.contains(other.op)) {
        seen.insert(other.op);
        group.ops.push_back(other.name);
        group.predicted += times->ops[index].seconds;
      }
  }
  llvm::sort(groups, [](const Group &lhs, const Group &rhs) {
    return std::tie(rhs.predicted, lhs.ops) < std::tie(lhs.predicted, rhs.ops);
  });
  return groups;
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

namespace {

/// Makes the points of one group.
class GridMaker {
public:
  GridMaker(KernelOp kernel, const Goal &goal, const KernelChoice &choice,
            const Group &group)
      : kernel(kernel), goal(goal), group(group) {
    for (const OpChoice &op : choice.ops)
      if (llvm::is_contained(group.ops, op.name)) {
        members.push_back(&op);
        if (auto scoring = dyn_cast<ScoringOpInterface>(op.op))
          heads = getQueryShape(kernel, scoring).group;
        if (auto topk = dyn_cast<TopKOp>(op.op))
          for (ImportanceOp importance : findImportances(topk))
            heads = getQueryShape(kernel, cast<ScoringOpInterface>(
                                              importance.getOperation()))
                        .group;
      }
  }

  std::vector<Point> make(Grid grid) {
    switch (grid) {
    case Grid::Programs:
      addPrograms();
      break;
    case Grid::Tiles:
      addTiles();
      break;
    case Grid::Steps:
      addSteps();
      break;
    }
    return std::move(points);
  }

private:
  bool isGPU() const { return goal.device.has_value(); }
  bool hasWarpgroups() const {
    return isGPU() && goal.device->code.hasWarpgroupProducts;
  }
  bool has(Field field) const {
    return llvm::any_of(members,
                        [&](const OpChoice *op) { return op->has(field); });
  }
  int64_t toTokens(int64_t rows) const {
    return std::max<int64_t>(1, rows / heads);
  }

  /// Adds numbers of rows as tokens of the group's heads; each number of tokens
  /// is added once.
  void addRows(llvm::ArrayRef<int64_t> rows, llvm::ArrayRef<int64_t> warps,
               llvm::ArrayRef<int64_t> columns, Field columnField,
               llvm::ArrayRef<int64_t> blocks) {
    std::vector<int64_t> known;
    for (int64_t each : rows) {
      int64_t tokens = toTokens(each);
      if (llvm::is_contained(known, tokens))
        continue;
      known.push_back(tokens);
      for (int64_t warp : warps)
        for (int64_t column : columns)
          for (int64_t block : blocks) {
            Point point = {{Field::Tokens, tokens}, {columnField, column}};
            if (warp >= 0)
              point.emplace_back(Field::Warps, warp);
            if (block > 0)
              point.emplace_back(Field::BlocksPerSM, block);
            points.push_back(std::move(point));
          }
    }
  }

  void addPrograms();
  void addTiles();
  void addSteps();

  KernelOp kernel;
  const Goal &goal;
  const Group &group;
  std::vector<const OpChoice *> members;
  int64_t heads = 1;
  std::vector<Point> points;
};

} // namespace

void GridMaker::addPrograms() {
  for (int64_t use : {0, 1})
    if (group.ops.size() > 1 || use == 0)
      points.push_back({{Field::Program, use}});
  for (const OpChoice *op : members) {
    auto scoring = dyn_cast<ScoringOpInterface>(op->op);
    if (!op->has(Field::Order) || !scoring || !scoring.getSelection())
      continue;
    for (LoopOrder order : {LoopOrder::QueryMajor, LoopOrder::Union,
                            LoopOrder::KeyMajor, LoopOrder::BlockMajor})
      if ((order == LoopOrder::BlockMajor) != isGPU())
        points.push_back({{Field::Order, static_cast<int64_t>(order)}});
  }
  if (has(Field::Method))
    for (int64_t method : {0, 1})
      points.push_back({{Field::Method, method}});
  if (has(Field::Splits) && isGPU())
    for (int64_t splits : {0, 1, 2, 4, 8, 16, 32})
      points.push_back({{Field::Splits, splits}});
}

void GridMaker::addTiles() {
  if (has(Field::Windows)) {
    for (int64_t windows : {4, 8, 16, 32, 64})
      points.push_back({{Field::Windows, windows}});
    return;
  }
  if (has(Field::Rows)) {
    for (int64_t rows : {4, 8, 16, 32, 64})
      for (int64_t columns : {32, 64, 128, 256})
        points.push_back({{Field::Rows, rows}, {Field::Columns, columns}});
    return;
  }
  if (has(Field::Blocks)) {
    if (!isGPU())
      return addRows({1, 4, 16, 32, 64, 128}, {-1}, {8, 16, 32, 64, 128},
                     Field::Blocks, {0});
    if (hasWarpgroups())
      addRows({64}, {4}, {16, 32, 64, 128}, Field::Blocks, {1, 2, 3, 4});
    return addRows({16, 32, 64}, {0}, {16, 32, 64, 128}, Field::Blocks, {0});
  }
  if (!has(Field::Keys))
    return;
  if (!isGPU())
    return addRows({1, 4, 16, 32, 64, 128, 256}, {-1}, {16, 32, 64, 128, 256},
                   Field::Keys, {0});
  if (!hasWarpgroups()) {
    addRows({16, 32, 64, 128}, {4}, {32, 64, 96, 128}, Field::Keys, {0});
    addRows({128, 256}, {8}, {32, 64, 128}, Field::Keys, {0});
    return addRows({16, 32, 64}, {0}, {32, 64, 128}, Field::Keys, {0});
  }
  addRows({64}, {4}, {32, 48, 64, 80, 96, 128, 160, 192}, Field::Keys,
          {1, 2, 3});
  addRows({128}, {8}, {32, 48, 64, 80, 96, 112, 128, 160, 176}, Field::Keys,
          {1, 2});
  addRows({192}, {12}, {48, 64, 80, 96, 112, 128}, Field::Keys, {1});
  addRows({16, 32, 64, 128}, {0}, {32, 64, 128}, Field::Keys, {0});
}

void GridMaker::addSteps() {
  if (!isGPU())
    return;
  for (const FieldInfo &info : getFields())
    if (has(info.field))
      for (int64_t value : llvm::ArrayRef<int64_t>(info.tried))
        points.push_back({{info.field, value}});
}

/// Assigns a point to the group's ops: a field of the program to one of them,
/// other fields to each op that has them. Fields that the user gave stay. False
/// if no field is left, or the group has none of the fields.
static bool assign(const KernelChoice &choice, const Group &group,
                   const Settings &given, const Point &point,
                   Assignment &values) {
  bool isAnySet = false;
  for (auto [field, value] : point) {
    const FieldInfo &info = getInfo(field);
    bool isSet = false, isGiven = false;
    for (const OpChoice &op : choice.ops) {
      if (!llvm::is_contained(group.ops, op.name) ||
          !op.getInterface().has(field))
        continue;
      if (given.find(op.name, field)) {
        isGiven = true;
        continue;
      }
      if (info.isOfProgram && isSet) {
        values.erase({op.name, field});
        continue;
      }
      values[{op.name, field}] = value;
      isSet = isAnySet = true;
    }
    if (!isSet && !isGiven)
      return false;
  }
  return isAnySet;
}

std::vector<Candidate>
tuning::listCandidates(KernelOp kernel, const Goal &goal, const Settings &given,
                       const Settings &schedule, const Group &group, Grid grid,
                       const DimSizes &sizes, const ModelOptions &options) {
  std::vector<Candidate> candidates;
  auto choice = chooseWith(kernel, goal, given, schedule);
  if (!choice) {
    llvm::consumeError(choice.takeError());
    return candidates;
  }
  Assignment base = read(schedule);
  llvm::StringSet<> known;
  for (const Point &point :
       GridMaker(kernel, goal, *choice, group).make(grid)) {
    Assignment values = base;
    if (!assign(*choice, group, given, point, values))
      continue;
    Settings settings = toSettings(values);
    auto other = chooseWith(kernel, goal, given, settings);
    if (!other || !known.insert(spell(*other)).second) {
      llvm::consumeError(other.takeError());
      continue;
    }
    if (auto made =
            makeCandidate(kernel, goal, given, settings, sizes, options))
      candidates.push_back(std::move(*made));
    else
      llvm::consumeError(made.takeError());
  }
  llvm::sort(candidates, [](const Candidate &lhs, const Candidate &rhs) {
    return std::pair(lhs.predicted, lhs.schedule.toString()) <
           std::pair(rhs.predicted, rhs.schedule.toString());
  });
  return candidates;
}
