/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adapter.h - an adapter in memory, read from and written to safetensors.
 *
 * Invariants of an adapter file:
 *   1. It holds 0.weight [h, d], 0.bias [h], 2.weight [w, h], 2.bias [w], the
 *      names of torch.nn.Sequential(Linear, ReLU, Linear), and no other tensor.
 *   2. Metadata: format "pt", invar.version, invar.loss, invar.augment,
 *      invar.encoder, invar.encoder_sha256, invar.input (compatibility.h),
 *      invar.residual ("0", "1"), invar.seed, invar.options; of a merged one invar.merged
 *      instead of the last two; after `eval --certify` invar.certificate
 *      (measure/certificate.h). All are optional when reading: an adapter may come straight
 *      from PyTorch.
 *   3. invar.options holds the options that took part in making it: those of training,
 *      of the chosen loss and closed form, and of steps that were asked for (spread, …).
 *      So equal runs give equal bytes, also where a later version has more losses.
 *   4. invar.unit ("1") if E normalises: codes are unit(E(unit(z))). Else
 *      invar.norm_mean and invar.norm_deviation, of the norms of the training rows, if they
 *      are known (compatibility.h).
 */
#ifndef INV_ADAPTER_H
#define INV_ADAPTER_H

#include "base/json.h"
#include "base/sha256.h"
#include "formats/safetensors.h"
#include "nn/mlp.h"

typedef struct inv_adapter_packed inv_adapter_packed;

struct invar_adapter {
	const invar_context *ctx;
	inv_mlp_shape s;
	bool residual;
	bool unit; /* features and codes are divided by their norms: unit(E(unit(z))) */
	float *params;
	inv_safetensors *file; /* kept open for its metadata; NULL if made in memory */
	json_t *metadata;      /* strings, of one that was made in memory; NULL: none */
	char *path;
	inv_adapter_packed *packed; /* what apply keeps */
};

/* An adapter without parameters, to be filled in memory; invar_adapter_close frees it. */
invar_status inv_adapter_begin(const invar_context *ctx, invar_adapter **out);

/* All metadata: its file's, or its own. Gives the rows, inv_free; the texts are views. */
invar_status inv_adapter_all_metadata(const invar_adapter *e, inv_metadata **out,
                                      size_t *count);

/* The SHA-256 of what it computes: shape, parameters in float32, residual, unit. */
invar_status inv_adapter_fingerprint(const invar_adapter *e, char hex[INV_SHA256_HEX]);

/* What `eval --certify` writes into the metadata; measure/certificate.h. */
#define INV_CERTIFICATE_KEY "invar.certificate"
/*
 * Fails if a certificate names other tensors than e has: it is about another adapter. One
 * without "tensors", of an earlier version, passes.
 */
invar_status inv_adapter_check_certificate(const invar_adapter *e,
                                           const json_t *certificate);

/* invar_adapter_apply for callers that check features and codes themselves. */
invar_status inv_adapter_apply_finite(const invar_adapter *e, const float *z, uint64_t rows,
                                      float *out);

/* Four blocks of `params` as tensors, named with a prefix such as "" or "best.". */
void inv_mlp_tensors(inv_mlp_shape s, const float *params, const char *prefix,
                     char names[INV_MLP_BLOCKS][32], inv_tensor_out out[INV_MLP_BLOCKS]);

/* Reads the four blocks named with a prefix; their shapes must be those of s. */
invar_status inv_mlp_read(const inv_safetensors *f, const char *path, const char *prefix,
                          inv_mlp_shape s, float *params);

/* The shape of the blocks of a file; fails if the file is not an MLP. */
invar_status inv_mlp_shape_of(const inv_safetensors *f, const char *path,
                              inv_mlp_shape *out);

/*
 * Applies E to the last axis of a NumPy file ([n, d] or [n, c, d]) in blocks, so the file
 * may be larger than memory. "-" is standard input or output. Logs a warning if the file
 * belongs to a bank whose features differ from those E was trained on.
 */
invar_status inv_adapter_apply_file(const invar_adapter *e, const char *in, const char *out,
                                    invar_dtype dtype);

#endif
