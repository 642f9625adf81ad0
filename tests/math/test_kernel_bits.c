/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kernel_bits.c - AVX2, AVX-512 and NEON give the same bits.
 *
 * Kernels that round more often or add in another order than their plain ones are only
 * close to those. Here their results, over odd sizes, are hashed: the sums below were found
 * with AVX2 and hold for every instruction set. Arguments are uniform numbers, which are
 * exact on any machine.
 */
#include "support.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/rng.h"
#include "math/kernels.h"

enum { MOST = 515, ROWS = 13 };

static const size_t sizes[] = {1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 100, 255, 257, MOST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct inv_kernels kernels;
static uint64_t hash;
static float x[ROWS * MOST], y[ROWS * MOST], z[ROWS * MOST], w[ROWS * MOST];

static void add_bytes(const void *data, size_t bytes)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ p[i]) * 0x100000001b3u; /* FNV-1a */
}

static void add_double(double value)
{
	add_bytes(&value, sizeof value);
}

static void draw(void)
{
	float *all[] = {x, y, z, w};
	inv_stream s = inv_stream_of(7, "bits", 0);

	for (uint32_t i = 0; i < 4; i++)
		inv_fill_uniform(&s, i, -2, 2, all[i], ROWS * MOST);
}

static void square(float *a)
{
	for (size_t i = 0; i < ROWS * MOST; i++)
		a[i] *= a[i];
}

/* ---- What is hashed --------------------------------------------------------------------
 */

static void hash_errors(size_t n)
{
	add_double(kernels.squared_error(x, y, n, 0.37f, z));
	add_bytes(z, sizeof z);
}

static void hash_adamw(size_t n)
{
	const inv_adamw_rates r = {.keep = 0.9999f,
	                           .beta1 = 0.9f,
	                           .beta2 = 0.999f,
	                           .rest1 = 0.1f,
	                           .rest2 = 0.001f,
	                           .step = 1e-3f,
	                           .root = 0.5f,
	                           .eps = 1e-8f};

	square(w);
	kernels.adamw(&r, x, n, y, z, w);
	add_bytes(y, n * sizeof *y);
	add_bytes(z, n * sizeof *z);
	add_bytes(w, n * sizeof *w);
}

static void hash_distances(size_t n)
{
	double scale = 2.0 / 30000;
	int16_t whole[MOST];

	add_double(kernels.squared_distance(x, y, n));
	add_double(kernels.dot(x, y, n));
	add_double(kernels.quantise(x, y, n, scale, whole));
	add_bytes(whole, n * sizeof *whole);
}

static void hash_pairs(size_t n)
{
	inv_pair_sums s = {.d_min = INFINITY, .ratio_min = INFINITY};

	square(x);
	square(y);
	for (size_t i = 0; i < n; i += 5)
		x[i] = 0;
	kernels.pair_sums(x, y, n, 0.7, 0.9, &s);
	add_bytes(&s, sizeof s);
}

static void hash_exponentials(size_t n)
{
	square(x);
	square(y);
	add_double(kernels.exp_shifted(4, 7, n, x));
	add_double(kernels.exp_weighted(z, 0.7f, n, y));
	add_bytes(x, n * sizeof *x);
	add_bytes(y, n * sizeof *y);
}

static void hash_normals(size_t n)
{
	inv_stream s = inv_stream_of(5, "normals", 1);

	kernels.normal(&s, 3, x, n * ROWS);
	add_bytes(x, n * ROWS * sizeof *x);
}

static void hash_tokens(size_t n)
{
	const inv_layer_norm norm = {.width = n, .weight = w, .bias = w + n, .eps = 1e-5f};

	kernels.layer_norm(&norm, 3, n, n, x, z);
	add_bytes(z, 3 * n * sizeof *z);
	for (size_t i = 0; i < 3 * n; i++)
		y[i] *= 4;
	memcpy(x, y, sizeof x);
	kernels.bias_gelu(w, 3, n, x);
	kernels.bias_quick_gelu(w, 3, n, y);
	add_bytes(x, 3 * n * sizeof *x);
	add_bytes(y, 3 * n * sizeof *y);
}

static void hash_activations(size_t n)
{
	for (size_t i = 0; i < 3 * n; i++)
		y[i] *= 4;
	memcpy(x, y, sizeof x);
	kernels.bias_tanh_gelu(w, 3, n, x);
	kernels.bias_silu(w, 3, n, y);
	add_bytes(x, 3 * n * sizeof *x);
	add_bytes(y, 3 * n * sizeof *y);
}

/* Sums of n terms, in all forms of their end. */
static void hash_panels(size_t n)
{
	enum { STEP = ROWS - 1 }; /* rows of a panel may overlap */
	static float strips[18 * MOST + 2], panel[INV_PANEL_COLS * MOST];
	float c[ROWS * INV_PANEL_COLS], sums[INV_PANEL_COLS];
	inv_panel_product p = {.strips = strips,
	                       .panel = panel,
	                       .rows = ROWS,
	                       .k = n,
	                       .bias = z,
	                       .c = c,
	                       .stride = INV_PANEL_COLS};

	kernels.pack_strips(x, n, ROWS, n, strips);
	for (int form = 0; form < 4; form++) {
		p.columns = form % 2 ? INV_PANEL_COLS : 11;
		p.add = form / 2 % 2;
		p.relu = form % 2;
		p.mask = form / 2 ? w : NULL;
		p.mask_stride = INV_PANEL_COLS;
		p.sums = form / 2 ? sums : NULL;
		memcpy(c, w, sizeof c);
		memcpy(sums, z, sizeof sums);
		kernels.fill_panels(y, STEP, n, p.columns, panel, n * INV_PANEL_COLS);
		kernels.panel_product(&p);
		add_bytes(c, sizeof c);
		add_bytes(sums, sizeof sums);
	}
}

static void hash_slices(size_t n)
{
	static double p[1024 * INV_SLICES], q[1024 * INV_SLICES];
	double sums[INV_SLICES] = {0};
	uint32_t rows[MOST];
	inv_side side = {.a = x,
	                 .b = y,
	                 .stride_a = INV_SLICES,
	                 .stride_b = INV_SLICES,
	                 .rows_a = rows,
	                 .rows_b = rows,
	                 .M = n};

	for (uint32_t i = 0; i < n; i++)
		rows[i] = (uint32_t)n - 1 - i;
	kernels.join_keys(&side, 0, p);
	side.b = NULL;
	kernels.join_keys(&side, INV_SLICES, q);
	kernels.sort_keys(p, n);
	kernels.sort_keys(q, n);
	kernels.compare_keys(p, q, n, 1, sums, z, w);
	add_bytes(sums, sizeof sums);
	add_bytes(z, n * INV_SLICES * sizeof *z);
}

static void hash_attraction(size_t n)
{
	uint32_t index[64 * INV_EDGES];
	size_t count = (n % 64 + 1) * INV_EDGES;
	float force[2];

	for (size_t i = 0; i < count; i++)
		index[i] = (uint32_t)((i * 31 + n) % MOST);
	kernels.attract(x, n % MOST, index, y, count, force);
	add_bytes(force, sizeof force);
}

/* ---- The sums ----------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*add)(size_t n);
	uint64_t want;
} results[] = {
	{"errors", hash_errors, 0xa27d695d4ed1dc92},
	{"adamw", hash_adamw, 0xff7fe7e53c12c687},
	{"distances", hash_distances, 0x0f4b8864bba002db},
	{"pairs", hash_pairs, 0xa9f283d192c660bc},
	{"exponentials", hash_exponentials, 0x31b8ba77cd77e639},
	{"normals", hash_normals, 0x5569296ca5c68067},
	{"tokens", hash_tokens, 0x2adc6acd353d8adf},
	{"activations", hash_activations, 0x1905bb4ff38ced51},
	{"panels", hash_panels, 0x9a6169214863f33f},
	{"slices", hash_slices, 0xfc817e474c779248},
	{"attraction", hash_attraction, 0x30787f7bbae71df0},
};

static void check_bits(unsigned cpu)
{
	bool all = true;

	inv_kernels_init(&kernels, cpu);
	for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
		hash = 0xcbf29ce484222325u;
		for (size_t k = 0; k < SIZES; k++) {
			draw();
			results[i].add(sizes[k]);
		}
		if (hash != results[i].want)
			print_message("%s: 0x%016" PRIx64 "\n", results[i].name, hash);
		all = all && hash == results[i].want;
	}
	assert_true(all);
}

static void every_instruction_set_has_the_same_bits(void **state)
{
	invar_context *ctx;
	unsigned cpu;

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	cpu = ctx->cpu;
	invar_context_free(ctx);
	if (!(cpu & INV_CPU_PANELS))
		skip(); /* the plain kernels have their own */
	check_bits(cpu);
	check_bits(cpu & ~(unsigned)INV_CPU_AVX512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_instruction_set_has_the_same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
