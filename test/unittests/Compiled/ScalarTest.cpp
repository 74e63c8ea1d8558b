//===- ScalarTest.cpp - Every scalar function and operator, compiled ------===//
//
// With one key and a value of 1, the output is the weight, which is a function
// of the query.
//
//===----------------------------------------------------------------------===//

#include "CompiledTest.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <random>

using namespace nsacc;

namespace {

constexpr int64_t kCount = 64;
const Sizes kScalarSizes = {{"B", 1}, {"T", kCount}, {"S", 1}, {"HQ", 1},
                            {"H", 1}, {"D", 1},      {"DV", 1}};

/// x and y are reals; m and n are integers.
std::string apply(llvm::ArrayRef<std::string> expressions) {
  std::string results, values;
  for (auto [index, expression] : llvm::enumerate(expressions)) {
    results += (index ? ", " : "") + ("r" + std::to_string(index)) +
               ": f32[B, T, HQ, DV]";
    values += (index ? ", " : "") +
              ("attend(q, k, v) scale 1.0 weight " + expression);
  }
  std::string text = "kernel f(q: f32[B, T, HQ, D], k: f32[B, S, H, D],"
                     " v: f32[B, S, H, DV], y: f32[B, T],"
                     " m, n: i64[B, T]) -> (" +
                     results + ") { return " + values + "; }";
  // `t` is below the tables' size, so that reads need no check.
  for (auto [name, read] :
       {std::pair("@x", "s"), std::pair("@y", "y[b, t]"),
        std::pair("@m", "m[b, t]"), std::pair("@n", "n[b, t]")})
    for (size_t at; (at = text.find(name)) != std::string::npos;)
      text.replace(at, 2, read);
  return text;
}

std::vector<double> getReals(bool shifted) {
  std::vector<double> values = {
      0,      -0.0,   1,      -1,      0.5,  -0.5,  1.5,  2.5,   kInf,  kNaN,
      3.75,   -3.75,  10,     -10,     88,   -87,   100,  -100,  1e10,  -1e10,
      0x1p31, 0x1p62, 0x1p63, -0x1p63, 1e19, -1e19, 3e38, -3e38, 1e-30, -1e-30};
  std::mt19937_64 generator(7);
  while (values.size() < kCount)
    values.push_back(
        static_cast<float>(std::ldexp(double(generator() >> 11), -49) - 8));
  if (shifted)
    std::rotate(values.begin(), values.begin() + 7, values.end());
  // A score of -inf hides the key; only y has it.
  if (shifted)
    values[40] = -kInf;
  return values;
}

std::vector<int64_t> getIntegers(bool shifted) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> values = {
      1,    -1,    2,    -2, 3,         7,       -7, 64,       -64,
      1000, least, most, 10, least + 1, 1 << 30, -5, most - 1, 1ll << 40};
  std::mt19937_64 generator(9);
  while (values.size() < kCount)
    values.push_back(int64_t(generator()) >> (generator() % 60));
  for (int64_t &value : values)
    if (value == 0)
      value = 12;
  if (shifted)
    std::rotate(values.begin(), values.begin() + 11, values.end());
  return values;
}

std::vector<Tensor> getInputs() {
  auto reals = [](llvm::ArrayRef<int64_t> shape,
                  const std::vector<double> &values) {
    Tensor tensor = Tensor::zeros(DType::F32, shape);
    tensor.setReals(values);
    return tensor;
  };
  auto integers = [](const std::vector<int64_t> &values) {
    Tensor tensor = Tensor::zeros(DType::I64, {1, kCount});
    tensor.setIntegers(values);
    return tensor;
  };
  return {reals({1, kCount, 1, 1}, getReals(false)),
          reals({1, 1, 1, 1}, {1}),
          reals({1, 1, 1, 1}, {1}),
          reals({1, kCount}, getReals(true)),
          integers(getIntegers(false)),
          integers(getIntegers(true))};
}

/// Checks that errors are at most `ulps` units in the last place, or `absolute`
/// times the greater of |x| and 1. The unit of results below the least normal
/// number is that number's.
void check(const std::vector<std::string> &expressions, double ulps,
           double absolute = 0) {
  SCOPED_TRACE(llvm::join(expressions, "; "));
  Program program(apply(expressions), kScalarSizes, "f32", "tokens=64,keys=16");
  ASSERT_TRUE(program.isValid());
  std::vector<Tensor> inputs = getInputs();
  auto expected = program.interpret(inputs);
  auto found = program.run(inputs);
  ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  std::vector<double> x = getReals(false);
  for (size_t result = 0; result < expressions.size(); ++result) {
    std::vector<double> mine = (*found)[result].toReals();
    std::vector<double> oracle = (*expected)[result].toReals();
    for (int64_t i = 0; i < kCount; ++i) {
      double value = static_cast<float>(oracle[i]);
      if (std::isnan(value) && std::isnan(mine[i]))
        continue;
      double ulp = std::isfinite(value)
                       ? std::ldexp(1, std::max(std::ilogb(value), -126) - 23)
                       : 0;
      double allowed =
          std::max(ulps * ulp, absolute * std::max(1.0, std::abs(x[i])));
      if (std::abs(value) < 0x1p-126)
        allowed = std::max(allowed, 0x1p-126);
      EXPECT_TRUE(mine[i] == value || std::abs(mine[i] - oracle[i]) <= allowed)
          << expressions[result] << " of x = " << x[i] << ", element " << i
          << ": " << mine[i] << ", but by the oracle " << oracle[i];
    }
  }
}

TEST(ScalarTest, FunctionsOfReals) {
  check({"exp(@x)", "exp2(@x)"}, 2);
  check({"log(@x)", "log2(@x)", "log(abs(@x))"}, 4);
  check({"sqrt(@x)", "abs(@x)", "floor(@x)", "-@x"}, 0.5);
  check({"sigmoid(@x)", "silu(@x)"}, 4);
  check({"tanh(@x)", "erf(@x)"}, 1.5);
  // Near its zeros the sum of 1 and erf has few digits left.
  check({"gelu(@x)"}, 3, 0x1p-22);
  check({"sin(@x)", "cos(@x)"}, 4);
  check({"relu(@x)", "min(@x, @y)", "max(@x, @y)", "max(@x, @y, 0.5)"}, 0);
  check({"softcap(@x, 5.0)"}, 10);
  check({"pow(abs(@x), 0.5)", "pow(@x, 2.0)", "pow(2.0, @y)"}, 4);
  check({"pow(@x, @y)", "pow(@x, 3.0)", "pow(@x, -1.5)", "pow(@x, float(@m))"},
        4);
}

TEST(ScalarTest, OperatorsOnReals) {
  check({"@x + @y", "@x - @y", "@x * @y", "@x / @y"}, 0.5);
}

TEST(ScalarTest, ComparisonsOfReals) {
  for (const char *op : {"<", "<=", ">", ">=", "==", "!="}) {
    std::string compared = std::string("@x ") + op + " @y";
    check({"select(" + compared + ", 1.0, 0.0)",
           "select(not (" + compared + "), 1.0, 0.0)",
           "select(" + compared + " and @x < 3.0 or @y > 1.0, 1.0, 0.0)",
           "select((" + compared + ") == (@x < 0.0), 1.0, 0.0)"},
          0);
  }
}

TEST(ScalarTest, ChoiceAndConversions) {
  check({"select(@x < @y, @x, @y)", "float(select(@x < @y, 3, 4))"}, 0);
  // Rounded towards zero, or to the nearest integer; NaN is 0.
  check({"float(int(@x))", "float(int(@y) mod 4096)",
         "select(int(@x) == 0 - 1 - 9223372036854775807, 1.0, 0.0)"},
        0.5);
  check({"float(@m)", "@m / @n", "@x + @m"}, 2);
}

/// All 64 bits, in pieces of 16.
std::vector<std::string> inPieces(const std::string &integer) {
  std::vector<std::string> pieces;
  for (int64_t shift : {0, 16, 32, 48})
    pieces.push_back("float(((" + integer + ") floordiv " +
                     std::to_string(int64_t{1} << shift) + ") mod 65536)");
  return pieces;
}

TEST(ScalarTest, Integers) {
  for (const char *integer :
       {"@m + @n", "@m - @n", "@m * @n", "-@m", "@m floordiv @n",
        "@m ceildiv @n", "@m mod @n", "min(@m, @n)", "max(@m, @n, 5)",
        "abs(@m)", "@m floordiv 7", "@m ceildiv 7", "@m mod 7",
        "@m floordiv (0 - 64)", "@m mod (0 - 3)", "select(@m < @n, @m, @n)",
        "int(@x)"})
    check(inPieces(integer), 0);
}

TEST(ScalarTest, ComparisonsOfIntegers) {
  for (const char *op : {"<", "<=", ">", ">=", "==", "!="})
    check({"select(@m " + std::string(op) + " @n, 1.0, 0.0)",
           "select(0 < @m " + std::string(op) + " @n, 1.0, 0.0)"},
          0);
}

/// Processors without instructions for f16 compute the same results.
TEST(ScalarTest, StorageTypesWithoutInstructionsOfTheirOwn) {
  Sizes sizes = {{"B", 1}, {"T", 9}, {"S", 40}, {"HQ", 2},
                 {"H", 1}, {"D", 8}, {"DV", 24}};
  for (const char *features :
       {"", "-avx512f,-f16c", "-avx512f,-avx2,-avx,-f16c,-fma"})
    for (const char *dtype : {"f16", "bf16"}) {
      SCOPED_TRACE(std::string(dtype) + " " + features);
      cpu::Options options;
      options.features = features;
      Program program("kernel f(q: [B, T, HQ, D], k: [B, S, H, D],"
                      " v: [B, S, H, DV], d: [S]) -> [B, T, HQ, DV]"
                      " { return attend(q, k, v) where j <= i"
                      "     score s + d[j]; }",
                      sizes, dtype, "tokens=8,keys=16", options);
      program.expectAgreement(program.makeInputs(),
                              dtype == std::string("f16") ? 4e-3 : 3e-2);
    }
}

} // namespace
