//===- ScheduleFields.h - Fields of schedules -------------------*- C++ -*-===//
//
// What a schedule can say. ScheduleFields.def declares each field once.
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

/// Ops with schedules.
enum class OpKind { Attend, Importance, TopK, Pool, Map };

/// "attend", "topk"
llvm::StringRef getName(OpKind kind);

/// The programs that compute an op. Each has fields of its own.
enum class ProgramRole {
  Main,
  /// Merges the states that programs over parts of the keys leave.
  Merge,
  /// Computes again what isn't finite in a fast program's results.
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

/// One for each field of an op that has it; none where it's open.
template <typename Value>
using PerField = std::array<std::optional<Value>, kNumFields>;

/// Values of a field beside the compiler's choice that tuning measures.
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
  /// Least and greatest number, both multiples of `unit`; of a field with
  /// names, the numbers of the first and the last one.
  int64_t least = 1, most = 1 << 16, unit = 1;
  /// Name of a value; null for fields that are numbers.
  llvm::StringRef (*spell)(int64_t value) = nullptr;
  llvm::StringLiteral name = "";
  /// The program whose field it is.
  ProgramRole program = ProgramRole::Main;
  /// The ops that have it: a bit for each kind.
  unsigned kinds = 0;
  /// Ops that share a program agree on it.
  bool isOfProgram = false;
  /// Targets of CPUs have nothing that it says something of.
  bool isOfGPU = false;
  /// What `auto` stands for where a pass decides; none: it can't be.
  std::optional<int64_t> automatic = std::nullopt;
  /// What holds where a schedule doesn't have the field.
  int64_t otherwise = 0;
  TriedValues tried = {};
  /// Why the compiler always chooses `otherwise`; empty where it has a rule.
  llvm::StringLiteral always = "";
  /// For documentation and messages: what it means, and the compiler's choice.
  llvm::StringLiteral meaning = "", defaults = "";

  bool isOf(OpKind kind) const {
    return kinds >> static_cast<unsigned>(kind) & 1;
  }
  /// Whether it may have the value.
  bool takes(int64_t value) const {
    return value == automatic ||
           (value >= least && value <= most && value % unit == 0);
  }
};

/// In the order of Field.
llvm::ArrayRef<FieldInfo> getFields();
inline const FieldInfo &getInfo(Field field) {
  return getFields()[static_cast<size_t>(field)];
}
/// Null where the program has no field of the name.
const FieldInfo *findField(ProgramRole program, llvm::StringRef name);

/// "tokens", "merge.tokens"
std::string getFullName(Field field);
/// "union", "64", "auto"
std::string toString(Field field, int64_t value);
/// None where `text` isn't a name of the field's values or a number.
std::optional<int64_t> parseValue(Field field, llvm::StringRef text);
/// The fields of an op: "order, tokens, …"
std::string listFields(OpKind kind);
/// The values of a field: "query_major, union, key_major or block_major", "1 to
/// 65536".
std::string describeValues(const FieldInfo &info);
/// "slc: order=union, tokens=8; slc.merge: tokens=1"; without an op, as fields
/// of all ops are given: "order=union, tokens=8; *.merge: tokens=1".
std::string
spellFields(llvm::function_ref<std::optional<int64_t>(Field field)> getValue,
            llvm::StringRef op = "");

/// docs/Schedules.md's table of all fields.
std::string writeFieldTable();

} // namespace nsacc::schedule

#endif // NSACC_NSATILE_IR_SCHEDULEFIELDS_H
