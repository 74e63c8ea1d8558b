//===- SharedMemory.cpp - Places in shared memory -------------------------===//

#include "SharedMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace nsacc;

SharedTile SharedTile::get(RankedTensorType type) {
  return {SharedShape::get(type), type};
}

SharedMemory::SharedMemory(CodeBuilder &b, int64_t limit)
    : b(b), base(b.make<LLVM::AddressOfOp>(
                LLVM::LLVMPointerType::get(b.getContext(), 3), "nsacc_shared")),
      limit(limit) {}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static int64_t align(int64_t bytes) {
  return llvm::alignTo(std::max<int64_t>(bytes, 1), nsatile::kSharedAlignment);
}

int64_t SharedMemory::allocate(int64_t bytes, RankedTensorType tile) {
  bytes = align(bytes);
  int64_t begin = 0;
  for (const Place &place : places) {
    if (begin + bytes <= place.begin)
      break;
    begin = place.end;
  }
  return take(begin, bytes, tile);
}

int64_t SharedMemory::allocateUnused(int64_t bytes, RankedTensorType tile) {
  return take(peak, align(bytes), tile);
}

int64_t SharedMemory::take(int64_t begin, int64_t bytes,
                           RankedTensorType tile) {
  auto before = llvm::find_if(
      places, [&](const Place &place) { return place.begin >= begin; });
  places.insert(before, {begin, begin + bytes, tile});
  if (begin + bytes > peak) {
    peak = begin + bytes;
    fullest = places;
  }
  return begin;
}

/// "128x576 bf16", without dimensions of 1.
static std::string describe(RankedTensorType tile) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : tile.getShape())
    if (size != 1)
      os << (text.empty() ? "" : "x") << size;
  os << (text.empty() ? "1 " : " ") << tile.getElementType();
  return text;
}

std::string SharedMemory::describePeak() const {
  std::vector<std::pair<std::string, int64_t>> sorted;
  for (const Place &place : fullest) {
    if (!place.tile)
      continue;
    std::string tile = describe(place.tile);
    auto found = llvm::find_if(
        sorted, [&](const auto &other) { return other.first == tile; });
    if (found == sorted.end())
      found = sorted.insert(found, {tile, 0});
    found->second += place.end - place.begin;
  }
  llvm::sort(sorted,
             [](const auto &a, const auto &b) { return a.second > b.second; });
  constexpr size_t most = 3;
  std::vector<std::string> parts;
  for (const auto &[tile, taken] : ArrayRef(sorted).take_front(most))
    parts.push_back(std::to_string(taken) + " for tiles of " + tile);
  return llvm::join(parts, ", ");
}

void SharedMemory::release(int64_t offset) {
  llvm::erase_if(places,
                 [&](const Place &place) { return place.begin == offset; });
}

int64_t SharedMemory::allocateBarriers(int64_t count) {
  constexpr int64_t regionBytes = 1024;
  int64_t bytes = count * kBarrierBytes;
  if (barrierBytesLeft < bytes) {
    barrierBytesLeft = std::max(regionBytes, bytes);
    nextBarrier = allocate(barrierBytesLeft);
  }
  int64_t place = nextBarrier;
  nextBarrier += bytes;
  barrierBytesLeft -= bytes;
  return place;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value SharedMemory::getAddress(int64_t offset) {
  Value begin = b.make<LLVM::PtrToIntOp>(b.getI32Type(), base);
  return b.add(begin, b.i32(offset));
}

Value SharedMemory::getPointer(const SharedTile &tile, Value byteOffset) {
  Value offset = b.add(byteOffset, b.i32(tile.offset));
  if (tile.place)
    offset = b.add(offset, tile.place);
  return b.make<LLVM::GEPOp>(base.getType(), b.getI8Type(), base,
                             ValueRange{offset});
}

Value SharedMemory::getPointer(Value offset, Value more) {
  Value pointer = b.make<LLVM::GEPOp>(base.getType(), b.getI8Type(), base,
                                      ValueRange{offset});
  return more ? b.make<LLVM::GEPOp>(base.getType(), b.getI8Type(), pointer,
                                    ValueRange{more})
              : pointer;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value SharedMemory::getByteOffset(const SharedTile &tile, Value row,
                                  Value column) {
  Value inRow = b.mul(row, b.i32(tile.pitch));
  if (tile.swizzle == 0)
    return b.add(inRow, b.mul(column, b.i32(tile.elementBytes)));
  // Slab, row, chunk of 16 bytes among the row's 8, and place within the chunk.
  Value slab = b.make<arith::ShRUIOp>(column, b.i32(6));
  Value chunk = b.make<arith::ShRUIOp>(
      Value(b.make<arith::AndIOp>(column, b.i32(63))), b.i32(3));
  Value swizzled =
      b.make<arith::XOrIOp>(chunk, Value(b.make<arith::AndIOp>(row, b.i32(7))));
  Value inChunk = b.mul(Value(b.make<arith::AndIOp>(column, b.i32(7))),
                        b.i32(tile.elementBytes));
  Value offset = b.add(b.mul(slab, b.i32(tile.paddedRows * tile.pitch)), inRow);
  return b.add(b.add(offset, b.mul(swizzled, b.i32(16))), inChunk);
}

Value SharedMemory::getElementPointer(const SharedTile &tile,
                                      ValueRange coordinates) {
  // All dimensions but the last are rows.
  ArrayRef<int64_t> shape = tile.type.getShape();
  Value row = b.i32(0), column = b.i32(0);
  if (!coordinates.empty()) {
    column = coordinates.back();
    for (auto [coordinate, size] :
         llvm::zip_equal(coordinates.drop_back(), shape.drop_back()))
      row = b.add(b.mul(row, b.i32(size)), coordinate);
  }
  return getPointer(tile, getByteOffset(tile, row, column));
}

Value SharedMemory::loadElement(const SharedTile &tile,
                                ValueRange coordinates) {
  Type type = getRegisterType(tile.type.getElementType());
  return b.load(type, getElementPointer(tile, coordinates), tile.elementBytes);
}

Value SharedMemory::loadElementIf(Value condition, const SharedTile &tile,
                                  ValueRange coordinates, Value other) {
  // If the element isn't taken, any place of the tile will do.
  SmallVector<Value> places;
  for (Value coordinate : coordinates)
    places.push_back(b.select(condition, coordinate, b.i32(0)));
  return b.select(condition, loadElement(tile, places), other);
}
