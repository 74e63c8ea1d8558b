//===- FilesTest.cpp - Files that readers see complete --------------------===//

#include "nsacc/Support/Files.h"
#include "ProcessState.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace nsacc;
namespace fs = llvm::sys::fs;

namespace {

class FilesTest : public ::testing::Test {
protected:
  FilesTest() { EXPECT_FALSE(fs::createUniqueDirectory("nsacc-files", root)); }
  ~FilesTest() override { fs::remove_directories(root); }

  std::string getPath(llvm::StringRef name) const {
    return (root + "/" + name).str();
  }
  static llvm::Error write(const std::string &path, llvm::StringRef text) {
    return writeWhole(path, fs::owner_read | fs::owner_write,
                      [&](llvm::raw_ostream &os) { os << text; });
  }
  static std::string read(const std::string &path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  unsigned countFiles() const {
    unsigned count = 0;
    std::error_code error;
    for (fs::directory_iterator file(root, error), end; file != end && !error;
         file.increment(error))
      ++count;
    return count;
  }

  llvm::SmallString<128> root;
};

} // namespace

TEST_F(FilesTest, AreReplaced) {
  std::string path = getPath("f");
  EXPECT_EQ(toString(write(path, "one")), "");
  EXPECT_EQ(toString(write(path, "two")), "");
  EXPECT_EQ(read(path), "two");
  EXPECT_EQ(fs::getPermissions(path).get(), fs::owner_read | fs::owner_write);
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(FilesTest, ThatCannotBeReplacedLeaveNothingBehind) {
  std::string path = getPath("folder");
  ASSERT_FALSE(fs::create_directory(path));
  EXPECT_NE(toString(write(path, "one")), "");
  EXPECT_NE(toString(write(getPath("none/f"), "one")), "");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(FilesTest, LeaveTheProcessAsItWas) {
  ProcessState state;
  EXPECT_EQ(toString(write(getPath("f"), std::string(1 << 20, 'x'))), "");
  EXPECT_NE(toString(write(getPath("none/f"), "one")), "");
  state.expectUnchanged();
}
