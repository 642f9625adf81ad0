/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op.h - what an augmentation is: keys, columns, a draw, an application.
 *
 * Each operation is one file NAME.c that defines inv_op_NAME, and one name in the list of
 * meson.build. What is
 * drawn for an image is a row of floats, the operation's columns; applying is a
 * function of the image and that row alone (noise also of its random field), so
 * a stored row repeats a picture exactly.
 *
 * Images are float, [c, h, w]. Integer i is the centre of pixel i.
 */
#ifndef INV_OP_H
#define INV_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/status.h"

typedef struct inv_extent {
	size_t c, h, w;
} inv_extent;

static inline size_t inv_extent_cells(inv_extent s)
{
	return s.c * s.h * s.w;
}

/* ---- Keys ------------------------------------------------------------------ */

typedef enum inv_key_type {
	INV_KEY_NUMBER, /* one number */
	INV_KEY_RANGE,  /* a..b to draw from; a single number is fixed */
	INV_KEY_SPREAD, /* a..b; a single number n is -n..n */
	INV_KEY_SIZE,   /* HxW, or N for NxN; 0x0 means "as the input" */
	INV_KEY_WORD    /* one of `words` */
} inv_key_type;

typedef struct inv_key {
	const char *name;
	inv_key_type type;
	double low, high; /* default; a word is its index in `words`, a size is h, w */
	double min, max;  /* bounds of both ends */
	const char *words;
	const char *help; /* a phrase without a full stop */
} inv_key;

typedef struct inv_value {
	double low, high;
} inv_value;

static inline bool inv_value_is(inv_value v, int word)
{
	return (int)v.low == word;
}

/* Keys that every operation has come first; its own follow from INV_OWN_KEY on. */
enum { INV_KEY_P, INV_KEY_SAME, INV_OWN_KEY };
enum { INV_MAX_KEYS = 12, INV_MAX_COLUMNS = 6 };

/* ---- Operations -------------------------------------------------------------- */

struct inv_augment_kernels;
struct inv_kernels;

/* What an application may use besides its image. */
typedef struct inv_tools {
	const struct inv_augment_kernels *image;
	const struct inv_kernels *math;
	/*
	 * pixel = value * std + mean, by channel: how a tensor was normalised, for
	 * operations that see pixels. `channels` 0: values are pixels, 0 to 1.
	 */
	size_t channels;
	const float *mean, *std;
} inv_tools;

typedef struct inv_op_call {
	const inv_tools *tools;
	const inv_value *v;
	const float *row; /* the operation's columns */
	inv_stream field; /* for noise, with `index` */
	uint32_t index;
	const float *in;
	inv_extent shape, result; /* of in and of out */
} inv_op_call;

/*
 * An array of the JSON layout of parameters. Its cells of an image are columns of
 * the row, or what `spread` makes of them; arrays with neither follow from others.
 */
typedef struct inv_param_array {
	const char *name;
	size_t ndim, shape[2]; /* after the number of images; 1 beyond ndim */
	bool integer;
	size_t column[2]; /* if there is no spread */
	void (*spread)(const inv_value *v, inv_extent in, const float *row, double *cells);
	/* NULL beside a spread: ignored when reading. False: no row gives these cells. */
	bool (*gather)(const double *cells, float *row);
} inv_param_array;

typedef size_t (*inv_around)(const inv_value *v, size_t seen);

typedef struct inv_op {
	const char *name;
	const char *class_name; /* in the JSON layout: Kornia's if it has the operation */
	const char *help;       /* what it does, a phrase */
	const inv_key *keys;
	size_t key_count;
	const char *const *columns;
	size_t column_count;
	const inv_param_array *arrays; /* NULL: each column is a separate array */
	size_t array_count;

	/* Fills the row; NULL if there is nothing to draw. */
	void (*draw)(const inv_value *v, inv_extent in, inv_cursor *c, float *row);
	/* The row that changes only the size of an image; NULL: the image is copied. */
	void (*still)(inv_extent in, float *row);
	inv_extent (*result)(const inv_value *v, inv_extent in); /* NULL: as the input */
	/*
	 * Under inside=1: the side of the square that a result of `seen` x `seen` is cut out
	 * of (inside.h), at least `seen` and growing with it. NULL: there is no such key.
	 */
	inv_around around;
	/* Why such images or such a row are impossible, for the message; or NULL. */
	const char *(*refuse)(const inv_value *v, inv_extent in);
	const char *(*refuse_row)(const inv_value *v, inv_extent in, const float *row);
	/* Source to destination pixels, 3 x 3; NULL if nothing moves. */
	void (*matrix)(const inv_value *v, inv_extent in, const float *row, double m[9]);
	invar_status (*apply)(const inv_op_call *call, float *out); /* out is not in */
} inv_op;

/* Operation i, NULL past the last; and the names of all, "a|b|c". */
const inv_op *inv_op_at(size_t i);
const char *inv_op_names(void);

/* The key number k of an operation, the common ones included; NULL past the last. */
const inv_key *inv_op_key(const inv_op *op, size_t k);

/* low + u (high - low), u uniform on [0, 1) with 24 bits. */
float inv_draw_range(inv_cursor *c, inv_value range);
/* The function draw of operations with one column: from the range of their first key. */
void inv_draw_first(const inv_value *v, inv_extent in, inv_cursor *c, float *row);

/* ---- Operations on pixels in [0, 1] ---------------------------------------------- */

/*
 * A tensor that was normalised is (pixel - mean) / std by channel. Brightness,
 * contrast and jpeg are defined on pixels, so they work on the pixel, clamp it to [0, 1]
 * and normalise again; linear operations do this in one step.
 */
typedef struct inv_pixel_scale {
	float mean, std; /* pixel = value * std + mean */
} inv_pixel_scale;

inv_pixel_scale inv_pixels_of(const inv_tools *t, size_t channel);

/* pixel = pixel * factor + offset, clamped to [0, 1], computed on normalised values. */
void inv_pixels_scale(const inv_op_call *call, float factor, float offset, float *out);

#endif
