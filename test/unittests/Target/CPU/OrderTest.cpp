//===- OrderTest.cpp - Sorting rows, keeping the greatest keys ------------===//

#include "NSATile/Transforms/Passes.h"
#include "TileTest.h"

using namespace nsacc;
using namespace nsacc::cpu;

namespace {

class OrderTest : public TileTest {
protected:
  static constexpr const char *module = R"(
    !list = memref<3x$Kxi64>
    !keys = memref<3x$Nxi64>
    nsatile.program @order(%list: !list, %keys: !keys, %top: !list, %sorted: !keys) {
      %0 = arith.constant 0 : index
      %9 = arith.constant 1000 : index
      %one = arith.constant dense<1> : tensor<3x$Nxi64>
      %l_at = nsatile.at %list[%0, %0] dims [0, 1] limits [%9, %9] : !list -> !nsatile.place<3x$Kxi64>
      %l = nsatile.load %l_at : tensor<3x$Kxi64>
      %k_at = nsatile.at %keys[%0, %0] dims [0, 1] limits [%9, %9] : !keys -> !nsatile.place<3x$Nxi64>
      %k = nsatile.load %k_at : tensor<3x$Nxi64>
      %c = arith.addi %k, %one : tensor<3x$Nxi64>
      %t = nsatile.top %l, %c : tensor<3x$Kxi64>, tensor<3x$Nxi64>
      %s = nsatile.sort $O %c : tensor<3x$Nxi64>
      %to = nsatile.at %top[%0, %0] dims [0, 1] limits [%9, %9] : !list -> !nsatile.place<3x$Kxi64>
      nsatile.store %t, %to : tensor<3x$Kxi64>
      %to_1 = nsatile.at %sorted[%0, %0] dims [0, 1] limits [%9, %9] : !keys -> !nsatile.place<3x$Nxi64>
      nsatile.store %s, %to_1 : tensor<3x$Nxi64>
      nsatile.return
    }
    nsatile.plan @plan(%list: !list, %keys: !keys, %top: !list, %sorted: !keys) {
      %1 = arith.constant 1 : index
      nsatile.launch @order grid(%1, %1, %1) (%list, %keys, %top, %sorted) : !list, !keys, !list, !keys
      nsatile.return
    })";

  void check(int64_t k, int64_t n, bool ascending, Options options = {}) {
    std::vector<int64_t> lists, keys, tops, sorted;
    for (int64_t row = 0; row < 3; ++row) {
      std::vector<int64_t> list, own;
      for (int64_t i = 0; i < k; ++i)
        list.push_back(i * 7919 % 101 - 50 * row);
      for (int64_t i = 0; i < n; ++i)
        own.push_back(i * 104729 % 97 - 40);
      llvm::sort(list, std::greater<>());
      if (row == 2) // a list that has no entry yet
        list.assign(k, std::numeric_limits<int64_t>::min());
      llvm::append_range(lists, list);
      llvm::append_range(keys, own);
      for (int64_t &each : own)
        ++each;
      llvm::append_range(list, own);
      llvm::sort(list, std::greater<>());
      llvm::append_range(tops, llvm::ArrayRef(list).take_front(k));
      llvm::sort(own);
      if (!ascending)
        std::reverse(own.begin(), own.end());
      llvm::append_range(sorted, own);
    }
    auto tensor = [](int64_t columns) {
      return Tensor::zeros(DType::I64, {3, columns});
    };
    Tensor list = tensor(k), key = tensor(n), top = tensor(k), sort = tensor(n);
    list.setIntegers(lists);
    key.setIntegers(keys);
    run(substitute(module, {{"K", std::to_string(k)},
                            {"N", std::to_string(n)},
                            {"O", ascending ? "ascending" : "descending"}}),
        {list, key, top, sort}, options);
    EXPECT_EQ(top.toIntegers(), tops) << k << " of " << n;
    EXPECT_EQ(sort.toIntegers(), sorted) << n << " keys";
  }
};

TEST_F(OrderTest, AnyNumberOfKeys) {
  for (int64_t k : {1, 3, 16, 17, 40})
    for (int64_t n : {1, 5, 32, 64})
      for (bool ascending : {false, true})
        check(k, n, ascending);
}

TEST_F(OrderTest, NetworksDoTheSame) {
  makePass = [] { return nsatile::createNSATileBitonicTopK(); };
  for (auto [k, n] : {std::pair(3, 1),
                      {16, 2},
                      {1, 3},
                      {17, 5},
                      {2, 16},
                      {5, 17},
                      {16, 64},
                      {33, 100},
                      {64, 8},
                      {100, 3}})
    check(k, n, /*ascending=*/(k + n) % 2 == 0);
}

TEST_F(OrderTest, NetworksOfNarrowVectors) {
  makePass = [] { return nsatile::createNSATileBitonicTopK(); };
  Options narrow;
  narrow.features = getVectorFeatures().back();
  check(16, 64, /*ascending=*/true, narrow);
  check(7, 24, /*ascending=*/false, narrow);
}

} // namespace
