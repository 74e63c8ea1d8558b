/* Runs a package, on a GPU where there is one, else on the processor, and
 * checks the result: causal attention with all scores 0, so that a query's
 * result is the mean of the values up to it.
 *
 * On a machine with nsacc, once:
 *
 *   nsacc compile ../flash.nsa --emit package --target sm_80,cpu \
 *     --dims HQ=4,H=2,D=64,DV=64 -o flash.nsapkg
 *   nsacc header flash.nsapkg -o flash.h --object flash.o
 *
 * Then, with only a C compiler and libnsacc_rt:
 *
 *   cc causal.c flash.o $(pkg-config --cflags --libs nsacc_rt) -lm -o causal
 *
 * Memory comes from the runtime, so that building this needs no part of CUDA.
 * Programs with memory and streams of CUDA pass these: device addresses
 * unchanged, and a CUstream or cudaStream_t as the stream. */

#include "flash.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, T = 100, HQ = 4, H = 2, D = 64 };

static int device = NSACC_RT_HOST;
static uint16_t q[B * T * HQ * D], k[B * T * H * D], v[B * T * H * D];
static uint16_t out[B * T * HQ * D];
static float lse[B * T * HQ];

/* bf16 is the upper half of a float. */
static uint16_t to_bf16(float number) {
  uint32_t bits;
  memcpy(&bits, &number, sizeof(bits));
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_bf16(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float number;
  memcpy(&number, &bits, sizeof(number));
  return number;
}

static void require(nsacc_rt_status status, const char *what) {
  if (status == NSACC_RT_OK)
    return;
  fprintf(stderr, "%s: %s\n", what, nsacc_rt_message());
  exit(EXIT_FAILURE);
}

static void *allocate(size_t bytes) {
  void *data;
  require(nsacc_rt_allocate(device, bytes, &data), "allocating");
  return data;
}

static void *copy_to_device(const void *from, size_t bytes) {
  void *data = allocate(bytes);
  require(nsacc_rt_to_device(device, data, from, bytes), "copying");
  return data;
}

static void make_inputs(void) {
  for (size_t i = 0; i < sizeof(q) / sizeof(*q); ++i)
    q[i] = to_bf16((float)(i % 11) - 5);
  /* k is all 0, so the scores are, too. */
  for (size_t i = 0; i < sizeof(v) / sizeof(*v); ++i)
    v[i] = to_bf16((float)(i * 7 / D % 16) / 8 + (float)(i % 3));
}

static void run(const flash_module *flash) {
  flash_sizes sizes = {.B = B, .T = T, .S = T};
  flash_tensors tensors = {.q = copy_to_device(q, sizeof(q)),
                           .k = copy_to_device(k, sizeof(k)),
                           .v = copy_to_device(v, sizeof(v)),
                           .out = allocate(sizeof(out)),
                           .lse = allocate(sizeof(lse))};
  require(flash_launch(flash, &sizes, &tensors, NULL), "launching");
  require(nsacc_rt_synchronize(device, NULL), "waiting");
  require(flash_check(flash, NULL), "running");
  require(nsacc_rt_to_host(device, out, tensors.out, sizeof(out)), "copying");
  require(nsacc_rt_to_host(device, lse, tensors.lse, sizeof(lse)), "copying");
  nsacc_rt_free(device, (void *)tensors.q);
  nsacc_rt_free(device, (void *)tensors.k);
  nsacc_rt_free(device, (void *)tensors.v);
  nsacc_rt_free(device, tensors.out);
  nsacc_rt_free(device, tensors.lse);
}

/* bf16 has 8 bits: results may be off by 2^-8 of themselves. */
static int is_near(float found, float expected) {
  return fabsf(found - expected) <= ldexpf(fabsf(expected), -8);
}

static int check_result(size_t row, size_t d, float mean) {
  float found = from_bf16(out[row * D + d]);
  if (is_near(found, mean))
    return 1;
  fprintf(stderr, "out[%zu, %zu] is %g, expected %g\n", row, d, found, mean);
  return 0;
}

/* Rows are counted over [B, T, HQ]. Stops at the first wrong number. */
static int check_row(size_t row) {
  size_t head = row % HQ / (HQ / H), t = row / HQ % T, b = row / HQ / T;
  float weight = logf((float)t + 1);
  for (size_t d = 0; d < D; ++d) {
    float sum = 0;
    for (size_t s = 0; s <= t; ++s)
      sum += from_bf16(v[((b * T + s) * H + head) * D + d]);
    if (!check_result(row, d, sum / ((float)t + 1)))
      return 0;
  }
  if (fabsf(lse[row] - weight) <= 1e-4f)
    return 1;
  fprintf(stderr, "lse[%zu] is %g, expected %g\n", row, lse[row], weight);
  return 0;
}

int main(void) {
  int count = 0;
  flash_module flash;
  /* Fails where there is no CUDA driver. */
  if (nsacc_rt_device_count(&count) == NSACC_RT_OK && count > 0)
    device = 0;
  require(flash_load(&flash, device), "loading the package");
  make_inputs();
  run(&flash);
  for (size_t row = 0; row < B * T * HQ; ++row)
    if (!check_row(row))
      return EXIT_FAILURE;
  printf("flash for %s: all %d results are as expected\n",
         nsacc_rt_target(flash.rt), B * T * HQ * (D + 1));
  flash_unload(&flash);
  return EXIT_SUCCESS;
}
