#include "nsacc/Tensor/Signature.h"
#include "gtest/gtest.h"

using namespace nsacc;

static Dim named(const char *name) {
  Dim dim;
  dim.name = name;
  return dim;
}

static Dim ragged(const char *name) {
  Dim dim = named(name);
  dim.kind = Dim::Kind::Ragged;
  return dim;
}

static Dim constant(int64_t size) {
  Dim dim;
  dim.kind = Dim::Kind::Constant;
  dim.size = size;
  return dim;
}

static Dim pool(const char *name, int64_t len, int64_t stride, Dim::Tail tail,
                bool packed = false) {
  Dim dim = named(name);
  dim.kind = Dim::Kind::Pool;
  dim.len = len;
  dim.stride = stride;
  dim.tail = tail;
  dim.ragged = packed;
  return dim;
}

static Dim blocks(const char *name, int64_t block) {
  Dim dim = named(name);
  dim.kind = Dim::Kind::Blocks;
  dim.block = block;
  return dim;
}

static Argument argument(const char *name, std::vector<Dim> dims,
                         DType dtype = DType::F32) {
  Argument result;
  result.name = name;
  result.dtype = dtype;
  result.dims = std::move(dims);
  return result;
}

static Argument offsets(const char *name) {
  Dim dim = named(name);
  dim.kind = Dim::Kind::Offsets;
  return argument((std::string(name) + "_offsets").c_str(), {dim}, DType::I32);
}

static Signature dense() {
  Signature signature;
  signature.kernel = "flash";
  signature.inputs = {
      argument("q", {named("B"), named("T"), named("HQ"), constant(8)}),
      argument("k", {named("B"), named("S"), named("H"), constant(8)})};
  signature.multiples = {{named("HQ"), named("H")}};
  return signature;
}

static Tensor integers(std::vector<int64_t> values) {
  Tensor tensor = Tensor::zeros(DType::I32, {int64_t(values.size())});
  tensor.setIntegers(values);
  return tensor;
}

static std::string failure(const Signature &signature,
                           std::vector<Tensor> inputs) {
  llvm::Expected<DimSizes> sizes = bindDimensions(signature, inputs);
  return sizes ? "" : llvm::toString(sizes.takeError());
}

/// The shape, or the error.
static std::string shapeOf(const Argument &argument, const DimSizes &sizes) {
  llvm::Expected<std::vector<int64_t>> shape = getShape(argument, sizes);
  if (!shape)
    return llvm::toString(shape.takeError());
  std::string text;
  for (int64_t size : *shape)
    text += (text.empty() ? "" : " ") + std::to_string(size);
  return text;
}

TEST(Signature, Spelling) {
  EXPECT_EQ(toString(argument("q", {named("B"), ragged("T"), constant(64)},
                              DType::BF16)),
            "q: bf16[B, ragged T, 64]");
  EXPECT_EQ(toString(argument("x", {})), "x: f32");
  EXPECT_EQ(toString(pool("S", 32, 16, Dim::Tail::ZerosLeft, true)),
            "ragged pool(S, 32, 16, zeros_left)");
  EXPECT_EQ(toString(blocks("S", 64)), "blocks(S, 64)");
  EXPECT_EQ(toString(offsets("T")), "T_offsets: i32[offsets(T)]");
}

TEST(Signature, BindsDenseDimensions) {
  llvm::Expected<DimSizes> sizes =
      bindDimensions(dense(), {Tensor::zeros(DType::F32, {2, 3, 6, 8}),
                               Tensor::zeros(DType::F32, {2, 5, 2, 8})});
  ASSERT_TRUE(bool(sizes)) << llvm::toString(sizes.takeError());
  EXPECT_EQ(sizes->sizes.lookup("HQ"), 6);
  EXPECT_EQ(sizes->sizes.lookup("S"), 5);
  EXPECT_FALSE(sizes->batchRows);
}

TEST(Signature, RejectsWhatDoesNotFit) {
  Tensor q = Tensor::zeros(DType::F32, {2, 3, 6, 8});
  Tensor k = Tensor::zeros(DType::F32, {2, 5, 2, 8});
  EXPECT_EQ(failure(dense(), {q}),
            "kernel 'flash' takes 2 inputs (q, k), found 1");
  EXPECT_EQ(failure(dense(), {q, Tensor::zeros(DType::F32, {5, 2, 8})}),
            "'k' has 3 dimensions, expected 4: found shape [5, 2, 8], the "
            "program declares k: f32[B, S, H, 8]");
  EXPECT_EQ(failure(dense(), {q, Tensor::zeros(DType::F16, {2, 5, 2, 8})}),
            "'k' holds f16, expected f32: the program declares k: f32[B, S, H, "
            "8]");
  EXPECT_EQ(failure(dense(), {q, Tensor::zeros(DType::F32, {4, 5, 2, 8})}),
            "dimension B is 2 in 'q' but 4 in 'k': equal names must have equal "
            "sizes");
  EXPECT_EQ(failure(dense(), {q, Tensor::zeros(DType::F32, {2, 5, 2, 9})}),
            "dimension 3 of 'k' must be 8, found 9: the program declares k: "
            "f32[B, S, H, 8]");
  EXPECT_EQ(failure(dense(), {q, Tensor::zeros(DType::F32, {2, 5, 4, 8})}),
            "HQ = 6 query heads are not a multiple of H = 4 key heads: each "
            "key head serves a group of as many query heads");
  EXPECT_NE(failure(dense(), {q, Tensor::zeros(DType::F32, {2, 5, 0, 8})}), "");
}

TEST(Signature, RejectsHeadsThatDoNotShareEvenly) {
  Signature signature = dense();
  signature.multiples = {{named("H"), constant(2), Multiple::Reason::Sharing}};
  EXPECT_EQ(failure(signature, {Tensor::zeros(DType::F32, {2, 3, 3, 8}),
                                Tensor::zeros(DType::F32, {2, 5, 3, 8})}),
            "H = 3 heads are not a multiple of 2, the number of heads that "
            "share a selection");
}

static Signature raggedSignature() {
  Signature signature;
  signature.kernel = "hstu";
  signature.inputs = {argument("q", {ragged("T"), constant(4)}),
                      argument("k", {ragged("S"), constant(4)}), offsets("T"),
                      offsets("S")};
  return signature;
}

TEST(Signature, BindsRaggedDimensions) {
  llvm::Expected<DimSizes> sizes = bindDimensions(
      raggedSignature(),
      {Tensor::zeros(DType::F32, {7, 4}), Tensor::zeros(DType::F32, {100, 4}),
       integers({0, 5, 5, 7}), integers({0, 70, 70, 100})});
  ASSERT_TRUE(bool(sizes)) << llvm::toString(sizes.takeError());
  EXPECT_EQ(sizes->batchRows, 3);
  EXPECT_EQ(sizes->sizes.lookup("S"), 100);
  // Rows of 70, 0 and 30 tokens: 3, 0 and 0 windows; 2, 0 and 1 blocks.
  Argument packed =
      argument("kc", {pool("S", 32, 16, Dim::Tail::Drop, true), constant(4)});
  Argument importance =
      argument("p", {ragged("T"), pool("S", 32, 16, Dim::Tail::Drop)});
  Argument overBlocks = argument("pb", {ragged("T"), blocks("S", 64)});
  EXPECT_EQ(shapeOf(packed, *sizes), "3 4");
  EXPECT_EQ(shapeOf(importance, *sizes), "7 3");
  EXPECT_EQ(shapeOf(overBlocks, *sizes), "7 2");
  EXPECT_EQ(shapeOf(offsets("T"), *sizes), "4");
}

TEST(Signature, RejectsBadOffsets) {
  Tensor q = Tensor::zeros(DType::F32, {7, 4});
  Tensor k = Tensor::zeros(DType::F32, {9, 4});
  Tensor good = integers({0, 3, 9});
  auto fail = [&](std::vector<int64_t> values) {
    return failure(raggedSignature(), {q, k, integers(values), good});
  };
  EXPECT_EQ(fail({0, 4, 7}), "");
  EXPECT_EQ(fail({}), "'T_offsets' is empty: offsets of B rows are B + 1 "
                      "numbers, the first of them 0");
  EXPECT_EQ(fail({1, 4, 7}), "'T_offsets' must start with 0, found 1");
  EXPECT_EQ(fail({0, 8, 7}),
            "'T_offsets' must not decrease: entry 2 is 7 after 8");
  EXPECT_EQ(fail({0, 4, 6}),
            "'T_offsets' ends at 6 but dimension T is 7 in 'q'");
  std::string lengths =
      ": these look like the rows' lengths; offsets are 0 and "
      "the lengths added up, in NumPy np.cumsum([0, "
      "*lengths])";
  EXPECT_EQ(fail({3, 0, 4}),
            "'T_offsets' must start with 0, found 3" + lengths);
  EXPECT_EQ(fail({0, 5, 2}),
            "'T_offsets' must not decrease: entry 2 is 2 after 5" + lengths);
  EXPECT_EQ(fail({0, 2, 5}),
            "'T_offsets' ends at 5 but dimension T is 7 in 'q'" + lengths);
  EXPECT_EQ(fail({0, 4, 6, 7}),
            "'T_offsets' has 3 rows but 'S_offsets' has 2: all "
            "ragged dimensions share one batch");
}

TEST(Signature, BindsWhatIsKnown) {
  Tensor k = Tensor::zeros(DType::F32, {2, 5, 2, 8});
  DimSizes known;
  known.sizes["T"] = 3;
  llvm::Expected<DimSizes> sizes =
      bindKnownDimensions(dense(), {nullptr, &k}, known);
  ASSERT_TRUE(bool(sizes)) << llvm::toString(sizes.takeError());
  EXPECT_EQ(sizes->sizes.lookup("T"), 3);
  EXPECT_EQ(sizes->sizes.lookup("S"), 5);
  EXPECT_FALSE(sizes->sizes.contains("HQ"));

  auto failure = [&]() {
    auto sizes = bindKnownDimensions(dense(), {nullptr, &k}, known);
    return sizes ? "" : llvm::toString(sizes.takeError());
  };
  known.sizes["HQ"] = 3;
  EXPECT_EQ(failure(), "HQ = 3 query heads are not a multiple of H = 2 key "
                       "heads: each key head serves a group of as many query "
                       "heads");
  known.sizes["S"] = 6;
  EXPECT_EQ(failure(), "dimension S is 6 as given but 5 in 'k': equal names "
                       "must have equal sizes");
}

TEST(Signature, GivenRowsMustAgreeWithOffsets) {
  DimSizes known;
  known.offsets["T"] = {0, 3, 7};
  known.sizes["T"] = 7;
  known.batchRows = 2;
  auto failure = [&](std::vector<int64_t> values) {
    Tensor offsets = integers(values);
    auto sizes = bindKnownDimensions(
        raggedSignature(), {nullptr, nullptr, &offsets, nullptr}, known);
    return sizes ? "" : llvm::toString(sizes.takeError());
  };
  EXPECT_EQ(failure({0, 3, 7}), "");
  EXPECT_EQ(failure({0, 4, 7}),
            "'T_offsets' doesn't agree with the row lengths given for T");
  EXPECT_EQ(failure({0, 3, 5, 7}),
            "T as given has 2 rows but 'T_offsets' has 3: all ragged "
            "dimensions share one batch");
}

TEST(Signature, OffsetsTellThePackedSize) {
  Tensor offsets = integers({0, 3, 7});
  auto sizes = bindKnownDimensions(raggedSignature(),
                                   {nullptr, nullptr, &offsets, nullptr}, {});
  ASSERT_TRUE(bool(sizes)) << llvm::toString(sizes.takeError());
  EXPECT_EQ(sizes->sizes.lookup("T"), 7);
  EXPECT_EQ(sizes->batchRows, 2);
}

TEST(Signature, PoolCounts) {
  DimSizes sizes;
  auto count = [&](int64_t tokens, int64_t len, int64_t stride,
                   Dim::Tail tail) {
    sizes.sizes["S"] = tokens;
    return llvm::cantFail(
        getShape(argument("kc", {pool("S", len, stride, tail)}), sizes))[0];
  };
  using Tail = Dim::Tail;
  EXPECT_EQ(count(31, 32, 16, Tail::Drop), 0);
  EXPECT_EQ(count(48, 32, 16, Tail::Drop), 2);
  EXPECT_EQ(count(63, 32, 16, Tail::Drop), 2);
  EXPECT_EQ(count(0, 32, 16, Tail::Average), 0);
  EXPECT_EQ(count(1, 32, 16, Tail::Average), 1);
  EXPECT_EQ(count(33, 32, 16, Tail::Average), 2);
  EXPECT_EQ(count(33, 32, 16, Tail::ZerosRight), 2);
  EXPECT_EQ(count(33, 32, 16, Tail::ZerosLeft), 2);
  EXPECT_EQ(count(15, 32, 16, Tail::ZerosLeft), 0);
}

TEST(Signature, RejectsUnknownAndHugeSizes) {
  DimSizes sizes;
  Argument out = argument("out", {named("T"), named("D")});
  sizes.sizes["T"] = int64_t(1) << 40;
  EXPECT_EQ(shapeOf(out, sizes),
            "the size of dimension D of 'out' isn't known");
  sizes.sizes["D"] = int64_t(1) << 40;
  EXPECT_EQ(shapeOf(out, sizes),
            "'out: f32[T, D]' is too large: more than 2^56 elements");
}

TEST(Signature, TablesOfRowsCountTheRows) {
  Signature signature = raggedSignature();
  signature.inputs.push_back(argument("slope", {named("R")}));
  signature.rowTables = {{"slope", 0}};
  auto bind = [&](int64_t size) {
    return bindDimensions(signature,
                          {Tensor::zeros(DType::F32, {7, 4}),
                           Tensor::zeros(DType::F32, {100, 4}),
                           integers({0, 5, 5, 7}), integers({0, 70, 70, 100}),
                           Tensor::zeros(DType::F32, {size})});
  };
  EXPECT_EQ(llvm::cantFail(bind(3)).sizes.lookup("R"), 3);
  EXPECT_EQ(llvm::toString(bind(6).takeError()),
            "dimension R is 6 in 'slope', but 'S_offsets' has 3 rows: 'slope' "
            "is read at b and has an entry for each row");
  // Random ones have the required size.
  DimSizes known;
  known.offsets["S"] = {0, 1, 2, 3, 4};
  known.batchRows = 4;
  llvm::SmallVector<const Tensor *> none(5);
  EXPECT_EQ(llvm::cantFail(bindKnownDimensions(signature, none, known))
                .sizes.lookup("R"),
            4);
  known.sizes["R"] = 5;
  EXPECT_EQ(
      llvm::toString(bindKnownDimensions(signature, none, known).takeError()),
      "dimension R is 5 as given, but S as given has 4 rows: 'slope' is "
      "read at b and has an entry for each row");
}

TEST(Signature, NumbersOfTablesCountTheRows) {
  Signature signature = raggedSignature();
  signature.inputs.push_back(argument("w", {constant(3), constant(3)}));
  auto bind = [&](size_t place, std::vector<int64_t> ends) {
    signature.rowTables = {{"w", place}};
    return failure(signature,
                   {Tensor::zeros(DType::F32, {7, 4}),
                    Tensor::zeros(DType::F32, {7, 4}), integers(ends),
                    integers(ends), Tensor::zeros(DType::F32, {3, 3})});
  };
  EXPECT_EQ(bind(0, {0, 5, 5, 7}), "");
  EXPECT_EQ(bind(0, {0, 7}),
            "dimension 0 of 'w' is 3, but 'S_offsets' has 1 row: 'w' is read "
            "at b and has an entry for each row");
  EXPECT_EQ(bind(1, {0, 5, 7}),
            "dimension 1 of 'w' is 3, but 'S_offsets' has 2 rows: 'w' is read "
            "at b and has an entry for each row");
}

TEST(Signature, PackedTablesOfAnotherName) {
  Signature signature;
  signature.inputs = {argument("doc", {named("N")})};
  signature.positionTables = {{"doc", 0, "T"}};
  auto describe = [&](int64_t size, std::vector<int64_t> offsets) {
    DimSizes sizes;
    sizes.sizes = {{"N", size}, {"T", offsets.back()}};
    sizes.batchRows = offsets.size() - 1;
    sizes.offsets["T"] = offsets;
    return describeOddSizes(signature, sizes);
  };
  EXPECT_EQ(describe(12, {0, 5, 5, 12}),
            "N = 12 of 'doc' is as large as all rows of T together, but 'doc' "
            "is read at places in a row, so that each row reads it from its "
            "first entry on: a table of packed tokens is declared with "
            "'ragged T' in place of N.");
  // Tables with as many entries as a row has tokens, with more, and for a
  // single row.
  EXPECT_EQ(describe(7, {0, 5, 5, 12}), "");
  EXPECT_EQ(describe(100, {0, 5, 5, 12}), "");
  EXPECT_EQ(describe(12, {0, 12}), "");
  EXPECT_EQ(describe(12, {0, 0, 12, 12}), "");
  EXPECT_EQ(describe(0, {0, 0, 0}), "");
  signature.inputs = {argument("doc", {constant(2), constant(12)})};
  signature.positionTables = {{"doc", 1, "T"}};
  EXPECT_EQ(describe(9, {0, 5, 5, 12}),
            "dimension 1 of 'doc', 12, is as large as all rows of T together, "
            "but 'doc' is read at places in a row, so that each row reads it "
            "from its first entry on: a table of packed tokens is declared "
            "with 'ragged T' in place of 12.");
  EXPECT_EQ(describe(9, {0, 5, 5, 11}), "");
}

TEST(Signature, OddSizesSuggestAnotherOrder) {
  Signature signature;
  auto describe = [&](int64_t t, int64_t s, int64_t hq, int64_t h,
                      bool isCausal) {
    signature.attentions = {{"T", "S", "HQ", "H", isCausal}};
    DimSizes sizes;
    sizes.sizes = {{"T", t}, {"S", s}, {"HQ", hq}, {"H", h}};
    return describeOddSizes(signature, sizes);
  };
  std::string order = "do the tensors have tokens and heads in the order that "
                      "the program declares? Those of torch, with heads in "
                      "front of tokens, are declared as [.., heads HQ, T, ..].";
  EXPECT_EQ(describe(4, 2, 8, 8, true),
            "queries T = 4 are more than keys S = 2, and the mask shows the "
            "first 2 none: " +
                order);
  EXPECT_EQ(describe(8, 8, 256, 256, false),
            "heads HQ = 256 are more than tokens T = 8 and S = 8: " + order);
  signature.attentions = {{"T", "T", "HQ", "H", false}};
  DimSizes own;
  own.sizes = {{"T", 8}, {"HQ", 256}, {"H", 256}};
  EXPECT_EQ(describeOddSizes(signature, own),
            "heads HQ = 256 are more than tokens T = 8: " + order);
  EXPECT_EQ(describe(16, 16, 129, 129, true),
            "heads HQ = 129 are more than tokens T = 16 and S = 16: " + order);
  EXPECT_EQ(describe(16, 4, 64, 64, false),
            "heads HQ = 64 are more than tokens T = 16 and S = 4: " + order);
  EXPECT_EQ(describe(4, 2, 8, 8, false), "");
  EXPECT_EQ(describe(4, 0, 8, 8, true), "");
  EXPECT_EQ(describe(4, 4, 8, 8, true), "");
  EXPECT_EQ(describe(1, 8, 128, 128, true), "");
  EXPECT_EQ(describe(1, 8, 256, 1, true), "");
  EXPECT_EQ(describe(16, 0, 64, 64, false), "");
  EXPECT_EQ(describe(16, 9, 128, 128, false),
            "heads HQ = 128 are more than tokens T = 16 and S = 9: " + order);
  EXPECT_EQ(describe(64, 4, 64, 64, false), "");
  EXPECT_EQ(describe(1, 256, 256, 256, true), "");
  EXPECT_EQ(describeOddSizes(signature, DimSizes()), "");
  // First experiments with tensors of torch: [B, H, T, D] read as [B, T, H, D].
  std::string or_ = order;
  or_.pop_back();
  or_ += ", others, so that nothing asks, as [.., T, heads HQ, ..].";
  for (bool isCausal : {false, true}) {
    EXPECT_EQ(describe(8, 8, 128, 128, isCausal),
              "heads HQ = 128 are more than tokens T = 8 and S = 8: " + or_);
    EXPECT_NE(describe(16, 16, 40, 40, isCausal), "");
    EXPECT_NE(describe(4, 4, 100, 100, isCausal), "");
    EXPECT_NE(describe(32, 32, 128, 128, isCausal), "");
    EXPECT_NE(describe(16, 16, 128, 64, isCausal), "");
    // Prompts, decoding steps, and models with few key heads.
    EXPECT_EQ(describe(8, 8, 32, 32, isCausal), "");
    EXPECT_EQ(describe(21, 21, 40, 40, isCausal), "");
    EXPECT_EQ(describe(1, 1, 40, 40, isCausal), "");
    EXPECT_EQ(describe(4, 90, 64, 64, isCausal), "");
    EXPECT_EQ(describe(4, 4, 128, 8, isCausal), "");
  }
  signature.marksHeads = true;
  EXPECT_EQ(describe(8, 8, 128, 128, true), "");
  EXPECT_NE(describe(8, 8, 129, 129, true), "");
  EXPECT_NE(describe(8, 4, 8, 8, true), "");
  signature.marksHeads = false;
  signature.inputs = {
      argument("q", {named("B"), named("HQ"), named("T"), named("D")})};
  EXPECT_EQ(describe(8, 8, 256, 256, false),
            "heads HQ = 256 are more than tokens T = 8 and S = 8: do the "
            "tensors have tokens and heads in the order that the program "
            "declares?");
}
