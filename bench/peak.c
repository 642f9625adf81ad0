/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peak.c - the peak floating-point rate of this machine.
 *
 * Twelve independent fused multiply-adds keep both units of a core busy: four or
 * five cycles of latency times two per cycle, with a margin. They are written in
 * assembly, as the compiler would remove sums that are not used. On other machines than
 * x86-64 the compiler's vectors are used, and the figure is a lower bound.
 *
 *     peak --threads N [--seconds S]     prints GFLOP/s
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAINS = 12, ROUNDS = 100000 };

/* One round is 100,000 times twelve products; returns the operations done. */
typedef double round_fn(void);

#if defined(__x86_64__)

#define TWELVE(r)                                     \
	"vfmadd231ps %%" r "12, %%" r "13, %%" r "0\n\t"  \
	"vfmadd231ps %%" r "12, %%" r "13, %%" r "1\n\t"  \
	"vfmadd231ps %%" r "12, %%" r "13, %%" r "2\n\t"  \
	"vfmadd231ps %%" r "12, %%" r "13, %%" r "3\n\t"  \
	"vfmadd231ps %%" r "12, %%" r "13, %%" r "4\n\t"  \
	"vfmadd231ps %%" r "12, %%" r "13, %%" r "5\n\t"  \
	"vfmadd231ps %%" r "12, %%" r "13, %%" r "6\n\t"  \
	"vfmadd231ps %%" r "12, %%" r "13, %%" r "7\n\t"  \
	"vfmadd231ps %%" r "12, %%" r "13, %%" r "8\n\t"  \
	"vfmadd231ps %%" r "12, %%" r "13, %%" r "9\n\t"  \
	"vfmadd231ps %%" r "12, %%" r "13, %%" r "10\n\t" \
	"vfmadd231ps %%" r "12, %%" r "13, %%" r "11\n\t"

/* vzeroall leaves every register at 0: no slow denormals, no overflow. */
#define RUN(r)                                                                       \
	__asm__ volatile("vzeroall\n\t"                                                  \
	                 "1:\n\t" TWELVE(r) "dec %0\n\t"                                 \
	                                    "jnz 1b\n\t"                                 \
	                                    "vzeroupper"                                 \
	                 : "+r"(left)                                                    \
	                 :                                                               \
	                 : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", \
	                   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",   \
	                   "xmm14", "xmm15")

static double round_avx2(void)
{
	long left = ROUNDS;

	RUN("ymm");
	return 2.0 * 8 * CHAINS * ROUNDS;
}

static double round_avx512(void)
{
	long left = ROUNDS;

	RUN("zmm");
	return 2.0 * 16 * CHAINS * ROUNDS;
}

#endif

typedef float lanes __attribute__((vector_size(16)));

static double round_portable(void)
{
	lanes a = {0, 0, 0, 0}, sum[CHAINS] = {{0}};

	for (int i = 0; i < ROUNDS; i++)
		for (int j = 0; j < CHAINS; j++) {
			sum[j] += a * sum[j];
			__asm__ volatile("" : "+m"(sum[j]));
		}
	return 2.0 * 4 * CHAINS * ROUNDS;
}

static round_fn *choose(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f"))
		return round_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return round_avx2;
#endif
	return round_portable;
}

/* Threads start together, and each works until the time is over. */
static double measure(round_fn *one_round, int threads, double seconds)
{
	double rate = 0;

#pragma omp parallel num_threads(threads) reduction(+ : rate)
	{
		double done = 0, start, now;

		one_round(); /* wakes the wide units */
#pragma omp barrier
		start = omp_get_wtime();
		do {
			done += one_round();
			now = omp_get_wtime();
		} while (now - start < seconds);
		rate = done / (now - start);
	}
	return rate * 1e-9;
}

int main(int argc, char **argv)
{
	int threads = omp_get_num_procs();
	double seconds = 0.3;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--threads") == 0)
			threads = atoi(argv[i + 1]);
		else if (strcmp(argv[i], "--seconds") == 0)
			seconds = atof(argv[i + 1]);
	}
	if (threads < 1 || !(seconds > 0)) {
		fputs("usage: peak --threads N [--seconds S]\n", stderr);
		return 2;
	}
	printf("%.2f\n", measure(choose(), threads, seconds));
	return 0;
}
