/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - the elementwise work, by table.
 *
 * The table starts complete with the plain C of kernels_ref.c; each instruction
 * set then overrides what it improves. Every fast kernel is compared with its
 * plain one over odd sizes in tests/math/test_kernels.c. Kernels work on one
 * thread; callers cut the work into blocks that do not depend on the threads.
 */
#ifndef INV_KERNELS_H
#define INV_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

/* INV_PAIR_SUM: coordinates summed in one run, so that rounding stays small. */
enum { INV_PAIR_ROWS = 6, INV_PAIR_COLS = 16, INV_PAIR_SUM = 256 };
enum { INV_DOT_ROWS = 6, INV_DOT_COLS = 16 };
enum { INV_STRIP_ROWS = 6, INV_PANEL_COLS = 16, INV_SIDE_PANELS = 4 };

typedef struct inv_adamw_rates {
	float keep; /* 1 - lr * weight_decay */
	float beta1, beta2;
	float rest1, rest2; /* 1 - beta, rounded once: 1 - 0.999f is off by 5e-5 */
	float step;         /* lr / (1 - beta1^t) */
	float root;         /* sqrt(1 - beta2^t) */
	float eps;
} inv_adamw_rates;

/* Running sums over pairs of distances (d, e), both shifted for accuracy. */
typedef struct inv_pair_sums {
	uint64_t pairs, zero_pairs;
	double d, e, dd, ee, de; /* of d - shift_d and e - shift_e */
	double gap;              /* of (e - d)^2 */
	double d_min, d_max, ratio_min, ratio_max;
} inv_pair_sums;

/* One query against INV_DOT_COLS gallery rows, in the integers of neighbours.c. */
typedef struct inv_near {
	float scale;  /* twice the size of the query's unit */
	float square; /* its squared norm */
	uint32_t label;
	float same, other; /* limits for rows with its label, and for others */
} inv_near;

/* Number of directions sorted side by side. */
enum { INV_SLICES = 4 };

/*
 * Projections of M joint rows: row r is a[rows_a[r]] + b[rows_b[r]], for directions stored
 * side by side; without b it is a alone.
 */
typedef struct inv_side {
	const float *a, *b;
	size_t stride_a, stride_b; /* floats from row to row */
	const uint32_t *rows_a, *rows_b;
	size_t M;
} inv_side;

/* A layer norm, and what is added to its input after it has been read. */
typedef struct inv_layer_norm {
	size_t width;
	const float *weight, *bias;
	float eps;
	const float *then;
} inv_layer_norm;

/* Rows of C for panels of W one after the other, see panels.h. */
typedef struct inv_panel_product {
	const float *strips; /* of A, as pack_strips lays them out */
	const float *row;    /* A itself if it is one row; then strips are read for the columns
	                      * after the last multiple of INV_SIDE_PANELS panels; NULL: strips */
	const float *panel;  /* [k][INV_PANEL_COLS] each */
	size_t rows, k, columns;
	bool add;
	const float *from; /* what is added to, rows from_stride floats apart; NULL: c */
	size_t from_stride;
	const float *bias; /* [columns], added to every row at the end; NULL: none */
	bool relu;         /* then max(0, .); NaN stays */
	const float *mask; /* c = 0 where this is not above 0; rows mask_stride apart */
	size_t mask_stride;
	float *sums; /* [columns] += the rows of c, in order; NULL unless there is a mask */
	float *c;
	size_t stride; /* floats from row to row of c */
	/* Of pairs: the result goes here instead, in bfloat16; NULL: to c. */
	uint16_t *half;
	size_t half_stride;
	bool half_add; /* to what is there, before relu */
	/* Of bytes: sums become floats, times column_scale[j], then row_scale[i]; NULL: they
	 * stay integers, in the storage of floats. */
	const float *row_scale, *column_scale;
} inv_panel_product;

/* A tile of a map: its first pixel, which may be outside; numbers from pixel to pixel. */
typedef struct inv_tile {
	long top, left;
	long height, width; /* of the map */
	size_t step;
	bool halves; /* the map is of bfloat16, else of floats */
} inv_tile;

/* INV_LANES: doubles side by side. A spline has 6 taps, 8 with the zeros that pad it. */
enum { INV_LANES = 4, INV_SPLINE_TAPS = 6, INV_SPLINE_WIDE = 8, INV_EDGES = 8 };

/* The weights of a point for the nodes around it, and their derivatives. */
typedef struct inv_spline {
	double across[INV_SPLINE_WIDE], across_slope[INV_SPLINE_WIDE];
	double down[INV_SPLINE_WIDE], down_slope[INV_SPLINE_WIDE];
} inv_spline;

struct inv_kernels {
	/* True if all are finite. */
	bool (*all_finite)(const float *x, size_t count);
	void (*widen_half)(const uint16_t *half, size_t count, float *out);

	/* y += x */
	void (*add)(const float *x, size_t count, float *y);
	/* sums[j] += sum over rows of x[i, j], rows in order */
	void (*column_sums)(const float *x, size_t rows, size_t width, float *sums);
	/*
	 * dh[i, j] = 0 where h[i, j] <= 0, rows `stride` floats apart; the column sums of the
	 * result are added to sums, rows in order.
	 */
	void (*relu_backward)(const float *h, size_t rows, size_t width, size_t stride,
	                      float *dh, float *sums);
	/* grad = scale (y - target); returns sum of (y - target)^2 */
	double (*squared_error)(const float *y, const float *target, size_t count, float scale,
	                        float *grad);
	/* One AdamW step, in PyTorch's order of operations. */
	void (*adamw)(const inv_adamw_rates *r, const float *grad, size_t count, float *p,
	              float *m, float *v);

	/* INV_PAIR_COLS points (rows of `width` floats) -> packed [width][INV_PAIR_COLS]. */
	void (*pack_points)(const float *const points[INV_PAIR_COLS], size_t width,
	                    float *packed);
	/*
	 * Squared distances of INV_PAIR_ROWS rows of x (stride d) to the
	 * INV_PAIR_COLS points packed as [d][INV_PAIR_COLS], by differences.
	 */
	void (*pair_distances)(const float *x, const float *packed, size_t d, size_t stride,
	                       float *out);
	/* Adds pairs of squared distances to the sums; pairs with d2 = 0 are counted
	 * separately. */
	void (*pair_sums)(const float *d2, const float *e2, size_t count, double shift_d,
	                  double shift_e, inv_pair_sums *s);

	/* Sum of (a - b)^2, each difference in double. */
	double (*squared_distance)(const float *a, const float *b, size_t count);
	/*
	 * out = (x - centre) / scale, rounded to nearest; the caller ensures that all fit.
	 * Returns the sum of (x - centre - scale out)^2.
	 */
	double (*quantise)(const float *x, const float *centre, size_t count, double scale,
	                   int16_t *out);
	/*
	 * sums [DOT_ROWS][DOT_COLS] += products of a, packed as [pairs][DOT_ROWS][2],
	 * and b, packed as [pairs][DOT_COLS][2]. No sum may exceed 32 bits.
	 */
	void (*dot_tile)(const int16_t *a, const int16_t *b, size_t pairs, int32_t *sums);
	/*
	 * near[j] = squares[j] + t->square - t->scale scales[j] dots[j]; returns a bit mask of
	 * the j < DOT_COLS that are not above their label's limit.
	 */
	unsigned (*near_columns)(const inv_near *t, const int32_t *dots, const float *scales,
	                         const float *squares, const uint32_t *labels, float *near);

	/* The numbers of inv_fill_normal, up to rounding. */
	void (*normal)(const inv_stream *s, uint32_t index, float *out, size_t count);
	/* out = x + (std n + mean) with these numbers n; NULL: normal, then adding. */
	void (*add_normal)(const inv_stream *s, uint32_t index, const float *x, float mean,
	                   float std, float *out, size_t count);

	/*
	 * Keys of INV_SLICES directions from `column` on, [M][INV_SLICES]: the
	 * projection widened to double, its row in the low bits that a float leaves
	 * free. Keys sort like projections, equal ones by row (negative ones from the last row
	 * on). If a projection is not finite, its slice's sums are not either.
	 */
	void (*join_keys)(const inv_side *s, size_t column, double *keys);
	/* Sorts each slice; keys has space for inv_sort_room(n) rows. */
	void (*sort_keys)(double *keys, size_t n);
	/*
	 * For sorted keys p [n / repeat], each representing `repeat` equal ones, and q [n]:
	 * sums += sum over places of (p - q)^2. If u is not NULL, u[row of p] = p - q and v[row
	 * of q] = p - q, [n][INV_SLICES] each.
	 */
	void (*compare_keys)(const double *p, const double *q, size_t n, size_t repeat,
	                     double sums[INV_SLICES], float *u, float *v);
	/* out[r] = u[r] - v[back[r]] for INV_SLICES columns, rows `stride` apart. */
	void (*spread)(const float *u, const float *v, const uint32_t *back, size_t n,
	               float *out, size_t stride);

	/* Sum of a[i] b[i], in double. */
	double (*dot)(const float *a, const float *b, size_t count);
	/* The largest of count > 0 values; NaNs may be skipped. */
	float (*largest)(const float *x, size_t count);
	/*
	 * x = exp(scale (x - shift)), within 2 ulp of the argument's exponential; returns
	 * the sum. No argument may be above 0; below -87.3 the result is 0.
	 */
	double (*exp_shifted)(float shift, float scale, size_t count, float *x);
	/* x = weight exp(-scale x) for x, scale >= 0; returns the sum. Zeros as above. */
	double (*exp_weighted)(const float *weight, float scale, size_t count, float *x);
	/*
	 * Products to squared distances: x[j] = square + squares[j] - 2 x[j]. True if one of
	 * them is not above near (square + squares[j]).
	 */
	bool (*squares_of_products)(float square, const float *squares, float near,
	                            size_t count, float *x);
	/* out [cols, rows] = x [rows, cols] transposed; rows are x_stride and out_stride apart.
	 */
	void (*transpose)(const float *x, size_t rows, size_t cols, size_t x_stride,
	                  size_t out_stride, float *out);
	/*
	 * Two tiles that mirror each other, x [rows, cols] and y [cols, rows]: both become
	 * row_scale[i] x[i, j] + col_scale[j] y[j, i]. A tile may mirror itself, y = x.
	 */
	void (*add_mirrored)(const float *row_scale, const float *col_scale, size_t rows,
	                     size_t cols, size_t stride, float *x, float *y);
	/*
	 * Counts values by 16 of their bits without the sign: [2^16] by the upper bits; or by
	 * the lower bits, only values whose upper bits are `upper`.
	 */
	void (*count_upper)(const float *x, size_t count, uint32_t *counts);
	void (*count_lower)(const float *x, size_t count, uint32_t upper, uint32_t *counts);

	/*
	 * y = (x - mean) / sqrt(var + eps) weight + bias for each row, var biased; then x +=
	 * n->then if that is not NULL. y may be x without it.
	 */
	void (*layer_norm)(const inv_layer_norm *n, size_t rows, size_t x_stride,
	                   size_t y_stride, float *x, float *y);
	/* x += bias for each row, rows `stride` floats apart. */
	void (*add_bias)(const float *bias, size_t rows, size_t width, size_t stride, float *x);
	/* x = gelu(x + bias): t Phi(t), off by at most 1e-7 |t|; x sigmoid(1.702 x). */
	void (*bias_gelu)(const float *bias, size_t rows, size_t width, float *x);
	void (*bias_quick_gelu)(const float *bias, size_t rows, size_t width, float *x);
	/* With t = x + bias: t sigmoid(2 sqrt(2 / pi) (t + 0.044715 t^3)), GELU by a tanh; t
	 * sigmoid(t). */
	void (*bias_tanh_gelu)(const float *bias, size_t rows, size_t width, float *x);
	void (*bias_silu)(const float *bias, size_t rows, size_t width, float *x);
	/* x = (x + bias) by */
	void (*bias_multiply)(const float *bias, const float *by, size_t rows, size_t width,
	                      float *x);
	/*
	 * Rotary positions of one token: of each head, columns j and half + j are the two
	 * coordinates of a point, which is rotated by the angle of cos[j] and sin[j].
	 */
	void (*rotate)(const float *cos, const float *sin, size_t heads, size_t half, float *x);

	/*
	 * strips [rows / STRIP_ROWS, rounded up][k][STRIP_ROWS] = a [rows, k]; may write two
	 * floats beyond.
	 */
	void (*pack_strips)(const float *a, size_t stride, size_t rows, size_t k,
	                    float *strips);
	/* The same of a matrix that is stored as a [k, rows]. */
	void (*pack_strips_turned)(const float *a, size_t stride, size_t rows, size_t k,
	                           float *strips);
	/* One strip [k][STRIP_ROWS] of cells that lie anywhere; writes two floats beyond. */
	void (*pack_strip)(const float *const row[INV_STRIP_ROWS], size_t k, float *strip);
	/* Panels [k][PANEL_COLS] of x [k, columns], `step` floats apart; zeros past the last
	 * column. */
	void (*fill_panels)(const float *x, size_t stride, size_t k, size_t columns,
	                    float *panels, size_t step);
	/* c (+)= strips panels; the order of each sum depends on k alone. */
	void (*panel_product)(const inv_panel_product *p);

	/*
	 * The same of pairs of bfloat16 (bfloat16.h), two rows of W or two columns of A in the
	 * storage of a float, the last paired with 0 if k is odd. k of a product counts pairs;
	 * its sums have one order and one rounding in all instruction sets, and in plain C.
	 */
	void (*to_pairs)(const float *x, size_t count, float *pairs);
	void (*pack_pair_strips)(const float *a, size_t stride, size_t rows, size_t k,
	                         float *strips);
	void (*fill_pair_panels)(const float *x, size_t stride, size_t k, size_t columns,
	                         float *panels, size_t step);
	void (*pair_panel_product)(const inv_panel_product *p);

	/*
	 * The same of bytes, four in the storage of a float: unsigned ones of A, signed ones of
	 * W. Sums are integers, so all instruction sets give the same. No sum may exceed 32
	 * bits.
	 */
	void (*byte_panel_product)(const inv_panel_product *p);
	/* The largest magnitude of bfloat16 numbers, in bfloat16; a NaN is larger than all.
	 * Here and below, count is a multiple of 16. */
	uint16_t (*largest_half)(const uint16_t *x, size_t count);
	/* out = x scale, to the nearest number from 0 to 255; 0 for NaN */
	void (*halves_to_bytes)(const uint16_t *x, size_t count, float scale, uint8_t *out);

	/*
	 * out [channels] = the largest of the numbers at each x[i] [channels], of floats or
	 * bfloat16; NaNs may be skipped.
	 */
	void (*largest_of)(bool halves, const void *const *x, size_t count, size_t channels,
	                   void *out);
	/*
	 * Winograd's tiles, see winograd.h. tile_in makes 36 rows of `channels` numbers like
	 * those of the map, `apart` numbers from one to the next, of 6x6 pixels, 0 outside the
	 * map; tile_out makes 4x4 pixels, those of the map, of such rows of floats, with bias
	 * [outputs]. Channels and outputs are multiples of 16.
	 */
	void (*tile_in)(const inv_tile *t, const void *map, size_t channels, void *v,
	                size_t apart);
	void (*tile_out)(const inv_tile *t, const float *m, size_t apart, size_t outputs,
	                 const float *bias, bool add, bool relu, void *map);

	/*
	 * FFTs of INV_LANES sequences x [n][re, im][INV_LANES], n = 2^a or 3 2^a, with
	 * roots [n][re, im] = exp(-2 pi i k / n). Frequencies come out in the order of the
	 * stages, the same for all sequences of n values; fft_back takes them in that order
	 * and multiplies by n.
	 */
	void (*fft)(size_t n, const double *roots, double *x);
	void (*fft_back)(size_t n, const double *roots, double *x);
	/* x *= a for complex numbers in that layout. */
	void (*multiply_spectra)(const double *a, size_t count, double *x);
	/*
	 * Quintic B-splines of the six nodes around a place t in [0, 1) between the third and
	 * the fourth, and their derivatives; INV_SPLINE_WIDE each, the last ones 0.
	 */
	void (*spline_weights)(double t, double *weights, double *slopes);
	/* Adds the spline of a point to the grid, whose rows are `stride` apart. */
	void (*spread_spline)(const inv_spline *s, double *grid, size_t stride);
	/* Value, slope across and slope down of the grid's spline at the point. */
	void (*gather_spline)(const inv_spline *s, const double *grid, size_t stride,
	                      double out[3]);
	/*
	 * For a row x and directions [width][2 INV_LANES]: y = (x - centre) directions; back
	 * [width][2 INV_LANES] += (x - centre)^T y, unless it is NULL.
	 */
	void (*thin_pass)(const float *x, const double *centre, size_t width,
	                  const double *directions, double *y, double *back);
	/*
	 * Sum over edges of weight (y_self - y_j) / (1 + |y_self - y_j|^2), points y [n, 2];
	 * count is a multiple of INV_EDGES.
	 */
	void (*attract)(const float *y, size_t self, const uint32_t *index, const float *weight,
	                size_t count, float force[2]);
};

/* cpu: the context's INV_CPU_* flags. */
void inv_kernels_init(struct inv_kernels *k, unsigned cpu);

void inv_kernels_ref(struct inv_kernels *k);
void inv_kernels_fourier_ref(struct inv_kernels *k);
void inv_kernels_maps_ref(struct inv_kernels *k);

/* Of each instruction set, from the same files, see lanes.h. */
#define INV_KERNELS_OF(set)                                    \
	void inv_kernels_##set(struct inv_kernels *k);             \
	void inv_kernels_random_##set(struct inv_kernels *k);      \
	void inv_kernels_sliced_##set(struct inv_kernels *k);      \
	void inv_kernels_tokens_##set(struct inv_kernels *k);      \
	void inv_kernels_activations_##set(struct inv_kernels *k); \
	void inv_kernels_packing_##set(struct inv_kernels *k);     \
	void inv_kernels_products_##set(struct inv_kernels *k);    \
	void inv_kernels_maps_##set(struct inv_kernels *k);
INV_KERNELS_OF(avx2)
INV_KERNELS_OF(neon)
void inv_kernels_fourier_avx2(struct inv_kernels *k);
void inv_kernels_activations_avx512(struct inv_kernels *k);
void inv_kernels_random_avx512(struct inv_kernels *k);
void inv_kernels_products_avx512(struct inv_kernels *k);
void inv_kernels_maps_avx512(struct inv_kernels *k);
void inv_kernels_products_bf16(struct inv_kernels *k);
void inv_kernels_maps_bf16(struct inv_kernels *k);

#endif
