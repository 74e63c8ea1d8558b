//===- ErrorTest.cpp - Inputs that don't fit a kernel ---------------------===//

#include "InterpreterTestUtil.h"

using namespace nsacc;
using namespace nsacc::interpreter;

static const char *attend = R"(
!q = !nsa.tensor<[B, T, HQ, D], f32>
!k = !nsa.tensor<[B, S, H, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>
!x = !nsa.tensor<[N], f32>
nsa.kernel @attend(%q: !q {nsa.name = "q"}, %k: !k {nsa.name = "k"}, %x: !x {nsa.name = "slope"}) -> !q {
  %o, %l = nsa.attend(%q, %k, %k)
    mask (%b, %h, %t, %i, %j) {
      %c = arith.cmpi sle, %j, %i : index
      nsa.yield %c : i1
    }
    score (%s, %b, %h, %t, %i, %j) {
      %a = nsa.table_read %x[%j] : !x
      %r = arith.mulf %s, %a : f32
      nsa.yield %r : f32
    } : (!q, !k, !k) -> (!q, !l)
  nsa.return %o : !q
})";

static Tensor zeros(llvm::ArrayRef<int64_t> shape) {
  return Tensor::zeros(DType::F32, shape);
}

static void expectMessage(const std::string &message,
                          llvm::ArrayRef<const char *> parts) {
  for (const char *part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(ErrorTest, SizesThatContradictNameBothInputs) {
  Kernel kernel(attend);
  expectMessage(
      kernel.fail({zeros({1, 2, 2, 4}), zeros({1, 2, 2, 5}), zeros({2})}),
      {"D is 4 in 'q' but 5 in 'k'"});
  expectMessage(
      kernel.fail({zeros({1, 2, 2, 4}), zeros({2, 2, 2, 4}), zeros({2})}),
      {"B is 1 in 'q' but 2 in 'k'"});
}

TEST(ErrorTest, QueryHeadsAreAMultipleOfKeyHeads) {
  expectMessage(Kernel(attend).fail(
                    {zeros({1, 2, 5, 4}), zeros({1, 2, 2, 4}), zeros({2})}),
                {"HQ = 5", "H = 2"});
}

TEST(ErrorTest, InputsOfAnotherKind) {
  Kernel kernel(attend);
  expectMessage(kernel.fail({zeros({1, 2, 2, 4})}), {"3 inputs", "found 1"});
  expectMessage(
      kernel.fail({zeros({2, 2, 4}), zeros({1, 2, 2, 4}), zeros({2})}),
      {"'q'", "3 dimensions"});
  expectMessage(kernel.fail({Tensor::zeros(DType::I32, {1, 2, 2, 4}),
                             zeros({1, 2, 2, 4}), zeros({2})}),
                {"'q'", "i32", "f32"});
}

TEST(ErrorTest, FirstRowThatFailsWithAnyNumberOfThreads) {
  // Rows from 5 on read past the table; invisible pairs don't.
  Kernel kernel(attend);
  std::vector<Tensor> inputs = {zeros({1, 400, 1, 1}), zeros({1, 400, 1, 1}),
                                zeros({5})};
  for (unsigned threads : {1, 2, 5})
    EXPECT_EQ(kernel.fail(inputs, threads),
              "table 'slope' is read at [5], but dimension N has size 5 in "
              "'score' at b = 0, h = 0, t = 5, i = 5, j = 5");
  inputs[2] = zeros({400});
  kernel.run(inputs, 5);
}

TEST(ErrorTest, OffsetsOfRaggedRows) {
  const char *source = R"(
!q = !nsa.tensor<[ragged T, H, D], f32>
!l = !nsa.tensor<[ragged T, H], f32>
nsa.kernel @attend(%q: !q {nsa.name = "q"}, %o: !nsa.tensor<[offsets(T)], i32> {nsa.name = "T_offsets"}) -> !q {
  %r, %l = nsa.attend(%q, %q, %q) : (!q, !q, !q) -> (!q, !l)
  nsa.return %r : !q
})";
  Kernel kernel(source);
  auto fail = [&](llvm::ArrayRef<int64_t> offsets) {
    int64_t size = offsets.size();
    return kernel.fail({zeros({4, 1, 1}), makeIntegers({size}, offsets)});
  };
  expectMessage(fail({1, 4}), {"'T_offsets'", "start with 0"});
  expectMessage(fail({0, 3, 2, 4}), {"'T_offsets'", "decrease"});
  expectMessage(fail({0, 3}), {"'T_offsets'", "'q'", "4"});
  expectMessage(fail({}), {"'T_offsets'"});
  EXPECT_EQ(fail({0, 4}), "no error");
}

TEST(ErrorTest, DivisionByZeroInAClause) {
  const char *source = R"(
!q = !nsa.tensor<[B, T, H, D], f32>
!l = !nsa.tensor<[B, T, H], f32>
nsa.kernel @attend(%q: !q) -> !q {
  %o, %l = nsa.attend(%q, %q, %q)
    mask (%b, %h, %t, %i, %j) {
      %three = arith.constant 3 : index
      %d = arith.subi %j, %three : index
      %n = arith.floordivsi %i, %d : index
      %c = arith.cmpi eq, %n, %i : index
      nsa.yield %c : i1
    } : (!q, !q, !q) -> (!q, !l)
  nsa.return %o : !q
})";
  Kernel kernel(source);
  EXPECT_EQ(kernel.fail({zeros({2, 4, 1, 1})}, 5),
            "integer 0 is divided by zero in 'where' at b = 0, h = 0, t = 0, "
            "i = 0, j = 3");
  EXPECT_EQ(kernel.fail({zeros({2, 3, 1, 1})}), "no error");
}

TEST(ErrorTest, ResultsThatNoMemoryHolds) {
  const char *source = R"(
!q = !nsa.tensor<[B, T, H, D], f32>
!k = !nsa.tensor<[B, S, H, D], f32>
!p = !nsa.tensor<[B, T, H, S], f32>
nsa.kernel @scores(%q: !q, %k: !k) -> !p {
  %p = nsa.importance score heads sum (%q, %k) : (!q, !k) -> !p
  nsa.return %p : !p
})";
  // Inputs without elements can be of any length.
  for (int64_t tokens : {int64_t(1) << 32, int64_t(1) << 21})
    expectMessage(Kernel(source).fail({zeros({1, tokens, 1, 0}),
                                       zeros({1, int64_t(1) << 20, 1, 0})}),
                  {"not enough memory for [B, T, H, S]"});
}

TEST(ErrorTest, DimensionThatNoInputHas) {
  const char *source = R"(
!q = !nsa.tensor<[B, T, H, D], f32>
!x = !nsa.tensor<[B, pooled(N of S, 2, 2, 0, 0), H, D], f32>
!l = !nsa.tensor<[B, T, H], f32>
nsa.kernel @attend(%q: !q, %x: !x) -> !q {
  %o, %l = nsa.attend(%q, %x, %x) : (!q, !x, !x) -> (!q, !l)
  nsa.return %o : !q
})";
  EXPECT_EQ(Kernel(source).fail({zeros({1, 1, 1, 1}), zeros({1, 1, 1, 1})}),
            "dimension S has no size: no input of the kernel has it");
}
