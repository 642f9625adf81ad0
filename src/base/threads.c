/* threads.c - parallel loops over OpenMP. */
#include "base/threads.h"

#include <omp.h>

void inv_parallel(const invar_context *ctx, size_t blocks, inv_block_fn *fn, void *user)
{
	if (ctx->threads <= 1 || blocks <= 1) {
		for (size_t i = 0; i < blocks; i++)
			fn(user, i, 0);
		return;
	}
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)ctx->threads)
	for (size_t i = 0; i < blocks; i++)
		fn(user, i, (unsigned)omp_get_thread_num());
}

double inv_sum_in_order(const double *partial, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += partial[i];
	return sum;
}
