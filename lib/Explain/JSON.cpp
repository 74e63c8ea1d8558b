//===- JSON.cpp - An explanation as data ----------------------------------===//

#include "Numbers.h"
#include "Report.h"

using namespace nsacc;
using namespace nsacc::explain;
namespace json = llvm::json;

static json::Value toJSON(const Place &place) {
  if (place.line == 0)
    return nullptr;
  return json::Object{
      {"file", place.file}, {"line", place.line}, {"column", place.column}};
}

static json::Value toJSON(const Remark &remark) {
  return json::Object{
      {"program", remark.program}, {"name", remark.name},
      {"kind", remark.kind},       {"text", remark.text},
      {"pass", remark.pass},       {"place", toJSON(remark.place)}};
}

static json::Array toJSON(llvm::ArrayRef<Remark> remarks) {
  json::Array list;
  for (const Remark &remark : remarks)
    list.push_back(toJSON(remark));
  return list;
}

/// An integer if 64 bits hold it.
static json::Value toJSON(const Quantity &quantity) {
  if (auto whole = quantity.getWhole())
    return *whole;
  return static_cast<double>(quantity);
}

static json::Value toJSON(const TileMap &map, llvm::StringRef mask) {
  json::Array rows;
  for (int64_t row = 0; row < map.rows; ++row) {
    std::string states;
    for (int64_t column = 0; column < map.columns; ++column)
      states += ".pF"[static_cast<size_t>(map.get(row, column))];
    rows.push_back(states);
  }
  json::Object found{{"queries", map.queries},
                     {"keys", map.keys},
                     {"tile_tokens", map.tileTokens},
                     {"tile_keys", map.tileKeys},
                     {"full", toJSON(map.full)},
                     {"partial", toJSON(map.partial)},
                     {"empty", toJSON(map.empty)},
                     {"sampled", map.isSampled},
                     {"row_tiles", map.rowTiles},
                     {"column_tiles", map.columnTiles},
                     {"cells", std::move(rows)},
                     {"per_pair", map.isPerPair},
                     {"batch_rows", map.batch},
                     {"key_heads", map.keyHeads},
                     {"text", describeMap(map)},
                     {"legend", makeLegend(map)},
                     {"caption", describePicture(map, mask)}};
  found["shown"] = json::Object{{"batch_row", map.batchRow},
                                {"first_head", map.firstHead},
                                {"last_head", map.lastHead}};
  if (map.block > 0)
    found["selection"] = json::Object{{"block", map.block}, {"top", map.top}};
  return found;
}

static json::Value toJSON(const tuning::Work &work) {
  return json::Object{{"pairs", toJSON(work.pairs)},
                      {"certainty", getName(work.certainty)},
                      {"operations", toJSON(work.operations)},
                      {"bytes", toJSON(Quantity::ofReal(work.bytes))}};
}

static json::Array toJSON(const std::vector<Row> &rows) {
  json::Array list;
  for (const Row &row : rows)
    list.push_back(json::Object{{"heading", row.heading}, {"text", row.text}});
  return list;
}

json::Value explain::toJSON(const OpExplanation &op, const Explanation &all) {
  json::Object fields;
  for (const FieldChoice &field : op.fields)
    fields[field.name] =
        json::Object{{"value", field.value}, {"reason", field.reason}};
  json::Array reasons;
  for (const auto &[fields, reason] : groupFields(op))
    reasons.push_back(json::Object{{"fields", fields}, {"reason", reason}});
  json::Object found{{"name", op.name},
                     {"kind", op.kind},
                     {"text", describeOp(op)},
                     {"place", ::toJSON(op.place)},
                     {"schedule", std::move(fields)},
                     {"reasons", std::move(reasons)},
                     {"work", ::toJSON(op.predicted.work)},
                     {"predicted_ms", op.predicted.seconds * 1e3}};
  if (op.map) {
    found["mask"] = op.mask;
    found["tiles"] = ::toJSON(*op.map, op.mask);
  }
  if (op.predicted.steps > 0) {
    const tuning::StepCycles &step = op.predicted.step;
    found["step_cycles"] =
        json::Object{{"all", step.all},         {"products", step.products},
                     {"scores", step.scores},   {"loads", step.loads},
                     {"rescale", step.rescale}, {"spills", step.spills}};
    found["timeline"] =
        makeTimeline(op, all.device.has_value(), all.rates.clock);
    found["steps"] = op.predicted.steps;
    found["tile_cycles"] = op.predicted.tileCycles;
    found["tile_count"] = op.predicted.tiles;
  }
  return found;
}

static llvm::StringRef getName(ProgramExplanation::Role role) {
  static constexpr llvm::StringLiteral names[] = {"main", "helper", "exact"};
  return names[static_cast<size_t>(role)];
}

static json::Array listNames(const Explanation &all,
                             llvm::ArrayRef<size_t> ops) {
  json::Array names;
  for (size_t op : ops)
    names.push_back(all.ops[op].name);
  return names;
}

static json::Value toJSON(const ProgramExplanation &program,
                          const Explanation &all) {
  json::Object found{
      {"name", program.name},
      {"role", getName(program.role)},
      {"of", program.of},
      {"place", toJSON(program.place)},
      {"ops", listNames(all, program.ops)},
      {"counted_ops", listNames(all, program.counted)},
      {"grid", json::Array{program.grid[0], program.grid[1], program.grid[2]}},
      {"launches", program.launches},
      {"rows", toJSON(listRows(program, all))},
      {"bars", listBars(program)},
      {"remarks", toJSON(program.remarks)}};
  if (program.role == ProgramExplanation::Role::Main) {
    found["work"] = toJSON(program.work);
    json::Object floors;
    for (const Ceiling &each : listCeilings(program))
      floors[each.name] = each.seconds * 1e3;
    found["floors_ms"] = std::move(floors);
    found["predicted_ms"] = program.predictedSeconds * 1e3;
    if (program.cacheBytes > 0)
      found["l2"] = json::Object{{"bytes", program.cacheBytes},
                                 {"ms", program.cacheSeconds * 1e3}};
  }
  if (program.occupancy) {
    found["threads"] = program.threads;
    found["persistent"] = program.isPersistent;
    found["shared_bytes"] =
        program.sharedBytes +
        (program.report ? static_cast<int64_t>(program.report->sharedBytes)
                        : 0);
    found["occupancy"] =
        json::Object{{"blocks", program.occupancy->blocks},
                     {"warps", program.occupancy->warps},
                     {"most_warps", program.occupancy->mostWarps},
                     {"bound", program.occupancy->bound},
                     {"waves", program.waves}};
  }
  if (program.report) {
    found["registers"] = program.report->registers;
    found["spill_store_bytes"] = program.report->spillStoreBytes;
    found["spill_load_bytes"] = program.report->spillLoadBytes;
  }
  return found;
}

json::Value explain::toJSON(const Explanation &all) {
  json::Array programs, ops, buffers, losses;
  for (const ProgramExplanation &program : all.programs)
    programs.push_back(::toJSON(program, all));
  for (const OpExplanation &op : all.ops)
    ops.push_back(toJSON(op, all));
  for (const Buffer &buffer : all.buffers)
    buffers.push_back(json::Object{{"name", buffer.name},
                                   {"bytes", buffer.bytes},
                                   {"result", buffer.isResult}});
  for (const std::string &loss : all.losses)
    losses.push_back(loss);
  json::Object found{{"kernel", all.kernel},
                     {"signature", all.signature},
                     {"target", all.target},
                     {"target_text", describeTarget(all)},
                     {"device", all.device ? json::Value(all.device->name)
                                           : json::Value(nullptr)},
                     {"sizes", all.sizes},
                     {"queries", all.queries},
                     {"schedule", all.schedule},
                     {"rows", ::toJSON(listRows(all))},
                     {"programs", std::move(programs)},
                     {"ops", std::move(ops)},
                     {"roofline", makeRoofline(all)},
                     {"buffers", std::move(buffers)},
                     {"workspace_bytes", all.workspaceBytes},
                     {"work", ::toJSON(all.work)},
                     {"floor_ms", all.floor.seconds * 1e3},
                     {"predicted_ms", all.predictedSeconds * 1e3},
                     {"why", describeGap(all)},
                     {"losses", std::move(losses)},
                     {"remarks", ::toJSON(all.remarks)}};
  found["tuned"] = all.tuned ? nsacc::toJSON(*all.tuned) : json::Value(nullptr);
  found["rule"] = all.rule ? nsacc::toJSON(*all.rule) : json::Value(nullptr);
  const tuning::Rates &rates = all.rates;
  found["rates"] = json::Object{
      {"products_per_s", rates.getProducts()},
      {"exponentials_per_s", rates.getExponentials()},
      {"memory_bytes_per_s", rates.memoryBytes},
      {"measured", rates.areMeasured},
      {"product", all.device ? json::Value(all.device->getProduct())
                             : json::Value(nullptr)}};
  found["no_registers"] = all.noRegisters;
  found["no_launch"] = all.refusal;
  return found;
}
