//===- CUDAProgramFixture.cpp - Programs on GPUs of a fake driver ---------===//

#include "CUDAProgramTest.h"
#include "NSA/IR/NSAOps.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/IR/MLIRContext.h"
#include "nsacc-rt/nsacc_rt.h"
#include "nsacc/Driver/Devices.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Signature/Signature.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>

using namespace nsacc;

const char *const nsacc::kFlash = R"(
kernel flash(q: f32[B, T, HQ, D], k: f32[B, S, H, D], v: f32[B, S, H, DV])
    -> f32[B, T, HQ, DV] {
  return attend(q, k, v) where j <= i;
})";

/// ".param .u64 p0" for each word of a program's arguments.
static std::string declareParameters(nsatile::ProgramOp program) {
  unsigned count = 0;
  for (mlir::Type type : program.getArgumentTypes()) {
    auto buffer = llvm::dyn_cast<mlir::MemRefType>(type);
    count += buffer ? 1 + 2 * buffer.getRank() : 1;
  }
  std::string text;
  for (unsigned i = 0; i <= count; ++i)
    text += (i ? ", " : "") + (".param .u64 p" + std::to_string(i));
  return text;
}

llvm::Expected<rt::Package>
nsacc::compileStandIn(mlir::ModuleOp module, const cuda::Options &options) {
  mlir::MLIRContext *context = module.getContext();
  auto counter =
      nsatile::HostParameterAttr::get(context, nsatile::HostParameter::Counter);
  auto kernel = nsatile::KernelAttr::get(
      context, /*threads=*/128, /*shared=*/1024, /*cluster=*/1,
      /*dependent=*/false, mlir::ArrayAttr::get(context, {counter}));
  std::string ptx =
      ".version 9.0\n.target " + options.device.code.architecture.str() + "\n";
  for (auto program : module.getOps<nsatile::ProgramOp>()) {
    program->setAttr(nsatile::NSATileDialect::getKernelAttrName(), kernel);
    ptx += ".visible .entry " + program.getSymName().str() + "(" +
           declareParameters(program) + ") {}\n";
  }
  auto package =
      cuda::packPlan(*module.getOps<nsatile::PlanOp>().begin(), options);
  if (failed(package))
    return llvm::createStringError("not packed");
  package->images = {{ptx, "", {}}};
  return std::move(*package);
}

void CUDAProgramTest::SetUp() {
  fakecuda::setCurrent(-1);
  fakecuda::setDevices("");
  fakecuda::reset();
}

void CUDAProgramTest::TearDown() {
  program.reset();
  EXPECT_EQ(fakecuda::getMisuse(), "");
  EXPECT_EQ(fakecuda::getAllocatedBytes(), 0u) << "memory leaked";
  EXPECT_EQ(fakecuda::getRetained(), 0u) << "contexts leaked";
}

namespace {

/// A compilation that is already finished.
class ReadyPackage : public cuda::Compilation {
public:
  explicit ReadyPackage(rt::Package package) : package(std::move(package)) {}
  llvm::Expected<rt::Package> finish() override { return std::move(package); }

private:
  rt::Package package;
};

} // namespace

void CUDAProgramTest::compile(const char *text, const char *target,
                              PackageCompiler compiler, std::string schedule) {
  auto starter = [compiler = std::move(compiler)](mlir::ModuleOp module,
                                                  const cuda::Options &options,
                                                  CompilerThreads &)
      -> llvm::Expected<std::unique_ptr<cuda::Compilation>> {
    auto package = compiler(module, options);
    if (!package)
      return package.takeError();
    return std::make_unique<ReadyPackage>(std::move(*package));
  };
  compileWith(text, target, std::move(starter), std::move(schedule));
}

void CUDAProgramTest::compileWith(const char *text, const char *target,
                                  CompilationStarter starter,
                                  std::string schedule) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module =
      frontend::compile(llvm::MemoryBufferRef(text, "test.nsa"), {}, context);
  ASSERT_TRUE(module && succeeded(runPhases(*module, Phase::NSA)));
  std::vector<Signature> signatures;
  for (auto kernel : module->getOps<nsa::KernelOp>())
    signatures.push_back(getSignature(kernel));
  llvm::cantFail(
      resolveTarget(*findTarget(target), /*deviceFile=*/{}, options));
  options.schedule = std::move(schedule);
  program = llvm::cantFail(
      createCUDAProgram(*module, llvm::cantFail(ModuleImage::create(*module)),
                        std::move(signatures), options, std::move(starter)));
}

std::vector<Tensor> CUDAProgramTest::makeInputs(DimSizes sizes) {
  std::vector<Tensor> inputs;
  for (const Argument &argument : program->getSignatures()[0].inputs)
    inputs.push_back(llvm::cantFail(makeRandomInput(argument, sizes, 0)));
  return inputs;
}

DimSizes CUDAProgramTest::makeSizes() {
  DimSizes sizes;
  sizes.sizes = {{"B", 2}, {"T", 40}, {"S", 70}, {"HQ", 4},
                 {"H", 2}, {"D", 16}, {"DV", 16}};
  return sizes;
}

void CUDAProgramTest::moveTo(int device, std::vector<Tensor> &tensors) {
  for (Tensor &tensor : tensors) {
    size_t bytes = tensor.getNumElements() * getSize(tensor.getDType());
    void *data = nullptr;
    ASSERT_EQ(nsacc_rt_allocate(device, bytes, &data), NSACC_RT_OK);
    std::memcpy(data, tensor.getData(), bytes);
    tensor = Tensor::borrow(data, tensor.getDType(), tensor.getShape(),
                            tensor.getStrides(), nullptr);
  }
}

std::string CUDAProgramTest::fail(llvm::ArrayRef<Tensor> inputs) {
  auto results = program->run("", inputs);
  return results ? "no error" : toString(results.takeError());
}
