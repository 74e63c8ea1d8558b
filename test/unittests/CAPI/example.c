/* Compiles a program and runs it, in C: the header and the library as users of
 * other languages call them.
 *
 * Usage: nsacc-c-example FILE */

#include "nsacc-c/nsacc.h"
#include <stdio.h>
#include <stdlib.h>

static int fail(nsacc_error *error) {
  int status = (int)nsacc_error_status(error);
  fprintf(stderr, "%s\n", nsacc_error_text(error));
  nsacc_error_destroy(error);
  return status;
}

static void describe(const nsacc_program *program) {
  printf("kernel %s for %s\n", nsacc_program_kernel(program),
         nsacc_program_target(program));
  for (size_t i = 0; i < nsacc_program_num_inputs(program); ++i)
    printf("  in  %s\n", nsacc_value_text(nsacc_program_input(program, i)));
  for (size_t i = 0; i < nsacc_program_num_results(program); ++i)
    printf("  out %s\n", nsacc_value_text(nsacc_program_result(program, i)));
}

/* Attention of 4 queries over the same 4 keys, all equal, and a ramp of values:
 * causal rows are running means. */
static int run(const nsacc_program *program) {
  float ones[4] = {1, 1, 1, 1}, ramp[4] = {0, 1, 2, 3}, out[4];
  int64_t shape[4] = {1, 4, 1, 1};
  nsacc_tensor inputs[3] = {{ones, NSACC_DTYPE_F32, 4, shape, NULL},
                            {ones, NSACC_DTYPE_F32, 4, shape, NULL},
                            {ramp, NSACC_DTYPE_F32, 4, shape, NULL}};
  nsacc_tensor output = {out, NSACC_DTYPE_F32, 4, shape, NULL};
  nsacc_error *error = NULL;
  if (nsacc_program_run(program, inputs, 3, &output, 1, NULL, &error))
    return fail(error);
  printf("out = %g %g %g %g\n", out[0], out[1], out[2], out[3]);
  return 0;
}

int main(int argc, char **argv) {
  nsacc_options *options = nsacc_options_create();
  nsacc_program *program = NULL;
  nsacc_error *error = NULL;
  int status;
  if (argc != 2) {
    fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  nsacc_options_set_dtype(options, "f32");
  if (nsacc_compile_file(argv[1], options, &program, &error)) {
    status = fail(error);
  } else {
    describe(program);
    status = run(program);
  }
  nsacc_program_destroy(program);
  nsacc_options_destroy(options);
  return status;
}
