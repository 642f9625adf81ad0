/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden.h - reference values from an independent implementation, for tests.
 *
 * A golden tree is a folder with a manifest.json and one folder per case:
 * float32 inputs and float64 outputs as .npy, scalars in a flat values.json.
 * tests/golden is such a tree, made by the script beside it; a larger one with
 * the same layout may be in $INVAR_SHARED/golden. A test loops over both:
 *
 *     for (const char *const *root = golden_roots(); *root; root++) {
 *         golden *g = golden_open(*root, "mawa");
 *         const float *clean = golden_f32(g, "clean", shape);
 *         …
 *         golden_check(g, "grad_0_weight", grad, count);
 *         golden_close(g);
 *     }
 *
 * Whatever is missing or differs fails the running cmocka test with a message, so
 * nothing here returns an error.
 */
#ifndef INV_TESTS_GOLDEN_H
#define INV_TESTS_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct golden golden;

enum { GOLDEN_NDIM = 8 };

/* The trees that exist, ended by NULL: our own first, then the shared one. */
const char *const *golden_roots(void);
/* $INVAR_SOURCE, else "."; $INVAR_SHARED, else ../shared beside the source. */
const char *golden_source(void);
const char *golden_shared(void);

golden *golden_open(const char *root, const char *case_name);
/*
 * A folder without a manifest, as losses/keep/make_keep.py writes it; relative tolerance
 * 1e-4. The terms in its values.json are the values term_NAME.
 */
golden *golden_open_folder(const char *folder);
/* Folders of KEEP that exist, ended by NULL: our own, then the shared one. */
const char *const *golden_keep_folders(void);
void golden_close(golden *g); /* accepts NULL */

/*
 * An array by its file name without .npy; views. A file that the manifest lists
 * as an input from another case's folder is found as well. shape may be NULL,
 * else it has GOLDEN_NDIM places, 1 beyond its dimensions.
 */
const float *golden_f32(golden *g, const char *name, size_t *shape);
const double *golden_f64(golden *g, const char *name, size_t *shape);
const int64_t *golden_int(golden *g, const char *name, size_t *shape);

/* A scalar of values.json: a parameter of the case or a result. */
double golden_value(golden *g, const char *name);

/* The path of a file in the case's folder; views. */
const char *golden_path(golden *g, const char *file);

/* Within the manifest's tolerance for a float32 implementation? */
void golden_check(golden *g, const char *name, const float *got, size_t count);
void golden_check_f64(golden *g, const char *name, const double *got, size_t count);
void golden_check_value(golden *g, const char *name, double got);
bool golden_allows(golden *g, const char *name, double got); /* returns it instead */

#endif
