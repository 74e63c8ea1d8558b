//===- ScheduleFields.h - Fields of schedules -------------------*- C++ -*-===//
//
// Descriptions of the fields that a schedule can have. ScheduleFields.def
// declares each field once.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_NSATILE_IR_SCHEDULEFIELDS_H
#define NSACC_NSATILE_IR_SCHEDULEFIELDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace nsacc::schedule {

/// Programs that compute an op. Each has its own fields.
enum class ProgramRole {
  Main,
  /// Merges the states that programs over parts of the keys leave.
  Merge,
  /// Recomputes results of a fast program that aren't finite.
  Exact
};

inline constexpr ProgramRole kProgramRoles[] = {
    ProgramRole::Main, ProgramRole::Merge, ProgramRole::Exact};

/// "merge"; empty for the main program.
llvm::StringRef getName(ProgramRole role);
/// None where no program has the name.
std::optional<ProgramRole> findProgram(llvm::StringRef name);

enum class Field {
#define NSACC_SCHEDULE_NUMBER(Name, ...) Name,
#define NSACC_SCHEDULE_CHOICE(Name, Enum, ...) Name,
#include "NSATile/IR/ScheduleFields.def"
};

#define NSACC_SCHEDULE_NUMBER(Name, ...) +1
#define NSACC_SCHEDULE_CHOICE(Name, Enum, ...) +1
inline constexpr size_t kNumFields = 0
#include "NSATile/IR/ScheduleFields.def"
    ;

/// A value for each field; none where the field isn't set.
template <typename Value>
using PerField = std::array<std::optional<Value>, kNumFields>;

/// Values of a field that tuning measures beside the compiler's choice.
struct TriedValues {
  constexpr TriedValues() = default;
  constexpr TriedValues(std::initializer_list<int64_t> list) {
    for (int64_t value : list)
      values[count++] = value;
  }
  operator llvm::ArrayRef<int64_t>() const { return {values.data(), count}; }

  std::array<int64_t, 8> values = {};
  size_t count = 0;
};

struct FieldInfo {
  Field field;
  /// Least and greatest number, both multiples of `unit`. For a field with
  /// names, the numbers of the first and the last name.
  int64_t least = 1, most = 1 << 16, unit = 1;
  /// Spells a value's name. Null for fields that are numbers.
  llvm::StringRef (*spell)(int64_t value) = nullptr;
  llvm::StringLiteral name = "";
  /// Program that the field belongs to.
  ProgramRole program = ProgramRole::Main;
  /// Names of ops of the nsa dialect that have the field: "attend, topk". Ops
  /// of other dialects tell their fields themselves (ScheduleOpInterface).
  llvm::StringLiteral ops = "";
  /// Whether ops that share a program have the same value.
  bool isOfProgram = false;
  /// Whether the field means nothing on CPUs.
  bool isOfGPU = false;
  /// Number that stands for `auto`, where a pass decides. None if the field
  /// can't be `auto`.
  std::optional<int64_t> automatic = std::nullopt;
  /// Value where a schedule doesn't have the field.
  int64_t otherwise = 0;
  TriedValues tried = {};
  /// Reason that the compiler always chooses `otherwise`; empty where it has a
  /// rule.
  llvm::StringLiteral always = "";
  /// Meaning of the field and the compiler's choice, for documentation and
  /// messages.
  llvm::StringLiteral meaning = "", defaults = "";

  /// Whether the field may have the value.
  bool takes(int64_t value) const {
    return value == automatic ||
           (value >= least && value <= most && value % unit == 0);
  }
};

/// All fields, in the order of Field.
llvm::ArrayRef<FieldInfo> getFields();
inline const FieldInfo &getInfo(Field field) {
  return getFields()[static_cast<size_t>(field)];
}
/// Null where the program has no field of this name.
const FieldInfo *findField(ProgramRole program, llvm::StringRef name);

/// "tokens", "merge.tokens"
std::string getFullName(Field field);
/// "union", "64", "auto"
std::string toString(Field field, int64_t value);
/// None where `text` is neither a number nor the name of one of the field's
/// values.
std::optional<int64_t> parseValue(Field field, llvm::StringRef text);
/// The declared fields of an op of the nsa dialect, by its name.
std::vector<Field> getFieldsOf(llvm::StringRef op);
/// "order, tokens, …"
std::string listFields(llvm::ArrayRef<Field> fields);
/// The values of a field: "query_major, union, key_major or block_major", "1 to
/// 65536".
std::string describeValues(const FieldInfo &info);
/// Example: "slc: order=union, tokens=8; slc.merge: tokens=1". Without an op,
/// the fields are written as given for all ops: "order=union, tokens=8;
/// *.merge: tokens=1".
std::string
spellFields(llvm::function_ref<std::optional<int64_t>(Field field)> getValue,
            llvm::StringRef op = "");

/// Writes the table of all fields in docs/Schedules.md.
std::string writeFieldTable();

} // namespace nsacc::schedule

#endif // NSACC_NSATILE_IR_SCHEDULEFIELDS_H
