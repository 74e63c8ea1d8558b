//===- Runs.cpp - Random sizes and inputs of a program --------------------===//

#include "Runs.h"

using namespace nsacc;
using namespace nsacc::differential;

namespace {

class RunMaker {
public:
  RunMaker(Choices &choices, const std::string &keyTokens,
           llvm::ArrayRef<int64_t> borders, llvm::ArrayRef<DerivedSize> derived,
           const Case &testCase);

  Run makeDense();
  Run makeRagged();

private:
  int64_t pickLength();
  void limit(int64_t &queries, int64_t &keys, int64_t batch);
  void chooseValues(Run &run);

  Choices &c;
  const std::string &keyTokens;
  llvm::ArrayRef<int64_t> borders;
  llvm::ArrayRef<DerivedSize> derived;
  /// Number of products for each pair of a query and a key token.
  int64_t pairCost;
  /// Whether the result for values of 1 is known.
  bool averages;
};

} // namespace

/// Upper bound of products of all heads in one run, so that the oracle takes
/// milliseconds.
static constexpr int64_t mostProducts = 2'000'000;

RunMaker::RunMaker(Choices &choices, const std::string &keyTokens,
                   llvm::ArrayRef<int64_t> borders,
                   llvm::ArrayRef<DerivedSize> derived, const Case &testCase)
    : c(choices), keyTokens(keyTokens), borders(borders), derived(derived) {
  auto heads = testCase.sizes.find("HQ");
  if (heads == testCase.sizes.end())
    heads = testCase.sizes.find("H");
  averages = !testCase.averages.empty();
  pairCost = heads->second * (testCase.sizes.at("D") + testCase.sizes.at("DV"));
}

int64_t RunMaker::pickLength() {
  if (c.chance(25))
    return 1 + c.below(200);
  int64_t border = borders[c.below(borders.size())];
  return c.pick<int64_t>({1, 2, 5, 17, 0, border - 1, border, border + 1,
                          2 * border + 3, 127, 100});
}

void RunMaker::limit(int64_t &queries, int64_t &keys, int64_t batch) {
  auto isTooMuch = [&] {
    return queries * keys * std::max<int64_t>(batch, 1) * pairCost >
           mostProducts;
  };
  while (isTooMuch() && queries > 20)
    queries = queries / 2 + 1;
  while (isTooMuch() && keys > 20)
    keys = keys / 2 + 1;
}

void RunMaker::chooseValues(Run &run) {
  run.seed = c.below(1000);
  if (c.chance(35))
    run.values = c.pick({Values::Few, Values::Equal, Values::Large, Values::NaN,
                         Values::Infinite, Values::Mixed});
  if (averages && c.chance(15))
    run.values = c.pick({Values::Ones, Values::Ties});
  if (c.chance(40))
    run.layout = c.pick({Layout::Padded, Layout::Misaligned, Layout::Transposed,
                         Layout::Spread, Layout::Reversed});
}

Run RunMaker::makeDense() {
  Choices::Together together(c);
  Run run;
  int64_t batch = c.pick<int64_t>({1, 2, 1, 3, 0});
  // Usually as many queries as keys, or one query.
  int64_t keys = pickLength(), queries = keys;
  if (c.chance(60))
    queries = pickLength();
  if (keyTokens == "T") {
    limit(queries, queries, batch);
    keys = queries;
  }
  limit(queries, keys, batch);
  if (keyTokens == "T")
    queries = keys = std::min(queries, keys);
  run.sizes["B"] = batch;
  run.sizes["T"] = queries;
  run.sizes[keyTokens] = keys;
  for (const DerivedSize &size : derived)
    run.sizes[size.name] = size.size(size.ofQueries ? queries : keys);
  chooseValues(run);
  return run;
}

Run RunMaker::makeRagged() {
  Choices::Together together(c);
  Run run;
  int64_t batch = c.pick<int64_t>({1, 2, 3, 4, 0});
  std::vector<int64_t> queries, keys;
  for (int64_t b = 0; b < batch; ++b) {
    keys.push_back(pickLength());
    queries.push_back(c.chance(50) ? pickLength() : keys.back());
    limit(queries.back(), keys.back(), batch);
    if (keyTokens == "T")
      queries.back() = keys.back() = std::min(queries.back(), keys.back());
  }
  run.rows["T"] = queries;
  run.rows[keyTokens] = keys;
  for (const DerivedSize &size : derived) {
    int64_t most = 0;
    std::vector<int64_t> lengths;
    for (int64_t length : size.ofQueries ? queries : keys) {
      lengths.push_back(size.size(length));
      most = std::max(most, lengths.back());
    }
    if (size.packed)
      run.rows[size.name] = lengths;
    else
      run.sizes[size.name] = most;
  }
  chooseValues(run);
  return run;
}

void nsacc::differential::makeRuns(Choices &choices, bool ragged,
                                   const std::string &keyTokens,
                                   llvm::ArrayRef<int64_t> borders,
                                   llvm::ArrayRef<DerivedSize> derived,
                                   Case &result) {
  RunMaker maker(choices, keyTokens, borders, derived, result);
  do
    result.runs.push_back(ragged ? maker.makeRagged() : maker.makeDense());
  while (result.runs.size() < 5 && choices.chance(70));
}
