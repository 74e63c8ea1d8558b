//===- WriteHeader.cpp - A package's functions in C -----------------------===//

#include "WriteHeader.h"
#include "CNames.h"
#include "nsacc/Support/Version.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;

namespace {

/// A size that each call gives.
struct OpenSize {
  std::string member; ///< in the struct of sizes
  std::string name;   ///< in the package
};

/// An input or a result in the header.
struct Tensor {
  const rt::Parameter &parameter;
  std::string member;
  /// For each dimension, its index in the open sizes; none if it is fixed.
  std::vector<std::optional<size_t>> sizes;
};

class HeaderWriter {
public:
  HeaderWriter(const rt::Package &package, const HeaderOptions &options,
               llvm::raw_ostream &stream)
      : package(package), options(options), prefix(options.prefix),
        stream(stream) {
    for (const rt::Parameter &parameter : package.parameters)
      addTensor(parameter);
    if (!openSizes.empty()) {
      sizesParameter = "const $_sizes *sizes,\n    ";
      sizesArgument = "sizes, ";
    }
  }

  void write();

private:
  void addTensor(const rt::Parameter &parameter);
  size_t getOpenSize(const Tensor &tensor, const rt::Size &size, size_t dim);
  std::string describe(const Tensor &tensor) const;
  void writeIntroduction();
  void writeSizes();
  void writeTensors();
  void writeStrides();
  void writeSignature();
  void writeLoading();
  void writeArguments();
  void writeCall();
  void writeLaunching();
  /// Writes the text; each `$` becomes the prefix.
  void put(llvm::StringRef text);

  bool hasSizes() const { return !openSizes.empty(); }

  const rt::Package &package;
  const HeaderOptions &options;
  const std::string &prefix;
  llvm::raw_ostream &stream;
  std::vector<OpenSize> openSizes;
  std::vector<Tensor> tensors;
  MemberNames sizeNames, tensorNames;
  /// Indices of named sizes in the open sizes.
  llvm::StringMap<size_t> known;
  /// Parameter and argument of functions; empty if no size is open.
  llvm::StringRef sizesParameter, sizesArgument;
};

} // namespace

//===-- Sizes and tensors -------------------------------------------------===//

size_t HeaderWriter::getOpenSize(const Tensor &tensor, const rt::Size &size,
                                 size_t dim) {
  // A size without a name gets its place as a name.
  std::string name = size.name.empty()
                         ? tensor.member + "_size" + std::to_string(dim)
                         : size.name;
  auto [entry, isNew] = known.try_emplace(size.name.empty() ? "?" + name : name,
                                          openSizes.size());
  if (isNew) {
    llvm::StringRef spelled = name;
    spelled.consume_front("ragged ");
    openSizes.push_back({sizeNames.add(spelled), name});
  }
  return entry->second;
}

void HeaderWriter::addTensor(const rt::Parameter &parameter) {
  Tensor tensor = {parameter, tensorNames.add(parameter.name), {}};
  for (auto [dim, size] : llvm::enumerate(parameter.sizes))
    tensor.sizes.push_back(size.fixed ? std::optional<size_t>()
                                      : getOpenSize(tensor, size, dim));
  tensors.push_back(std::move(tensor));
}

/// "bf16[B, T, 4, 64]", with the program's words.
std::string HeaderWriter::describe(const Tensor &tensor) const {
  std::vector<std::string> sizes;
  for (auto [size, open] :
       llvm::zip_equal(tensor.parameter.sizes, tensor.sizes))
    sizes.push_back(open ? openSizes[*open].name : std::to_string(*size.fixed));
  std::string text = rt::getName(tensor.parameter.dtype);
  if (!sizes.empty())
    text += "[" + llvm::join(sizes, ", ") + "]";
  if (tensor.member != tensor.parameter.name)
    text = "'" + tensor.parameter.name + "': " + text;
  return toComment(text);
}

/// C has no type for 16-bit reals.
static const char *getCType(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return "uint8_t";
  case DType::I32:
    return "int32_t";
  case DType::I64:
    return "int64_t";
  case DType::F16:
  case DType::BF16:
    return "void";
  case DType::F32:
    return "float";
  case DType::F64:
    return "double";
  }
  llvm_unreachable("not an element type");
}

static std::string getNumber(DType dtype) {
  return "NSACC_DTYPE_" + llvm::StringRef(rt::getName(dtype)).upper();
}

//===-- The header --------------------------------------------------------===//

void HeaderWriter::put(llvm::StringRef text) {
  while (!text.empty()) {
    auto [before, after] = text.split('$');
    stream << before;
    if (before.size() < text.size())
      stream << prefix;
    text = after;
  }
}

void HeaderWriter::writeIntroduction() {
  stream << "/* Kernel '" << toComment(package.kernel)
         << "' of a package, for C11 and C++17. nsacc " << getVersion()
         << " wrote this with\n"
            " * `nsacc header`: write it again when the package changes.\n *\n"
            " * Functions that can fail return a status; nsacc_rt_message() "
            "says more. */\n\n";
  put("#ifndef NSACC_PACKAGE_$_H\n"
      "#define NSACC_PACKAGE_$_H\n\n"
      "#include \"nsacc-rt/nsacc_rt.h\"\n\n"
      "#ifdef __cplusplus\n"
      "extern \"C\" {\n"
      "#define NSACC_DATA_$(pointer) \\\n"
      "  const_cast<void *>(static_cast<const void *>(pointer))\n"
      "#define NSACC_SIZE_$(size) static_cast<size_t>(size)\n"
      "#else\n"
      "#define NSACC_DATA_$(pointer) ((void *)(pointer))\n"
      "#define NSACC_SIZE_$(size) ((size_t)(size))\n"
      "#endif\n\n");
}

void HeaderWriter::writeSizes() {
  if (!hasSizes())
    return;
  put("/** The sizes that the package leaves open. One that is left out is 0: "
      "then there\n *  is nothing to compute. */\n"
      "typedef struct $_sizes {\n");
  for (const OpenSize &size : openSizes) {
    stream << "  int64_t " << size.member << ";";
    if (size.name == "offsets")
      stream << " /* one more than there are rows */";
    else if (size.member != size.name)
      stream << " /* " << toComment(size.name) << " */";
    stream << '\n';
  }
  put("} $_sizes;\n\n");
}

void HeaderWriter::writeTensors() {
  put("/** The elements of inputs and results, in the memory of the module's "
      "device;\n *  row-major unless $_strides says otherwise. */\n"
      "typedef struct $_tensors {\n");
  for (bool isResult : {false, true}) {
    llvm::StringRef heading =
        isResult ? "  /* Results. */\n" : "  /* Inputs. */\n";
    for (const Tensor &tensor : tensors) {
      if (tensor.parameter.isResult != isResult)
        continue;
      stream << heading << "  " << (isResult ? "" : "const ")
             << getCType(tensor.parameter.dtype) << " *" << tensor.member
             << "; /* " << describe(tensor) << " */\n";
      heading = "";
    }
  }
  put("} $_tensors;\n\n");
}

void HeaderWriter::writeStrides() {
  put("/** Strides in elements, one for each dimension; null: row-major. */\n"
      "typedef struct $_strides {\n");
  for (const Tensor &tensor : tensors) {
    stream << "  const int64_t *" << tensor.member << ";";
    if (size_t rank = tensor.sizes.size())
      stream << " /* [" << rank << "] */\n";
    else
      stream << " /* none: a scalar */\n";
  }
  put("} $_strides;\n\n");
}

/// Writes the expected signature, to check packages that were written later.
void HeaderWriter::writeSignature() {
  put("/* Unloads a package that isn't the one that this header is for. */\n"
      "static inline nsacc_rt_status $_match_($_module *module) {\n"
      "  static const nsacc_rt_parameter parameters[] = {\n");
  std::vector<std::string> sizes;
  for (const Tensor &tensor : tensors) {
    const rt::Parameter &parameter = tensor.parameter;
    stream << "      {" << toLiteral(parameter.name) << ", "
           << getNumber(parameter.dtype) << ", " << parameter.sizes.size()
           << ", " << parameter.isResult << "},\n";
    std::string own;
    for (const rt::Size &size : parameter.sizes)
      own += std::to_string(size.fixed.value_or(-1)) + ", ";
    if (!own.empty())
      sizes.push_back(own);
  }
  stream << "  };\n";
  // C has no empty arrays.
  if (!sizes.empty()) {
    stream << "  static const int64_t sizes[] = {\n";
    for (llvm::StringRef own : sizes)
      stream << "      " << own.rtrim() << '\n';
    stream << "  };\n";
  }
  stream << "  static const nsacc_rt_signature signature = {\n      "
         << toLiteral(package.kernel) << ", parameters, "
         << (sizes.empty() ? "NULL" : "sizes") << ", " << tensors.size()
         << "};\n";
  put("  nsacc_rt_status status = nsacc_rt_match(module->rt, &signature);\n"
      "  if (status != NSACC_RT_OK) {\n"
      "    nsacc_rt_unload(module->rt);\n"
      "    module->rt = NULL;\n"
      "  }\n"
      "  return status;\n"
      "}\n\n");
}

void HeaderWriter::writeLoading() {
  put("/** The package, loaded for one device. Functions of nsacc_rt.h take "
      "`rt`, too. */\n"
      "typedef struct $_module {\n"
      "  nsacc_rt_module *rt;\n"
      "} $_module;\n\n");
  writeSignature();
  put("/** Loads the package from memory, whose bytes aren't needed any more "
      "then. Device\n"
      " *  -1 is that of the thread's current context, or 0. */\n"
      "static inline nsacc_rt_status $_load_bytes(\n"
      "    $_module *module, const void *package, size_t size, int device) {\n"
      "  nsacc_rt_status status;\n"
      "  if (!module)\n"
      "    return nsacc_rt_load(package, size, device, NULL);\n"
      "  module->rt = NULL;\n"
      "  status = nsacc_rt_load(package, size, device, &module->rt);\n"
      "  return status == NSACC_RT_OK ? $_match_(module) : status;\n"
      "}\n\n"
      "/** Loads the package from a file. */\n"
      "static inline nsacc_rt_status $_load_file(\n"
      "    $_module *module, const char *path, int device) {\n"
      "  nsacc_rt_status status;\n"
      "  if (!module)\n"
      "    return nsacc_rt_load_file(path, device, NULL);\n"
      "  module->rt = NULL;\n"
      "  status = nsacc_rt_load_file(path, device, &module->rt);\n"
      "  return status == NSACC_RT_OK ? $_match_(module) : status;\n"
      "}\n\n");
  if (options.isEmbedded)
    put("/* The package's bytes, in the object that was written with this "
        "header. */\n"
        "extern const unsigned char $_package[], $_package_end[];\n\n"
        "/** Loads the package that is linked into the program. */\n"
        "static inline nsacc_rt_status $_load($_module *module, int device) "
        "{\n"
        "  return $_load_bytes(\n"
        "      module, $_package, NSACC_SIZE_$($_package_end - $_package),\n"
        "      device);\n"
        "}\n\n");
  put("/** Waits for the module's kernels, and forgets the module. */\n"
      "static inline void $_unload($_module *module) {\n"
      "  if (!module)\n"
      "    return;\n"
      "  nsacc_rt_unload(module->rt);\n"
      "  module->rt = NULL;\n"
      "}\n\n");
}

/// Writes the shapes of the tensors and all arguments of a call.
void HeaderWriter::writeArguments() {
  for (auto [index, tensor] : llvm::enumerate(tensors)) {
    if (tensor.sizes.empty())
      continue;
    std::vector<std::string> sizes;
    for (auto [size, open] :
         llvm::zip_equal(tensor.parameter.sizes, tensor.sizes))
      sizes.push_back(open ? "sizes->" + openSizes[*open].member
                           : std::to_string(*size.fixed));
    stream << "  const int64_t shape" << index << "[] = {"
           << llvm::join(sizes, ", ") << "};\n";
  }
  stream << "  const nsacc_rt_tensor arguments[] = {\n";
  for (auto [index, tensor] : llvm::enumerate(tensors))
    stream << "      {NSACC_DATA_" << prefix << "(data->" << tensor.member
           << "), " << getNumber(tensor.parameter.dtype) << ", "
           << tensor.sizes.size() << ",\n       "
           << (tensor.sizes.empty() ? "NULL" : "shape" + std::to_string(index))
           << ", steps->" << tensor.member << "},\n";
  stream << "  };\n";
}

/// Writes the code that launching and reserving share.
void HeaderWriter::writeCall() {
  put("typedef nsacc_rt_status (*$_action_)(\n"
      "    nsacc_rt_module *, const nsacc_rt_tensor *, size_t, "
      "nsacc_rt_stream);\n\n"
      "static inline nsacc_rt_status $_call_(\n"
      "    $_action_ action, const $_module *module,\n"
      "    ");
  put(sizesParameter);
  put("const $_tensors *tensors,\n"
      "    const $_strides *strides, nsacc_rt_stream stream) {\n");
  // Writes all members: C++ compilers warn of members that aren't initialized.
  std::vector<std::string> nulls(tensors.size(), "NULL");
  put("  static const $_tensors no_tensors = {\n      ");
  stream << llvm::join(nulls, ", ") << "};\n";
  put("  static const $_strides no_strides = {\n      ");
  stream << llvm::join(nulls, ", ") << "};\n";
  put("  const $_tensors *data = tensors ? tensors : &no_tensors;\n"
      "  const $_strides *steps = strides ? strides : &no_strides;\n"
      "  nsacc_rt_module *rt = module ? module->rt : NULL;\n");
  if (hasSizes())
    stream << "  if (!sizes)\n"
              "    return action(rt, NULL, 0, stream);\n";
  writeArguments();
  stream << "  return action(rt, arguments, " << tensors.size()
         << ", stream);\n}\n\n";
}

void HeaderWriter::writeLaunching() {
  put("/** Puts a run on the stream and doesn't wait for it. On a GPU the "
      "stream is a\n"
      " *  CUstream; null is the default one. On NSACC_RT_HOST it is null, and "
      "the run\n"
      " *  is done. */\n"
      "static inline nsacc_rt_status $_launch(\n"
      "    const $_module *module,\n    ");
  put(sizesParameter);
  put("const $_tensors *tensors, nsacc_rt_stream stream) {\n"
      "  return $_call_(\n"
      "      nsacc_rt_launch, module, ");
  stream << sizesArgument;
  put("tensors, NULL, stream);\n"
      "}\n\n"
      "/** The same for tensors that aren't all row-major. */\n"
      "static inline nsacc_rt_status $_launch_strided(\n"
      "    const $_module *module,\n    ");
  put(sizesParameter);
  put("const $_tensors *tensors,\n"
      "    const $_strides *strides, nsacc_rt_stream stream) {\n"
      "  return $_call_(\n"
      "      nsacc_rt_launch, module, ");
  stream << sizesArgument;
  put("tensors, strides, stream);\n"
      "}\n\n"
      "/** Allocates what a launch with these sizes needs on the stream, and "
      "loads its\n"
      " *  code. */\n"
      "static inline nsacc_rt_status $_reserve(\n"
      "    const $_module *module,\n    ");
  put(sizesParameter);
  put("nsacc_rt_stream stream) {\n"
      "  return $_call_(\n"
      "      nsacc_rt_reserve, module, ");
  stream << sizesArgument;
  put("NULL, NULL, stream);\n"
      "}\n\n"
      "/** Whether a run failed that the caller has waited for. */\n"
      "static inline nsacc_rt_status $_check(\n"
      "    const $_module *module, nsacc_rt_stream stream) {\n"
      "  return nsacc_rt_check(module ? module->rt : NULL, stream);\n"
      "}\n\n");
}

void HeaderWriter::write() {
  writeIntroduction();
  writeSizes();
  writeTensors();
  writeStrides();
  writeLoading();
  writeCall();
  writeLaunching();
  put("#undef NSACC_DATA_$\n"
      "#undef NSACC_SIZE_$\n"
      "#ifdef __cplusplus\n"
      "}\n"
      "#endif\n\n"
      "#endif /* NSACC_PACKAGE_$_H */\n");
}

std::string nsacc::writeHeader(const rt::Package &package,
                               const HeaderOptions &options) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  HeaderWriter(package, options, stream).write();
  return text;
}
