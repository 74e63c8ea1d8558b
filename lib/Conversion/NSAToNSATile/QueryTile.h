//===- QueryTile.h - The queries that one program works on ------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_QUERYTILE_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_QUERYTILE_H

#include "ScalarTiler.h"
#include "nsacc/Schedule/QueryShape.h"

namespace nsacc {

/// Tokens of a tile that a list in memory names: element i of it is a token's
/// number in the batch row times `top`, plus less than that.
struct ListedTokens {
  mlir::Value entries;
  /// The indices of the tile's first one, the last of which is below `end`.
  llvm::SmallVector<mlir::Value> place;
  mlir::Value end;
  int64_t top;
  /// No token of the tile is before the first one or behind the end.
  mlir::Value firstToken, endToken;
};

/// Channels of values, and of what is computed of them, that a program has.
struct ChannelSlice {
  mlir::Value number, first;
  int64_t count;
};

/// `tokens` neighbouring query tokens of one batch row, or listed ones, times
/// the query heads of one key head. Row r is token r / group, head r % group of
/// the tile.
struct QueryTile {
  QueryDims dims;
  int64_t tokens = 1, group = 1;
  mlir::Value batchRow, keyHead;
  /// The first of the query heads.
  mlir::Value firstHead;
  /// The tile's number among those of its batch row.
  mlir::Value number;
  /// Index of the first token in its batch row, and the row's length.
  mlir::Value firstToken, numTokens;
  std::optional<ListedTokens> listed;
  /// Those of states, one of which the tile is in; null where there are none.
  const StateSlices *stateSlices = nullptr;
  /// The tile's number and its first token in the slice; null where tokens
  /// aren't cut.
  mlir::Value numberInSlice = {}, tokenOfSlice = {};
  /// None: all.
  std::optional<ChannelSlice> slice;
  /// Where the batch row starts in packed tensors; 0 for dense ones.
  mlir::Value rowStart;
  /// For each row of the tile: token index in the batch row, query head.
  mlir::Value tokenOfRow, headOfRow;

  int64_t getRows() const { return tokens * group; }
};

/// Into how many slices a schedule cuts the channels of a tensor; 1 for those
/// without channels.
int64_t countSlices(PlanBuilder &plan, mlir::Value tensor,
                    nsatile::ScheduleAttr schedule);
ChannelSlice getSlice(ProgramBuilder &program, mlir::Value number,
                      nsatile::ScheduleAttr schedule);

/// Where the queries of a tile stand.
struct QueryPlace {
  mlir::Value tokenTile, keyHead, batchRow;
  /// The first token of tile 0, which may lie before the row's; null: 0.
  mlir::Value origin = {};
  /// Of programs that share a tile; null without any.
  mlir::Value part = {};
  /// The first query head; null: that of the key head.
  mlir::Value firstHead = {};
  /// The program runs in their loop, on this tile of the slice's tokens, if
  /// these are cut.
  const StateSlices *stateSlices = nullptr;
  mlir::Value tileOfSlice = {};
};

/// The tile of `tokens` tokens at a place.
QueryTile createQueryTile(ProgramBuilder &program, const QueryDims &dims,
                          int64_t tokens, int64_t group,
                          const QueryPlace &place);

/// The tile of `tokens` listed tokens at a place, whose number is that of the
/// tile among all of a list.
QueryTile createListedTile(ProgramBuilder &program, const QueryDims &dims,
                           int64_t tokens, int64_t group,
                           const QueryPlace &place, ListedTokens listed);

/// The same tokens with one row each, for tensors with a row for each key head.
QueryTile getKeyHeadTile(ProgramBuilder &program, const QueryTile &tile,
                         mlir::Attribute keyHeadDim);

/// The tile as it stands in the buffer of a tensor that the plan has
/// materialized: one of a slice's tokens where the buffer has those of a slice.
QueryTile getTileInBuffer(ProgramBuilder &program, const QueryTile &tile,
                          mlir::Value tensor);

/// tensor<T x …> to tensor<R x …>: every query head has its token's value.
mlir::Value repeatForHeads(ProgramBuilder &program, const QueryTile &tile,
                           mlir::Value tokens);

/// The elements of a tensor that belong to the tile, as computed with (f32,
/// index or i1). It has the dimensions `dims` of [batch, tokens, heads,
/// channels]. `buffer` stands in the program.
Tile loadQueryTile(ProgramBuilder &program, const QueryTile &tile,
                   nsa::NamedTensorType type, const nsa::DimSet &dims,
                   mlir::Value buffer, TileMath &math);
/// The same as stored, for tensors with batch, token, head and channels.
mlir::Value loadQueryMatrix(ProgramBuilder &program, const QueryTile &tile,
                            mlir::Value tensor, int64_t channels);

/// What code computed to elements in memory.
mlir::Value narrow(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value, mlir::Type elementType);
/// Stores a tile of a tensor of type `type`, converted to its element type.
void storeQueryTile(ProgramBuilder &program, const QueryTile &tile, Tile value,
                    nsa::NamedTensorType type, mlir::Value buffer,
                    TileMath &math);

/// Rows of f32 in a workspace buffer [prefix, batch, token, head] or [prefix,
/// batch, token, head, channels].
mlir::Value loadQueryState(ProgramBuilder &program, const QueryTile &tile,
                           mlir::Value buffer, mlir::Value prefix);
void storeQueryState(ProgramBuilder &program, const QueryTile &tile,
                     mlir::Value rows, mlir::Value buffer, mlir::Value prefix);

/// The same of listed tokens, whose rows stand where the list says, in a buffer
/// [batch, head, tokens x top, group] or [batch, head, tokens x top, group,
/// channels].
void storeListedState(ProgramBuilder &program, const QueryTile &tile,
                      mlir::Value rows, mlir::Value buffer);
/// What stands there of neighbouring tokens and one of their `top` entries.
mlir::Value loadListedState(ProgramBuilder &program, const QueryTile &tile,
                            mlir::Value buffer, mlir::Value entry, int64_t top);

/// The block indices of the tile's tokens, or of its rows for a selection per
/// query head: tensor<U x top x i32>. Tokens beyond the end have none (-1).
mlir::Value loadSelection(ProgramBuilder &program, const QueryTile &tile,
                          mlir::Value selection);
/// Whether rows of the tile have an entry number `entry` of their lists,
/// tensor<R x i1>.
mlir::Value hasEntry(ProgramBuilder &program, const QueryTile &tile,
                     mlir::Value selection, mlir::Value entry);
/// Where the list of a token of the tile stands in the selection's buffer,
/// along the dimension of tokens.
mlir::Value getListOfToken(ProgramBuilder &program, const QueryTile &tile,
                           mlir::Value selection, mlir::Value token);

/// Along the dimension of heads, of a selection for each key head or for all.
mlir::Value getListHead(ProgramBuilder &program, const QueryTile &tile,
                        mlir::Value selection);

/// Where the lists of a tile's rows (TileLists) stand in the selection's
/// buffer, as nsatile.unite has it.
struct ListsOfTile {
  llvm::SmallVector<mlir::Value> offsets;
  int64_t along, heads;
  mlir::Value end;
};
ListsOfTile getListsOfTile(ProgramBuilder &program, const QueryTile &tile,
                           mlir::Value selection);

/// tensor<A x B> or tensor<B> to tensor<1 x AB>.
mlir::Value toOneRow(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value value);
/// Rows [first, first + count) of a tile of rows or of rows and columns.
mlir::Value extractRows(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value tile, mlir::Value first, int64_t count);
/// `tile` with `rows` from row `first` on.
mlir::Value insertRows(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value rows, mlir::Value tile, mlir::Value first);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_QUERYTILE_H
