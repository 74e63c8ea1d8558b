#include "nsacc/Tensor/Npy.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <random>

using namespace nsacc;

namespace {
class NpyTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("nsacc", "npy", path));
  }
  void TearDown() override { llvm::sys::fs::remove(path); }

  void write(llvm::StringRef bytes) {
    std::error_code code;
    llvm::raw_fd_ostream os(path, code);
    ASSERT_FALSE(code);
    os << bytes;
  }

  /// A file of format 1.0 with `header` and as many bytes of data.
  void writeArray(std::string header, size_t dataBytes) {
    std::string version = {1, 0, char(header.size()), 0};
    write("\x93NUMPY" + version + header + std::string(dataBytes, 1));
  }

  Tensor read() {
    llvm::Expected<Tensor> tensor = readNpy(path);
    EXPECT_TRUE(bool(tensor));
    if (tensor)
      return *tensor;
    ADD_FAILURE() << llvm::toString(tensor.takeError());
    return {};
  }

  /// The message after the path.
  std::string failure() {
    llvm::Expected<Tensor> tensor = readNpy(path);
    if (tensor)
      return "";
    std::string message = llvm::toString(tensor.takeError());
    EXPECT_EQ(message.rfind(("'" + path + "' ").str(), 0), 0u) << message;
    return message.substr(path.size() + 3);
  }

  llvm::SmallString<64> path;
};
} // namespace

TEST_F(NpyTest, EveryTypeRoundTrips) {
  for (DType dtype : {DType::Bool, DType::I32, DType::I64, DType::F16,
                      DType::BF16, DType::F32, DType::F64}) {
    Tensor tensor = Tensor::zeros(dtype, {2, 3});
    tensor.setReals({0, 1, 1, 0, 1, 1});
    ASSERT_FALSE(bool(writeNpy(path, tensor)));
    Tensor again = read();
    EXPECT_EQ(again.getDType(), dtype);
    EXPECT_EQ(again.getShape(), tensor.getShape());
    EXPECT_EQ(again.toReals(), tensor.toReals());
  }
}

TEST_F(NpyTest, ScalarsEmptyAndStridedTensors) {
  Tensor scalar = Tensor::zeros(DType::F64, {});
  scalar.setReals({0.1});
  ASSERT_FALSE(bool(writeNpy(path, scalar)));
  EXPECT_EQ(read().toReals(), std::vector<double>{0.1});
  ASSERT_FALSE(bool(writeNpy(path, Tensor::zeros(DType::F32, {3, 0}))));
  EXPECT_EQ(read().getShape(), (llvm::ArrayRef<int64_t>{3, 0}));
  std::vector<float> memory = {1, 2, 3, 4};
  ASSERT_FALSE(bool(writeNpy(path, Tensor::borrow(memory.data(), DType::F32,
                                                  {2, 2}, {1, 2}, nullptr))));
  EXPECT_EQ(read().toReals(), (std::vector<double>{1, 3, 2, 4}));
}

TEST_F(NpyTest, DataIsAligned) {
  ASSERT_FALSE(bool(writeNpy(path, Tensor::zeros(DType::F32, {7}))));
  auto buffer = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(buffer));
  EXPECT_EQ(((*buffer)->getBufferSize() - 28) % 64, 0u);
}

TEST_F(NpyTest, FortranOrder) {
  std::string header =
      "{'descr': '|b1', 'fortran_order': True, 'shape': (2, 3), }\n";
  std::string version = {1, 0, char(header.size()), 0};
  write("\x93NUMPY" + version + header + std::string{1, 0, 0, 1, 1, 0});
  EXPECT_EQ(read().toIntegers(), (std::vector<int64_t>{1, 0, 1, 0, 1, 0}));
}

TEST_F(NpyTest, OtherSpellings) {
  std::string header =
      "{\"shape\":(2,),\"fortran_order\":False,\"descr\":'|V2'}";
  std::string version = {2, 0, char(header.size()), 0, 0, 0};
  write("\x93NUMPY" + version + header + std::string{'\x80', 0x3f, 0, 0});
  EXPECT_EQ(read().getDType(), DType::BF16);
  EXPECT_EQ(read().toReals(), (std::vector<double>{1, 0}));
}

TEST_F(NpyTest, RejectsWhatIsNoArray) {
  write("");
  EXPECT_EQ(failure(),
            "is not a .npy file: it doesn't start with '\\x93NUMPY'");
  write("PK\x03\x04zip");
  EXPECT_EQ(failure(), "is an archive of several arrays (.npz); save each with "
                       "numpy.save");
  write("\x93NUMPY");
  EXPECT_EQ(failure(), "is truncated in its header");
  write("\x93NUMPY\x01");
  EXPECT_EQ(failure(), "is truncated in its header");
  write(llvm::StringRef("\x93NUMPY\x01\x00\x80\x00{", 11));
  EXPECT_EQ(failure(), "is truncated in its header");
  write(llvm::StringRef("\x93NUMPY\x07\x00\x80\x00{", 11));
  EXPECT_EQ(failure(), "has .npy format 7.0, expected 1.0, 2.0 or 3.0");
}

TEST_F(NpyTest, RejectsWrongSizes) {
  writeArray("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 11);
  EXPECT_EQ(failure(), "is truncated: its header promises 12 bytes of data, "
                       "found 11");
  writeArray("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 16);
  EXPECT_EQ(failure(), "has 4 bytes behind the array that its header "
                       "describes; save one array per file");
  writeArray("{'descr': '<f4', 'fortran_order': False, "
             "'shape': (4294967296, 4294967296)}",
             4);
  EXPECT_EQ(failure(), "has a header with a shape too large for any memory");
}

TEST_F(NpyTest, RejectsElementTypes) {
  auto descr = [&](std::string text) {
    writeArray("{'descr': " + text + ", 'fortran_order': False, 'shape': ()}",
               8);
    return failure();
  };
  EXPECT_EQ(descr("'|O'"), "holds Python objects; save an array of numbers");
  EXPECT_EQ(descr("'>f4'"), "holds big-endian numbers ('>f4'); save "
                            "array.astype('<f4')");
  EXPECT_EQ(descr("'<c8'"), "holds elements of type '<c8', expected bool, i4, "
                            "i8, f2, f4, f8 or bf16 (V2); convert with "
                            "array.astype");
  EXPECT_EQ(descr("[('a', '<f4')]"), "holds records with named fields; save "
                                     "one array of numbers for each input");
  EXPECT_EQ(descr("3"), "has a header without an element type in 'descr'");
}

TEST_F(NpyTest, RejectsBrokenHeaders) {
  for (const char *header :
       {"", "{", "{'descr'", "{'descr': '<f4'}", "{'descr': '<f4' 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x"}) {
    writeArray(header, 4);
    EXPECT_EQ(failure(), "has a header that can't be read") << header;
  }
  for (const char *shape : {"(-1,)", "(1 2)", "[1]", "(1.5,)", "(1"}) {
    writeArray("{'descr': '<f4', 'fortran_order': False, 'shape': " +
                   std::string(shape) + "}",
               4);
    EXPECT_EQ(failure(), "has a header whose 'shape' is no tuple of sizes");
  }
  writeArray("{'descr': '<f4', 'fortran_order': 1, 'shape': ()}", 4);
  EXPECT_EQ(failure(),
            "has a header whose 'fortran_order' is neither True nor False");
  writeArray("{'descr': '<f4', 'descr': '<f4'}", 4);
  EXPECT_EQ(failure(),
            "has an unexpected or repeated key 'descr' in its header");
}

TEST_F(NpyTest, MutatedFilesAreReadOrRejected) {
  ASSERT_FALSE(bool(writeNpy(path, Tensor::zeros(DType::F32, {2, 3}))));
  auto buffer = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(buffer));
  std::string original = (*buffer)->getBuffer().str();
  std::mt19937_64 random(0);
  for (int run = 0; run < 500; ++run) {
    std::string bytes = original;
    for (uint64_t changes = random() % 3 + 1; changes > 0; --changes)
      bytes[random() % bytes.size()] = random();
    if (run % 4 == 0)
      bytes.resize(random() % bytes.size());
    write(bytes);
    llvm::Expected<Tensor> tensor = readNpy(path);
    if (tensor)
      EXPECT_EQ(int64_t(tensor->toReals().size()), tensor->getNumElements());
    else
      EXPECT_FALSE(llvm::toString(tensor.takeError()).empty());
  }
}

TEST_F(NpyTest, ReportsFilesThatCannotBeOpened) {
  auto message = [](llvm::StringRef path) {
    return llvm::toString(readNpy(path).takeError());
  };
  EXPECT_EQ(message("/nowhere/q.npy"),
            "can't read '/nowhere/q.npy': No such file or directory");
  EXPECT_EQ(message("/"), "can't read '/': Is a directory");
  EXPECT_EQ(message("/dev/zero"), "'/dev/zero' is a device, not a .npy file");
  EXPECT_NE(
      llvm::toString(writeNpy("/nowhere/q.npy", Tensor::zeros(DType::F32, {1})))
          .find("can't write '/nowhere/q.npy': No such file"),
      std::string::npos);
}
