/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment.h - applies a SPEC: rows of parameters, and images augmented with them.
 *
 * The draws of an image follow from (seed, split, epoch, copy, image index) and the
 * place of the operation in the SPEC, each from its own stream, so that no operation's
 * numbers depend on what another one drew.
 */
#ifndef INV_AUGMENT_H
#define INV_AUGMENT_H

#include "base/context.h"
#include "base/options.h"
#include "images/augment/augment_kernels.h"
#include "images/normalise.h"
#include "images/spec.h"
#include "math/kernels.h"

enum { INV_BATCH_INDICES = 256 }; /* images that share a draw under same_on_batch */

struct invar_augment {
	invar_context *ctx;
	inv_spec spec;
	char (*names)[32]; /* of the columns */
	struct inv_augment_kernels image;
	struct inv_kernels math;
	inv_tools tools;
	inv_normalisation pixels;
};

/* A draw is a function of these and the image's index, whatever the threads and batches. */
typedef struct inv_draw {
	uint64_t seed;
	const char *split;
	uint64_t epoch; /* 0 in banks */
	uint64_t copy;
	uint64_t first; /* index of the first image */
} inv_draw;

invar_status inv_draw_declare(invar_options *o);
/* Reads them from o; out->split is a view of *kept, which is given. */
invar_status inv_draw_read(const invar_options *o, invar_options **kept, inv_draw *out);

invar_status inv_augment_draw(const invar_augment *a, const inv_draw *d,
                              const uint64_t shape[4], float *params);
invar_status inv_augment_apply(const invar_augment *a, const inv_draw *d, const float *x,
                               const uint64_t shape[4], const float *params, float *out);

/* How tensors were normalised, for operations that work on pixels. */
void inv_augment_pixels(invar_augment *a, const inv_normalisation *n);

/* [n, c, h, w] as the shape of one image; fails if it does not fit in memory. */
invar_status inv_augment_shape(const uint64_t shape[4], inv_extent *out);

/* The shape of the result for an image; the same for all chains. */
invar_status inv_augment_result(const invar_augment *a, inv_extent in, inv_extent *out);

/* Fails for a row that no draw could have produced; `image` is for the message. */
invar_status inv_augment_check_row(const invar_augment *a, inv_extent in, const float *row,
                                   uint64_t image);

/* The input shape of operation i. */
inv_extent inv_augment_input(const invar_augment *a, inv_extent in, size_t i);

/* Reads the text of a file of parameters; `name` is for messages. */
invar_status inv_augment_params_parse(const invar_augment *a, const char *text,
                                      size_t bytes, const char *name,
                                      const uint64_t shape[4], float *params);

static inline const float *inv_augment_own(const inv_spec_op *o, const float *row)
{
	return row + o->column + o->has_on;
}

/* All operations, "rotation|affine|…". */
const char *inv_augment_names(void);
/* The canonical text: equal for SPECs that mean the same; views. */
const char *inv_augment_spec(const invar_augment *a);
const char *inv_augment_column(const invar_augment *a, size_t column);
/*
 * A SPEC with inside=1 takes pictures that are larger than what is seen of them: the shape
 * that they need for `seen`. Other SPECs take what is seen.
 */
invar_status inv_augment_prepared(const invar_augment *a, const uint64_t seen[4],
                                  uint64_t out[4]);
/*
 * Images of `shape` as they are seen without augmentation: their centres under inside=1,
 * else all of them. `clean` gets the shape; with out NULL, that is all.
 */
invar_status inv_augment_clean(const invar_augment *a, const float *x,
                               const uint64_t shape[4], uint64_t clean[4], float *out);
/*
 * The same for a NumPy file [n, c, h, w] in blocks, so the file may be larger than memory;
 * "-" is standard input or output. params and params_out are JSON files of parameters as
 * below, to use and to write; NULL: drawn, and not written.
 */
invar_status inv_augment_apply_file(const invar_augment *a, const invar_options *o,
                                    const char *in, const char *params, const char *out,
                                    const char *params_out);
/*
 * Rows of parameters in a JSON file, in the layout of Kornia's sampled parameters: a list
 * of stages, each with its class, flags, arrays and matrices. Loading fails if the file
 * does not match the SPEC.
 */
invar_status inv_augment_params_save(const invar_augment *a, const invar_options *o,
                                     const uint64_t shape[4], const float *params,
                                     const char *path);
invar_status inv_augment_params_load(const invar_augment *a, const char *path,
                                     const uint64_t shape[4], float *params);

#endif
