//===- ScalarArith.cpp - Operations of the arith dialect in scalar code ---===//
//
// Integers wrap around like their type. Reals follow IEEE 754.
//
//===----------------------------------------------------------------------===//

#include "NSA/IR/NSAOps.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

namespace {

/// Makes the steps of one operation.
class ArithSteps {
public:
  ArithSteps(Operation *op, unsigned result, ArrayRef<unsigned> operands)
      : op(op), result(result), operands(operands) {}

  StepFunction make();

private:
  template <typename Signature, typename F> StepFunction make(F f) {
    return Elementwise<Signature>::make(f, result, operands);
  }
  template <typename F> StepFunction real(F f) {
    return make<double(double, double)>(f);
  }
  template <typename F> StepFunction integer(F f);
  template <typename F> StepFunction quotient(F f);

  StepFunction makeConstant(arith::ConstantOp constant);
  StepFunction makeReal();
  StepFunction makeInteger();
  StepFunction makeDivision();
  StepFunction makeConversion();
  StepFunction makeSelect();
  StepFunction makeCompare(arith::CmpIPredicate predicate);
  StepFunction makeCompare(arith::CmpFPredicate predicate);

  unsigned getWidth(Type type) {
    return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  }
  unsigned getResultWidth() { return getWidth(op->getResult(0).getType()); }
  unsigned getOperandWidth() { return getWidth(op->getOperand(0).getType()); }

  Operation *op;
  unsigned result;
  ArrayRef<unsigned> operands;
};

} // namespace

/// The low `width` bits as a register's value: booleans as 0 and 1, others with
/// their sign.
static int64_t wrap(uint64_t bits, unsigned width) {
  if (width == 1)
    return bits & 1;
  return llvm::SignExtend64(bits, width);
}

/// A register's value read as a signed or unsigned number of its width.
static int64_t asSigned(int64_t value, unsigned width) {
  return width == 1 ? -value : value;
}
static uint64_t asUnsigned(int64_t value, unsigned width) {
  return value & llvm::maskTrailingOnes<uint64_t>(width);
}

/// Converts to an integer. Saturates; NaN gives 0.
static int64_t toInteger(double value, double lowest, double highest) {
  if (std::isnan(value))
    return 0;
  value = std::trunc(value);
  if (value >= highest)
    return highest >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(highest);
  return static_cast<int64_t>(std::max(value, lowest));
}

/// Whether a number is used only as a result of the kernel, converted to the
/// result's elements.
static bool isReturned(Value number) {
  return llvm::any_of(number.getUsers(), [](Operation *user) {
    auto map = dyn_cast<nsa::MapOp>(user->getParentOp());
    return map && isa<nsa::YieldOp>(user) &&
           llvm::any_of(map->getUsers(), llvm::IsaPred<nsa::ReturnOp>);
  });
}

template <typename F> StepFunction ArithSteps::integer(F f) {
  unsigned width = getResultWidth();
  return make<int64_t(int64_t, int64_t)>(
      [=](uint64_t x, uint64_t y) { return wrap(f(x, y), width); });
}

/// Division by zero is a failed assertion.
template <typename F> StepFunction ArithSteps::quotient(F f) {
  unsigned width = getResultWidth(), lhs = operands[0], rhs = operands[1],
           result = this->result;
  return [=](Frame &frame) {
    const int64_t *x = frame.getRegister<int64_t>(lhs);
    const int64_t *y = frame.getRegister<int64_t>(rhs);
    int64_t *out = frame.getRegister<int64_t>(result);
    for (size_t lane = 0, e = frame.getLanes(); lane != e; ++lane) {
      if (y[lane] == 0) {
        frame.fail(lane, [&] {
          return "integer " + std::to_string(x[lane]) + " is divided by zero";
        });
        out[lane] = 0;
      } else {
        out[lane] = wrap(f(x[lane], y[lane]), width);
      }
    }
  };
}

StepFunction ArithSteps::makeConstant(arith::ConstantOp constant) {
  unsigned result = this->result;
  if (auto real = dyn_cast<FloatAttr>(constant.getValue())) {
    double value = real.getValueAsDouble();
    return [=](Frame &frame) {
      std::fill_n(frame.getRegister<double>(result), frame.getLanes(), value);
    };
  }
  auto integer = dyn_cast<IntegerAttr>(constant.getValue());
  if (!integer)
    return nullptr;
  int64_t value =
      wrap(integer.getValue().getSExtValue(), getWidth(integer.getType()));
  return [=](Frame &frame) {
    std::fill_n(frame.getRegister<int64_t>(result), frame.getLanes(), value);
  };
}

StepFunction ArithSteps::makeReal() {
  using R = double;
  return llvm::TypeSwitch<Operation *, StepFunction>(op)
      .Case([&](arith::AddFOp) { return real([](R x, R y) { return x + y; }); })
      .Case([&](arith::SubFOp) { return real([](R x, R y) { return x - y; }); })
      .Case([&](arith::MulFOp) { return real([](R x, R y) { return x * y; }); })
      .Case([&](arith::DivFOp) { return real([](R x, R y) { return x / y; }); })
      .Case([&](arith::RemFOp) {
        return real([](R x, R y) { return std::fmod(x, y); });
      })
      .Case([&](arith::NegFOp) { return make<R(R)>([](R x) { return -x; }); })
      // NaN if either is; min and max of zeros look at their signs.
      .Case([&](arith::MaximumFOp) {
        return real([](R x, R y) {
          if (std::isnan(x) || std::isnan(y))
            return x + y;
          return x > y || (x == y && !std::signbit(x)) ? x : y;
        });
      })
      .Case([&](arith::MinimumFOp) {
        return real([](R x, R y) {
          if (std::isnan(x) || std::isnan(y))
            return x + y;
          return x < y || (x == y && std::signbit(x)) ? x : y;
        });
      })
      .Case([&](arith::MaxNumFOp) {
        return real([](R x, R y) { return std::fmax(x, y); });
      })
      .Case([&](arith::MinNumFOp) {
        return real([](R x, R y) { return std::fmin(x, y); });
      })
      .Default(StepFunction());
}

StepFunction ArithSteps::makeInteger() {
  using U = uint64_t;
  unsigned width = getResultWidth();
  auto lower = [=](U x, U y) {
    return asSigned(x, width) < asSigned(y, width);
  };
  auto lowerUnsigned = [=](U x, U y) {
    return asUnsigned(x, width) < asUnsigned(y, width);
  };
  return llvm::TypeSwitch<Operation *, StepFunction>(op)
      .Case([&](arith::AddIOp) {
        return integer([](U x, U y) { return x + y; });
      })
      .Case([&](arith::SubIOp) {
        return integer([](U x, U y) { return x - y; });
      })
      .Case([&](arith::MulIOp) {
        return integer([](U x, U y) { return x * y; });
      })
      .Case([&](arith::AndIOp) {
        return integer([](U x, U y) { return x & y; });
      })
      .Case(
          [&](arith::OrIOp) { return integer([](U x, U y) { return x | y; }); })
      .Case([&](arith::XOrIOp) {
        return integer([](U x, U y) { return x ^ y; });
      })
      .Case([&](arith::MaxSIOp) {
        return integer([=](U x, U y) { return lower(x, y) ? y : x; });
      })
      .Case([&](arith::MinSIOp) {
        return integer([=](U x, U y) { return lower(x, y) ? x : y; });
      })
      .Case([&](arith::MaxUIOp) {
        return integer([=](U x, U y) { return lowerUnsigned(x, y) ? y : x; });
      })
      .Case([&](arith::MinUIOp) {
        return integer([=](U x, U y) { return lowerUnsigned(x, y) ? x : y; });
      })
      // A shift by the width or more leaves only the sign.
      .Case([&](arith::ShLIOp) {
        return integer([=](U x, U y) { return y < width ? x << y : U(0); });
      })
      .Case([&](arith::ShRSIOp) {
        return integer([=](U x, U y) -> U {
          return asSigned(x, width) >> std::min<U>(y, width - 1);
        });
      })
      .Case([&](arith::ShRUIOp) {
        return integer([=](U x, U y) {
          return y < width ? asUnsigned(x, width) >> y : U(0);
        });
      })
      .Default(StepFunction());
}

/// Divides towards zero; the lowest number over -1 wraps.
static int64_t divideInteger(int64_t x, int64_t y) {
  return y == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x / y;
}
static int64_t modulo(int64_t x, int64_t y) { return y == -1 ? 0 : x % y; }

StepFunction ArithSteps::makeDivision() {
  using I = int64_t;
  unsigned width = getResultWidth();
  return llvm::TypeSwitch<Operation *, StepFunction>(op)
      .Case([&](arith::DivSIOp) { return quotient(divideInteger); })
      .Case([&](arith::RemSIOp) { return quotient(modulo); })
      .Case([&](arith::FloorDivSIOp) {
        return quotient([](I x, I y) {
          return divideInteger(x, y) -
                 (modulo(x, y) != 0 && (x < 0) != (y < 0));
        });
      })
      .Case([&](arith::CeilDivSIOp) {
        return quotient([](I x, I y) {
          return divideInteger(x, y) +
                 (modulo(x, y) != 0 && (x < 0) == (y < 0));
        });
      })
      .Case([&](arith::DivUIOp) {
        return quotient([=](I x, I y) {
          return asUnsigned(x, width) / asUnsigned(y, width);
        });
      })
      .Case([&](arith::RemUIOp) {
        return quotient([=](I x, I y) {
          return asUnsigned(x, width) % asUnsigned(y, width);
        });
      })
      .Case([&](arith::CeilDivUIOp) {
        return quotient([=](I x, I y) {
          uint64_t dividend = asUnsigned(x, width),
                   divisor = asUnsigned(y, width);
          return dividend / divisor + (dividend % divisor != 0);
        });
      })
      .Default(StepFunction());
}

StepFunction ArithSteps::makeConversion() {
  using I = int64_t;
  // Reals are fp64, independent of their type.
  if (isa<arith::TruncFOp>(op))
    return make<double(double)>([](double x) { return x; });
  unsigned to = getResultWidth();
  unsigned from = op->getNumOperands() == 1 ? getOperandWidth() : to;
  return llvm::TypeSwitch<Operation *, StepFunction>(op)
      .Case<arith::IndexCastOp, arith::ExtSIOp>([&](auto) {
        return make<I(I)>([=](I x) { return wrap(asSigned(x, from), to); });
      })
      .Case<arith::IndexCastUIOp, arith::ExtUIOp, arith::TruncIOp>([&](auto) {
        return make<I(I)>([=](I x) { return wrap(asUnsigned(x, from), to); });
      })
      .Case([&](arith::SIToFPOp) {
        // Rounds to f32 at once, and to bf16 and f16 by way of f32.
        if (isReturned(op->getResult(0)))
          return make<double(I)>(
              [=](I x) -> double { return float(asSigned(x, from)); });
        return make<double(I)>(
            [=](I x) -> double { return asSigned(x, from); });
      })
      .Case([&](arith::UIToFPOp) {
        return make<double(I)>(
            [=](I x) -> double { return asUnsigned(x, from); });
      })
      .Case([&](arith::FPToSIOp) {
        double highest = std::ldexp(1.0, to - 1);
        double most = to == 64 ? highest : highest - 1;
        return make<I(double)>(
            [=](double x) { return wrap(toInteger(x, -highest, most), to); });
      })
      .Case([&](arith::FPToUIOp) {
        double most = to == 64 ? 0x1p63 : std::ldexp(1.0, to) - 1;
        return make<I(double)>(
            [=](double x) { return wrap(toInteger(x, 0, most), to); });
      })
      .Default(StepFunction());
}

StepFunction ArithSteps::makeSelect() {
  if (isa<FloatType>(op->getResult(0).getType()))
    return make<double(int64_t, double, double)>(
        [](int64_t c, double x, double y) { return c ? x : y; });
  return make<int64_t(int64_t, int64_t, int64_t)>(
      [](int64_t c, int64_t x, int64_t y) { return c ? x : y; });
}

StepFunction ArithSteps::makeCompare(arith::CmpIPredicate predicate) {
  unsigned width = getOperandWidth();
  auto compare = [&](auto read, auto holds) {
    return make<int64_t(int64_t, int64_t)>(
        [=](int64_t x, int64_t y) -> int64_t {
          return holds(read(x), read(y));
        });
  };
  auto plain = [](int64_t x) { return x; };
  auto number = [=](int64_t x) { return asSigned(x, width); };
  auto bits = [=](int64_t x) { return asUnsigned(x, width); };
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return compare(plain, std::equal_to<>());
  case arith::CmpIPredicate::ne:
    return compare(plain, std::not_equal_to<>());
  case arith::CmpIPredicate::slt:
    return compare(number, std::less<>());
  case arith::CmpIPredicate::sle:
    return compare(number, std::less_equal<>());
  case arith::CmpIPredicate::sgt:
    return compare(number, std::greater<>());
  case arith::CmpIPredicate::sge:
    return compare(number, std::greater_equal<>());
  case arith::CmpIPredicate::ult:
    return compare(bits, std::less<>());
  case arith::CmpIPredicate::ule:
    return compare(bits, std::less_equal<>());
  case arith::CmpIPredicate::ugt:
    return compare(bits, std::greater<>());
  case arith::CmpIPredicate::uge:
    return compare(bits, std::greater_equal<>());
  }
  return nullptr;
}

StepFunction ArithSteps::makeCompare(arith::CmpFPredicate predicate) {
  auto compare = [&](auto holds) {
    return make<int64_t(double, double)>(
        [=](double x, double y) -> int64_t { return holds(x, y); });
  };
  using P = arith::CmpFPredicate;
  using R = double;
  switch (predicate) {
  case P::AlwaysFalse:
    return compare([](R x, R y) { return false; });
  case P::AlwaysTrue:
    return compare([](R x, R y) { return true; });
  case P::OEQ:
    return compare([](R x, R y) { return x == y; });
  case P::OGT:
    return compare([](R x, R y) { return x > y; });
  case P::OGE:
    return compare([](R x, R y) { return x >= y; });
  case P::OLT:
    return compare([](R x, R y) { return x < y; });
  case P::OLE:
    return compare([](R x, R y) { return x <= y; });
  case P::ONE:
    return compare([](R x, R y) { return x < y || x > y; });
  case P::ORD:
    return compare([](R x, R y) { return !std::isunordered(x, y); });
  case P::UEQ:
    return compare([](R x, R y) { return !(x < y || x > y); });
  case P::UGT:
    return compare([](R x, R y) { return !(x <= y); });
  case P::UGE:
    return compare([](R x, R y) { return !(x < y); });
  case P::ULT:
    return compare([](R x, R y) { return !(x >= y); });
  case P::ULE:
    return compare([](R x, R y) { return !(x > y); });
  case P::UNE:
    return compare([](R x, R y) { return x != y; });
  case P::UNO:
    return compare([](R x, R y) { return std::isunordered(x, y); });
  }
  return nullptr;
}

StepFunction ArithSteps::make() {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return makeConstant(constant);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return makeCompare(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return makeCompare(compare.getPredicate());
  if (isa<arith::SelectOp>(op))
    return makeSelect();
  if (StepFunction function = makeReal())
    return function;
  if (StepFunction function = makeConversion())
    return function;
  if (StepFunction function = makeDivision())
    return function;
  return makeInteger();
}

StepFunction nsacc::interpreter::makeArithStep(Operation *op, unsigned result,
                                               ArrayRef<unsigned> operands) {
  if (!isa_and_present<arith::ArithDialect>(op->getDialect()))
    return nullptr;
  return ArithSteps(op, result, operands).make();
}
