//===- SignatureTest.cpp - Packages and headers that don't fit ------------===//

#include "RTTest.h"
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

using namespace nsacc::rt;
using ::testing::HasSubstr;

namespace {

/// The signature that a header of makePackage's kernel expects.
struct Expected {
  nsacc_rt_parameter parameters[2] = {{"q", NSACC_DTYPE_BF16, 3, 0},
                                      {"o", NSACC_DTYPE_F32, 3, 1}};
  int64_t sizes[6] = {-1, -1, 64, -1, -1, 64};
  nsacc_rt_signature signature = {"attend", parameters, sizes, 2};

  Expected() = default;
  Expected(const Expected &) = delete;
};

class SignatureTest : public RTTest {
protected:
  static std::string failMatch(const Expected &expected) {
    Module module(makePackage());
    EXPECT_EQ(nsacc_rt_match(module, &expected.signature), NSACC_RT_PACKAGE);
    return nsacc_rt_message();
  }
};

/// A file that is removed when the test ends.
class File {
public:
  explicit File(const std::string &bytes)
      : path(std::filesystem::temp_directory_path() /
             ("nsacc-rt-" + std::to_string(getpid()) + ".nsapkg")) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~File() { std::filesystem::remove(path); }
  File(const File &) = delete;

  const std::filesystem::path path;
};

} // namespace

TEST_F(SignatureTest, ThePackageOfTheHeader) {
  Module module(makePackage());
  Expected expected;
  EXPECT_EQ(nsacc_rt_match(module, &expected.signature), NSACC_RT_OK);
  // Sizes that one side leaves open match here; launches check them.
  expected.sizes[0] = 7;
  expected.sizes[2] = -1;
  EXPECT_EQ(nsacc_rt_match(module, &expected.signature), NSACC_RT_OK);
  expected.signature.sizes = nullptr;
  EXPECT_EQ(nsacc_rt_match(module, &expected.signature), NSACC_RT_OK);
}

TEST_F(SignatureTest, AnotherKernel) {
  Expected expected;
  expected.signature.kernel = "moba";
  EXPECT_EQ(failMatch(expected),
            "the package is of kernel 'attend', its header of 'moba': write "
            "the header again with nsacc header, or load the package that it "
            "was written for");
}

TEST_F(SignatureTest, OtherParameters) {
  Expected fewer, name, result, dtype, noType, rank, size;
  fewer.signature.count = 1;
  EXPECT_THAT(failMatch(fewer),
              HasSubstr("kernel 'attend' has 2 inputs and results in the "
                        "package, 1 in its header"));
  name.parameters[0].name = "k";
  EXPECT_THAT(
      failMatch(name),
      HasSubstr("the package has input 'q' where its header has input 'k'"));
  result.parameters[1].is_result = 0;
  EXPECT_THAT(
      failMatch(result),
      HasSubstr("the package has result 'o' where its header has input 'o'"));
  dtype.parameters[1].dtype = NSACC_DTYPE_F16;
  EXPECT_THAT(
      failMatch(dtype),
      HasSubstr("result 'o' is of f32 in the package, of f16 in its header"));
  noType.parameters[1].dtype = 77;
  EXPECT_THAT(failMatch(noType), HasSubstr("of type 77 in its header"));
  rank.parameters[0].rank = 4;
  EXPECT_THAT(
      failMatch(rank),
      HasSubstr("input 'q' has 3 dimensions in the package, 4 in its header"));
  size.sizes[5] = 128;
  EXPECT_THAT(failMatch(size),
              HasSubstr("size 2 of result 'o' is 64 in the package, 128 in its "
                        "header"));
}

TEST_F(SignatureTest, NullPointers) {
  Module module(makePackage());
  Expected expected;
  EXPECT_EQ(nsacc_rt_match(nullptr, &expected.signature), NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(), "module is a null pointer");
  EXPECT_EQ(nsacc_rt_match(module, nullptr), NSACC_RT_INVALID);
  expected.signature.parameters = nullptr;
  EXPECT_EQ(nsacc_rt_match(module, &expected.signature), NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(), "parameters is a null pointer");
}

TEST_F(SignatureTest, LoadsFiles) {
  File file(writePackage(makePackage()));
  nsacc_rt_module *module = nullptr;
  ASSERT_EQ(nsacc_rt_load_file(file.path.c_str(), 0, &module), NSACC_RT_OK)
      << nsacc_rt_message();
  EXPECT_STREQ(nsacc_rt_kernel(module), "attend");
  nsacc_rt_unload(module);
}

TEST_F(SignatureTest, RefusesFiles) {
  File file(writePackage(makePackage()).substr(0, 100));
  nsacc_rt_module *module = nullptr;
  EXPECT_EQ(nsacc_rt_load_file(file.path.c_str(), 0, &module),
            NSACC_RT_PACKAGE);
  EXPECT_THAT(nsacc_rt_message(),
              HasSubstr("'" + file.path.string() + "': damaged package: "));
  EXPECT_EQ(module, nullptr);
  EXPECT_EQ(nsacc_rt_load_file("nowhere.nsapkg", 0, &module), NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(),
               "can't read 'nowhere.nsapkg': No such file or directory");
  EXPECT_EQ(nsacc_rt_load_file("/", 0, &module), NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(), "can't read '/': Is a directory");
}

// A reader that waits for the end would use up all memory.
TEST_F(SignatureTest, RefusesFilesWithoutAnEnd) {
  nsacc_rt_module *module = nullptr;
  EXPECT_EQ(nsacc_rt_load_file("/dev/zero", 0, &module), NSACC_RT_PACKAGE);
  EXPECT_THAT(nsacc_rt_message(), HasSubstr("'/dev/zero': not a package"));
  // Without this, writing to a closed pipe would end the process.
  auto before = std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread writer([descriptor = ends[1]] {
    std::string front = writePackage(makePackage());
    std::string_view bytes = front;
    while (write(descriptor, bytes.data(), bytes.size()) > 0)
      ;
  });
  std::string path = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_EQ(nsacc_rt_load_file(path.c_str(), 0, &module), NSACC_RT_PACKAGE);
  EXPECT_THAT(nsacc_rt_message(), HasSubstr("damaged package: expected "));
  close(ends[0]);
  writer.join();
  close(ends[1]);
  std::signal(SIGPIPE, before);
}
