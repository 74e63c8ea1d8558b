//===- Settings.cpp - Schedules that a user sets --------------------------===//

#include "nsacc/Schedule/Settings.h"
#include "nsacc/Support/Suggestions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace nsacc;
using namespace nsacc::schedule;

std::string schedule::explainSettings() {
  return "expected FIELD=VALUE, …, with NAME: in front for one op and a "
         "semicolon behind it, as in 'keys=32; slc: tokens=8; slc.merge: "
         "tokens=1'; "
         "'--emit schedule' shows the fields of each op";
}

/// "a.merge", "*.merge"
static std::string spellProgram(StringRef op, ProgramRole program) {
  return ((op.empty() ? "*" : op) + "." + getName(program)).str();
}

std::string schedule::spellField(StringRef op, Field field, StringRef value) {
  const FieldInfo &info = getInfo(field);
  std::string text = (info.name + "=" + value).str();
  return info.program == ProgramRole::Main
             ? text
             : spellProgram(op, info.program) + ": " + text;
}

Error Settings::explain(size_t column, const Twine &problem) const {
  return createStringError("can't use the schedule '" + toString() +
                           "': " + "column " + Twine(column) + ": " + problem);
}

const Setting *Settings::find(StringRef op, Field field) const {
  const Setting *found = findForAll(field);
  for (const Setting &setting : list)
    if (setting.field == field && !setting.op.empty() && setting.op == op)
      found = &setting;
  return found;
}

const Setting *Settings::findForAll(Field field) const {
  for (const Setting &setting : list)
    if (setting.field == field && setting.op.empty())
      return &setting;
  return nullptr;
}

void Settings::set(StringRef op, Field field, int64_t value, StringRef spills) {
  isChanged = true;
  auto found = llvm::find_if(list, [&](const Setting &setting) {
    return setting.field == field && setting.op == op;
  });
  Setting &setting = found == list.end() ? list.emplace_back() : *found;
  setting.op = op.str();
  setting.field = field;
  setting.value = value;
  setting.isDerived = true;
  setting.spills = spills.str();
}

void Settings::limit(Field field, int64_t most) {
  isChanged = true;
  for (Setting &setting : list)
    if (setting.field == field)
      setting.value = std::min(setting.value, most);
}

void Settings::addOf(StringRef kernel, const Settings &fitting) {
  for (const Setting &setting : fitting.list) {
    if (!setting.isDerived)
      continue;
    isChanged = true;
    list.push_back(setting);
    list.back().kernel = kernel.str();
  }
}

Error Settings::addTuned(StringRef tuned, bool isModelled) {
  Expected<Settings> found = parse(tuned);
  if (!found)
    return found.takeError();
  addTuned(*found, isModelled);
  return Error::success();
}

void Settings::addTuned(const Settings &tuned, bool isModelled) {
  for (const Setting &setting : tuned.list) {
    if (find(setting.op, setting.field))
      continue;
    isChanged = true;
    list.push_back(setting);
    list.back().isTuned = true;
    list.back().isModelled = isModelled;
    list.back().isDerived = false;
  }
}

Settings Settings::getOf(StringRef kernel) const {
  Settings own = *this;
  llvm::erase_if(own.list, [&](const Setting &setting) {
    return !setting.kernel.empty() && setting.kernel != kernel;
  });
  return own;
}

std::string Settings::toString() const { return isChanged ? spell() : text; }

std::string Settings::getKey() const {
  Settings sorted = *this;
  llvm::sort(sorted.list, [](const Setting &lhs, const Setting &rhs) {
    return std::tie(lhs.op, lhs.field) < std::tie(rhs.op, rhs.field);
  });
  return sorted.spell();
}

std::string Settings::spell() const {
  // Fields of an op stand together.
  std::vector<std::string> ops, names;
  for (const Setting &setting : list)
    if (!is_contained(names, setting.op))
      names.push_back(setting.op);
  for (const std::string &name : names)
    ops.push_back(spellFields(
        [&](Field field) -> std::optional<int64_t> {
          for (const Setting &setting : list)
            if (setting.op == name && setting.field == field)
              return setting.value;
          return std::nullopt;
        },
        name));
  return join(ops, "; ");
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {

class Reader {
public:
  Reader(StringRef text, const Settings &settings)
      : text(text), settings(settings) {}

  Error read();
  std::vector<Setting> list;

private:
  Error readGroup(StringRef group);
  Error readSetting(StringRef op, ProgramRole program, StringRef setting);
  Expected<int64_t> readValue(const FieldInfo &info, StringRef value,
                              StringRef at);
  size_t getColumn(StringRef part) const {
    return part.data() - text.data() + 1;
  }
  Error fail(StringRef at, const Twine &problem) const {
    return settings.explain(getColumn(at), problem);
  }
  /// Fails on text that is no setting. The message explains the syntax.
  Error failForm(StringRef at, const Twine &problem) const {
    return fail(at, problem + "\n" + explainSettings());
  }

  StringRef text;
  const Settings &settings;
};

} // namespace

Expected<int64_t> Reader::readValue(const FieldInfo &info, StringRef value,
                                    StringRef at) {
  std::optional<int64_t> read = parseValue(info.field, value);
  bool isAutomatic = info.automatic && value == "auto";
  // A user writes `auto`, never the number that stands for it.
  if (read && info.takes(*read) && (isAutomatic || read != info.automatic))
    return *read;
  if (!read && !info.spell)
    return fail(at, Twine("expected an integer") +
                        (info.automatic ? " or auto" : "") + " for '" +
                        info.name + "', found '" + value + "'");
  return fail(at, "expected " + describeValues(info) + " for '" + info.name +
                      "', found '" + value + "'");
}

static SmallVector<StringRef> getNames(ProgramRole program) {
  SmallVector<StringRef> names;
  for (const FieldInfo &each : getFields())
    if (each.program == program)
      names.push_back(each.name);
  return names;
}

/// Says which field may be meant, or which fields there are.
static std::string suggestField(StringRef op, ProgramRole program,
                                StringRef name, StringRef value,
                                bool listsAll) {
  // A table of fields calls them "merge.heads", and JSON nests them.
  auto [role, inner] = name.split('.');
  if (std::optional<ProgramRole> meant = findProgram(role);
      meant && program == ProgramRole::Main) {
    if (const FieldInfo *field = findField(*meant, inner.trim()))
      return ": expected '" +
             spellField(op, field->field, value.empty() ? "…" : value) + "'";
    SmallVector<StringRef> names = getNames(*meant);
    return ": '" + spellProgram(op, *meant) +
           "' is a program with the fields " + join(names, ", ") + ", as in '" +
           spellField(op, findField(*meant, names.front())->field, "…") + "'";
  }
  SmallVector<StringRef> known = getNames(program);
  StringRef nearest = findNearest(name, known);
  if (!nearest.empty())
    return ": did you mean '" + nearest.str() + "'?";
  return listsAll ? ": fields are " + join(known, ", ") : "";
}

Error Reader::readSetting(StringRef op, ProgramRole program,
                          StringRef setting) {
  auto [name, value] = setting.split('=');
  name = name.trim();
  const FieldInfo *info = findField(program, name);
  if (!info) {
    // A named op's fields aren't known yet. The message's end tells how to see
    // them.
    bool listsAll = op.empty() || program != ProgramRole::Main;
    return failForm(
        name, "there is no field '" + name + "'" +
                  suggestField(op, program, name, value.trim(), listsAll));
  }
  if (value.data() == nullptr || !setting.contains('='))
    return failForm(name, "expected a value behind '" + name + "='");
  Expected<int64_t> number = readValue(*info, value.trim(), name);
  if (!number)
    return number.takeError();
  for (const Setting &given : list)
    if (given.field == info->field && given.op == op)
      return fail(name, "'" + name + "' is given twice" +
                            (op.empty() ? "" : " for '" + op + "'") +
                            ", first at column " + Twine(given.column));
  Setting &read = list.emplace_back();
  read.op = op.str();
  read.field = info->field;
  read.value = *number;
  read.opColumn = op.empty() ? 0 : getColumn(op);
  read.column = getColumn(name);
  return Error::success();
}

/// Reads fields, with or without the name of an op in front.
Error Reader::readGroup(StringRef group) {
  StringRef op;
  ProgramRole program = ProgramRole::Main;
  if (group.contains(':')) {
    std::tie(op, group) = group.split(':');
    op = op.trim();
    if (op.empty())
      return failForm(op, "expected the name of an op in front of ':'");
    if (group.trim().empty())
      return failForm(op, "expected FIELD=VALUE behind '" + op + ":'");
    if (group.contains(':'))
      return failForm(group.drop_front(group.find(':')),
                      "expected ';' in front of another op's name");
    auto [owner, role] = op.rsplit('.');
    if (std::optional<ProgramRole> found = findProgram(role)) {
      if (owner.empty())
        return failForm(op, "expected the name of an op, or * for all, in "
                            "front of '." +
                                role + "'");
      program = *found;
      op = owner;
      if (findProgram(op.rsplit('.').second))
        return failForm(op, "'" + op +
                                "' is a program, which has no other: "
                                "expected FIELD=VALUE behind '" +
                                op + ":'");
    }
    if (op == "*")
      op = {};
  }
  SmallVector<StringRef> parts;
  group.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (!part.trim().empty())
      if (Error error = readSetting(op, program, part.trim()))
        return error;
  return Error::success();
}

Error Reader::read() {
  SmallVector<StringRef> groups;
  text.split(groups, ';', -1, /*KeepEmpty=*/false);
  for (StringRef group : groups)
    if (Error error = readGroup(group))
      return error;
  return Error::success();
}

Expected<Settings> Settings::parse(StringRef text) {
  Settings settings;
  settings.text = text.str();
  Reader reader(settings.text, settings);
  if (Error error = reader.read())
    return std::move(error);
  settings.list = std::move(reader.list);
  return settings;
}

//===----------------------------------------------------------------------===//
// Options of passes
//===----------------------------------------------------------------------===//

raw_ostream &schedule::operator<<(raw_ostream &os,
                                  const SettingsOption &settings) {
  // A pipeline's options end at a space.
  std::string text = settings.toString();
  llvm::erase(text, ' ');
  return os << text;
}

bool llvm::cl::parser<SettingsOption>::parse(cl::Option &option, StringRef,
                                             StringRef text,
                                             SettingsOption &settings) {
  Expected<Settings> read = Settings::parse(text);
  if (!read)
    return option.error(toString(read.takeError()));
  settings = SettingsOption(std::move(*read));
  return false;
}
