//===- Settings.h - What a user sets of schedules ---------------*- C++ -*-===//

#ifndef NSACC_SCHEDULE_SETTINGS_H
#define NSACC_SCHEDULE_SETTINGS_H

#include "NSATile/IR/ScheduleFields.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace nsacc::schedule {

/// A field of the op of this name; of all ops that have it where the name is
/// empty.
struct Setting {
  std::string op;
  Field field;
  int64_t value;
  /// Columns of the op's and of the field's name in the text, from 1 on.
  size_t opColumn = 0, column = 0;
  /// Set since, in place of what was given.
  bool isDerived = false;
  /// Says why, where it was set for want of registers; empty: of room.
  std::string spills = {};
  /// Measured to be faster than the compiler's choice, and given by nobody.
  bool isTuned = false;
  /// Of such: by the model of a device, without a measurement.
  bool isModelled = false;
  /// The kernel whose ops are meant; empty: any.
  std::string kernel = {};
};

/// Fields that are given; the others are the compiler's choice.
class Settings {
public:
  Settings() = default;

  /// Reads "order=union; slc: tokens=8, warps=auto". Says at which column there
  /// is no field, no value of its kind or range, or one that is given twice.
  static llvm::Expected<Settings> parse(llvm::StringRef text);

  llvm::ArrayRef<Setting> getList() const { return list; }
  bool isEmpty() const { return list.empty(); }
  /// What holds for the op of this name; null where the field isn't given.
  const Setting *find(llvm::StringRef op, Field field) const;
  /// The same, if it is given for all ops.
  const Setting *findForAll(Field field) const;
  /// Sets a field of one op, in place of what is given.
  void set(llvm::StringRef op, Field field, int64_t value,
           llvm::StringRef spills = "");

  /// Adds what was set since in `fitting`, for ops of this kernel alone.
  void addOf(llvm::StringRef kernel, const Settings &fitting);
  /// Adds what measuring or the model found, as `parse` reads it, for fields
  /// that aren't given.
  llvm::Error addTuned(llvm::StringRef tuned, bool isModelled = false);
  /// What holds for a kernel.
  Settings getOf(llvm::StringRef kernel) const;

  /// As it was given; with what was set since, as it would be given.
  std::string toString() const;
  /// The same for all settings that mean the same.
  std::string getKey() const;
  /// "can't use the schedule 'TEXT': column 7: PROBLEM"
  llvm::Error explain(size_t column, const llvm::Twine &problem) const;

private:
  std::string spell() const;

  std::vector<Setting> list;
  std::string text;
  bool isChanged = false;
};

/// What settings look like, for notes.
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

  /// True on errors, which it prints.
  bool parse(llvm::cl::Option &option, llvm::StringRef name,
             llvm::StringRef text, nsacc::schedule::SettingsOption &settings);
  void printOptionDiff(const llvm::cl::Option &,
                       const nsacc::schedule::SettingsOption &, OptVal,
                       size_t) const {}
  llvm::StringRef getValueName() const override { return "schedule"; }
};

#endif // NSACC_SCHEDULE_SETTINGS_H
