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

  /// Whether graphs have edges to kernels that wait in their own code.
  bool recordsDependentLaunches() const { return streamGetCaptureInfo3; }

  /// The process's driver. Throws if there is none, or if it is too old.
  static const Driver &get();

  /// "CUDA_ERROR_INVALID_VALUE (invalid argument)"
  std::string describe(Result result) const;
  /// Throws unless `result` is success; `what` names the attempted action.
  void check(Result result, const char *what) const {
    if (result != driver::results::success)
      fail(result, what);
  }
  [[noreturn]] void fail(Result result, const std::string &what) const;
};

/// Makes a context current in the thread while it lives.
class ContextScope {
public:
  explicit ContextScope(driver::Context context);
  ~ContextScope();
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

private:
  bool isPushed;
};

/// Allows this thread to allocate while a stream is being captured.
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
  /// Keeps the context retained after this object's end.
  void keep() { isKept = true; }

private:
  driver::Device device;
  driver::Context context;
  bool isKept = false;
};

/// The number of devices; throws if there is none.
int getDeviceCount();
/// Throws if there is no such device.
driver::Device getDevice(int ordinal);
int getAttribute(driver::Device device, int attribute);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_DRIVER_H
