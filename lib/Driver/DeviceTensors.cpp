//===- DeviceTensors.cpp - Tensors in the memory of a GPU -----------------===//

#include "DeviceTensors.h"
#include "llvm/ADT/StringSet.h"

using namespace nsacc;

llvm::Error nsacc::toError(nsacc_rt_status status) {
  if (status == NSACC_RT_OK)
    return llvm::Error::success();
  return llvm::createStringError(llvm::StringRef(nsacc_rt_message()));
}

nsacc_rt_tensor nsacc::toRuntime(const Tensor &tensor) {
  return {tensor.getData(), toNumber(tensor.getDType()),
          static_cast<int32_t>(tensor.getRank()), tensor.getShape().data(),
          tensor.getStrides().data()};
}

static size_t getBytes(const Tensor &tensor) {
  return static_cast<size_t>(tensor.getNumElements() *
                             getSize(tensor.getDType()));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

DeviceTensors::~DeviceTensors() {
  for (const Tensor &tensor : tensors)
    nsacc_rt_free(device, tensor.getData());
}

llvm::Error DeviceTensors::allocate(const Tensor &host) {
  void *data = nullptr;
  if (llvm::Error error =
          toError(nsacc_rt_allocate(device, getBytes(host), &data)))
    return error;
  llvm::SmallVector<int64_t> strides(host.getRank());
  int64_t stride = 1;
  for (int64_t dim = host.getRank(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= std::max<int64_t>(host.getShape()[dim], 1);
  }
  tensors.push_back(
      Tensor::borrow(data, host.getDType(), host.getShape(), strides, nullptr));
  return llvm::Error::success();
}

llvm::Error DeviceTensors::upload(const Tensor &host) {
  if (llvm::Error error = allocate(host))
    return error;
  Tensor contiguous = host.toContiguous();
  return toError(nsacc_rt_to_device(device, tensors.back().getData(),
                                    contiguous.getData(), getBytes(host)));
}

llvm::Error DeviceTensors::download(size_t index, const Tensor &host) const {
  Tensor contiguous = host.isContiguous()
                          ? host
                          : Tensor::zeros(host.getDType(), host.getShape());
  if (llvm::Error error =
          toError(nsacc_rt_to_host(device, contiguous.getData(),
                                   tensors[index].getData(), getBytes(host))))
    return error;
  if (contiguous.getData() != host.getData())
    copyElements(contiguous, host);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// Whether some shape depends on the lengths of rows, not only on their number
/// and sum.
static bool needsLengths(const Signature &signature) {
  llvm::StringSet<> ragged;
  for (const Argument &input : signature.inputs)
    if (input.isOffsets())
      ragged.insert(input.dims.front().name);
  for (const auto *arguments : {&signature.inputs, &signature.results})
    for (const Argument &argument : *arguments)
      for (const Dim &dim : argument.dims)
        if ((dim.kind == Dim::Kind::Pool || dim.kind == Dim::Kind::Pooled ||
             dim.kind == Dim::Kind::Blocks) &&
            (dim.ragged || ragged.contains(dim.name)))
          return true;
  return false;
}

/// Copies offsets from the device. Waits until they are computed.
static llvm::Expected<Tensor> fetch(const Tensor &offsets,
                                    const DeviceStream &where) {
  if (!offsets.isContiguous())
    return llvm::createStringError(
        "offsets of ragged rows have to be contiguous on a GPU");
  Tensor host = Tensor::zeros(offsets.getDType(), offsets.getShape());
  if (llvm::Error error =
          toError(nsacc_rt_synchronize(where.device, where.stream)))
    return std::move(error);
  if (llvm::Error error = toError(nsacc_rt_to_host(
          where.device, host.getData(), offsets.getData(), getBytes(host))))
    return std::move(error);
  return host;
}

llvm::Expected<DimSizes> nsacc::bindRunDimensions(const Signature &signature,
                                                  llvm::ArrayRef<Tensor> inputs,
                                                  const RunOptions &options) {
  if (!options.device || inputs.size() != signature.inputs.size())
    return bindDimensions(signature, inputs);
  bool hasLengths = needsLengths(signature);
  DimSizes known;
  std::vector<Tensor> tensors(inputs);
  std::vector<const Tensor *> pointers;
  for (auto [argument, tensor] : llvm::zip_equal(signature.inputs, tensors)) {
    pointers.push_back(&tensor);
    if (!argument.isOffsets() || tensor.getRank() != 1 ||
        tensor.getDType() != argument.dtype)
      continue;
    if (hasLengths) {
      llvm::Expected<Tensor> host = fetch(tensor, *options.device);
      if (!host)
        return host.takeError();
      tensor = std::move(*host);
      continue;
    }
    // Reading their values would have to wait.
    known.batchRows = tensor.getShape().front() - 1;
    pointers.back() = nullptr;
  }
  return bindKnownDimensions(signature, pointers, std::move(known));
}
