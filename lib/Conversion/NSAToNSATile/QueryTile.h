//===- QueryTile.h - Queries that one program works on ----------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_QUERYTILE_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_QUERYTILE_H

#include "ScalarTiler.h"
#include "nsacc/Schedule/QueryShape.h"

namespace nsacc {

/// Tokens of a tile that a list in memory names. An element of the list is a
/// token's number in the batch row times `top`, plus a number below `top`.
struct ListedTokens {
  mlir::Value entries;
  /// Indices of the tile's first element. The last index is below `end`.
  llvm::SmallVector<mlir::Value> place;
  mlir::Value end;
  int64_t top;
  /// No token of the tile is before `firstToken`, or at `endToken` or behind
  /// it.
  mlir::Value firstToken, endToken;
};

/// Channels that a program has of values and of their results.
struct ChannelSlice {
  mlir::Value number, first;
  int64_t count;
};

/// Place of a tile's queries.
struct QueryPlace {
  /// Number of the tile within its batch row.
  mlir::Value tokenTile;
  mlir::Value keyHead, batchRow;
  /// First token of tile 0, which may lie before the row's first; null for 0.
  mlir::Value origin = {};
  /// Number of the program among programs that share a tile; null without any.
  mlir::Value part = {};
  /// First query head; null for the key head's first one.
  mlir::Value firstHead = {};
  /// Slices, if the program runs in their loop. It then works on tile
  /// `tileOfSlice` of the slice's tokens, if these are cut.
  const StateSlices *stateSlices = nullptr;
  mlir::Value tileOfSlice = {};
};

/// `tokens` neighbouring or listed query tokens of one batch row, times the
/// query heads of one key head. Row r is token r / group and head r % group of
/// the tile.
struct QueryTile : QueryPlace {
  QueryDims dims;
  int64_t tokens = 1, group = 1;
  /// Index of the first token in its batch row, and the row's length.
  mlir::Value firstToken, numTokens;
  std::optional<ListedTokens> listed;
  /// Its first token in the slice; null where tokens aren't cut.
  mlir::Value tokenOfSlice = {};
  /// None for all channels.
  std::optional<ChannelSlice> slice;
  /// Start of the batch row in packed tensors; 0 for dense ones.
  mlir::Value rowStart;
  /// For each row of the tile: token index in the batch row, query head.
  mlir::Value tokenOfRow, headOfRow;

  int64_t getRows() const { return tokens * group; }
  /// Indices in front of the token's: the batch row's, where the batch is
  /// dense.
  llvm::SmallVector<mlir::Value> getBatch() const {
    return dims.batch ? llvm::SmallVector<mlir::Value>{batchRow}
                      : llvm::SmallVector<mlir::Value>();
  }
};

/// Number of slices into which a schedule cuts the channels of a tensor; 1 for
/// tensors without channels.
int64_t countSlices(PlanBuilder &plan, mlir::Value tensor,
                    nsatile::ScheduleAttr schedule);
ChannelSlice getSlice(ProgramBuilder &program, mlir::Value number,
                      nsatile::ScheduleAttr schedule);

/// All tokens of a batch row, to ask for bounds. It has no rows.
QueryTile getBatchRowTile(ProgramBuilder &program, const QueryDims &dims,
                          int64_t group, mlir::Value keyHead,
                          mlir::Value batchRow);
/// The tile of `tokens` tokens at a place.
QueryTile createQueryTile(ProgramBuilder &program, const QueryDims &dims,
                          int64_t tokens, int64_t group,
                          const QueryPlace &place);

/// The tile of `tokens` listed tokens at a place. Its number counts all tiles
/// of a list.
QueryTile createListedTile(ProgramBuilder &program, const QueryDims &dims,
                           int64_t tokens, int64_t group,
                           const QueryPlace &place, ListedTokens listed);

/// Tile of the same tokens with one row each, for tensors with a row for each
/// key head.
QueryTile getKeyHeadTile(ProgramBuilder &program, const QueryTile &tile,
                         mlir::Attribute keyHeadDim);

/// The tile in the buffer of a tensor that the plan has materialized. Its
/// tokens count within the slice where the buffer has a slice's tokens.
QueryTile getTileInBuffer(ProgramBuilder &program, const QueryTile &tile,
                          mlir::Value tensor);

/// Repeats tensor<T x …> to tensor<R x …>: every query head has its token's
/// value.
mlir::Value repeatForHeads(ProgramBuilder &program, const QueryTile &tile,
                           mlir::Value tokens);

/// Loads the tile's elements of a tensor, in types for computing (f32, index or
/// i1). The tensor has the dimensions `dims` of [batch, tokens, heads,
/// channels]. `buffer` is a value of the program.
Tile loadQueryTile(ProgramBuilder &program, const QueryTile &tile,
                   nsa::NamedTensorType type, const nsa::DimSet &dims,
                   mlir::Value buffer, TileMath &math);
/// Loads rows as stored, of a tensor with batch, token, head and channels.
mlir::Value loadQueryMatrix(ProgramBuilder &program, const QueryTile &tile,
                            mlir::Value tensor, int64_t channels);

/// Converts computed values to elements in memory.
mlir::Value narrow(mlir::OpBuilder &builder, mlir::Location loc,
                   mlir::Value value, mlir::Type elementType);
/// Stores a tile of a tensor of type `type`, converted to its element type.
void storeQueryTile(ProgramBuilder &program, const QueryTile &tile, Tile value,
                    nsa::NamedTensorType type, mlir::Value buffer,
                    TileMath &math);

/// Loads or stores rows of f32 in a workspace buffer [prefix, batch, token,
/// head] or [prefix, batch, token, head, channels].
mlir::Value loadQueryState(ProgramBuilder &program, const QueryTile &tile,
                           mlir::Value buffer, mlir::Value prefix);
void storeQueryState(ProgramBuilder &program, const QueryTile &tile,
                     mlir::Value rows, mlir::Value buffer, mlir::Value prefix);

/// Stores rows of listed tokens at the places that the list names, in a buffer
/// [batch, head, tokens x top, group] or [batch, head, tokens x top, group,
/// channels].
void storeListedState(ProgramBuilder &program, const QueryTile &tile,
                      mlir::Value rows, mlir::Value buffer);
/// Loads rows of neighbouring tokens for one of their `top` entries, from such
/// a buffer.
mlir::Value loadListedState(ProgramBuilder &program, const QueryTile &tile,
                            mlir::Value buffer, mlir::Value entry, int64_t top);

/// Loads the block indices of the tile's tokens, or of its rows for a selection
/// per query head: tensor<U x top x i32>. Tokens beyond the end have none (-1).
mlir::Value loadSelection(ProgramBuilder &program, const QueryTile &tile,
                          mlir::Value selection);
/// Whether rows of the tile have an entry number `entry` of their lists,
/// tensor<R x i1>.
mlir::Value hasEntry(ProgramBuilder &program, const QueryTile &tile,
                     mlir::Value selection, mlir::Value entry);
/// Place of a token's list in the selection's buffer, along the dimension of
/// tokens.
mlir::Value getListOfToken(ProgramBuilder &program, const QueryTile &tile,
                           mlir::Value selection, mlir::Value token);

/// Place of a list along the dimension of heads, of a selection for each key
/// head or for all.
mlir::Value getListHead(ProgramBuilder &program, const QueryTile &tile,
                        mlir::Value selection);

/// Place of the lists of a tile's rows (TileLists) in the selection's buffer,
/// as RowLists has it.
struct ListsOfTile {
  llvm::SmallVector<mlir::Value> offsets;
  int64_t along, heads;
  mlir::Value end;
};
ListsOfTile getListsOfTile(ProgramBuilder &program, const QueryTile &tile,
                           mlir::Value selection);

/// Reshapes tensor<A x B> or tensor<B> to tensor<1 x AB>.
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
