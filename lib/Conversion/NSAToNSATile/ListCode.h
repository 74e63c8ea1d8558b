//===- ListCode.h - Code that makes lists of lists --------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_LISTCODE_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_LISTCODE_H

#include "PlanBuilder.h"

namespace nsacc {

/// Lists in memory, one for each of `rows` neighbouring rows. The entries of a
/// list are the buffer's last dimension.
struct RowLists {
  mlir::Value buffer;
  /// Place of the first list.
  llvm::SmallVector<mlir::Value> offsets;
  /// Row r belongs to token `first` + (r floordiv `heads`) · `step`. Its list
  /// is (token floordiv `every`) further along dimension `along`, and r mod
  /// `heads` further along the next one.
  int64_t along = 0;
  int64_t every = 1, step = 1, heads = 1;
  mlir::Value first, rows;
  /// Lists from here on, along that dimension, are empty; null: all exist.
  mlir::Value end;

  int64_t getTop() const {
    return mlir::cast<mlir::MemRefType>(buffer.getType()).getShape().back();
  }
};

/// Numbers in memory, one for each key: key k's is k · `step` behind `place`.
struct NumbersOfKeys {
  mlir::Value buffer;
  llvm::SmallVector<mlir::Value> place;
  mlir::Value step;
};

/// A union in memory. At `place`, `blocks` has the keys, `members` (null: not
/// needed) the set of rows of each key, and `counts` the number of keys.
struct UnionBuffers {
  mlir::Value blocks, members, counts;
  llvm::SmallVector<mlir::Value> place;
};

/// Number of rows in a word of `members`: bit r mod 32 of word r / 32 stands
/// for row r.
inline constexpr int64_t kMembersOfWord = 32;

/// A schedule for programs that make lists of `tokens` rows.
nsatile::ScheduleAttr getListSchedule(mlir::MLIRContext *context,
                                      int64_t tokens, int64_t warps);
/// Number of warps for the union of so many entries: more for long lists with
/// several hundred entries for each warp.
int64_t countUnionWarps(int64_t entries);

/// Code of a program over the entries of lists. Entries below 0, and from
/// `below` on, are left out.
class ListCode {
public:
  /// The lists have at most `mostRows` rows.
  ListCode(ProgramBuilder &program, const RowLists &lists, mlir::Value below,
           int64_t mostRows, int64_t warps)
      : program(program), lists(lists), below(below), mostRows(mostRows),
        warps(warps) {}

  /// Writes the different entries, ascending, and the rows that have each.
  void unite(const UnionBuffers &to);
  /// Writes the number of entries of each key.
  void count(const NumbersOfKeys &counts);
  /// Writes the number of each entry, row · top + column, to an element of
  /// `sorted`: the n-th entry of a key n elements behind the key's start.
  void sort(const NumbersOfKeys &starts, mlir::Value sorted,
            llvm::ArrayRef<mlir::Value> place);

private:
  struct Entries;
  class Members;
  using EntryBody = llvm::function_ref<void(const Entries &)>;
  using WindowBody = llvm::function_ref<mlir::Value(
      mlir::Value first, mlir::Value size, mlir::Value carried)>;

  int64_t getMostEntries() const { return mostRows * lists.getTop(); }
  /// Number of elements of a tile that has `ofLane` of them in each lane.
  int64_t getTileSize(int64_t ofLane) const;
  mlir::Value allocate(llvm::ArrayRef<int64_t> shape);
  void clear(mlir::Value memory);
  /// Goes over `size` neighbouring keys at a time, and carries an index.
  mlir::Value forEachWindow(int64_t size, WindowBody body);
  /// Visits the entries that are keys of a window, some at a time.
  void forEachEntry(mlir::Value first, mlir::Value size, EntryBody body);
  mlir::Value countMarked(mlir::Value marks, mlir::Value before,
                          mlir::Value numWords, mlir::Value found);

  ProgramBuilder &program;
  const RowLists &lists;
  mlir::Value below;
  int64_t mostRows, warps;
};

/// Number of warps of a program that calls `replaceBySums`.
inline constexpr int64_t kSumWarps = 8;
/// Replaces each of `count` neighbours by the sum of the elements in front of
/// it, and the element behind them by the sum of all.
void replaceBySums(ProgramBuilder &program, mlir::Value buffer,
                   llvm::ArrayRef<mlir::Value> place, mlir::Value count);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_LISTCODE_H
