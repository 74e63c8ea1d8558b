//===- Driver.h - The CUDA driver, opened at run time -----------*- C++ -*-===//

#ifndef NSACC_LIB_RT_DRIVER_H
#define NSACC_LIB_RT_DRIVER_H

#include "DriverTypes.h"
#include "Failure.h"

namespace nsacc::rt {

/// The driver's functions.
struct Driver {
#define ENTRY(name, symbol, parameters) driver::Result(*name) parameters;
#define OPTIONAL_ENTRY ENTRY
  using Address = driver::Address;
  using Context = driver::Context;
  using Device = driver::Device;
  using Event = driver::Event;
  using Function = driver::Function;
  using Graph = driver::Graph;
  using GraphExec = driver::GraphExec;
  using LaunchConfig = driver::LaunchConfig;
  using Module = driver::Module;
  using Result = driver::Result;
  using Stream = driver::Stream;
  using TensorMap = driver::TensorMap;
#include "Entries.def"

  int version;

  /// Whether graphs have edges to kernels that wait by themselves.
  bool recordsDependentLaunches() const { return streamGetCaptureInfo3; }

  /// The process's driver. Throws where there is none, or an old one.
  static const Driver &get();

  /// "CUDA_ERROR_INVALID_VALUE (invalid argument)"
  std::string describe(Result result) const;
  /// Throws unless `result` is success; `what` was tried.
  void check(Result result, const char *what) const {
    if (result != driver::results::success)
      fail(result, what);
  }
  [[noreturn]] void fail(Result result, const std::string &what) const;
};

/// Makes a context the thread's while it lives.
class ContextScope {
public:
  explicit ContextScope(driver::Context context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  bool isPushed;
};

/// Lets this thread allocate though some stream is being captured.
class RelaxedCapture {
public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;

private:
  int mode = driver::kCaptureModeRelaxed;
};

/// A device's primary context, retained while it lives.
class PrimaryContext {
public:
  explicit PrimaryContext(int device);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext &) = delete;
  PrimaryContext &operator=(const PrimaryContext &) = delete;
  driver::Context get() const { return context; }
  /// Leaves releasing to others.
  void keep() { isKept = true; }

private:
  driver::Device device;
  driver::Context context;
  bool isKept = false;
};

/// The number of devices; throws where there is none.
int getDeviceCount();
/// Throws where there is no such device.
driver::Device getDevice(int ordinal);
int getAttribute(driver::Device device, int attribute);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_DRIVER_H
