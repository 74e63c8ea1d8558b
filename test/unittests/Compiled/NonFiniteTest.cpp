//===- NonFiniteTest.cpp - Infinities and NaN reach all that see them -----===//

#include "CompiledTest.h"

using namespace nsacc;

namespace {

constexpr double kTolerance = 2e-5;

/// One key head for two query heads, and more tokens than a tile has.
const Sizes kSizes = {{"B", 1}, {"T", 37}, {"S", 150}, {"HQ", 2},
                      {"H", 1}, {"D", 8},  {"DV", 40}};
const char *const kTile = "tokens=16,keys=32";
const char *const kOrders[] = {kTile, "order=union,tokens=16,keys=32",
                               "order=key_major,tokens=16,keys=32,splits=3"};

std::string attend(const std::string &clauses) {
  return "kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]) -> "
         "(out: f32[B, T, HQ, DV], l: f32[B, T, HQ]) { a = attend(q, k, v) " +
         clauses + "; return a, lse(a); }";
}
std::string weigh(const std::string &clauses) {
  return "kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]) -> "
         "f32[B, T, HQ, DV] { return attend(q, k, v) " +
         clauses + "; }";
}

/// Puts each into keys that only some rows see, and into columns of every kind
/// of register block.
void spoil(Tensor &values) {
  setElement(values, {0, 149, 0, 0}, kInf);
  setElement(values, {0, 140, 0, 17}, kNaN);
  setElement(values, {0, 131, 0, 39}, -kInf);
  setElement(values, {0, 120, 0, 33}, kInf);
}

class NonFiniteTest : public testing::Test {};

TEST_F(NonFiniteTest, ValuesReachWhoSeesThem) {
  for (const char *mask :
       {"where j <= i", "where 0 <= i - j < 20", "where j mod 3 != 0",
        "where j < 10 or i - 5 <= j <= i", "where j <= i and h == 1"})
    for (const char *dtype : {"f32", "bf16"}) {
      SCOPED_TRACE(std::string(mask) + " " + dtype);
      Program program(attend(mask), kSizes, dtype, kTile);
      std::vector<Tensor> inputs = program.makeInputs();
      spoil(program.find(inputs, "v"));
      program.expectAgreement(inputs,
                              dtype == std::string("f32") ? kTolerance : 2e-2);
    }
}

TEST_F(NonFiniteTest, WeightsReachWhoSeesThem) {
  for (const char *clauses :
       {"where j <= i weight silu(s)", "where j <= i weight relu(s)",
        "where j mod 2 == 0 weight sigmoid(s) normalize max(sum, 1e-6)",
        "where i - j < 30 score select(j mod 5 == 0, -inf, s) weight exp(s) "
        "normalize float(visible)"}) {
    SCOPED_TRACE(clauses);
    Program program(weigh(clauses), kSizes, "f32", kTile);
    std::vector<Tensor> inputs = program.makeInputs();
    spoil(program.find(inputs, "v"));
    // A weight of 0 times infinity is NaN in both.
    program.expectAgreement(inputs, kTolerance);
  }
}

TEST_F(NonFiniteTest, KeysAndQueries) {
  for (const char *clauses :
       {"where j <= i", "where j <= i score softcap(s, 5.0)",
        "where i - j < 20 sink 0.5",
        "where j <= i score select(s > 0, s, s)"}) {
    SCOPED_TRACE(clauses);
    Program program(attend(clauses), kSizes, "f32", kTile);
    std::vector<Tensor> inputs = program.makeInputs();
    Tensor &keys = program.find(inputs, "k");
    setElement(keys, {0, 149, 0, 0}, kInf);
    setElement(keys, {0, 140, 0, 1}, kNaN);
    setElement(keys, {0, 135, 0, 7}, -kInf);
    Tensor &queries = program.find(inputs, "q");
    setElement(queries, {0, 3, 1, 2}, kNaN);
    setElement(queries, {0, 5, 0, 2}, kInf);
    program.expectAgreement(inputs, kTolerance, /*loose=*/true);
  }
}

TEST_F(NonFiniteTest, InfiniteScores) {
  for (const char *clauses :
       {// Visible keys of score -inf; in some rows all keys.
        "where j <= i score select(j mod 4 == 1, -inf, s)",
        "score select(i > 120, -inf, s)",
        "score select(i > 120, -inf, s) sink 2.0",
        "score select(j == 5, inf, s)", "score select(j >= 148, inf, s)",
        "score select(j == 5 and i > 130, inf, -inf)",
        "where j < i sink select(i > 130, inf, -inf)",
        "score select(j == 70, (s - s) * inf, s)", "score 0.25", "scale -1.0",
        "scale 0.0", "where j > i", "where j > S"}) {
    for (const char *order : kOrders) {
      SCOPED_TRACE(std::string(clauses) + " " + order);
      Program program(attend(clauses), kSizes, "f32", order);
      program.expectAgreement(program.makeInputs(), kTolerance);
    }
  }
}

TEST_F(NonFiniteTest, WeightsOfInfiniteScores) {
  for (const char *clauses :
       {"score select(j mod 4 == 1, -inf, s) weight silu(s)",
        "score select(i > 120, -inf, s) weight exp(s) normalize sum",
        "where j > 200 weight exp(s) normalize sum",
        "score select(j == 3, inf, s) weight sigmoid(s)",
        "where j <= i weight select(j == 140, (s - s) * inf, 1.0)"}) {
    SCOPED_TRACE(clauses);
    Program program(weigh(clauses), kSizes, "f32", kTile);
    program.expectAgreement(program.makeInputs(), kTolerance);
  }
}

TEST_F(NonFiniteTest, SelectionsAndMerges) {
  const char *source =
      "kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]) -> "
      "(out: f32[B, T, HQ, DV], l: f32[B, T, HQ]) {"
      "  kc, vc = pool(k, 8), pool(v, 8);"
      "  c = attend(q, kc, vc) where end(j) <= i;"
      "  a = attend(q, k, v) in (topk(blocks(prob(c), 16), 3) keep last 1)"
      "      where j <= i;"
      "  w = attend(q, k, v) where 0 <= i - j < 7;"
      "  m = merge(a, w, c); return m, lse(m); }";
  for (const char *order : kOrders) {
    SCOPED_TRACE(order);
    Program program(source, kSizes, "f32", order);
    std::vector<Tensor> inputs = program.makeInputs();
    spoil(program.find(inputs, "v"));
    program.expectAgreement(inputs, kTolerance, /*loose=*/true);
    setElement(program.find(inputs, "k"), {0, 90, 0, 3}, kNaN);
    program.expectAgreement(inputs, kTolerance, /*loose=*/true);
  }
}

TEST_F(NonFiniteTest, MergesOfInfiniteBranches) {
  const char *source =
      "kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]) -> "
      "(out: f32[B, T, HQ, DV], l: f32[B, T, HQ]) {"
      "  a = attend(q, k, v) where j < 40 and j < i - 120;"
      "  w = attend(q, k, v) where j >= 40 score select(i == 130, inf, s);"
      "  n = attend(q, k, v) where j >= 40 score select(i == 131, (s - "
      "s) * inf, s);"
      "  m = merge(a, w, n); return m, lse(m); }";
  Program program(source, kSizes, "f32", kTile);
  program.expectAgreement(program.makeInputs(), kTolerance);
}

TEST_F(NonFiniteTest, WindowsCutAtTheEnd) {
  for (const char *tail : {"average", "zeros_right", "zeros_left"}) {
    std::string source =
        "kernel f(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV], "
        "w: f32[8]) -> f32[B, T, HQ, DV] {"
        "  return attend(q, pool(k, 8, 4, tail=" +
        std::string(tail) + "), pool(v, 8, 4, by=w, tail=" + tail + ")); }";
    SCOPED_TRACE(tail);
    Sizes sizes = kSizes;
    sizes["S"] = 38;
    Program program(source, sizes, "f32", kTile);
    std::vector<Tensor> inputs = program.makeInputs();
    // Only complete windows have this token.
    setElement(program.find(inputs, "w"), {tail[6] == 'l' ? 0 : 7}, kInf);
    program.expectAgreement(inputs, kTolerance, /*loose=*/true);
  }
}

} // namespace
