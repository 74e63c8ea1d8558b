//===- NSATileSchedule.cpp - Schedules of ops and programs ----------------===//

#include "NSATile/IR/NSATileOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;
using schedule::Field;
using schedule::FieldInfo;
using schedule::getFields;
using schedule::getInfo;
using schedule::ProgramRole;

using Values = schedule::PerField<int64_t>;

static std::optional<int64_t> &at(Values &values, Field field) {
  return values[static_cast<size_t>(field)];
}

/// Values of all fields, defaults included.
static Values expand(ScheduleAttr schedule) {
  Values values;
  for (const FieldInfo &info : getFields())
    at(values, info.field) = schedule.get(info.field);
  return values;
}

/// The fields that an attribute keeps: their values aren't defaults.
static SmallVector<std::pair<Field, int64_t>> compact(const Values &given) {
  SmallVector<std::pair<Field, int64_t>> values;
  for (const FieldInfo &info : getFields())
    if (std::optional<int64_t> value = given[static_cast<size_t>(info.field)];
        value && *value != info.otherwise)
      values.emplace_back(info.field, *value);
  return values;
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

ScheduleAttr ScheduleAttr::get(MLIRContext *context, const Values &given) {
  return get(context, compact(given));
}

int64_t ScheduleAttr::get(Field field) const {
  for (auto [each, value] : getValues())
    if (each == field)
      return value;
  return getInfo(field).otherwise;
}

bool ScheduleAttr::has(Field field) const {
  return llvm::is_contained(llvm::make_first_range(getValues()), field);
}

int64_t ScheduleAttr::getTileColumns() const {
  return has(Field::Blocks) ? getBlocks() : getKeys();
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

static ParseResult parseField(AsmParser &parser, ProgramRole role,
                              StringRef name, SMLoc place, Values &values) {
  const FieldInfo *info = schedule::findField(role, name);
  if (!info)
    return parser.emitError(place, "there is no field '") << name << "'";
  if (at(values, info->field))
    return parser.emitError(place, "'") << name << "' is given twice";
  SMLoc valuePlace = parser.getCurrentLocation();
  int64_t number;
  std::string text;
  OptionalParseResult parsed = parser.parseOptionalInteger(number);
  if (parsed.has_value()) {
    if (failed(*parsed))
      return failure();
    text = std::to_string(number);
  } else if (parser.parseKeywordOrString(&text)) {
    return failure();
  }
  std::optional<int64_t> value = schedule::parseValue(info->field, text);
  if (!value || !info->takes(*value))
    return parser.emitError(valuePlace, "expected ")
           << schedule::describeValues(*info) << " for '"
           << schedule::getFullName(info->field) << "', found " << text;
  at(values, info->field) = value;
  return success();
}

static ParseResult parseFields(AsmParser &parser, ProgramRole role,
                               Values &values) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
        StringRef name;
        SMLoc place = parser.getCurrentLocation();
        if (parser.parseKeyword(&name) || parser.parseEqual())
          return failure();
        std::optional<ProgramRole> program = schedule::findProgram(name);
        return program && role == ProgramRole::Main
                   ? parseFields(parser, *program, values)
                   : parseField(parser, role, name, place, values);
      });
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  SMLoc place = parser.getCurrentLocation();
  Values given;
  if (parseFields(parser, ProgramRole::Main, given))
    return {};
  return parser.getChecked<ScheduleAttr>(place, parser.getContext(),
                                         ArrayRef(compact(given)));
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << '<';
  StringRef separator = "";
  for (ProgramRole role : schedule::kProgramRoles) {
    auto fields = llvm::make_filter_range(getValues(), [&](const auto &each) {
      return getInfo(each.first).program == role;
    });
    if (fields.empty())
      continue;
    bool isMain = role == ProgramRole::Main;
    printer << separator;
    if (!isMain)
      printer << schedule::getName(role) << " = <";
    llvm::interleaveComma(fields, printer, [&](const auto &each) {
      printer << getInfo(each.first).name << " = "
              << schedule::toString(each.first, each.second);
    });
    printer << (isMain ? "" : ">");
    separator = ", ";
  }
  printer << '>';
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<std::pair<Field, int64_t>> values) {
  Values all;
  for (const FieldInfo &info : getFields())
    at(all, info.field) = info.otherwise;
  for (auto [field, value] : values) {
    const FieldInfo &info = getInfo(field);
    if (!info.takes(value))
      return emitError() << "expected " << schedule::describeValues(info)
                         << " for '" << schedule::getFullName(field)
                         << "', found " << value;
    at(all, field) = value;
  }
  auto get = [&](Field field) { return *at(all, field); };
  int64_t tokens = get(Field::Tokens), part = get(Field::Part),
          exactTokens = get(Field::ExactTokens), splits = get(Field::Splits);
  auto order = static_cast<LoopOrder>(get(Field::Order));
  bool countsSplits =
      order == LoopOrder::QueryMajor || order == LoopOrder::Union;
  if (splits == 0 && !countsSplits)
    return emitError() << "splits = auto goes with order query_major or union, "
                          "found order "
                       << stringifyLoopOrder(order);
  if (splits > 1 && order == LoopOrder::BlockMajor)
    return emitError() << "expected no split of the keys under order "
                          "block_major, found "
                       << splits;
  if (part > 0 && tokens % part != 0)
    return emitError() << "expected a part that divides the " << tokens
                       << " tokens, found " << part;
  if (exactTokens > 0 && tokens % exactTokens != 0)
    return emitError() << "expected tokens of the exact program that divide "
                          "the "
                       << tokens << " tokens, found " << exactTokens;
  if ((exactTokens > 0) != (get(Field::ExactKeys) > 0))
    return emitError() << "expected both tokens and keys of the exact program, "
                          "or neither, found "
                       << exactTokens << " and " << get(Field::ExactKeys);
  return success();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Keeps the fields of the op, and the main program's stages, which say how it
/// reads memory.
static Values getInherited(ScheduleAttr schedule) {
  Values values;
  for (Field field : {Field::Order, Field::Splits, Field::Chunk, Field::Program,
                      Field::Method, Field::Halo, Field::Stages})
    at(values, field) = schedule.get(field);
  return values;
}

/// The exact program rarely runs. Lists for its tiles aren't worth another
/// program, so it walks the blocks of each token instead of a union.
ScheduleAttr ScheduleAttr::getExact() const {
  Values values = getInherited(*this);
  if (getOrder() == LoopOrder::Union)
    at(values, Field::Order) = static_cast<int64_t>(LoopOrder::QueryMajor);
  at(values, Field::Splits) = 1;
  at(values, Field::Channels) = getChannels();
  at(values, Field::Heads) = getHeads();
  at(values, Field::Peel) = static_cast<int64_t>(getPeel());
  at(values, Field::Tokens) = getExactTokens();
  at(values, Field::Keys) = getExactKeys();
  return get(getContext(), values);
}

ScheduleAttr ScheduleAttr::getMerging() const {
  Values values = getInherited(*this);
  at(values, Field::Tokens) =
      getMergeTokens() > 0 ? getMergeTokens() : getTokens();
  at(values, Field::Keys) = getKeys();
  return get(getContext(), values);
}

ScheduleAttr ScheduleAttr::inProgram(ScheduleAttr program) const {
  Values values = expand(*this);
  for (const FieldInfo &info : getFields())
    if (info.isOfProgram)
      at(values, info.field) = program.get(info.field);
  if (program.getExactTokens() == 0 || getExactKeys() == 0)
    at(values, Field::ExactTokens) = at(values, Field::ExactKeys) = 0;
  return get(getContext(), values);
}
