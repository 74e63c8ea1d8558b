//===- Map.cpp - nsa.map --------------------------------------------------===//
//
// docs/spec.md, 3.9.
//
//===----------------------------------------------------------------------===//

#include "Evaluate.h"
#include "Parallel.h"
#include "ScalarProgram.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

namespace {

constexpr int64_t elementsAtATime = 1024;

/// An operand, broadcast: its stride along each dimension of the result.
struct Operand {
  const TensorValue *tensor;
  bool isReal;
  SmallVector<int64_t> strides;
};

/// Result elements [begin, end), all of batch entry `b`.
struct Piece {
  int64_t b, begin, end;
};

/// Computes one piece after the other.
class MapPiece {
public:
  MapPiece(const ScalarProgram &program, ArrayRef<Operand> operands,
           TensorValue &result)
      : operands(operands), result(result), frame(program, elementsAtATime) {}

  llvm::Error run(const Piece &piece);

private:
  void findOffsets(const Operand &operand, const Piece &piece);
  template <typename T>
  void load(unsigned argument, const std::vector<T> &data);
  void store(const Piece &piece);

  ArrayRef<Operand> operands;
  TensorValue &result;
  Frame frame;
  std::vector<int64_t> offsets;
};

} // namespace

/// Fills `offsets` with the operand's element for each element of the piece.
void MapPiece::findOffsets(const Operand &operand, const Piece &piece) {
  ArrayRef<int64_t> shape = result.shape;
  SmallVector<int64_t> at(shape.size());
  int64_t rest = piece.begin, offset = 0;
  for (int64_t dim = shape.size(); dim-- > 0; rest /= shape[dim]) {
    at[dim] = rest % shape[dim];
    offset += at[dim] * operand.strides[dim];
  }
  offsets.clear();
  for (int64_t element = piece.begin; element < piece.end; ++element) {
    offsets.push_back(offset);
    for (int64_t dim = shape.size(); dim-- > 0;) {
      offset += operand.strides[dim];
      if (++at[dim] < shape[dim])
        break;
      offset -= shape[dim] * operand.strides[dim];
      at[dim] = 0;
    }
  }
}

template <typename T>
void MapPiece::load(unsigned argument, const std::vector<T> &data) {
  std::vector<T> values;
  for (int64_t offset : offsets)
    values.push_back(data[offset]);
  frame.assign(argument, ArrayRef<T>(values));
}

/// Converts the yielded values to the result's kind.
void MapPiece::store(const Piece &piece) {
  auto copy = [&](auto from) {
    if (!result.reals.empty())
      llvm::copy(from, result.reals.begin() + piece.begin);
    else
      llvm::copy(from, result.integers.begin() + piece.begin);
  };
  if (frame.resultIsReal())
    copy(frame.getReals());
  else
    copy(frame.getIntegers());
}

llvm::Error MapPiece::run(const Piece &piece) {
  for (auto [argument, operand] : llvm::enumerate(operands)) {
    findOffsets(operand, piece);
    if (operand.isReal)
      load(argument, operand.tensor->reals);
    else
      load(argument, operand.tensor->integers);
  }
  if (std::optional<FailedAssertion> failed =
          frame.run(piece.end - piece.begin, piece.b))
    return makeError(
        failed->message + " for element " +
        describePosition(piece.begin + failed->lane, result.shape));
  store(piece);
  return llvm::Error::success();
}

/// The operand's strides, 0 along dimensions that it doesn't have.
static Operand broadcast(nsa::MapOp op, Value value, const Context &context) {
  auto type = cast<nsa::NamedTensorType>(value.getType());
  const TensorValue &tensor = context.getTensor(value);
  Operand operand{&tensor, isa<FloatType>(type.getElementType()),
                  SmallVector<int64_t>(op.getType().getRank(), 0)};
  nsa::DimSet dims = op.getPlaces(value);
  ArrayRef<int64_t> shape = tensor.shape;
  int64_t stride = 1;
  for (int64_t dim = dims.find_last(); dim >= 0; dim = dims.find_prev(dim)) {
    operand.strides[dim] = stride;
    stride *= shape.back();
    shape = shape.drop_back();
  }
  return operand;
}

/// Pieces of a bounded size that don't cross a batch entry of a ragged result.
static std::vector<Piece> cut(nsa::NamedTensorType type, int64_t numElements,
                              const Context &context) {
  std::vector<Piece> pieces;
  auto add = [&](int64_t b, int64_t begin, int64_t end) {
    for (; begin < end; begin += elementsAtATime)
      pieces.push_back({b, begin, std::min(begin + elementsAtATime, end)});
  };
  if (!type.isRagged()) {
    add(0, 0, numElements);
    return pieces;
  }
  RowOffsets rows = context.environment.getRows(type.getDims());
  int64_t inner = rows.getNumRows() ? numElements / rows.getNumRows() : 0;
  for (int64_t b = 0; b < rows.getBatch(); ++b) {
    int64_t begin = rows.getStart(b) * inner;
    add(b, begin, begin + rows.getLength(b) * inner);
  }
  return pieces;
}

llvm::Expected<TensorValue>
nsacc::interpreter::evaluateMap(nsa::MapOp op, const Context &context) {
  auto type = cast<nsa::NamedTensorType>(op.getResult().getType());
  llvm::Expected<ScalarProgram> program =
      ScalarProgram::compile(op.getBody(), context);
  if (!program)
    return program.takeError();
  SmallVector<Operand> operands;
  for (Value input : op.getInputs())
    operands.push_back(broadcast(op, input, context));

  SmallVector<int64_t> shape = context.environment.getShape(type.getDims());
  TensorValue result = isa<FloatType>(type.getElementType())
                           ? TensorValue::makeReal(shape)
                           : TensorValue::makeInteger(shape);
  std::vector<Piece> pieces = cut(type, getNumElements(shape), context);
  auto makeWorker = [&]() -> RowWorker {
    auto worker = std::make_shared<MapPiece>(*program, operands, result);
    return [&, worker](int64_t piece) { return worker->run(pieces[piece]); };
  };
  if (llvm::Error error =
          forEachRow(pieces.size(), context.threads, makeWorker))
    return std::move(error);
  return result;
}
