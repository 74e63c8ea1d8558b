//===- ScheduleFields.cpp - Fields of schedules ---------------------------===//

#include "NSATile/IR/ScheduleFields.h"
#include "NSATile/IR/NSATileOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;
using namespace nsacc::nsatile;
using namespace nsacc::schedule;

StringRef nsacc::schedule::getName(ProgramRole role) {
  switch (role) {
  case ProgramRole::Main:
    return "";
  case ProgramRole::Merge:
    return "merge";
  case ProgramRole::Exact:
    return "exact";
  }
  llvm_unreachable("unknown program");
}

std::optional<ProgramRole> nsacc::schedule::findProgram(StringRef name) {
  for (ProgramRole role : llvm::drop_begin(kProgramRoles))
    if (name == getName(role))
      return role;
  return std::nullopt;
}

static constexpr llvm::StringLiteral kAttend = "attend", kTopK = "topk",
                                     kPool = "pool", kMap = "map",
                                     kLists = "attend, topk",
                                     kScoring = "attend, importance",
                                     kQueryTiles = "attend, importance, topk",
                                     kAll =
                                         "attend, importance, topk, pool, map";

template <typename Enum> static StringRef spell(int64_t value) {
  return stringifyEnum(static_cast<Enum>(value));
}

static constexpr FieldInfo kFields[] = {
#define NSACC_SCHEDULE_NUMBER(Name, ...) {.field = Field::Name, __VA_ARGS__},
#define NSACC_SCHEDULE_CHOICE(Name, Enum, ...)                                 \
  {.field = Field::Name,                                                       \
   .least = 0,                                                                 \
   .most = getMaxEnumValFor##Enum(),                                           \
   .spell = spell<Enum>,                                                       \
   __VA_ARGS__},
#include "NSATile/IR/ScheduleFields.def"
};

ArrayRef<FieldInfo> nsacc::schedule::getFields() { return kFields; }

const FieldInfo *nsacc::schedule::findField(ProgramRole program,
                                            StringRef name) {
  const FieldInfo *found = llvm::find_if(kFields, [&](const FieldInfo &info) {
    return info.program == program && info.name == name;
  });
  return found == std::end(kFields) ? nullptr : found;
}

std::string nsacc::schedule::getFullName(Field field) {
  const FieldInfo &info = getInfo(field);
  StringRef program = getName(info.program);
  return program.empty() ? info.name.str() : (program + "." + info.name).str();
}

static std::vector<StringRef> getNames(const FieldInfo &info) {
  std::vector<StringRef> names;
  for (int64_t value = 0; info.spell && value <= info.most; ++value)
    names.push_back(info.spell(value));
  return names;
}

std::string nsacc::schedule::toString(Field field, int64_t value) {
  const FieldInfo &info = getInfo(field);
  if (info.spell)
    return info.spell(value).str();
  return info.automatic == value ? "auto" : std::to_string(value);
}

std::optional<int64_t> nsacc::schedule::parseValue(Field field,
                                                   StringRef text) {
  const FieldInfo &info = getInfo(field);
  if (info.automatic && text == "auto")
    return info.automatic;
  if (info.spell) {
    std::vector<StringRef> names = getNames(info);
    auto found = llvm::find(names, text);
    if (found == names.end())
      return std::nullopt;
    return found - names.begin();
  }
  int64_t number;
  if (text.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

std::vector<Field> nsacc::schedule::getFieldsOf(StringRef op) {
  std::vector<Field> fields;
  for (const FieldInfo &info : kFields) {
    SmallVector<StringRef> ops;
    info.ops.split(ops, ", ");
    if (is_contained(ops, op))
      fields.push_back(info.field);
  }
  return fields;
}

std::string nsacc::schedule::listFields(ArrayRef<Field> fields) {
  std::vector<std::string> names;
  for (Field field : fields)
    names.push_back(getFullName(field));
  return join(names, ", ");
}

std::string nsacc::schedule::describeValues(const FieldInfo &info) {
  if (info.spell) {
    std::vector<StringRef> names = getNames(info);
    StringRef last = names.back();
    names.pop_back();
    return join(names, ", ") + " or " + last.str();
  }
  return std::to_string(info.automatic == info.least ? info.least + 1
                                                     : info.least) +
         " to " + std::to_string(info.most) +
         (info.unit > 1 ? " in multiples of " + std::to_string(info.unit)
                        : "") +
         (info.automatic ? " or auto" : "");
}

std::string nsacc::schedule::spellFields(
    function_ref<std::optional<int64_t>(Field field)> getValue, StringRef op) {
  std::vector<std::string> programs;
  for (ProgramRole role : kProgramRoles) {
    std::vector<std::string> fields;
    for (const FieldInfo &info : kFields)
      if (info.program == role)
        if (std::optional<int64_t> value = getValue(info.field))
          fields.push_back(
              (info.name + "=" + toString(info.field, *value)).str());
    if (fields.empty())
      continue;
    std::string scope = op.str();
    if (role != ProgramRole::Main)
      scope = ((op.empty() ? "*" : op) + "." + getName(role)).str();
    programs.push_back((scope.empty() ? "" : scope + ": ") +
                       join(fields, ", "));
  }
  return join(programs, "; ");
}

std::string nsacc::schedule::writeFieldTable() {
  std::string text = "| field | values | of | compiler's choice | meaning |\n"
                     "|---|---|---|---|---|\n";
  for (const FieldInfo &info : kFields) {
    text +=
        ("| `" + getFullName(info.field) + "` | " + describeValues(info) +
         " | " + info.ops.str() + (info.isOfProgram ? "; their program" : "") +
         (info.isOfGPU ? "; GPUs" : "") + " | " + info.defaults + " | " +
         info.meaning + " |\n")
            .str();
  }
  return text;
}
