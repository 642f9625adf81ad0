/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_speed.c - processor time of one kernel by each instruction set, for kernels.py.
 *
 * Answers a line "KERNEL SET TIMES" with the processor seconds of TIMES calls on one
 * thread, and "sets" with the sets of this processor, as a sum: 1 AVX2, 2 AVX-512, 4 NEON.
 * SET is ref, avx2, avx512 or neon. Arguments have sizes as in training, search and
 * augmentation, and stay in the cache.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/rng.h"
#include "images/augment/augment_kernels.h"
#include "math/kernels.h"
#include "math/panels.h"

enum { ROWS = 1024, WIDTH = 384, SIDE = 96, PLANES = 3, PIXELS = PLANES * SIDE * SIDE };
enum { PAIRS = WIDTH / 2 };

static struct inv_kernels kernels;
static struct inv_augment_kernels pixels;
static float *a, *b, *c, *room; /* [ROWS, WIDTH] each */
static int16_t whole_a[2 * INV_DOT_ROWS * PAIRS], whole_b[2 * INV_DOT_COLS * PAIRS];
static double keys[ROWS * INV_SLICES], kept[ROWS * INV_SLICES];

static void run_panels(void)
{
	const inv_panels p = inv_panels_of(WIDTH, WIDTH, b);

	inv_panels_multiply(&kernels, &p, 192, a, WIDTH, false, c, WIDTH, room);
}

static void run_integers(void)
{
	int32_t sums[INV_DOT_ROWS * INV_DOT_COLS] = {0};

	kernels.dot_tile(whole_a, whole_b, PAIRS, sums);
	c[0] = (float)sums[0];
}

static void run_distances(void)
{
	kernels.pair_distances(a, b, WIDTH, WIDTH, c);
}

static void run_sort(void)
{
	memcpy(keys, kept, sizeof keys);
	kernels.sort_keys(keys, ROWS);
}

static void run_normals(void)
{
	inv_stream s = inv_stream_of(1, "speed", 0);

	kernels.normal(&s, 0, c, PIXELS);
}

/* A rotation by 17 degrees, of what lies inside. */
static void run_warp(void)
{
	const inv_view v = {.in = a,
	                    .planes = PLANES,
	                    .h = SIDE,
	                    .w = SIDE,
	                    .out = c,
	                    .out_h = SIDE,
	                    .out_w = SIDE,
	                    .at = {0.956, -0.292, 16.5, 0.292, 0.956, -11.5}};

	for (size_t row = 24; row < 72; row++)
		pixels.warp_span(&v, row, 20, 76);
}

static void run_exponentials(void)
{
	memcpy(c, a, ROWS * sizeof *c);
	kernels.exp_shifted(8, 1, ROWS, c);
}

static const struct {
	const char *name;
	void (*run)(void);
} work[] = {{"panels", run_panels},       {"integers", run_integers},
            {"distances", run_distances}, {"sort", run_sort},
            {"normals", run_normals},
            {"warp", run_warp},           {"exp", run_exponentials}};

static unsigned set_of(const char *name, unsigned cpu)
{
	if (strcmp(name, "ref") == 0)
		return 0;
	return strcmp(name, "avx2") == 0 ? cpu & ~(unsigned)INV_CPU_AVX512 : cpu;
}

static double answer(const char *line, unsigned cpu)
{
	char name[16], set[16];
	int times;

	if (strncmp(line, "sets", 4) == 0)
		return (cpu & INV_CPU_AVX2 ? 1 : 0) + (cpu & INV_CPU_AVX512 ? 2 : 0) +
		       (cpu & INV_CPU_NEON ? 4 : 0);
	if (sscanf(line, "%15s %15s %d", name, set, &times) != 3)
		return -1;
	inv_kernels_init(&kernels, set_of(set, cpu));
	inv_augment_kernels_init(&pixels, set_of(set, cpu));
	for (size_t i = 0; i < sizeof work / sizeof *work; i++)
		if (strcmp(work[i].name, name) == 0) {
			double start;

			work[i].run();
			start = inv_cpu_seconds();
			for (int t = 0; t < times; t++)
				work[i].run();
			return inv_cpu_seconds() - start;
		}
	return -1;
}

static int make_arguments(void)
{
	inv_stream s = inv_stream_of(1, "speed", 0);
	size_t count = ROWS * WIDTH;

	a = malloc(count * sizeof *a);
	b = malloc(count * sizeof *b);
	c = calloc(count, sizeof *c);
	room = malloc(inv_panels_room() * sizeof *room);
	if (!a || !b || !c || !room)
		return 0;
	inv_fill_uniform(&s, 1, -1, 1, a, count);
	inv_fill_uniform(&s, 2, -1, 1, b, count);
	for (size_t i = 0; i < sizeof whole_a / sizeof *whole_a; i++)
		whole_a[i] = (int16_t)(1000 * a[i]);
	for (size_t i = 0; i < sizeof whole_b / sizeof *whole_b; i++)
		whole_b[i] = (int16_t)(1000 * b[i]);
	for (size_t i = 0; i < ROWS * INV_SLICES; i++)
		kept[i] = (double)a[i];
	return 1;
}

int main(void)
{
	invar_context *ctx;
	char line[100];

	if (!make_arguments() || invar_context_new(1, NULL, &ctx) != INVAR_OK)
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		printf("%.9f\n", answer(line, ctx->cpu));
		fflush(stdout);
	}
	invar_context_free(ctx);
	return 0;
}
