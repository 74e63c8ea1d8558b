//===- Rule.cpp - Schedules for given sizes -------------------------------===//

#include "nsacc/Tuning/Shapes.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <tuple>

using namespace nsacc;
using namespace nsacc::tuning;

size_t Rule::find(const DimSizes &sizes) const {
  int64_t product = multiplySizes(dims, sizes.sizes);
  for (const Case &each : cases)
    if (product >= each.least)
      return each.schedule;
  return cases.back().schedule;
}

/// The least and the largest size that round to the same power of two as
/// `size`.
static std::pair<int64_t, int64_t> getRounded(int64_t size) {
  if (size <= 1)
    return {size, size};
  double power = std::round(std::log2(static_cast<double>(size)));
  return {std::llround(std::ceil(std::exp2(power - 0.5))),
          std::llround(std::floor(std::exp2(power + 0.5)))};
}

bool Rule::isSettled(const DimSizes &sizes) const {
  DimSizes least, most;
  for (const std::string &dim : dims)
    std::tie(least.sizes[dim], most.sizes[dim]) =
        getRounded(sizes.sizes.lookup(dim));
  return find(least) == find(most);
}

TunedRule Rule::spell(llvm::ArrayRef<std::string> schedules) const {
  TunedRule rule;
  rule.dims = dims;
  for (const Case &each : cases)
    rule.cases.push_back({each.least, schedules[each.schedule]});
  return rule;
}

std::string Rule::describe(llvm::ArrayRef<std::string> schedules) const {
  return spell(schedules).describe();
}

size_t ShapeTimes::findFastest() const {
  return llvm::min_element(milliseconds) - milliseconds.begin();
}

namespace {

/// Shapes with the same product of sizes.
struct Bin {
  int64_t product;
  std::vector<const ShapeTimes *> shapes;
};

/// The choice for the first bins.
struct Partial {
  double slowdown = HUGE_VAL;
  size_t start = 0, schedule = 0;
};

/// Finds the best rule over one product, for each number of cases.
class Cutter {
public:
  Cutter(std::vector<Bin> bins, size_t schedules)
      : bins(std::move(bins)), numSchedules(schedules) {}

  Rule cut(size_t mostCases) const {
    size_t count = bins.size();
    // best[k][n] is the choice for the first n bins in k cases.
    std::vector<std::vector<Partial>> best(mostCases + 1,
                                           std::vector<Partial>(count + 1));
    best[0][0].slowdown = 1;
    for (size_t cases = 1; cases <= mostCases; ++cases)
      for (size_t end = 1; end <= count; ++end)
        for (size_t start = cases - 1; start < end; ++start) {
          auto [slowdown, schedule] = judge(start, end);
          slowdown = std::max(slowdown, best[cases - 1][start].slowdown);
          if (slowdown < best[cases][end].slowdown)
            best[cases][end] = {slowdown, start, schedule};
        }
    Rule rule;
    rule.slowdown = best[mostCases][count].slowdown;
    size_t end = count;
    for (size_t cases = mostCases; cases > 0; --cases) {
      const Partial &last = best[cases][end];
      rule.cases.push_back({getLeast(last.start), last.schedule});
      end = last.start;
    }
    return rule;
  }

  size_t getNumBins() const { return bins.size(); }

private:
  /// The bound between two bins, at their geometric mean.
  int64_t getLeast(size_t start) const {
    if (start == 0)
      return 0;
    double below = static_cast<double>(bins[start - 1].product),
           above = static_cast<double>(bins[start].product);
    auto middle = static_cast<int64_t>(std::ceil(std::sqrt(below * above)));
    return std::clamp(middle, bins[start - 1].product + 1, bins[start].product);
  }

  std::pair<double, size_t> judge(size_t start, size_t end) const {
    std::pair<double, size_t> best = {HUGE_VAL, 0};
    for (size_t schedule = 0; schedule < numSchedules; ++schedule) {
      double most = 1;
      for (size_t bin = start; bin < end; ++bin)
        for (const ShapeTimes *shape : bins[bin].shapes)
          most = std::max(most, shape->getSlowdown(schedule));
      if (most < best.first)
        best = {most, schedule};
    }
    return best;
  }

  std::vector<Bin> bins;
  size_t numSchedules;
};

} // namespace

static Cutter makeCutter(llvm::ArrayRef<std::string> dims,
                         llvm::ArrayRef<ShapeTimes> shapes) {
  std::vector<Bin> bins;
  for (const ShapeTimes &shape : shapes) {
    int64_t product = multiplySizes(dims, shape.sizes.sizes);
    auto known = llvm::find_if(
        bins, [&](const Bin &bin) { return bin.product == product; });
    if (known == bins.end())
      bins.push_back({product, {&shape}});
    else
      known->shapes.push_back(&shape);
  }
  llvm::sort(bins, [](const Bin &lhs, const Bin &rhs) {
    return lhs.product < rhs.product;
  });
  return Cutter(std::move(bins), shapes.front().milliseconds.size());
}

Rule tuning::chooseRule(llvm::ArrayRef<std::string> dims,
                        llvm::ArrayRef<ShapeTimes> shapes, size_t mostSchedules,
                        double mostSlowdown) {
  std::vector<std::vector<std::string>> products = {{}};
  for (auto [index, dim] : llvm::enumerate(dims)) {
    products.push_back({dim});
    for (const std::string &other : dims.drop_front(index + 1))
      products.push_back({dim, other});
  }
  // If several products tell the shapes apart, one size comes before two, and
  // the product in which most shapes differ comes first: their times most
  // likely depend on it.
  std::vector<std::tuple<size_t, size_t, size_t>> order;
  for (auto [index, product] : llvm::enumerate(products))
    order.emplace_back(product.size(),
                       shapes.size() - makeCutter(product, shapes).getNumBins(),
                       index);
  llvm::sort(order);
  Rule best;
  best.slowdown = HUGE_VAL;
  for (size_t cases = 1; cases <= mostSchedules; ++cases) {
    for (auto [size, same, index] : order) {
      const std::vector<std::string> &product = products[index];
      Cutter cutter = makeCutter(product, shapes);
      if (cases > cutter.getNumBins())
        continue;
      Rule rule = cutter.cut(cases);
      rule.dims = product;
      // More cases have to pay.
      if (rule.slowdown < best.slowdown * 0.999 || best.cases.empty())
        best = std::move(rule);
    }
    if (best.slowdown <= mostSlowdown)
      break;
  }
  if (best.cases.size() == 1)
    best.dims.clear();
  return best;
}
