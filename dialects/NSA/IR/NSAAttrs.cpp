//===- NSAAttrs.cpp - Attributes of the nsa dialect -----------------------===//

#include "NSA/IR/NSADialect.h"
#include "NSA/IR/NSATypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc::nsa;

#include "NSA/IR/NSAEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "NSA/IR/NSAAttrs.cpp.inc"

void NSADialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "NSA/IR/NSAAttrs.cpp.inc"
      >();
}

/// Keeps positions that are computed from extents far from overflow.
static constexpr int64_t maxExtent = std::numeric_limits<int32_t>::max();

//===----------------------------------------------------------------------===//
// PooledDimAttr
//===----------------------------------------------------------------------===//

LogicalResult
PooledDimAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      StringRef base, int64_t len, int64_t stride, Tail tail,
                      bool ragged, StringAttr count, int64_t offset,
                      int64_t memory) {
  if (std::max({len, stride, offset, memory}) > maxExtent ||
      offset < -maxExtent)
    return emitError() << "expected the extents of pooled keys to be below 2^31"
                          " tokens";
  if (stride < 1)
    return emitError() << "expected a pooling stride of at least 1, found "
                       << stride;
  if (len < stride)
    return emitError() << "expected a pooling length of at least the stride "
                       << stride << ", found " << len;
  if (len % stride != 0)
    return emitError() << "expected a pooling stride that divides the length "
                       << len << ", found " << stride;
  if (memory < 0)
    return emitError() << "expected no or some memory tokens, found " << memory;
  if (!count && (offset != 0 || memory != 0))
    return emitError() << "only declared pooled keys have an offset or memory "
                          "tokens; name their dimension";
  return success();
}

int64_t PooledDimAttr::getFirstStart() const {
  if (isDeclared())
    return getOffset();
  return getTail() == Tail::ZerosLeft ? getStride() - getLen() : 0;
}

int64_t PooledDimAttr::getNumEntries(int64_t tokens) const {
  assert(!isDeclared() && "the size of declared pools comes from their input");
  switch (getTail()) {
  case Tail::Drop:
    return tokens < getLen() ? 0 : (tokens - getLen()) / getStride() + 1;
  case Tail::ZerosLeft:
    return tokens / getStride();
  case Tail::Average:
  case Tail::ZerosRight:
    if (tokens == 0)
      return 0;
    return llvm::divideCeilSigned(std::max<int64_t>(tokens - getLen(), 0),
                                  getStride()) +
           1;
  }
  llvm_unreachable("unknown tail");
}

int64_t PooledDimAttr::getStart(int64_t entry) const {
  if (entry < getMemory())
    return 0;
  return getFirstStart() + (entry - getMemory()) * getStride();
}

int64_t PooledDimAttr::getEnd(int64_t entry) const {
  return entry < getMemory() ? 0 : getStart(entry) + getLen();
}

//===----------------------------------------------------------------------===//
// BlocksDimAttr
//===----------------------------------------------------------------------===//

LogicalResult
BlocksDimAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      StringRef base, int64_t block) {
  if (block < 1 || block > maxExtent)
    return emitError() << "expected blocks of at least 1 and below 2^31 tokens,"
                          " found "
                       << block;
  return success();
}
