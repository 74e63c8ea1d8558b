//===- Npy.cpp - Tensors as NumPy .npy files ------------------------------===//

#include "nsacc/Tensor/Npy.h"
#include "Errors.h"
#include "nsacc/Support/Files.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;

static constexpr llvm::StringLiteral magic("\x93NUMPY");

//===-- Header ------------------------------------------------------------===//

namespace {
struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Parses the Python dictionary that the format requires: the keys 'descr',
/// 'fortran_order' and 'shape', each once, with literals as values.
class HeaderParser {
public:
  explicit HeaderParser(llvm::StringRef text) : rest(text) {}

  llvm::Expected<Header> parse();

private:
  bool consume(char token);
  std::optional<llvm::StringRef> parseString();
  llvm::Error parseEntry(llvm::StringRef key);
  llvm::Error parseDescr();
  llvm::Error parseOrder();
  llvm::Error parseShape();

  llvm::StringRef rest;
  Header header;
  bool hasDescr = false, hasOrder = false, hasShape = false;
};
} // namespace

bool HeaderParser::consume(char token) {
  rest = rest.ltrim();
  return rest.consume_front(llvm::StringRef(&token, 1));
}

std::optional<llvm::StringRef> HeaderParser::parseString() {
  rest = rest.ltrim();
  if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
    return std::nullopt;
  size_t end = rest.find(rest.front(), 1);
  if (end == llvm::StringRef::npos)
    return std::nullopt;
  llvm::StringRef text = rest.slice(1, end);
  rest = rest.drop_front(end + 1);
  return text;
}

llvm::Error HeaderParser::parseDescr() {
  hasDescr = true;
  if (rest.ltrim().starts_with("["))
    return makeError("holds records with named fields; save one array of "
                     "numbers for each input");
  std::optional<llvm::StringRef> descr = parseString();
  if (!descr)
    return makeError("has a header without an element type in 'descr'");
  header.descr = descr->str();
  return llvm::Error::success();
}

llvm::Error HeaderParser::parseOrder() {
  hasOrder = true;
  rest = rest.ltrim();
  header.fortranOrder = rest.consume_front("True");
  if (!header.fortranOrder && !rest.consume_front("False"))
    return makeError("has a header whose 'fortran_order' is neither True nor "
                     "False");
  return llvm::Error::success();
}

llvm::Error HeaderParser::parseShape() {
  hasShape = true;
  auto fail = [] {
    return makeError("has a header whose 'shape' is no tuple of sizes");
  };
  if (!consume('('))
    return fail();
  while (!consume(')')) {
    int64_t size;
    rest = rest.ltrim();
    if (rest.consumeInteger(10, size) || size < 0)
      return fail();
    header.shape.push_back(size);
    if (!consume(',') && !rest.ltrim().starts_with(")"))
      return fail();
  }
  return llvm::Error::success();
}

llvm::Error HeaderParser::parseEntry(llvm::StringRef key) {
  if (key == "descr" && !hasDescr)
    return parseDescr();
  if (key == "fortran_order" && !hasOrder)
    return parseOrder();
  if (key == "shape" && !hasShape)
    return parseShape();
  return makeError("has an unexpected or repeated key '{0}' in its header",
                   key);
}

llvm::Expected<Header> HeaderParser::parse() {
  auto fail = [] { return makeError("has a header that can't be read"); };
  if (!consume('{'))
    return fail();
  while (!consume('}')) {
    std::optional<llvm::StringRef> key = parseString();
    if (!key || !consume(':'))
      return fail();
    if (llvm::Error error = parseEntry(*key))
      return error;
    if (!consume(',') && !rest.ltrim().starts_with("}"))
      return fail();
  }
  if (!rest.trim().empty() || !hasDescr || !hasOrder || !hasShape)
    return fail();
  return std::move(header);
}

//===-- Element types -----------------------------------------------------===//

static std::optional<DType> parseDescr(llvm::StringRef descr) {
  return llvm::StringSwitch<std::optional<DType>>(descr)
      .Cases({"|b1", "<b1"}, DType::Bool)
      .Case("<i4", DType::I32)
      .Case("<i8", DType::I64)
      .Case("<f2", DType::F16)
      .Cases({"<V2", "|V2", "bfloat16"}, DType::BF16)
      .Case("<f4", DType::F32)
      .Case("<f8", DType::F64)
      .Default(std::nullopt);
}

static llvm::StringRef getDescr(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return "|b1";
  case DType::I32:
    return "<i4";
  case DType::I64:
    return "<i8";
  case DType::F16:
    return "<f2";
  case DType::BF16:
    return "<V2";
  case DType::F32:
    return "<f4";
  case DType::F64:
    return "<f8";
  }
  llvm_unreachable("not a dtype");
}

static llvm::Error rejectDescr(llvm::StringRef descr) {
  if (descr.starts_with("|O") || descr == "O")
    return makeError("holds Python objects; save an array of numbers");
  if (descr.starts_with(">"))
    return makeError("holds big-endian numbers ('{0}'); save "
                     "array.astype('<{1}')",
                     descr, descr.drop_front());
  return makeError("holds elements of type '{0}', expected bool, i4, i8, f2, "
                   "f4, f8 or bf16 (V2); convert with array.astype",
                   descr);
}

//===-- Reading -----------------------------------------------------------===//

/// Splits a file into the text of its header and its data.
static llvm::Expected<std::pair<llvm::StringRef, llvm::StringRef>>
splitFile(llvm::StringRef bytes) {
  if (!bytes.starts_with(magic)) {
    if (bytes.starts_with("PK\x03\x04"))
      return makeError("is an archive of several arrays (.npz); save each with "
                       "numpy.save");
    return makeError("is not a .npy file: it doesn't start with '\\x93NUMPY'");
  }
  llvm::StringRef rest = bytes.drop_front(magic.size());
  if (rest.size() < 2)
    return makeError("is truncated in its header");
  int major = rest[0], minor = rest[1];
  if (major < 1 || major > 3 || minor != 0)
    return makeError("has .npy format {0}.{1}, expected 1.0, 2.0 or 3.0", major,
                     minor);
  rest = rest.drop_front(2);
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (rest.size() < lengthBytes)
    return makeError("is truncated in its header");
  size_t length = major == 1 ? llvm::support::endian::read16le(rest.data())
                             : llvm::support::endian::read32le(rest.data());
  rest = rest.drop_front(lengthBytes);
  if (rest.size() < length)
    return makeError("is truncated in its header");
  return std::make_pair(rest.take_front(length), rest.drop_front(length));
}

static std::optional<int64_t> countBytes(DType dtype,
                                         llvm::ArrayRef<int64_t> shape) {
  std::optional<int64_t> bytes = getSize(dtype);
  // A size of zero makes the tensor empty, but its strides must still fit.
  for (int64_t size : shape)
    if (bytes)
      bytes = llvm::checkedMul(*bytes, std::max<int64_t>(size, 1));
  if (bytes && llvm::is_contained(shape, 0))
    return 0;
  return bytes;
}

static Tensor makeTensor(DType dtype, const Header &header,
                         llvm::StringRef data) {
  std::vector<int64_t> stored = header.shape;
  if (header.fortranOrder)
    std::reverse(stored.begin(), stored.end());
  Tensor memory = Tensor::zeros(dtype, stored);
  llvm::copy(data, static_cast<char *>(memory.getData()));
  if (!header.fortranOrder)
    return memory;
  llvm::SmallVector<int64_t, 4> strides(memory.getStrides());
  std::reverse(strides.begin(), strides.end());
  return Tensor::borrow(memory.getData(), dtype, header.shape, strides,
                        std::make_shared<Tensor>(memory));
}

static llvm::Expected<Tensor> parseNpy(llvm::StringRef bytes) {
  auto split = splitFile(bytes);
  if (!split)
    return split.takeError();
  auto [text, data] = *split;
  llvm::Expected<Header> header = HeaderParser(text).parse();
  if (!header)
    return header.takeError();
  std::optional<DType> dtype = parseDescr(header->descr);
  if (!dtype)
    return rejectDescr(header->descr);
  std::optional<int64_t> expected = countBytes(*dtype, header->shape);
  if (!expected)
    return makeError("has a header with a shape too large for any memory");
  if (int64_t(data.size()) < *expected)
    return makeError("is truncated: its header promises {0} bytes of data, "
                     "found {1}",
                     *expected, data.size());
  if (int64_t(data.size()) > *expected)
    return makeError("has {0} bytes behind the array that its header "
                     "describes; save one array per file",
                     data.size() - *expected);
  return makeTensor(*dtype, *header, data);
}

llvm::Expected<Tensor> nsacc::readNpy(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  std::error_code code = llvm::sys::fs::status(path, status);
  if (!code && llvm::sys::fs::is_directory(status))
    code = std::make_error_code(std::errc::is_a_directory);
  if (!code && (status.type() == llvm::sys::fs::file_type::character_file ||
                status.type() == llvm::sys::fs::file_type::block_file))
    return makeError("'{0}' is a device, not a .npy file", path);
  if (code)
    return makeError("can't read '{0}': {1}", path, code.message());
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("can't read '{0}': {1}", path,
                     buffer.getError().message());
  llvm::Expected<Tensor> tensor = parseNpy((*buffer)->getBuffer());
  if (!tensor)
    return makeError("'{0}' {1}", path, llvm::toString(tensor.takeError()));
  return tensor;
}

//===-- Writing -----------------------------------------------------------===//

static std::string formatHeader(const Tensor &tensor) {
  auto sizes = llvm::map_range(tensor.getShape(), [](int64_t size) {
    return std::to_string(size) + ",";
  });
  std::string text = llvm::formatv(
      "{{'descr': '{0}', 'fortran_order': False, 'shape': ({1}), }",
      getDescr(tensor.getDType()), llvm::join(sizes, " "));
  // Data starts at a multiple of 64 bytes; a line break ends the header.
  size_t before = magic.size() + 4;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string version = {1, 0, char(text.size() & 0xff),
                         char(text.size() >> 8)};
  return magic.str() + version + text;
}

llvm::Error nsacc::writeNpy(llvm::StringRef path, const Tensor &tensor) {
  Tensor contiguous = tensor.toContiguous();
  llvm::StringRef data(static_cast<const char *>(contiguous.getData()),
                       tensor.getNumElements() * getSize(tensor.getDType()));
  llvm::Error error = writeWhole(
      path, llvm::sys::fs::all_read | llvm::sys::fs::owner_write,
      [&](llvm::raw_ostream &os) { os << formatHeader(tensor) << data; });
  if (error)
    return makeError("can't write '{0}': {1}", path,
                     llvm::toString(std::move(error)));
  return llvm::Error::success();
}
