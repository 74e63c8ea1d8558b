//===- SealTest.cpp - Code runs only with its plan ------------------------===//

#include "Digest.h"
#include "PackageFile.h"
#include "RTTest.h"
#include <nlohmann/json.hpp>

using namespace nsacc::rt;
using ::testing::HasSubstr;
using OrderedJson = nlohmann::ordered_json;
using Pointer = OrderedJson::json_pointer;

static OrderedJson readBody(const Package &package) {
  std::string file = writePackage(package);
  std::string_view body = openBody(file);
  return OrderedJson::from_msgpack(body.begin(), body.end());
}

/// The file with a correct checksum.
static std::string seal(const OrderedJson &json) {
  std::string bytes;
  OrderedJson::to_msgpack(json, nlohmann::detail::output_adapter<char>(bytes));
  return sealBody(bytes);
}

static Package makeAll() {
  Package package = makeVariants();
  Plan &plan = package.variants[1].targets[0].plan;
  plan.steps.push_back({Step::Kind::Time, 0, {}});
  plan.repeats = {{1, 1, 0}};
#if defined(__x86_64__)
  Package host = makeHostPackage();
  Variant variant = host.variants[0];
  Plan &hostPlan = variant.targets[0].plan;
  hostPlan.launches[0].image = static_cast<uint32_t>(package.images.size());
  package.images.push_back(host.images[0]);
  package.images.back().host.pointers = {16};
  package.variants.push_back(variant);
#endif
  return package;
}

/// Paths of numbers, texts and booleans, except code and seals.
static void collect(const OrderedJson &json, const Pointer &at,
                    std::vector<Pointer> &leaves) {
  if (json.is_object())
    for (const auto &[key, value] : json.items())
      collect(value, at / key, leaves);
  else if (json.is_array())
    for (size_t i = 0; i < json.size(); ++i)
      collect(json[i], at / i, leaves);
  else if (!json.is_binary())
    leaves.push_back(at);
}

static OrderedJson makeOther(const OrderedJson &json, int64_t by) {
  if (json.is_number_integer())
    return json.get<int64_t>() + by;
  if (json.is_boolean())
    return !json.get<bool>();
  if (json.is_null())
    return by;
  auto text = json.get<std::string>();
  return text.empty() ? "x" : text + text.back();
}

// Every number of a plan matters to its code, even if another number is a valid
// index or size, too.
TEST(SealTest, NoFieldMayDiffer) {
  OrderedJson json = readBody(makeAll());
  std::vector<Pointer> leaves;
  collect(json, Pointer(), leaves);
  EXPECT_GT(leaves.size(), 200u);
  size_t sealed = 0;
  for (const Pointer &leaf : leaves)
    for (int64_t by : {int64_t(1), int64_t(-1), int64_t(1) << 40}) {
      OrderedJson other = json;
      other[leaf] = makeOther(json[leaf], by);
      std::string failure = failRead(seal(other));
      EXPECT_THAT(failure, HasSubstr("damaged package: ")) << leaf.to_string();
      sealed += failure.find("was made for another plan") != std::string::npos;
    }
  EXPECT_GT(sealed, 100u);
}

TEST(SealTest, ImagesMayNotChangePlaces) {
  OrderedJson json = readBody(makeVariants());
  std::swap(json["images"][0], json["images"][1]);
  EXPECT_THAT(failRead(seal(json)),
              HasSubstr("the code of image 0 was made for another plan, or "
                        "other inputs and results, than those beside it: "
                        "compile it again"));
}

TEST(SealTest, SealsHaveToBeThere) {
  OrderedJson json = readBody(makePackage());
  json["images"][0].erase("made_for");
  EXPECT_THAT(failRead(seal(json)), HasSubstr("key 'made_for' not found"));
}

#if defined(__x86_64__)
TEST(SealTest, KernelsAreCode) {
  Package package = makeHostPackage();
  package.images[0].host.kernels[0].offset = 16;
  EXPECT_THAT(failRead(writePackage(package)),
              HasSubstr("a kernel at byte 16, where data is: code begins at "
                        "4096"));
}
#endif

// Python and JSON can't represent other texts.
TEST(SealTest, TextsAreUTF8) {
  auto fail = [](const std::string &text) {
    Package package = makePackage();
    package.variants[0].targets[0].assertions[0].message = text;
    return failRead(writePackage(package));
  };
  for (const char *right :
       {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"})
    EXPECT_EQ(fail(right), "read") << right;
  for (const char *wrong :
       {"\x80", "\xc3", "a\xc3z", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", "\xe2\x82"})
    EXPECT_THAT(fail(wrong), HasSubstr("a text that isn't UTF-8: ")) << wrong;
}

static std::string toHex(const std::string &bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

// The examples of FIPS 180-4, and lengths around the one at which padding needs
// another block.
TEST(SealTest, DigestsAreThoseOfTheStandard) {
  EXPECT_EQ(toHex(computeDigest("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(toHex(computeDigest("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(toHex(computeDigest(std::string(55, 'a'))),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(toHex(computeDigest(std::string(56, 'a'))),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(toHex(computeDigest(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
