/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parameters.h - the tensors of a weight file as a network asks for them.
 *
 * Files wrap a network's names in prefixes: "module." of parallel training,
 * "backbone." of self-supervised training with its heads beside, "vit.", "dinov2.",
 * "vision_model." and "resnet." of Hugging Face, "visual." of CLIP. They are removed here,
 * so a network sees its own names; tensors without the prefix are outside. Every tensor
 * that is used is marked, and inv_parameters_finish names the unused ones.
 */
#ifndef INV_PARAMETERS_H
#define INV_PARAMETERS_H

#include "base/context.h"
#include "base/json.h"
#include "formats/weights.h"

enum { INV_PARAMETER_NAME = 256 };

typedef struct inv_parameters inv_parameters;

invar_status inv_parameters_open(invar_context *ctx, const char *path, const char *key,
                                 inv_parameters **out);
void inv_parameters_close(inv_parameters *p); /* accepts NULL */

const char *inv_parameters_path(const inv_parameters *p);
/* config.json beside the weights, as Hugging Face has it; NULL if there is none; views. */
const json_t *inv_parameters_config(const inv_parameters *p);

/* Another JSON file beside the weights; NULL if there is none; gives. */
invar_status inv_parameters_beside(const inv_parameters *p, const char *file, json_t **out);

/* A tensor by its name without prefixes, inside or outside; NULL if there is none. */
const inv_weight_about *inv_parameters_find(const inv_parameters *p, const char *format,
                                            ...) __attribute__((format(printf, 2, 3)));
/* The same, but only among those inside: CLIP's text side has names like its image side. */
const inv_weight_about *inv_parameters_find_inside(const inv_parameters *p,
                                                   const char *name);

/*
 * Is there a tensor of floats of this shape? The message names a missing tensor or a wrong
 * shape. Leading 1s are ignored: [1, 1, d] can be read as [d]. Call this before allocating
 * memory for sizes that a file claims.
 */
invar_status inv_parameters_check(const inv_parameters *p, const char *name, unsigned ndim,
                                  const uint64_t *shape);
/* The same, then reads the tensor and marks it as used. */
invar_status inv_parameters_take(inv_parameters *p, const char *name, unsigned ndim,
                                 const uint64_t *shape, float *out);
/* Marks tensors with this prefix as used: heads and counters that F does not need. */
void inv_parameters_ignore(inv_parameters *p, const char *beginning);
/*
 * Unused tensors inside: an error if their name starts with one of `own` (NULL-terminated),
 * because they would change what the network computes; otherwise logged.
 */
invar_status inv_parameters_finish(const inv_parameters *p, const char *family,
                                   const char *const *own);

#endif
