//===- MessagePackTest.cpp - What is read of MessagePack ------------------===//

#include "MessagePack.h"
#include <gmock/gmock.h>

using namespace nsacc::rt;
using Json = nlohmann::json;

static std::string write(const Json &json) {
  std::string bytes;
  Json::to_msgpack(json, nlohmann::detail::output_adapter<char>(bytes));
  return bytes;
}

/// As text, in which binaries are numbers.
static std::string read(const std::string &bytes, unsigned maxNesting = 16) {
  auto json = readMessagePack(bytes, maxNesting);
  return json ? json->dump() : "nothing";
}

/// Each way that MessagePack has for a value, by the sizes and numbers around
/// where the ways end.
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
  EXPECT_EQ(read("\x82\xa1x\x07\xa1x\x07"), "nothing"); // twice
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
