/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encoder.h - the frozen network F behind one small interface: tensors to features.
 *
 * A family of networks is one file with one inv_encoder_kind, and one line in the list of
 * meson.build. It recognises its own weights by their names, builds itself from them, and
 * is then planned for a shape of images: what depends on the shape (position tables, the
 * layout of activations, scratch memory per thread) is made once. A plan turns groups of
 * images into rows of features, each group on one thread. Either groups are cut by the
 * position of an image alone, or the kind's features do not depend on the cut, which it
 * declares by having run_together: no bit depends on the number of threads.
 *
 * A family declares the options that its weights do not determine (heads of attention, an
 * epsilon) and reads them from e->options; for another family they are an error. What is
 * known about an encoder by its name is in model_zoo.c; the user's options win.
 */
#ifndef INV_ENCODER_H
#define INV_ENCODER_H

#include <stdbool.h>

#include "base/context.h"
#include "base/options.h"
#include "encoders/parameters.h"
#include "formats/protobuf.h"
#include "images/augment/op.h"
#include "images/prepare.h"

enum { INV_GROUP = 16 }; /* max images in a group; a group is a power of two */
enum { INV_ABOUT = 400, INV_CONSTANTS = 200 };

/* How images become tensors unless the user says otherwise. */
typedef struct inv_input {
	size_t resize, side; /* shorter side, then centre; 0: native */
	bool stretch;        /* both sides become `resize` */
	inv_filter filter;
	const char *normalisation; /* NULL: the data set's */
	bool keeps_grey;           /* images of one channel keep it; otherwise they get three */
	/* Unknown for this encoder, so the user has to say it. */
	bool asks_size, asks_normalisation;
} inv_input;

/*
 * The sizes that identify a network within its family; a kind fills in what its weights
 * say, and a model's entry has the values required. 0: not applicable, or left open by the
 * entry.
 */
typedef struct inv_measures {
	uint64_t width;     /* of a feature */
	uint64_t patch;     /* its side, of a ViT */
	uint64_t depth;     /* blocks, of all layers together */
	uint64_t registers; /* of a ViT */
} inv_measures;

/* An encoder made ready for images of one shape. */
typedef struct inv_encoder_plan {
	const invar_encoder *encoder;
	inv_extent shape;
	uint64_t width; /* of a feature */
	size_t group;   /* max images per call of run */
	void *own;      /* the kind's own */
} inv_encoder_plan;

/* Where an encoder is written as ONNX: from images [n, c, h, w] to features [n, width]. */
typedef struct inv_encoder_onnx {
	inv_message *graph;
	const char *input, *output;
	bool half; /* weights are stored as float16 */
	/* h and w: as wanted, 0: the encoder's own choice; then, with c, as they are: 0: any */
	inv_extent images;
} inv_encoder_onnx;

typedef struct inv_encoder_kind {
	const char *family;
	const char *about;           /* a phrase */
	const invar_option *options; /* its own, ended by a NULL name; NULL: none */
	/* Are these its weights? NULL: it has no tensors by name. */
	bool (*recognise)(const inv_parameters *p);
	/* Is this file, which open reads from e->weights itself? NULL: it has no such files. */
	bool (*recognise_file)(const char *path);
	/*
	 * Takes the weights, NULL for a file of its own; fills e->own, e->measures (first),
	 * e->about, and in e->input what the weights determine. close is called if it fails.
	 */
	invar_status (*open)(invar_encoder *e, inv_parameters *p);
	void (*close)(invar_encoder *e);
	/* Fills width, group and own; fails for unsupported shapes. unplan is called if it
	 * fails. */
	invar_status (*plan)(inv_encoder_plan *p);
	void (*unplan)(inv_encoder_plan *p);
	/* x is [n, c, h, w], out [n, width], n <= group; `thread` below ctx->threads. */
	invar_status (*run)(const inv_encoder_plan *p, const float *x, size_t n,
	                    unsigned thread, float *out);
	/* The same bits, computed by all threads at once; NULL: not supported. */
	invar_status (*run_together)(const inv_encoder_plan *p, const float *x, size_t n,
	                             float *out);
	bool bfloat16, int8; /* it has the precisions of these names */
	/*
	 * run is called only by the thread that called the library, outside of parallel loops.
	 * Its groups are batches, a power of two up to the rows of a block.
	 */
	bool by_caller;
	/*
	 * Appends its nodes and weights to an ONNX graph, all called "encoder/…". Fails if a
	 * weight is too large for float16, or for unsupported shapes; missing memory shows in
	 * the graph. NULL: not supported.
	 */
	invar_status (*onnx)(const invar_encoder *e, inv_encoder_onnx *to);
} inv_encoder_kind;

/* In the order in which weights are compared with them; NULL past the last. */
const inv_encoder_kind *inv_encoder_kind_at(size_t i);

/* An encoder known by name. Read it by pointer; later versions may append fields. */
typedef struct inv_known_model {
	const char *name;   /* "dino_vits8" */
	const char *family; /* "vit" */
	const char *about;  /* a phrase */
	uint32_t width;     /* of its features */
	/* Images are prepared: shorter side to `resize`, then the centre `side` x `side`. */
	uint32_t resize, side; /* 0: native */
	const char *filter;    /* "bilinear" or "bicubic" */
	const char *normalize; /* as in invar_image_to_tensor */
	const char *file;      /* name of the published file; NULL: none */
	uint64_t bytes;        /* size of that file; 0: unknown */
	const char *sha256;    /* of that file, or only its first digits; NULL: unknown */
	/* Options of its family that no weight determines, "heads=6,eps=1e-6"; or NULL. */
	const char *options;
} inv_known_model;

/* A known encoder: its public description, and the sizes its weights must have. */
typedef struct inv_model {
	inv_known_model of;
	inv_measures is; /* and of.width */
} inv_model;

const inv_model *inv_model_find(const char *name); /* NULL: none of this name */

/* The options for opening an encoder; the second is for commands that open another one. */
invar_status inv_encoder_declare(invar_options *o);
invar_status inv_encoder_declare_part(invar_options *o, const char *selector);
bool inv_encoder_is_in(const invar_encoder *e, const char *precision);
/* { name: value, … } of encoder, key and the family's own, as they are used; gives. */
json_t *inv_encoder_options_json(const invar_encoder *e);

struct invar_encoder {
	invar_context *ctx;
	const inv_encoder_kind *kind;
	const inv_model *model; /* NULL: found from the weights */
	/* Views of what the kind owns; NULL: the model's or the family's, and none. */
	const char *name, *version;
	/* Its own, the model's where the user has none; 0 and NULL: the family's default. */
	invar_options *options;
	inv_input input;
	char constants[INV_CONSTANTS]; /* of its normalisation, if a file beside it has them */
	inv_measures measures;
	char about[INV_ABOUT];
	char *weights;          /* path of the file; NULL without */
	char *weights_sha256;   /* NULL until asked for */
	inv_encoder_plan *last; /* of invar_encoder_run */
	void *own;              /* the kind's own */
};

/* Into e->input: preprocessor_config.json beside the weights, if there is one. */
invar_status inv_preprocessor_read(invar_encoder *e, const inv_parameters *p,
                                   size_t channels);
/* The same of preprocess_cfg in open_clip_config.json. */
invar_status inv_preprocessor_open_clip(invar_encoder *e, const inv_parameters *p,
                                        const json_t *config, size_t channels);

/* A plan borrows the encoder. */
invar_status inv_encoder_plan_new(const invar_encoder *e, inv_extent shape,
                                  inv_encoder_plan **out);
invar_status inv_encoder_plan_run(const inv_encoder_plan *p, const float *x, size_t n,
                                  unsigned thread, float *out);
void inv_encoder_plan_free(inv_encoder_plan *p); /* accepts NULL */

size_t inv_model_count(void);
const inv_known_model *inv_model_at(size_t i);
const char *inv_encoder_names(void); /* "pixels|dino_vits8|…" */
/* SHA-256 of the weight file; NULL without weights; views. */
invar_status inv_encoder_sha256(invar_encoder *e, const char **hex);
/*
 * The same for a NumPy file [n, c, h, w] of floats in blocks, so the file may be larger
 * than memory. "-" is standard input or output. shape receives the shape of the input.
 */
invar_status inv_encoder_run_file(invar_encoder *e, const char *in, const char *out,
                                  invar_dtype dtype, uint64_t shape[4]);

#endif
