//===- AssertionTest.cpp - Runs that end with an error --------------------===//

#include "CompiledTest.h"

using namespace nsacc;

namespace {

const Sizes kAssertionSizes = {{"B", 2}, {"T", 21}, {"S", 50}, {"HQ", 4},
                               {"H", 2}, {"D", 8},  {"DV", 8}, {"N", 50}};
/// The sizes without the tables' sizes.
Sizes withoutTables() {
  Sizes sizes = kAssertionSizes;
  sizes.erase("N");
  return sizes;
}

const char *const kAssertionOrders[] = {
    "tokens=8,keys=16", "order=union,tokens=8,keys=16",
    "order=key_major,tokens=8,keys=16,splits=2"};

std::string attendWith(const std::string &clauses) {
  return "kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV],"
         " doc: i32[B, S], few: f32[N], z: i32[N]) -> f32[B, T, HQ, DV]"
         " { return attend(q, k, v) " +
         clauses + "; }";
}

class AssertionTest : public testing::Test {
protected:
  static void expectError(const std::string &clauses, const Sizes &sizes,
                          const std::string &part) {
    for (const char *order : kAssertionOrders) {
      SCOPED_TRACE(clauses + " " + order);
      Program program(attendWith(clauses), sizes, "f32", order);
      EXPECT_NE(program.expectSameError(program.makeInputs()).find(part),
                std::string::npos);
    }
  }
  static void expectNoError(const std::string &clauses, const Sizes &sizes) {
    SCOPED_TRACE(clauses);
    Program program(attendWith(clauses), sizes, "f32", kAssertionOrders[0]);
    program.expectAgreement(program.makeInputs(), 2e-5);
  }
};

TEST_F(AssertionTest, TableReadsInMasks) {
  expectError("where doc[b, j + 3] == 0", kAssertionSizes, "j = 47");
  expectError("where j <= i and doc[b, j + 3] == 0", kAssertionSizes, "i = 47");
  // Loops over visible keys alone would not reach these pairs.
  expectError("where doc[b, j + 3] == 0 and j <= i - 10", kAssertionSizes,
              "t = 0");
  expectError("where doc[b, j + 3] == 7 or j <= i", kAssertionSizes, "t = 0");
  expectError("where j <= i and few[i - j - 1] < 10.0", kAssertionSizes,
              "[-1]");
  expectError("where not (j > i) and z[h * 20] == 0", kAssertionSizes, "h = 3");
}

TEST_F(AssertionTest, QueriesBeforeTheFirstKey) {
  Sizes sizes = kAssertionSizes;
  sizes["T"] = 60;
  expectError("where doc[b, i] == doc[b, j] and j <= i", sizes, "i = -10");
  expectError("where j <= i and doc[b, i] == doc[b, j - 1]", sizes, "[0, -1]");
  expectNoError("where j <= i and doc[b, i] == doc[b, j]", sizes);
  expectNoError("where i >= 0 and doc[b, i] == doc[b, j] and j <= i", sizes);
  expectNoError("where doc[b, i] == doc[b, j] and j <= i", kAssertionSizes);
}

TEST_F(AssertionTest, HiddenOperandsNeedNoValue) {
  for (const char *clauses :
       {"where j > 0 and doc[b, j - 1] == doc[b, j]",
        "where j == 0 or doc[b, j - 1] == doc[b, j]",
        "where j <= i score s + select(i - j < 50, few[i - j], 0.0)",
        "where j <= i score s + few[i - j]",
        "where j <= i weight s * few[i - j] normalize few[visible - 1] + 1.0",
        "where select(j < 9, true, z[j - 9] == 0)",
        "where i - j != 3 score s / float((i - j - 3) floordiv (i - j - 3))",
        "where j <= i score s + float(j mod max(1, z[j]))",
        "score select(j < 30, -inf, s) weight exp(s) + few[j - 30]",
        "where j > i normalize few[visible - 1] weight s",
        "where j <= i score select(j > 5, s, float(7 floordiv (h - h + 1)))"})
    expectNoError(clauses, kAssertionSizes);
}

TEST_F(AssertionTest, ScoresWeightsAndRows) {
  expectError("where j <= i score s + few[i - j + 5]", kAssertionSizes,
              "'score'");
  expectError("score s + few[j + 1]", kAssertionSizes, "[50]");
  expectError("where j < 5 score s * few[h * 17]", kAssertionSizes, "[51]");
  expectError("where j <= i weight s * few[i - j + 5]", kAssertionSizes,
              "'weight'");
  expectError("where j <= i weight s normalize few[visible]", kAssertionSizes,
              "'normalize'");
  expectError("sink few[i + 1]", kAssertionSizes, "'sink'");
  expectError("scale few[B + 48]", kAssertionSizes, "'scale'");
}

TEST_F(AssertionTest, Divisions) {
  expectError("where (i - j) floordiv (i - j - 3) > 0", kAssertionSizes,
              "divided by zero");
  expectError("where j mod z[j] == 0", kAssertionSizes, "integer 0 is divided");
  expectError("where j <= i score s + float(j ceildiv (j - 11))",
              kAssertionSizes, "integer 11");
  // The lowest integer divided by -1 wraps around; the processor must not trap.
  for (const char *op : {"floordiv", "ceildiv", "mod"})
    expectNoError(std::string("where (0 - 9223372036854775807 - 1 + z[j]) ") +
                      op + " (0 - 1 - z[j]) == 0 or j <= i",
                  kAssertionSizes);
}

TEST_F(AssertionTest, TheLeastOfManyWhateverTheThreads) {
  for (unsigned threads : {1u, 2u, 5u}) {
    Program program(attendWith("where j <= i score s + few[j - 20]"),
                    kAssertionSizes, "f32", kAssertionOrders[0]);
    cpu::RunOptions options;
    options.threads = threads;
    EXPECT_NE(program.expectSameError(program.makeInputs(), options)
                  .find("b = 0, h = 0, t = 0, i = 29, j = 0"),
              std::string::npos);
  }
}

TEST_F(AssertionTest, SelectionsHandedIn) {
  std::string source =
      "kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV],"
      " idx: i32[B, T, H, 3]) -> f32[B, T, HQ, DV]"
      " { return attend(q, k, v) in selection(idx, 8) where j <= i; }";
  Program program(source, withoutTables(), "f32", kAssertionOrders[0]);
  std::vector<Tensor> inputs = program.makeInputs();
  program.expectAgreement(inputs, 2e-5);
  Tensor &indices = program.find(inputs, "idx");
  setElement(indices, {1, 20, 0, 1}, 7);
  EXPECT_NE(program.expectSameError(inputs).find("is 7; expected -1 or 0 to 6"),
            std::string::npos);
  setElement(indices, {1, 3, 1, 2}, -2);
  EXPECT_NE(program.expectSameError(inputs).find("is -2;"), std::string::npos);
}

TEST_F(AssertionTest, SelectionsHandedInRagged) {
  std::string source =
      "kernel f(q: [ragged T, HQ, D], k: [ragged T, H, D],"
      " v: [ragged T, H, DV], idx: i64[ragged T, H, 3], doc: i32[ragged T])"
      " -> f32[ragged T, HQ, DV]"
      " { return attend(q, k, v) in selection(idx, 4)"
      "     where j <= i and doc[j + 1] == 0; }";
  Sizes sizes = {{"HQ", 2}, {"H", 1}, {"D", 8}, {"DV", 8}};
  Program program(source, sizes, "f32", kAssertionOrders[0]);
  auto reals = [](int64_t heads) {
    return Tensor::zeros(DType::F32, {20, heads, 8});
  };
  Tensor indices = Tensor::zeros(DType::I64, {20, 1, 3});
  Tensor offsets = Tensor::zeros(DType::I32, {4});
  offsets.setIntegers({0, 6, 6, 20});
  std::vector<Tensor> inputs = {
      reals(2), reals(1), reals(1), indices, Tensor::zeros(DType::I32, {20}),
      offsets};
  program.expectAgreement(inputs, 2e-5);
  setElement(inputs[3], {5, 0, 0}, 1);
  EXPECT_NE(program.expectSameError(inputs).find("is read at [6]"),
            std::string::npos);
  setElement(inputs[3], {4, 0, 1}, 2);
  EXPECT_NE(program.expectSameError(inputs).find("batch row 0, 2 blocks of 4"),
            std::string::npos);
}

TEST_F(AssertionTest, CountsAndSelectedBlocks) {
  std::string source =
      "kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV],"
      " c: i32[B, T, H], z: i32[N]) -> f32[B, T, HQ, DV] {"
      " p = attend(q, pool(k, 8), pool(v, 8)) where end(j) <= i;"
      " x = topk(prob(p), 3) count c where ";
  {
    Program program(source + "z[j] == 0; return attend(q, k, v) in x; }",
                    kAssertionSizes, "f32", kAssertionOrders[0]);
    std::vector<Tensor> inputs = program.makeInputs();
    program.expectAgreement(inputs, 2e-5);
    setElement(program.find(inputs, "c"), {1, 20, 1}, 4);
    EXPECT_NE(program.expectSameError(inputs).find(
                  "at [1, 20, 1] is 4, but must be 0 to 3 (top)"),
              std::string::npos);
  }
  Program program(source + "z[j * 10] == 0; return attend(q, k, v) in x; }",
                  kAssertionSizes, "f32", kAssertionOrders[0]);
  EXPECT_NE(program.expectSameError(program.makeInputs()).find("j = 5"),
            std::string::npos);
}

TEST_F(AssertionTest, Elementwise) {
  std::string source =
      "kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV],"
      " x: i32[B, T, HQ]) -> f32[B, T, HQ, DV] {"
      " return attend(q, k, v) * float(5 floordiv x); }";
  Program program(source, withoutTables(), "f32", kAssertionOrders[0]);
  std::vector<Tensor> inputs = program.makeInputs();
  Tensor &divisors = program.find(inputs, "x");
  divisors.setIntegers(std::vector<int64_t>(2 * 21 * 4, 2));
  program.expectAgreement(inputs, 2e-5);
  setElement(divisors, {1, 20, 2}, 0);
  setElement(divisors, {1, 20, 3}, 0);
  EXPECT_NE(program.expectSameError(inputs).find(
                "integer 5 is divided by zero for element [1, 20, 2"),
            std::string::npos);
}

TEST_F(AssertionTest, ElementwiseAlone) {
  Program program("kernel f(x, y: i32[A, M, K]) -> i32[A, M, K]"
                  " { return x mod y; }",
                  {{"A", 2}, {"M", 5}, {"K", 90}});
  std::vector<Tensor> inputs = program.makeInputs();
  std::vector<int64_t> numbers;
  for (int64_t n = 0; n < 900; ++n)
    numbers.push_back(n * 37 % 91 - 45);
  inputs[0].setIntegers(numbers);
  for (int64_t &number : numbers)
    number = 3 + number % 2;
  inputs[1].setIntegers(numbers);
  program.expectAgreement(inputs, 0);
  setElement(inputs[1], {1, 4, 89}, 0);
  EXPECT_NE(program.expectSameError(inputs).find("for element [1, 4, 89]"),
            std::string::npos);
}

} // namespace
