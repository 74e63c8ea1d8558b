//===- KeyWalk.h - Orders in which rows meet keys ---------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_KEYWALK_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_KEYWALK_H

#include "PairFold.h"

namespace nsacc {

/// The inner axis of a program: the tiles of keys that the rows of a query tile
/// walk, and their order (docs/Rationale/Axes.md). A walk knows nothing of what
/// a step computes.
class KeyWalk {
public:
  KeyWalk(ProgramBuilder &program, const QueryTile &tile, Scorer &scorer,
          PairFold &fold, nsatile::ScheduleAttr schedule)
      : program(program), builder(program.getBuilder()), loc(program.getLoc()),
        tile(tile), scorer(scorer), bounds(scorer.getBounds()), fold(fold),
        schedule(schedule) {}
  virtual ~KeyWalk() = default;

  /// The rows' state after the walk.
  virtual RowState run(const QueryRows &rows) = 0;

protected:
  /// Number of the tile's tokens that exist. The tile may reach beyond the end.
  mlir::Value countTokens();
  /// `whole` with the state `part` of rows from `firstRow` on.
  RowState insert(mlir::ValueRange part, mlir::ValueRange whole,
                  mlir::Value firstRow);
  /// Folds over the tiles of a domain.
  RowState foldTiles(const QueryRows &rows, const nsatile::FoldDomain &domain,
                     const KeyTiling &tiling);

  ProgramBuilder &program;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const QueryTile &tile;
  Scorer &scorer;
  const MaskBounds &bounds;
  PairFold &fold;
  nsatile::ScheduleAttr schedule;
};

/// The keys between the mask's bounds, or a part of them.
class RangeWalk final : public KeyWalk {
public:
  template <typename... Args>
  RangeWalk(std::optional<KeyPart> part, Args &&...args)
      : KeyWalk(std::forward<Args>(args)...), part(part) {}

  RowState run(const QueryRows &rows) override;

private:
  RowState walk(const QueryRows &rows);

  std::optional<KeyPart> part;
};

/// The keys of one block between the mask's bounds; none if `exists` is false.
class OneBlockWalk final : public KeyWalk {
public:
  template <typename... Args>
  OneBlockWalk(nsa::SelectionType selection, mlir::Value block,
               mlir::Value exists, Args &&...args)
      : KeyWalk(std::forward<Args>(args)...), selection(selection),
        block(block), exists(exists) {}

  RowState run(const QueryRows &rows) override;

private:
  nsa::SelectionType selection;
  mlir::Value block, exists;
};

/// Selected blocks. A unit is the rows that share a list: a token's rows, or a
/// single one where each query head selects for itself.
class SelectionWalk : public KeyWalk {
public:
  template <typename... Args>
  SelectionWalk(mlir::Value selection, Args &&...args)
      : KeyWalk(std::forward<Args>(args)...), selection(selection),
        type(mlir::cast<nsa::SelectionType>(selection.getType())),
        tiling(KeyTiling::ofBlocks(type.getBlock(), schedule.getKeys())),
        perQueryHead(isPerQueryHead(type, tile.dims, tile.group)) {}

protected:
  int64_t getUnitRows() { return perQueryHead ? 1 : tile.group; }
  mlir::Value getToken(mlir::Value unit);
  /// Number of units of tokens that exist.
  mlir::Value countUnits();
  RowState
  forEachUnit(mlir::ValueRange initial,
              llvm::function_ref<RowState(mlir::Value, mlir::ValueRange)> body);

  mlir::Value selection;
  nsa::SelectionType type;
  KeyTiling tiling;
  bool perQueryHead;
};

/// Unit by unit: each walks the blocks of its list.
class ListWalk final : public SelectionWalk {
public:
  using SelectionWalk::SelectionWalk;

  RowState run(const QueryRows &rows) override;
};

/// Block by block: the units that selected a block share its keys and values,
/// which otherwise come from far away once for each unit. Each unit meets its
/// blocks in the same order as when it walks them alone.
class BlockMajorWalk final : public SelectionWalk {
public:
  using SelectionWalk::SelectionWalk;

  RowState run(const QueryRows &rows) override;

private:
  RowState foldUnits(const QueryRows &rows,
                     llvm::ArrayRef<nsatile::TileRange> ranges,
                     mlir::Value number, mlir::Value selecting,
                     mlir::ValueRange state);
  /// Returns the state that `then` computes if the condition holds, else
  /// `state`.
  RowState when(mlir::Value condition, mlir::ValueRange state,
                llvm::function_ref<RowState()> then);
  /// Marks the tile's units that selected a block: 1 or 0, tensor<U x f32>.
  mlir::Value getSelectingUnits(mlir::Value lists, mlir::Value block);
  /// Marks units by their entries, given in `lists`.
  mlir::Value compareEntries(mlir::Value lists, mlir::Value block);
  /// Whether any of the units is marked, and whether each is, tensor<U x i1>.
  mlir::Value isAny(mlir::Value selecting);
  mlir::Value isSet(mlir::Value selecting);
};

/// The blocks that any row of the tile selected, or a part of their list. A row
/// that didn't select a block sees none of its keys. With a single list, all
/// rows selected all.
class UnionWalk final : public SelectionWalk {
public:
  template <typename... Args>
  UnionWalk(const UnionLists &lists, std::optional<KeyPart> part,
            Args &&...args)
      : SelectionWalk(std::forward<Args>(args)...), lists(lists), part(part) {}

  RowState run(const QueryRows &rows) override;

private:
  const UnionLists &lists;
  std::optional<KeyPart> part;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_KEYWALK_H
