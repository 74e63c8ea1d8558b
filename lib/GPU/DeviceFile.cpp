//===- DeviceFile.cpp - Devices as JSON -----------------------------------===//

#include "nsacc/GPU/DeviceFile.h"
#include "nsacc/GPU/Codes.h"
#include "nsacc/Support/Files.h"
#include "nsacc/Support/JSON.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace nsacc::gpu;

static constexpr llvm::StringLiteral kName = "name",
                                     kCapability = "compute_capability",
                                     kCode = "code";

/// The longest name; real ones have half as many characters.
static constexpr size_t kLongestName = 128;

namespace {

/// A limit's key, and the range of its value, which contains any real device's.
struct LimitKey {
  llvm::StringLiteral name;
  int64_t Limits::*field;
  int64_t least, most;
};

} // namespace

// A block of any device may have 48 KiB, and every multiprocessor that nsacc
// compiles for has 64 Ki registers.
static constexpr LimitKey kLimits[] = {
    {"shared_bytes_per_block", &Limits::sharedBytesOfBlock, 48 << 10, 16 << 20},
    {"shared_bytes_per_multiprocessor", &Limits::sharedBytesOfMultiprocessor,
     48 << 10, 16 << 20},
    {"registers_per_multiprocessor", &Limits::registersOfMultiprocessor,
     64 << 10, 1 << 20},
    {"multiprocessors", &Limits::multiprocessors, 1, 1 << 16},
    {"l2_bytes", &Limits::l2Bytes, 1, int64_t(1) << 40},
};

void nsacc::gpu::writeDevice(llvm::json::OStream &json, const Device &device) {
  json.object([&] {
    json.attribute(kName, llvm::json::fixUTF8(device.name));
    json.attribute(kCapability, toString(device.capability));
    for (const LimitKey &key : kLimits)
      json.attribute(key.name, device.limits.*key.field);
    llvm::StringRef own = listCodes(device.capability).front().architecture;
    if (device.code.architecture != own)
      json.attribute(kCode, device.code.architecture);
  });
}

//===-- Reading -----------------------------------------------------------===//

namespace {

class Reader {
public:
  Reader(const llvm::json::Object &object, llvm::StringRef where)
      : object(object), where(where) {}

  llvm::Expected<Device> read() const;

private:
  llvm::Error fail(const llvm::Twine &message) const {
    return llvm::createStringError(where + ": " + message);
  }
  llvm::Error reject(llvm::StringRef key, const llvm::Twine &expected) const;
  llvm::Error checkKeys() const;
  llvm::Error readLimit(const LimitKey &key, Limits &limits) const;
  llvm::Error readCode(Device &device) const;

  const llvm::json::Object &object;
  llvm::StringRef where;
};

} // namespace

/// An error that says which value a key has, or that it is missing.
llvm::Error Reader::reject(llvm::StringRef key,
                           const llvm::Twine &expected) const {
  const llvm::json::Value *value = object.get(key);
  if (!value)
    return fail("key '" + key + "' is missing: expected " + expected);
  return fail("key '" + key + "' is " + llvm::formatv("{0}", *value).str() +
              ", expected " + expected);
}

llvm::Error Reader::checkKeys() const {
  for (const auto &[key, value] : object) {
    llvm::StringRef name = key;
    if (name == kName || name == kCapability || name == kCode ||
        llvm::is_contained(
            llvm::map_range(kLimits,
                            [](const LimitKey &known) -> llvm::StringRef {
                              return known.name;
                            }),
            name))
      continue;
    std::string known = (kName + ", " + kCapability).str();
    for (const LimitKey &limit : kLimits)
      known += (", " + limit.name).str();
    return fail("nothing reads key '" + name + "': expected " + known + " or " +
                kCode);
  }
  return llvm::Error::success();
}

llvm::Error Reader::readLimit(const LimitKey &key, Limits &limits) const {
  std::optional<int64_t> number = object.getInteger(key.name);
  if (!number || *number < key.least || *number > key.most)
    return reject(key.name, "an integer from " + llvm::Twine(key.least) +
                                " to " + llvm::Twine(key.most));
  limits.*key.field = *number;
  return llvm::Error::success();
}

/// The kind of code is the newest one unless the text names another.
llvm::Error Reader::readCode(Device &device) const {
  if (!object.get(kCode))
    return llvm::Error::success();
  std::optional<llvm::StringRef> name = object.getString(kCode);
  std::string known;
  for (const Code &code : listCodes(device.capability)) {
    if (name && *name == code.architecture) {
      device.code = code;
      return llvm::Error::success();
    }
    known += (known.empty() ? "\"" : " or \"") + code.architecture.str() + "\"";
  }
  return reject(kCode, "code that it can run: " + known);
}

llvm::Expected<Device> Reader::read() const {
  if (llvm::Error error = checkKeys())
    return std::move(error);
  std::optional<llvm::StringRef> name = object.getString(kName);
  if (!name || name->empty())
    return reject(kName, "what messages call the device, \"NVIDIA H200\"");
  if (!nsacc::isPrintable(*name) || name->size() > kLongestName)
    return reject(kName, "a line of at most " + llvm::Twine(kLongestName) +
                             " bytes without control characters");
  std::optional<llvm::StringRef> text = object.getString(kCapability);
  auto capability = text ? parseCapability(*text) : std::nullopt;
  if (!capability)
    return reject(kCapability, "a string such as \"9.0\"");
  Limits limits;
  for (const LimitKey &key : kLimits)
    if (llvm::Error error = readLimit(key, limits))
      return std::move(error);
  if (limits.sharedBytesOfBlock > limits.sharedBytesOfMultiprocessor)
    return reject("shared_bytes_per_block",
                  "at most shared_bytes_per_multiprocessor, " +
                      llvm::Twine(limits.sharedBytesOfMultiprocessor));
  auto device = makeDevice(name->str(), *capability, limits);
  if (!device)
    return fail(llvm::toString(device.takeError()));
  if (llvm::Error error = readCode(*device))
    return std::move(error);
  return device;
}

llvm::Expected<Device> nsacc::gpu::parseDevice(llvm::StringRef text,
                                               llvm::StringRef where) {
  llvm::Expected<llvm::json::Value> value = nsacc::parseJSON(text);
  if (!value)
    return llvm::createStringError(
        where + " isn't JSON: " + llvm::toString(value.takeError()));
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return llvm::createStringError(
        where + ": expected an object that describes a device");
  return Reader(*object, where).read();
}

llvm::Expected<Device> nsacc::gpu::readDeviceFile(llvm::StringRef path) {
  if (llvm::Error error = nsacc::refuseDevice(path, "the description of a GPU"))
    return std::move(error);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("can't read the device's file '" + path +
                                   "': " + buffer.getError().message());
  return parseDevice((*buffer)->getBuffer(), ("'" + path + "'").str());
}
