//===- MessagePackTest.cpp - Reading MessagePack --------------------------===//

#include "MessagePack.h"
#include <bit>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace nsacc::rt;
using Json = nlohmann::json;

static std::string write(const Json &json) {
  std::string bytes;
  Json::to_msgpack(json, nlohmann::detail::output_adapter<char>(bytes));
  return bytes;
}

/// The value as text, in which binaries are numbers.
static std::string read(const std::string &bytes, unsigned maxNesting = 16) {
  auto json = readMessagePack(bytes, maxNesting);
  return json ? json->dump() : "nothing";
}

/// Values in each of MessagePack's encodings, with sizes and numbers around the
/// encodings' limits.
static std::vector<Json> makeValues() {
  std::vector<Json> values = {nullptr, true, false, 0.5, 1e300, -1e-300};
  for (int64_t edge :
       {int64_t(0), int64_t(32), int64_t(128), int64_t(256), int64_t(1) << 15,
        int64_t(1) << 16, int64_t(1) << 31, int64_t(1) << 32, INT64_MAX})
    for (int64_t number : {edge - 1, edge, -edge, -edge - 1})
      values.push_back(number);
  values.push_back(UINT64_MAX);
  values.push_back(INT64_MIN);
  for (size_t size : {0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536}) {
    values.push_back(std::string(size, 'x'));
    values.push_back(Json::binary(std::vector<uint8_t>(size, 200)));
    values.push_back(std::vector<int>(size, 7));
    Json map = Json::object();
    for (size_t i = 0; i < size; ++i)
      map[std::to_string(i)] = i;
    values.push_back(map);
  }
  return values;
}

TEST(MessagePackTest, ReadsWhatOthersWrite) {
  for (const Json &value : makeValues()) {
    std::string bytes = write(value);
    auto found = readMessagePack(bytes, 16);
    ASSERT_TRUE(found) << value.dump().substr(0, 80);
    if (value.is_binary())
      EXPECT_EQ(
          std::string(found->get_binary()),
          std::string(value.get_binary().begin(), value.get_binary().end()));
    else
      EXPECT_EQ(found->dump(), value.dump());
    EXPECT_EQ(read(bytes + '\xc0'), "nothing");
  }
}

TEST(MessagePackTest, BinariesStayWhereTheyAre) {
  std::string bytes = write(Json::binary({1, 2, 3}));
  EXPECT_EQ(readMessagePack(bytes, 16)->get_binary().data(), bytes.data() + 2);
}

TEST(MessagePackTest, RefusesWhatIsCutShort) {
  for (const Json &value : makeValues()) {
    std::string bytes = write(value);
    for (size_t size = 0; size < std::min<size_t>(bytes.size(), 20); ++size)
      EXPECT_EQ(read(bytes.substr(0, size)), "nothing");
    EXPECT_EQ(read(bytes.substr(0, bytes.size() - 1)), "nothing");
  }
}

TEST(MessagePackTest, RefusesOtherKeysAndKinds) {
  EXPECT_EQ(read("\x81\xa1x\x07"), R"({"x":7})");
  EXPECT_EQ(read("\x82\xa1x\x07\xa1x\x07"), "nothing"); // a repeated key
  EXPECT_EQ(read("\x81\x07\x07"), "nothing");
  for (const char *other : {"\xc1", "\xc7\x01\x01x", "\xc8\x01\x01\x01x",
                            "\xd4\x01x", "\xd5\x01xx"})
    EXPECT_EQ(read(other), "nothing");
}

TEST(MessagePackTest, NestingIsBounded) {
  EXPECT_EQ(read("\x91\x91\x90", 3), "[[[]]]");
  EXPECT_EQ(read("\x91\x91\x90", 2), "nothing");
  EXPECT_EQ(read("\x92\x91\x90\x91\x90", 3), "[[[]],[[]]]");
  EXPECT_EQ(read("\x81\xa1x\x81\xa1x\x80", 3), R"({"x":{"x":{}}})");
  EXPECT_EQ(read("\x81\xa1x\x81\xa1x\x80", 2), "nothing");
}

TEST(MessagePackTest, NestingFarAboveTheBound) {
  for (const char *open : {"\x91", "\xdd\xff\xff\xff\xff", "\x81\xa1x",
                           "\xdf\xff\xff\xff\xff\xa1x"}) {
    std::string bytes;
    for (int i = 0; i < 1'000'000; ++i)
      bytes += open;
    EXPECT_EQ(read(bytes), "nothing");
  }
}

/// A string of these bytes, including zeros.
template <size_t N> static std::string literal(const char (&bytes)[N]) {
  return std::string(bytes, N - 1);
}

// Texts, binaries and extension types with the largest possible number of
// bytes, and lists and maps with the largest number of elements.
TEST(MessagePackTest, RefusesWhatIsLargerThanTheBytes) {
  for (const char *kind : {"\xdb", "\xc6", "\xc9", "\xdd", "\xdf"})
    for (const char *count : {"\xff\xff\xff\xff", "\xff\xff\xff\xfe",
                              "\x80\x01\x01\x01", "\x7f\xff\xff\xff"})
      for (const char *rest : {"", "\x01", "\xa1x\x07", "\xa1x"}) {
        std::string bytes = std::string(kind) + count + rest;
        EXPECT_EQ(read(bytes), "nothing");
        EXPECT_EQ(read("\x91" + bytes), "nothing");
        EXPECT_EQ(read("\x81\xa1x" + bytes), "nothing");
        EXPECT_EQ(read("\x81" + bytes), "nothing"); // as a key
      }
  EXPECT_EQ(read(literal("\xdc\x00\x02\x01")), "nothing");
  EXPECT_EQ(read(literal("\xdc\x00\x02\x01\x01")), "[1,1]");
}

/// Limits the process's additional memory while it lives.
class MemoryBound {
public:
  explicit MemoryBound(size_t bytes) {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before);
    rlimit bound = before;
    bound.rlim_cur = pages * sysconf(_SC_PAGESIZE) + bytes;
    setrlimit(RLIMIT_AS, &bound);
  }
  ~MemoryBound() { setrlimit(RLIMIT_AS, &before); }

private:
  rlimit before;
};

// Each of 16 nested lists claims to have as many elements as there are bytes,
// or more.
TEST(MessagePackTest, ElementsThatAreNotThereTakeNoMemory) {
  for (const char *count : {"\xff\xff\xff\xff", "\x01\x01\x01\x01"})
    for (const char *open : {"\xdd", "\xdf"}) {
      std::string bytes;
      for (int i = 0; i < 16; ++i)
        bytes += std::string(open) + count + (*open == '\xdf' ? "\xa1x" : "");
      bytes.resize(bytes.size() + (20 << 20), '\xc1');
      MemoryBound bound(64 << 20);
      EXPECT_EQ(read(bytes), "nothing");
    }
}

TEST(MessagePackTest, KeysAreTexts) {
  EXPECT_EQ(read("\x81\xd9\x01x\x07"), R"({"x":7})");
  EXPECT_EQ(read(literal("\x81\xd9\x00\x07")), R"({"":7})");
  for (const std::string &key :
       {literal("\xc0"), literal("\xc3"), literal("\xff"), literal("\xcc\x07"),
        literal("\xca\x00\x00\x00\x00"), literal("\xc4\x01x"), literal("\x90"),
        literal("\x80"), literal("\x91\xa1x"), literal("\xd4\x01x")})
    EXPECT_EQ(read("\x81" + key + "\x07"), "nothing");
  // A nested map has separate keys, which don't count for later ones.
  EXPECT_EQ(read("\x82\xa1x\x81\xa1x\x07\xa1y\x07"), R"({"x":{"x":7},"y":7})");
  EXPECT_EQ(read("\x82\xa1x\x81\xa1x\x07\xa1x\x07"), "nothing");
  EXPECT_EQ(read("\x82\xa1x\x91\xa1x\x07\x07"), "nothing");
}

TEST(MessagePackTest, RefusesTypesOfOthers) {
  // Includes timestamps of 32, 64 and 96 bits.
  for (size_t size : {1, 2, 4, 8, 16}) {
    char kind = static_cast<char>(0xd4 + std::countr_zero(size));
    EXPECT_EQ(read(kind + std::string("\xff") + std::string(size, 'x')),
              "nothing");
  }
  EXPECT_EQ(read("\xc7\x0c\xff" + std::string(12, 'x')), "nothing");
  EXPECT_EQ(read(literal("\xc7\x00\x01")), "nothing");
  EXPECT_EQ(read(literal("\xc8\x00\x00\x01")), "nothing");
  EXPECT_EQ(read(literal("\xc9\x00\x00\x00\x00\x01")), "nothing");
  EXPECT_EQ(read("\x92\x07\xd4\x01x"), "nothing");
}

// Whether they are UTF-8 is checked elsewhere.
TEST(MessagePackTest, TextsAreAnyBytes) {
  auto text = readMessagePack(literal("\xa3\xff\x00\xc0"), 0);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->get<std::string>(), literal("\xff\x00\xc0"));
}
