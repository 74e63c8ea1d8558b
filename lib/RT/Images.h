//===- Images.h - A package's images on a device ----------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_IMAGES_H
#define NSACC_LIB_RT_IMAGES_H

#include "Driver.h"
#include "nsacc/RT/Package.h"
#include <mutex>

namespace nsacc::rt {

/// The driver's modules of a package's images, which variants share.
class Images {
public:
  explicit Images(const Package &package)
      : package(package), slots(package.images.size()) {}

  /// Compiles or loads an image for an architecture unless that was done. Any
  /// thread may call it, in the module's context. Throws the driver's error; a
  /// later call tries again.
  driver::Module load(uint32_t image, const std::string &architecture,
                      int major);
  /// Hands over the driver's modules. No thread may load one meanwhile.
  std::vector<driver::Module> take();

private:
  driver::Module loadText(const std::string &image,
                          const std::string &architecture) const;

  struct Slot {
    std::mutex mutex;
    driver::Module module = nullptr;
  };

  const Package &package;
  std::vector<Slot> slots;
};

/// Whether a device of this generation runs the image's machine code, which is
/// for `architecture`.
bool hasMachineCode(const Image &image, const std::string &architecture,
                    int major);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_IMAGES_H
