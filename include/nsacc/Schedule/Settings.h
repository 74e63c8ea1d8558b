//===- Settings.h - Schedules that a user sets ------------------*- C++ -*-===//

#ifndef NSACC_SCHEDULE_SETTINGS_H
#define NSACC_SCHEDULE_SETTINGS_H

#include "NSATile/IR/ScheduleFields.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace nsacc::schedule {

/// Value of a field for the op of this name, or for all ops with the field if
/// the name is empty.
struct Setting {
  std::string op;
  Field field;
  int64_t value;
  /// Columns of the op's name and of the field's name in the text, from 1 on.
  size_t opColumn = 0, column = 0;
  /// Whether the compiler set it later, in place of a given value.
  bool isDerived = false;
  /// Reason, if registers spilled; empty if the tile had no room.
  std::string spills = {};
  /// Whether tuning measured it to be faster than the compiler's choice. No
  /// user gave it.
  bool isTuned = false;
  /// Whether the tuned value is from a device's model, without a measurement.
  bool isModelled = false;
  /// Kernel that the setting is for; empty for any.
  std::string kernel = {};
};

/// Given fields. The compiler chooses the others.
class Settings {
public:
  Settings() = default;

  /// Reads "order=union; slc: tokens=8, warps=auto". An error names the column
  /// of an unknown field, a value of a wrong kind or range, or a field that is
  /// given twice.
  static llvm::Expected<Settings> parse(llvm::StringRef text);

  llvm::ArrayRef<Setting> getList() const { return list; }
  bool isEmpty() const { return list.empty(); }
  /// Setting that holds for the op of this name; null where the field isn't
  /// given.
  const Setting *find(llvm::StringRef op, Field field) const;
  /// Setting of the field for all ops; null where there is none.
  const Setting *findForAll(Field field) const;
  /// Sets a field of one op, in place of the given value.
  void set(llvm::StringRef op, Field field, int64_t value,
           llvm::StringRef spills = "");

  /// Lowers all values of a field above `most` to it.
  void limit(Field field, int64_t most);
  /// Adds the derived settings of `fitting`, for ops of this kernel alone.
  void addOf(llvm::StringRef kernel, const Settings &fitting);
  /// Adds settings that measuring or the model found, in the syntax of `parse`,
  /// for fields that aren't given.
  llvm::Error addTuned(llvm::StringRef tuned, bool isModelled = false);
  void addTuned(const Settings &tuned, bool isModelled = false);
  /// Settings that apply to a kernel.
  Settings getOf(llvm::StringRef kernel) const;

  /// The given text. If settings were set or added, a text that gives all of
  /// them.
  std::string toString() const;
  /// Text that is the same for all settings with the same meaning.
  std::string getKey() const;
  /// "can't use the schedule 'TEXT': column 7: PROBLEM"
  llvm::Error explain(size_t column, const llvm::Twine &problem) const;

private:
  std::string spell() const;

  std::vector<Setting> list;
  std::string text;
  bool isChanged = false;
};

/// A field as a schedule gives it: "tokens=4", "a.merge: heads=3", or
/// "*.merge: heads=3" without an op's name. Fields of an op's main program have
/// no name in front.
std::string spellField(llvm::StringRef op, Field field, llvm::StringRef value);
/// Explains the syntax of settings, for notes.
std::string explainSettings();

/// An option of passes, as text in pipelines.
struct SettingsOption : Settings {
  SettingsOption() = default;
  SettingsOption(Settings settings) : Settings(std::move(settings)) {}
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const SettingsOption &settings);

} // namespace nsacc::schedule

template <>
class llvm::cl::parser<nsacc::schedule::SettingsOption>
    : public llvm::cl::basic_parser<nsacc::schedule::SettingsOption> {
public:
  using basic_parser::basic_parser;

  /// Prints errors, and returns true on them.
  bool parse(llvm::cl::Option &option, llvm::StringRef name,
             llvm::StringRef text, nsacc::schedule::SettingsOption &settings);
  void printOptionDiff(const llvm::cl::Option &,
                       const nsacc::schedule::SettingsOption &, OptVal,
                       size_t) const {}
  llvm::StringRef getValueName() const override { return "schedule"; }
};

#endif // NSACC_SCHEDULE_SETTINGS_H
