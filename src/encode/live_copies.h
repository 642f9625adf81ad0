/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_copies.h - copies made from the images when a batch needs them.
 *
 * Clean features are encoded once, into a bank of their own without copies. A copy is a
 * function of (seed, split, epoch, number of the copy, image index) like a bank's copies,
 * which equal those of epoch 0; nothing is stored, so every epoch sees new copies and any
 * batch of any epoch can be made again.
 */
#ifndef INV_LIVE_COPIES_H
#define INV_LIVE_COPIES_H

#include <pthread.h>
#include <stdatomic.h>

#include "bank/bank.h"
#include "encode/pipeline.h"
#include "images/dataset.h"

/* Read it freely. */
typedef struct inv_live {
	invar_encoder *encoder;
	invar_options *kept; /* texts of the encoding */
	inv_encoding of;     /* its seed may be replaced before anything is encoded */
	inv_pipeline *pipeline;
	const inv_images *split; /* the data set's; NULL before one is selected */
	uint32_t *index;         /* [rows] of the clean bank */
	uint64_t rows;
	inv_npy *known; /* fingerprints of those rows; NULL: there are none */
	struct inv_kernels kernels;
	pthread_mutex_t lock;  /* one pass of the pipeline at a time */
	atomic_bool cancelled; /* running and later fills soon fail with INVAR_E_CANCELLED */
} inv_live;

/* Borrows the encoder, the data set, and the texts in o about preparing and augmenting. */
invar_status inv_live_open(invar_encoder *e, const invar_dataset *d, const invar_options *o,
                           uint64_t seed, inv_live **out);
void inv_live_close(inv_live *f); /* accepts NULL */

/* The split whose copies are made, and its number of images, including unreadable ones. */
invar_status inv_live_select(inv_live *f, const char *split, uint64_t *images);

/* What it was opened with, every option by its name, for run.json; gives likewise. */
json_t *inv_live_options(const inv_live *f);

/* Makes or resumes the bank of clean features in a folder, and opens it. */
invar_status inv_live_encode_clean(inv_live *f, const char *folder, invar_bank **out);

/*
 * s copies of the images in N rows of that bank: out is [s, N, d]. The work is cut by
 * position in the batch alone. Fails if the weights have changed meanwhile. From any
 * thread.
 */
invar_status inv_live_fill(inv_live *f, uint32_t epoch, const uint32_t *rows, uint32_t N,
                           uint32_t s, float *out);

#endif
