//===- ScalarTest.cpp - Operations of scalar code -------------------------===//

#include "InterpreterTestUtil.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::interpreter;

/// A map of reals x, y, integers m, n and booleans p, q, each of one dimension,
/// whose body defines %r.
static std::string makeMap(const std::string &body, const std::string &type) {
  std::string element = type == "index" ? "i64" : type;
  return R"(
!x = !nsa.tensor<[N], f32>
!m = !nsa.tensor<[N], i64>
!p = !nsa.tensor<[N], i1>
!table = !nsa.tensor<[L, 2], i32>
!r = !nsa.tensor<[N], )" +
         element + R"(>
nsa.kernel @map(%x: !x, %y: !x, %m: !m, %n: !m, %p: !p, %q: !p, %table: !table {nsa.name = "table"}) -> !r {
  %r = nsa.map(%x, %y, %m, %n, %p, %q) : (!x, !x, !m, !m, !p, !p) -> !r {
  ^bb0(%a: f32, %b: f32, %i: index, %j: index, %c: i1, %d: i1):
    )" + body +
         "\n    nsa.yield %r : " + type + R"(
  }
  nsa.return %r : !r
})";
}

struct Values {
  std::vector<double> x, y;
  std::vector<int64_t> m, n;
};

static std::vector<Tensor> makeInputs(Values values) {
  int64_t size = std::max(values.x.size(), values.m.size());
  values.x.resize(size);
  values.y.resize(size);
  values.m.resize(size);
  values.n.resize(size);
  std::vector<int64_t> p, q;
  for (int64_t index = 0; index < size; ++index) {
    p.push_back(values.m[index] != 0);
    q.push_back(values.n[index] != 0);
  }
  return {makeReals({size}, values.x),
          makeReals({size}, values.y),
          makeIntegers({size}, values.m, DType::I64),
          makeIntegers({size}, values.n, DType::I64),
          makeIntegers({size}, p, DType::Bool),
          makeIntegers({size}, q, DType::Bool),
          makeIntegers({3, 2}, {1, 2, 3, 4, 5, 6})};
}

static Tensor evaluate(const std::string &body, const std::string &type,
                       const Values &values) {
  return Kernel(makeMap(body, type)).run(makeInputs(values))[0];
}

static std::string fail(const std::string &body, const std::string &type,
                        const Values &values) {
  return Kernel(makeMap(body, type)).fail(makeInputs(values));
}

TEST(ScalarTest, RealArithmetic) {
  Values values{{7, -7, 1}, {2, 2, 0}, {}, {}};
  auto run = [&](const std::string &op) {
    return evaluate("%r = arith." + op + " %a, %b : f32", "f32", values);
  };
  expectReals(run("addf"), {9, -5, 1});
  expectReals(run("subf"), {5, -9, 1});
  expectReals(run("mulf"), {14, -14, 0});
  expectReals(run("divf"), {3.5, -3.5, infinity});
  expectReals(run("remf"), {1, -1, notANumber});
  expectReals(evaluate("%r = arith.negf %a : f32", "f32", values), {-7, 7, -1});
}

TEST(ScalarTest, MinimumAndMaximumOfNaN) {
  Values values{{1, notANumber, 3}, {2, 2, notANumber}, {}, {}};
  auto run = [&](const std::string &op) {
    return evaluate("%r = arith." + op + " %a, %b : f32", "f32", values);
  };
  expectReals(run("maximumf"), {2, notANumber, notANumber});
  expectReals(run("minimumf"), {1, notANumber, notANumber});
  expectReals(run("maxnumf"), {2, 2, 3});
  expectReals(run("minnumf"), {1, 2, 3});
}

TEST(ScalarTest, IntegerArithmetic) {
  Values values{{}, {}, {7, -7, 7, -7, INT64_MIN}, {2, 2, -2, -2, -1}};
  auto run = [&](const std::string &op) {
    return evaluate("%r = arith." + op + " %i, %j : index", "index", values);
  };
  expectIntegers(run("addi"), {9, -5, 5, -9, INT64_MAX});
  expectIntegers(run("muli"), {14, -14, -14, 14, INT64_MIN});
  expectIntegers(run("divsi"), {3, -3, -3, 3, INT64_MIN});
  expectIntegers(run("remsi"), {1, -1, 1, -1, 0});
  expectIntegers(run("floordivsi"), {3, -4, -4, 3, INT64_MIN});
  expectIntegers(run("ceildivsi"), {4, -3, -3, 4, INT64_MIN});
  expectIntegers(run("minsi"), {2, -7, -2, -7, INT64_MIN});
  expectIntegers(run("maxsi"), {7, 2, 7, -2, -1});
}

TEST(ScalarTest, ComparisonsOfReals) {
  Values values{{1, 2, 3, notANumber}, {2, 2, 2, 2}, {}, {}};
  auto run = [&](const std::string &predicate) {
    return evaluate("%r = arith.cmpf " + predicate + ", %a, %b : f32", "i1",
                    values);
  };
  expectIntegers(run("olt"), {1, 0, 0, 0});
  expectIntegers(run("ole"), {1, 1, 0, 0});
  expectIntegers(run("ogt"), {0, 0, 1, 0});
  expectIntegers(run("oge"), {0, 1, 1, 0});
  expectIntegers(run("oeq"), {0, 1, 0, 0});
  expectIntegers(run("one"), {1, 0, 1, 0});
  expectIntegers(run("ord"), {1, 1, 1, 0});
  expectIntegers(run("ult"), {1, 0, 0, 1});
  expectIntegers(run("ule"), {1, 1, 0, 1});
  expectIntegers(run("ugt"), {0, 0, 1, 1});
  expectIntegers(run("uge"), {0, 1, 1, 1});
  expectIntegers(run("ueq"), {0, 1, 0, 1});
  expectIntegers(run("une"), {1, 0, 1, 1});
  expectIntegers(run("uno"), {0, 0, 0, 1});
}

TEST(ScalarTest, ComparisonsOfIntegers) {
  Values values{{}, {}, {1, 2, 3, -1}, {2, 2, 2, 2}};
  auto run = [&](const std::string &predicate) {
    return evaluate("%r = arith.cmpi " + predicate + ", %i, %j : index", "i1",
                    values);
  };
  expectIntegers(run("eq"), {0, 1, 0, 0});
  expectIntegers(run("ne"), {1, 0, 1, 1});
  expectIntegers(run("slt"), {1, 0, 0, 1});
  expectIntegers(run("sle"), {1, 1, 0, 1});
  expectIntegers(run("sgt"), {0, 0, 1, 0});
  expectIntegers(run("sge"), {0, 1, 1, 0});
  expectIntegers(run("ult"), {1, 0, 0, 0});
  expectIntegers(run("uge"), {0, 1, 1, 1});
}

TEST(ScalarTest, Booleans) {
  Values values{{}, {}, {0, 0, 1, 1}, {0, 1, 0, 1}};
  auto run = [&](const std::string &op) {
    return evaluate("%r = arith." + op + " %c, %d : i1", "i1", values);
  };
  expectIntegers(run("andi"), {0, 0, 0, 1});
  expectIntegers(run("ori"), {0, 1, 1, 1});
  expectIntegers(run("xori"), {0, 1, 1, 0});
  expectIntegers(run("cmpi eq,"), {1, 0, 0, 1});
  // not, as constant true and xor
  expectIntegers(evaluate("%t = arith.constant true\n"
                          "%r = arith.xori %c, %t : i1",
                          "i1", values),
                 {1, 1, 0, 0});
}

TEST(ScalarTest, Conversions) {
  Values values{{1.9, -1.9, 1e30, notANumber}, {}, {1, 0, -3, 4}, {}};
  expectIntegers(evaluate("%k = arith.fptosi %a : f32 to i64\n"
                          "%r = arith.index_cast %k : i64 to index",
                          "index", values),
                 {1, -1, INT64_MAX, 0});
  expectReals(evaluate("%k = arith.index_cast %i : index to i64\n"
                       "%r = arith.sitofp %k : i64 to f32",
                       "f32", values),
              {1, 0, -3, 4});
  expectReals(evaluate("%r = arith.uitofp %c : i1 to f32", "f32", values),
              {1, 0, 1, 1});
  expectIntegers(evaluate("%k = arith.extui %c : i1 to i64\n"
                          "%r = arith.index_cast %k : i64 to index",
                          "index", values),
                 {1, 0, 1, 1});
  expectIntegers(evaluate("%k = arith.extsi %c : i1 to i64\n"
                          "%r = arith.index_cast %k : i64 to index",
                          "index", values),
                 {-1, 0, -1, -1});
}

struct Function {
  const char *op;
  double (*reference)(double);
};

TEST(ScalarTest, MathFunctions) {
  Values values{{0.25, 0.5, 0.75, 1}, {}, {}, {}};
  for (auto [op, reference] :
       std::initializer_list<Function>{{"absf", std::fabs},
                                       {"ceil", std::ceil},
                                       {"cos", std::cos},
                                       {"erf", std::erf},
                                       {"exp", std::exp},
                                       {"exp2", std::exp2},
                                       {"expm1", std::expm1},
                                       {"floor", std::floor},
                                       {"log", std::log},
                                       {"log1p", std::log1p},
                                       {"log2", std::log2},
                                       {"log10", std::log10},
                                       {"sin", std::sin},
                                       {"sqrt", std::sqrt},
                                       {"tanh", std::tanh},
                                       {"round", std::round},
                                       {"trunc", std::trunc}}) {
    std::vector<double> expected;
    for (double x : values.x)
      expected.push_back(reference(x));
    expectReals(
        evaluate("%r = math." + std::string(op) + " %a : f32", "f32", values),
        expected);
  }
  values.y = {2, 2, 0.5, -1};
  expectReals(evaluate("%r = math.powf %a, %b : f32", "f32", values),
              {0.0625, 0.25, std::sqrt(0.75), 1});
}

TEST(ScalarTest, RoundToEven) {
  Values values{{0.5, 1.5, 2.5, -0.5, -1.5, 2.6, infinity}, {}, {}, {}};
  expectReals(evaluate("%r = math.roundeven %a : f32", "f32", values),
              {0, 2, 2, 0, -2, 3, infinity});
}

//===----------------------------------------------------------------------===//
// Operations without a value
//===----------------------------------------------------------------------===//

TEST(ScalarTest, DivisionByZeroIsNamed) {
  Values values{{}, {}, {8, 9}, {2, 0}};
  EXPECT_EQ(fail("%r = arith.floordivsi %i, %j : index", "index", values),
            "integer 9 is divided by zero for element [1]");
}

static const std::string readTable =
    "%zero = arith.constant 0 : index\n"
    "%k = nsa.table_read %table[%i, %zero] : !table\n";

TEST(ScalarTest, TableReads) {
  expectIntegers(evaluate(readTable + "%r = arith.addi %k, %zero : index",
                          "index", {{}, {}, {2, 0, 1}, {}}),
                 {5, 1, 3});
  for (int64_t bad : {-1, 3})
    EXPECT_EQ(fail(readTable + "%r = arith.addi %k, %zero : index", "index",
                   {{}, {}, {0, bad}, {}}),
              "table 'table' is read at [" + std::to_string(bad) +
                  ", 0], but dimension L has size 3 for element [1]");
}

TEST(ScalarTest, OnlyWhatIsNeededMustHaveAValue) {
  Values values{{}, {}, {2, 7, -1}, {}};
  // i < 3 and i >= 0 and table[i, 0] == 5
  std::string guarded = "%three = arith.constant 3 : index\n" + readTable +
                        "%five = arith.constant 5 : index\n"
                        "%low = arith.cmpi sge, %i, %zero : index\n"
                        "%high = arith.cmpi slt, %i, %three : index\n"
                        "%in = arith.andi %low, %high : i1\n"
                        "%is = arith.cmpi eq, %k, %five : index\n";
  expectIntegers(
      evaluate(guarded + "%r = arith.andi %in, %is : i1", "i1", values),
      {1, 0, 0});
  expectIntegers(evaluate(guarded + "%r = arith.select %in, %k, %zero : index",
                          "index", values),
                 {5, 0, 0});
  // not in or table …
  expectIntegers(evaluate(guarded + "%t = arith.constant true\n"
                                    "%out = arith.xori %in, %t : i1\n"
                                    "%r = arith.ori %out, %is : i1",
                          "i1", values),
                 {1, 1, 1});
  // From left to right: the guard has to come first.
  EXPECT_NE(fail(guarded + "%r = arith.andi %is, %in : i1", "i1", values),
            "no error");
  // Unused operations need no value.
  expectIntegers(
      evaluate(guarded + "%r = arith.andi %low, %high : i1", "i1", values),
      {1, 0, 0});
}
