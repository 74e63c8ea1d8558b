//===- Fields.h - What a schedule says of an op -----------------*- C++ -*-===//

#ifndef NSACC_SCHEDULE_FIELDS_H
#define NSACC_SCHEDULE_FIELDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace nsacc::schedule {

/// Ops with schedules.
enum class OpKind { Attend, Importance, TopK, Pool, Map };

/// "attend", "topk"
llvm::StringRef getName(OpKind kind);

enum class Field {
  Order,
  Tokens,
  Keys,
  Blocks,
  Windows,
  Rows,
  Columns,
  Splits,
  MergeTokens,
  MergeHeads,
  Chunk,
  Part,
  Channels,
  Program,
  Method,
  Halo,
  Warps,
  BlocksPerSM,
  Stages,
  QueryStages,
  PingPong,
  ColumnsInRegisters,
  Softmax,
  Rescale,
  Grid,
  Peel,
  ExactTokens,
  ExactKeys
};
inline constexpr size_t kNumFields = static_cast<size_t>(Field::ExactKeys) + 1;

/// One for each field of an op that has it; none where it's open.
template <typename Value>
using PerField = std::array<std::optional<Value>, kNumFields>;

struct FieldInfo {
  Field field;
  llvm::StringLiteral name;
  /// The ops that have it: a bit for each kind.
  unsigned kinds;
  /// Ops that share a program agree on it.
  bool isOfProgram;
  /// Targets of CPUs have nothing that it says something of.
  bool isOfGPU;
  /// Numbers that it may be, or names, the number of each of which is its
  /// place.
  int64_t least, most;
  llvm::ArrayRef<llvm::StringLiteral> names;
  /// What `auto` stands for where a pass decides; none: it can't be.
  std::optional<int64_t> automatic;
  /// For documentation and messages: what it means, and the compiler's choice.
  llvm::StringLiteral meaning, defaults;
  /// Of which numbers are multiples.
  int64_t unit = 1;

  bool isOf(OpKind kind) const {
    return kinds >> static_cast<unsigned>(kind) & 1;
  }
};

/// In the order of Field.
llvm::ArrayRef<FieldInfo> getFields();
inline const FieldInfo &getInfo(Field field) {
  return getFields()[static_cast<size_t>(field)];
}
/// Null where no field has the name.
const FieldInfo *findField(llvm::StringRef name);

/// "union", "64", "auto"
std::string toString(Field field, int64_t value);
/// The fields of an op: "order, tokens, …"
std::string listFields(OpKind kind);
/// The values of a field: "query_major, union, key_major or block_major", "1 to
/// 65536".
std::string describeValues(const FieldInfo &info);

/// docs/Schedules.md's table of all fields.
std::string writeFieldTable();

} // namespace nsacc::schedule

#endif // NSACC_SCHEDULE_FIELDS_H
