//===- ShippedSeeds.cpp - Schedules that were fast elsewhere --------------===//
//
// Results of tuning on an H200 (benchmarks/results/tune-2026-11-27.jsonl) that
// were faster than the compiler's choice.
//
//===----------------------------------------------------------------------===//

#include "ShippedSeeds.h"

using namespace nsacc;

static constexpr llvm::StringLiteral kFlash =
    "flash(q: bf16[B, T, HQ, D], k: bf16[B, S, H, D], v: bf16[B, S, H, DV])";

static constexpr ShippedSeed kSeeds[] = {
    // 3000 tokens, HQ 32, H 8, D 128: 0.117 ms instead of 0.123.
    {kFlash, "", "sm_90a", "a: tokens=48, keys=80, warps=12, blocks_per_sm=1"},
    // 2500 tokens, HQ 24, H 8, D 96: 0.062 ms instead of 0.067.
    {kFlash, "", "sm_90a",
     "a: tokens=64, keys=112, warps=12, blocks_per_sm=1, query_stages=2"},
    // Eight queries over 20 000 keys, HQ 32, H 8, D 128: 0.156 ms instead of
    // 0.162.
    {kFlash, "few", "sm_90a",
     "a: tokens=16, keys=80, splits=8, warps=4, blocks_per_sm=1, grid=columns"},
    // 9000 tokens, unrelated lists, HQ 16, H 4, D 64: 0.515 ms instead of
    // 0.662.
    {"block_sparse<block = 64, top = 12>(q: bf16[B, T, HQ, D], k: bf16[B, S, "
     "H, D], v: bf16[B, S, H, DV], idx: i32[B, T, H, 12])",
     "", "sm_90a",
     "attend.1: order=key_major, tokens=16, keys=128, warps=4, "
     "blocks_per_sm=3; "
     "attend.1.merge: tokens=4"},
};

llvm::ArrayRef<ShippedSeed> nsacc::getShippedSeeds() { return kSeeds; }
