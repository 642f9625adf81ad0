/* SPDX-License-Identifier: Apache-2.0 */
/*
 * invar.h - the public API of libinvar.
 *
 * invar makes a trained, frozen vision encoder F invariant to rotation, noise, crops
 * and other augmentations: it trains a small adapter E on features so that
 * E(F(t(x))) is close to F(x) for every augmentation t.
 *
 * Most programs need three calls:
 *
 *     invar_context_new(0, NULL, &ctx);
 *     invar_adapter_open(ctx, "adapter.safetensors", &e);
 *     invar_adapter_apply(e, z, rows, out);
 *
 * Sections of this header:
 *     1. status, errors, versions        7. training
 *     2. context and hooks               8. losses, neighbours … on given arrays
 *     3. options                         9. measurements
 *     4. arrays, files and adapters     10. augmentations
 *     5. data sets                      11. encoders and encoding
 *     6. banks
 *
 * Rules for all functions:
 *   - every call that can fail returns an invar_status; invar_last_error() returns the
 *     message of the calling thread's last error;
 *   - an out-pointer is set to NULL before anything else happens;
 *   - ownership: a call *borrows* const pointers until it returns; what it *gives* must be
 *     freed with the function named beside it, which accepts NULL; what it *views* belongs
 *     to the object it was read from and is valid as long as that object;
 *   - an object copies its strings and options; only its context must outlive it;
 *   - the library never prints, never exits and keeps no global state, except that OpenBLAS,
 *     loaded on first use, is set to one thread per call. Different objects may be used from
 *     different threads, and several threads may apply one adapter at once;
 *   - it installs no signal handlers. Ignore SIGXFSZ and SIGPIPE to get an error instead of
 *     a signal. A file that is truncated while it is mapped raises SIGBUS;
 *   - matrices are row-major, features are float32, labels are int64.
 */
#ifndef INVAR_H
#define INVAR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INVAR_API __attribute__((visibility("default")))

/* ---- 1. Status, errors, versions ---------------------------------------- */

/* The version the caller is compiled against. The build takes its version from here. */
#define INVAR_VERSION_MAJOR 0
#define INVAR_VERSION_MINOR 1
#define INVAR_VERSION_PATCH 0

#define INVAR_QUOTE_(x) #x
#define INVAR_QUOTE(x) INVAR_QUOTE_(x)
#define INVAR_VERSION                \
	INVAR_QUOTE(INVAR_VERSION_MAJOR) \
	"." INVAR_QUOTE(INVAR_VERSION_MINOR) "." INVAR_QUOTE(INVAR_VERSION_PATCH)

INVAR_API const char *invar_version(void); /* of the linked library: "0.1.0" */

typedef enum invar_status {
	INVAR_OK,
	INVAR_E_USE,      /* an option or argument is not valid */
	INVAR_E_IO,       /* a file could not be read or written */
	INVAR_E_FORMAT,   /* a file is not what it claims to be */
	INVAR_E_MISMATCH, /* two things that must agree do not */
	INVAR_E_NUMERIC,  /* NaN, Inf, or a problem without a solution */
	INVAR_E_NOMEM,
	INVAR_E_CANCELLED /* a hook asked to stop; state was saved */
} invar_status;

/* This thread's last error message; "" before the first error, never NULL. */
INVAR_API const char *invar_last_error(void);

/* ---- 2. Context and hooks ------------------------------------------------ */

/* Must outlive every object created with it. */
typedef struct invar_context invar_context;

enum { INVAR_LOG_WARNING, INVAR_LOG_INFO, INVAR_LOG_DETAIL };

/*
 * Callbacks during a call, in the thread that called the library. `progress` returns
 * non-zero to stop: the library then saves what can be resumed and returns
 * INVAR_E_CANCELLED. The context copies the struct, but not what it points to.
 */
typedef struct invar_hooks {
	size_t size; /* sizeof(invar_hooks) */
	void *user;  /* passed to both callbacks */
	void (*log)(void *user, int level, const char *line);
	int (*progress)(void *user, const char *stage, uint64_t done, uint64_t total);
	const char *option_prefix; /* put before option names in log lines; NULL: nothing */
} invar_hooks;

/*
 * threads = 0 uses all cores. hooks may be NULL. The environment variable INVAR_CPU
 * (ref, avx2, avx512; ref, neon on ARM) limits which kernels are used.
 */
INVAR_API invar_status invar_context_new(unsigned threads, const invar_hooks *hooks,
                                         invar_context **out);
INVAR_API void invar_context_free(invar_context *ctx);

/* Frees memory that a call gave as a plain pointer; accepts NULL. */
INVAR_API void invar_free(void *memory);

/* ---- 3. Options ------------------------------------------------------------ */

/*
 * Options by name. invar_options_new creates the list of a command; values are set as text
 * and checked at once against the type, bounds and choices of their option. Options that
 * are not set have their defaults. A list may be used for any number of calls.
 */
typedef struct invar_options invar_options;

typedef enum invar_option_type {
	INVAR_OPTION_FLAG,   /* on or off: "1", "true", "0", "false" */
	INVAR_OPTION_COUNT,  /* a whole number, 0 or more */
	INVAR_OPTION_NUMBER, /* a finite number */
	INVAR_OPTION_TEXT,
	INVAR_OPTION_LIST /* several texts; each call of invar_options_set adds one */
} invar_option_type;

enum {
	INVAR_OPTION_RESULT = 1, /* its value affects the result; saved in the adapter */
	INVAR_OPTION_ABOVE = 2,  /* the minimum itself is not allowed */
	INVAR_OPTION_EXPERT = 4  /* few users need it: the program shows it by --help-all only */
};

/* Describes an option. Read it by pointer; later versions may add fields at the end. */
typedef struct invar_option {
	const char *name; /* "batch-size" */
	invar_option_type type;
	const char *initial; /* the default as text; NULL: none, off or 0 */
	double min, max;     /* bounds of counts and numbers; max 0: none */
	unsigned flags;
	const char *choices;             /* words separated by |; NULL: any text */
	const char *(*choice)(size_t i); /* the same from a table; NULL past the last */
	const char *meta;                /* placeholder for the value in help: N, F, WORD */
	const char *group;               /* heading in help */
	const char *help;                /* a phrase without a full stop */
	const char *(*choice_help)(size_t i); /* what a choice means; NULL: nothing to add */
} invar_option;

/*
 * Gives the options of a command: "train", "eval", … (invar_options_commands lists them);
 * NULL gives an empty list, to which the caller adds options.
 */
INVAR_API invar_status invar_options_new(const char *command, invar_options **out);
INVAR_API const char *invar_options_commands(size_t i); /* NULL past the last */
INVAR_API void invar_options_free(invar_options *o);    /* accepts NULL */
/* INVAR_E_USE if there is no such option; the message suggests the closest name. */
INVAR_API invar_status invar_options_set(invar_options *o, const char *name,
                                         const char *text);
INVAR_API invar_status invar_options_set_number(invar_options *o, const char *name,
                                                double value);

/* All options, in the order of the help; views, valid as long as o. */
INVAR_API size_t invar_options_count(const invar_options *o);
INVAR_API const invar_option *invar_options_at(const invar_options *o, size_t i);

/* All values as a JSON object; gives, free with invar_free. */
INVAR_API invar_status invar_options_json(const invar_options *o, char **json);

/* Named numbers that a call returns; NaN if there is no such name. */
typedef struct invar_figures invar_figures;

INVAR_API double invar_figure(const invar_figures *f, const char *name);
INVAR_API const char *invar_figure_name(const invar_figures *f, size_t i); /* or NULL */
INVAR_API void invar_figures_free(invar_figures *f); /* accepts NULL */

/* ---- 4. Arrays, files and adapters ---------------------------------------- */

typedef enum invar_dtype { INVAR_FLOAT32, INVAR_FLOAT16 } invar_dtype;

/*
 * A NumPy file of numbers, memory-mapped: the file must not change until the array is
 * closed; any number of threads may read it. Reading converts to float; elements are
 * numbered in C order, whatever the order in the file.
 */
typedef struct invar_array invar_array;

INVAR_API invar_status invar_array_open(invar_context *ctx, const char *path,
                                        invar_array **out);
/* The length of each of its dimensions; views. */
INVAR_API const uint64_t *invar_array_shape(const invar_array *a, unsigned *dims);
INVAR_API invar_status invar_array_read(const invar_array *a, uint64_t first,
                                        uint64_t count, float *out);
INVAR_API void invar_array_close(invar_array *a);

/* Atomic, by PATH.invar.part; of a symbolic link the target is replaced. */
INVAR_API invar_status invar_array_write(invar_context *ctx, const char *path,
                                         const float *data, unsigned dims,
                                         const uint64_t *shape, invar_dtype dtype);

/*
 * E: an MLP (d, hidden, w) with one hidden layer and ReLU. It has its own copy of the
 * parameters: neither its file nor the arrays it was created from need to outlive it. A
 * unit adapter divides features and codes by their norms, E'(z) = unit(E(unit(z))), with
 * unit(0) = 0: raw and normalised features have the same codes.
 */
typedef struct invar_adapter invar_adapter;

/* path is an adapter file or a run folder. */
INVAR_API invar_status invar_adapter_open(invar_context *ctx, const char *path,
                                          invar_adapter **out);
/* The same from the bytes of such a file; borrows them. */
INVAR_API invar_status invar_adapter_from_memory(invar_context *ctx, const void *bytes,
                                                 size_t size, invar_adapter **out);
/*
 * From parameters, laid out as in torch.nn.Linear: weight_0 [hidden, d], bias_0 [hidden],
 * weight_2 [w, hidden], bias_2 [w]. `form` is 0 or a sum of INVAR_RESIDUAL, E(z) = z +
 * MLP(z), for which w must be d, and INVAR_UNIT.
 */
enum { INVAR_RESIDUAL = 1, INVAR_UNIT = 2 };

INVAR_API invar_status invar_adapter_new(invar_context *ctx, uint32_t d, uint32_t hidden,
                                         uint32_t w, int form, const float *weight_0,
                                         const float *bias_0, const float *weight_2,
                                         const float *bias_2, invar_adapter **out);
/* Writes the parameters, as float32, and the metadata; atomic. */
INVAR_API invar_status invar_adapter_save(const invar_adapter *e, const char *path);
INVAR_API uint32_t invar_adapter_input(const invar_adapter *e); /* d */
INVAR_API uint32_t invar_adapter_hidden(const invar_adapter *e);
INVAR_API uint32_t invar_adapter_output(const invar_adapter *e); /* w */
INVAR_API int invar_adapter_residual(const invar_adapter *e);    /* E(z) = z + MLP(z) */
INVAR_API int invar_adapter_unit(const invar_adapter *e);        /* unit(E(unit(z))) */
/* Its file, as in messages; "adapter" for one from memory; views. */
INVAR_API const char *invar_adapter_path(const invar_adapter *e);
/*
 * A metadata string such as "invar.loss", or NULL; views. "invar.encoder",
 * "invar.encoder_sha256" and "invar.input", a JSON object with the size, mean, std … of
 * images, describe the features it was trained on.
 */
INVAR_API const char *invar_adapter_metadata(const invar_adapter *e, const char *key);
/*
 * z is [rows, d], out [rows, w]; they must not overlap. INVAR_E_NUMERIC names the row if a
 * feature, or a code, is NaN or infinite.
 */
INVAR_API invar_status invar_adapter_apply(const invar_adapter *e, const float *z,
                                           uint64_t rows, float *out);
/*
 * Do rows [rows, d] have norms like the rows that E was trained on? INVAR_E_MISMATCH if
 * not: as a rule, normalised rows were given to an adapter of raw features, or the reverse
 * (docs/BANKS.md). INVAR_OK for unit adapters and where no norms are recorded.
 */
INVAR_API invar_status invar_adapter_check_norms(const invar_adapter *e, const float *z,
                                                 uint64_t rows);
INVAR_API void invar_adapter_close(invar_adapter *e);

/*
 * The weighted mean of adapters as one adapter, with hidden layers side by side, at a
 * strength w: z + w (sum a_i E_i(z) - z), where the a_i are the weights (NULL: equal ones)
 * divided by their sum. All must be for features of the same encoder and width; a strength
 * other than 1 needs codes as wide as the features.
 * Gives, free with invar_adapter_close; the adapters may be closed afterwards.
 */
INVAR_API invar_status invar_adapter_merge(const invar_adapter *const *adapters,
                                           const double *weights, size_t count,
                                           double strength, invar_adapter **out);

/* ---- 5. Images and data sets ---------------------------------------------- */

/* Images are 8-bit RGB, [height, width, 3], rows from top to bottom. */

/*
 * A data set is named by a text, KIND:PLACE, such as folder:DIR (sub-folders are classes),
 * csv:FILE, tar:FILES or npy:IMAGES[,LABELS]; invar_dataset_kind lists the kinds.
 */
typedef struct invar_dataset invar_dataset;

/*
 * Uses the options split, holdout, classes, limit and skip-broken of o, which is a list for
 * "data", "encode" or "train", or NULL for the defaults. An existing folder DIR is the same
 * as folder:DIR. Images are read later, one by one.
 */
INVAR_API invar_status invar_dataset_open(invar_context *ctx, const char *text,
                                          const invar_options *o, invar_dataset **out);

INVAR_API void invar_dataset_close(invar_dataset *d);

/* ---- 6. Banks --------------------------------------------------------------- */

/*
 * A folder of features: clean rows, augmented copies and labels of each split. Its files
 * stay mapped until it is closed; runs and results made from it do not need it afterwards.
 */
typedef struct invar_bank invar_bank;

enum { INVAR_CLEAN = -1 }; /* the copy number of the clean rows */

/*
 * o is a list for "train", "eval", "diagnose" or "bank", or NULL. With its option classes,
 * a file with one name or label per line, the bank consists of the rows of these classes
 * alone, and its labels are numbers of lines. The option encoder-name says what made the
 * features if bank.json does not.
 */
INVAR_API invar_status invar_bank_open(invar_context *ctx, const char *path,
                                       const invar_options *o, invar_bank **out);
INVAR_API uint32_t invar_bank_dim(const invar_bank *b);
INVAR_API size_t invar_bank_splits(const invar_bank *b);
INVAR_API const char *invar_bank_split(const invar_bank *b, size_t i); /* views */
INVAR_API uint64_t invar_bank_rows(const invar_bank *b, const char *split);
INVAR_API uint32_t invar_bank_copies(const invar_bank *b, const char *split);
INVAR_API int invar_bank_has_labels(const invar_bank *b, const char *split);
/* A text field of bank.json such as "encoder" or "augment", or NULL; views. */
INVAR_API const char *invar_bank_field(const invar_bank *b, const char *name);
INVAR_API invar_status invar_bank_read(const invar_bank *b, const char *split, int32_t copy,
                                       uint64_t first, uint64_t rows, float *out);
/*
 * Views: rows of the same images rotated by 90, 180 and 270 degrees, out [rows, 3, dim], if
 * encoding was asked for them. The row itself is the view at 0 degrees.
 */
INVAR_API int invar_bank_has_views(const invar_bank *b, const char *split, int32_t copy);
INVAR_API invar_status invar_bank_read_views(const invar_bank *b, const char *split,
                                             int32_t copy, uint64_t first, uint64_t rows,
                                             float *out);
/* One label per row; negative for none. */
INVAR_API invar_status invar_bank_labels(const invar_bank *b, const char *split,
                                         int64_t *out);
/* One file name per row, relative to the data set's folder. Gives one block, free with
 * invar_free; NULL if the images of the split were no files. */
INVAR_API invar_status invar_bank_names(const invar_bank *b, const char *split,
                                        char ***out);
INVAR_API void invar_bank_close(invar_bank *b);

/*
 * A bank in memory with one split, "train": clean rows [n, d], copies [n, c, d] (NULL with
 * c = 0), labels [n], negative for none, or NULL. Borrows the arrays, which must stay
 * unchanged until the bank is closed. Its fingerprint is that of a folder with the same
 * arrays as clean.npy and aug.npy.
 */
INVAR_API invar_status invar_bank_from_arrays(invar_context *ctx, const float *clean,
                                              const float *copies, const int64_t *labels,
                                              uint64_t n, uint32_t c, uint32_t d,
                                              invar_bank **out);
/* Another split of such a bank, "test" for example, of the same width. */
INVAR_API invar_status invar_bank_add_split(invar_bank *b, const char *split,
                                            const float *clean, const float *copies,
                                            const int64_t *labels, uint64_t n, uint32_t c);
/* What bank.json of a folder would have: "encoder", "augment". */
INVAR_API invar_status invar_bank_set_field(invar_bank *b, const char *name,
                                            const char *text);

/*
 * Writes a bank of synthetic features: clustered clean rows, and copies displaced along a
 * few directions. o is a list for "synthetic", or NULL. path must not exist.
 */
INVAR_API invar_status invar_bank_synthesize(invar_context *ctx, const invar_options *o,
                                             const char *path);

/* ---- 7. Training -------------------------------------------------------------- */

/*
 * Trains an adapter on a bank and writes to the folder `run`: adapter.safetensors,
 * run.json, log.jsonl, checkpoint.safetensors and, with the option decoder,
 * decoder.safetensors, an adapter from codes to features. o is a list for "train". With the
 * option resume, options that are set must match those of the run; the others are read from
 * the run.
 *
 * Several banks are several augmentations of the same images: all must have the clean rows
 * of the first in the same order, and each has its own copies.
 *
 * It only trains. Whether the adapter will help is what invar_trial measures (section 9);
 * the option keep-structure needs it.
 */
INVAR_API invar_status invar_train(invar_bank *const *banks, size_t count,
                                   const invar_options *o, const char *run);

/*
 * Arrays, as in invar_bank_from_arrays, to an adapter in memory; nothing is written. o is a
 * list for "train" (NULL: defaults). It only trains, as invar_train does, whose adapter has
 * the same bytes when saved. The options resume and decoder need invar_train.
 */
INVAR_API invar_status invar_fit(invar_context *ctx, const float *clean,
                                 const float *copies, uint64_t n, uint32_t c, uint32_t d,
                                 const invar_options *o, invar_adapter **out);

/*
 * Fails if invar_train would refuse to create this run (with `replacing`: to replace it):
 * for programs that do something long before, such as a trial.
 */
INVAR_API invar_status invar_run_check_new(const char *run, int replacing);
typedef struct invar_results invar_results; /* see section 9 */

/*
 * Adds the values of one column, and those of F, to metrics.json of a run: one entry per
 * bank, split, measurement and options. Several programs may do this at once. With r NULL,
 * only checks that the file can be extended.
 */
INVAR_API invar_status invar_run_keep_results(invar_context *ctx, const char *run,
                                              const invar_results *r, const char *column);
/*
 * Document i of what a run knows about itself: the curves of its training, if it was
 * trained in epochs, then what metrics.json has, one document per bank and split with the
 * columns "F" and "E". *out is NULL past the last.
 */
INVAR_API invar_status invar_run_results(invar_context *ctx, const char *run, size_t i,
                                         invar_results **out);

/* ---- 8. Losses, neighbours and a probe on given arrays -------------------------- */

/*
 * One loss on given arrays: the value, its terms and the gradients, for checking and for
 * programs with their own training loop. The adapter, the decoder and the arrays must
 * outlive it; the options are copied. Of a unit adapter it is the loss of the map inside
 * the normalisation, as in training: give it unit rows.
 */
typedef struct invar_loss invar_loss;

/* o is a list for "loss"; its option kind selects the loss. */
INVAR_API invar_status invar_loss_new(const invar_adapter *e, const invar_options *o,
                                      invar_loss **out);
/*
 * Sets an array; `dims` is the number of its dimensions. "clean": features [images, d].
 * "copies": [images, samples, d], or, for several augmentations with waco, [augmentations,
 * images, samples, d]. For simclr, instead of both, "views": [2 images, d], rows i and i +
 * images are a pair. For keep, whose rows are in units u = (z - mean) / sigma: "vicinal"
 * [images, d], drawn if not set, and "origin", mean / sigma [d], zeros if not set.
 */
INVAR_API invar_status invar_loss_set(invar_loss *l, const char *name, const float *data,
                                      unsigned dims, const uint64_t *shape);
/* A decoder from codes to features; its error is added, weighted by alpha and beta. */
INVAR_API invar_status invar_loss_set_decoder(invar_loss *l, const invar_adapter *decoder);
INVAR_API invar_status invar_loss_compute(invar_loss *l);
/* The value, or a term by its name in log.jsonl; NaN if there is no such term. */
INVAR_API double invar_loss_value(const invar_loss *l, const char *term);
/*
 * Gradients for the parameters of the adapter ("0_weight" …), of a decoder
 * ("dec_0_weight" …) and for the codes, row k N + i for sample k of image i (with keep,
 * k = s + 1 is the vicinal row): "codes", or with several augmentations "codes_1",
 * "codes_2" …, each with its own clean rows and only its share of the loss. Views; NULL
 * past the last. name, dims and shape may be NULL.
 */
INVAR_API const float *invar_loss_gradient(const invar_loss *l, size_t i, const char **name,
                                           unsigned *dims, const uint64_t **shape);
INVAR_API void invar_loss_free(invar_loss *l); /* accepts NULL */

/*
 * The k nearest rows of gallery [n, dim] for each of queries [m, dim] by Euclidean
 * distance, nearest first, ties by row: index and distance are [m, k]. Exact: distances
 * are computed in double from the differences. n < 2^32.
 */
INVAR_API invar_status invar_neighbours(invar_context *ctx, const float *gallery,
                                        uint64_t n, const float *queries, uint64_t m,
                                        uint32_t dim, uint32_t k, uint32_t *index,
                                        double *distance);

/* ---- 9. Measurements --------------------------------------------------------------- */

/*
 * Results: columns (F, then the adapters), metrics, and a value for most pairs of them. All
 * are self-describing. The JSON document also has series, scatters and notes.
 */
typedef enum invar_unit {
	INVAR_UNIT_NUMBER,
	INVAR_UNIT_SHARE, /* 0 to 1, shown in percent */
	INVAR_UNIT_COUNT  /* a whole number */
} invar_unit;

/* Read the structs below by pointer; later versions may add fields at the end. Strings and
 * arrays are views. */
typedef struct invar_column {
	const char *id;    /* unique: "F", "1", "2" … */
	const char *title; /* for people; need not be unique */
	const char *path;  /* of the adapter; NULL for F */
} invar_column;

typedef struct invar_metric {
	const char *id;          /* unique: "lc.clean" */
	const char *measurement; /* "lc" */
	const char *row;         /* title of its row in a table: "LC" */
	const char *part;        /* its part of that row: "clean"; or NULL */
	invar_unit unit;
	int better;      /* 1: higher is better, -1: lower, 0: neither */
	unsigned digits; /* shown after the decimal point */
	int detail;      /* 1: for programs; tables leave it out */
} invar_metric;

typedef struct invar_value {
	double value;
	double low, high;        /* 95 % interval; NaN: none */
	uint64_t count;          /* images or pairs that were measured; 0: unknown */
	const char *reason;      /* why there is no value; NULL: there is one */
	const char *no_interval; /* why an interval is missing; or NULL */
	double deviation;        /* standard deviation if it is a mean over runs; else NaN */
	uint64_t runs;           /* that it is a mean over; 0: it is no mean */
	unsigned digits;         /* shown after the decimal point; 0: those of its metric */
} invar_value;

INVAR_API size_t invar_results_columns(const invar_results *r);
INVAR_API const invar_column *invar_results_column(const invar_results *r, size_t i);
INVAR_API size_t invar_results_metrics(const invar_results *r);
INVAR_API const invar_metric *invar_results_metric(const invar_results *r, size_t i);
/* NULL if nothing was measured for this pair. Threads may ask the same results at once. */
INVAR_API const invar_value *invar_results_value(const invar_results *r, const char *metric,
                                                 const char *column);
/* What was measured: "bank", "split", "encoder", "augment"; or NULL. */
INVAR_API const char *invar_results_about(const invar_results *r, const char *key);
/* The JSON document that docs/reference/RESULTS-FORMAT.md describes; gives, free with invar_free. */
INVAR_API invar_status invar_results_json(const invar_results *r, char **json);
INVAR_API invar_status invar_results_open(invar_context *ctx, const char *path,
                                          invar_results **out);
INVAR_API void invar_results_free(invar_results *r); /* accepts NULL */

/*
 * How close E is to an isometry, Eq. 34 to 39. x is [n, d], e is [n, w]: the same points
 * before and after E; pairs at distance 0 are ignored. Gives results with one column "E":
 * "structure.L1", L2 (min and max of e/d), m, b, R2 (least squares line e = m d + b), RMSD,
 * NRMSD, CVRMSD, each with its count of pairs, and "structure.zero_pairs" if there are any.
 */
INVAR_API invar_status invar_structure(invar_context *ctx, const float *x, uint32_t d,
                                       const float *e, uint32_t w, uint64_t n,
                                       invar_results **out);

/*
 * SW_p of two sets with the same number of rows, a and b [rows, dim] (Eq. 50). o is a list
 * for "dependence". directions [projections, dim] are used as given, or drawn if NULL.
 * grad_a [rows, dim] receives the gradient with respect to a (p up to 10); may be NULL.
 */
INVAR_API invar_status invar_sliced_wasserstein(invar_context *ctx, const float *a,
                                                const float *b, uint64_t rows, uint32_t dim,
                                                const float *directions,
                                                const invar_options *o, double *value,
                                                float *grad_a);

/*
 * The dependence of paired samples, Eq. 5, 7, 8. x is [rows, dx], z is [rows, dz]; row i of
 * x and row i of z are a pair. o is a list for "dependence". Gives results with one column
 * "xz":
 *   dependence, correlation          SW_p of joint and shuffled rows, and its share of
 *   dependence_error, …_error        sw_xx and sw_zz; standard errors over the directions
 *   sw_xx, sw_zz                     of each variable with itself
 *   floor, floor_deviation           correlation of shuffled pairings: mean, deviation
 *   dependence_floor, p_value        their mean dependence; share of pairings, including
 *                                    the true one, that reach it
 * With few rows in many dimensions the correlation of independent samples is far above 0:
 * compare with the floor.
 */
INVAR_API invar_status invar_dependence(invar_context *ctx, const float *x, uint32_t dx,
                                        const float *z, uint32_t dz, uint64_t rows,
                                        const invar_options *o, invar_results **out);

/* What invar_tsne embeds; all pointers are borrowed. Set size to sizeof(invar_tsne_rows).
 */
typedef struct invar_tsne_rows {
	size_t size;
	const float *rows; /* [count, dim] */
	uint64_t count;
	uint32_t dim;
	const int64_t *labels;      /* [count], negative for none; or NULL */
	const char *const *classes; /* names of the labels 0, 1 …, ended by NULL; or NULL */
	/* Several sets embedded together, one after the other: rows and title of each. */
	size_t parts; /* 0: one set */
	const uint64_t *part_rows;
	const char *const *part_titles;
} invar_tsne_rows;

/*
 * Embeds rows in the plane by t-SNE: points [count, 2]. o is a list for "tsne". The same
 * seed gives the same bits on any number of threads. Gives results with one
 * column "tsne": "tsne.kl", the divergence reached, "tsne.iterations", and the scatter
 * "tsne" of the points (at most 10000 of them, chosen evenly) with labels as classes and
 * parts as marks.
 */
INVAR_API invar_status invar_tsne(invar_context *ctx, const invar_tsne_rows *in,
                                  const invar_options *o, float *points,
                                  invar_results **out);

/*
 * Measures F and each adapter on a bank. o is a list for "eval"; invar_options_at lists its
 * options and measurements. titles[i] is the title of adapter i in tables; titles need not
 * be unique. Gives results, free with invar_results_free whatever the status is.
 *
 * If one measurement fails, the others are still made; what cannot be measured is skipped
 * with a reason. If the option metrics names it, the status is that of the first one.
 * Lack of memory, a file that cannot be read and a hook that asks to stop end the call at
 * once, with the results measured so far, or NULL.
 */
INVAR_API invar_status invar_eval(const invar_bank *bank,
                                  const invar_adapter *const *adapters,
                                  const char *const *titles, size_t count,
                                  const invar_options *o, invar_results **out);

/*
 * Writes the adapter to `path`, which may be its own file, with a certificate in its
 * metadata (invar.certificate, JSON): the values of a column of complete results, which
 * must have been measured on this bank by these options, the fingerprint of the bank, and a
 * profile of its clean features. The tensors stay as they are. Atomic.
 */
INVAR_API invar_status invar_adapter_certify(const invar_adapter *e, const invar_bank *bank,
                                             const invar_results *r, const char *column,
                                             const invar_options *o, const char *path);
/*
 * Compares new data with an adapter's certificate, without labels. o is a list for "check".
 * Gives results with the columns "certified" and "new"; invar_results_about has a "verdict"
 * ("fine" or "drift") and "why", a sentence. INVAR_E_MISMATCH if there is no certificate or
 * if there are fewer than 20 rows.
 */
INVAR_API invar_status invar_check(const invar_adapter *e, const invar_bank *bank,
                                   const invar_options *o, invar_results **out);

/*
 * The trial: will a training with these options, a list for "train", help, and what does it
 * cost? A fifth of the images is held out (docs/ADAPTERS.md). Gives results with
 * the columns "F" and "E" (and "E-0.8", if it does harm at strength 1 and helps at 0.8):
 * the same image @1 and @10 and the class of the nearest neighbour, in the old and in the
 * new index, by L2 and by cosine, R2 and CVRMSD; metrics ending in ".gain" are E - F.
 * invar_results_about has a "verdict", "why", a sentence, and "strength", the one to train
 * with. Verdicts: "helps", "none" (nothing gets better beyond chance), "harm", "unknown"
 * (fewer than 50 images or no copies; there are no figures then). Figures that need labels
 * are skipped if there are none.
 */
INVAR_API invar_status invar_trial(const invar_bank *bank, const invar_options *o,
                                   invar_results **out);
/*
 * What follows from a trial: sets the option strength of the training, whose run.json will
 * have a record of the trial. INVAR_E_MISMATCH, topic "no-adapter", if the verdict is
 * "none" or "harm" and the option even-if-worse is not set.
 */
INVAR_API invar_status invar_trial_settle(const invar_results *trial, invar_options *o);
/*
 * The trial of the presets instant and keep in one document: columns "F" and the presets.
 * o is made for "diagnose". The "verdict" is the preset to use, "none" or "unknown"; "why"
 * has a line per preset.
 */
INVAR_API invar_status invar_diagnose(const invar_bank *bank, const invar_options *o,
                                      invar_results **out);

/* ---- 10. Augmentations ------------------------------------------------------------ */

/*
 * A SPEC is a text such as "affine:degrees=10,scale=0.9..1.1" or "rotation+crop"
 * (docs/AUGMENTATIONS.md). Images are float [n, c, h, w].
 */
typedef struct invar_augment invar_augment;

INVAR_API invar_status invar_augment_parse(invar_context *ctx, const char *spec,
                                           invar_augment **out);
INVAR_API void invar_augment_close(invar_augment *a);
/* The draws for an image are a row of this many floats, with these names; views. */
INVAR_API size_t invar_augment_columns(const invar_augment *a);
/*
 * How tensors were normalised: a name or MEANS/STDS, as in invar_image_to_tensor.
 * Brightness, contrast and jpeg work on pixels; without this call values are taken as
 * pixels from 0 to 1.
 */
INVAR_API invar_status invar_augment_pixels(invar_augment *a, const char *normalize);

/* The shape of the output for images of `shape`. */
INVAR_API invar_status invar_augment_result(const invar_augment *a, const uint64_t shape[4],
                                            uint64_t out[4]);

/*
 * Every random draw depends only on the options seed, split, epoch, copy and first (the
 * index of the first image) of a list for "augment" (NULL: defaults), not on threads or
 * batches. params is [n, columns].
 */
INVAR_API invar_status invar_augment_draw(const invar_augment *a, const invar_options *o,
                                          const uint64_t shape[4], float *params);
/*
 * If params is NULL they are drawn; otherwise those given are used, and only noise fields
 * are drawn. out has the shape of invar_augment_result and must not overlap x.
 */
INVAR_API invar_status invar_augment_apply(const invar_augment *a, const invar_options *o,
                                           const float *x, const uint64_t shape[4],
                                           const float *params, float *out);

/* A JPEG, PNG, TIFF or WebP file as 8-bit RGB; gives, free with invar_free. */
INVAR_API invar_status invar_image_read(invar_context *ctx, const char *path, uint8_t **rgb,
                                        uint32_t *width, uint32_t *height);
/*
 * An image as the tensor that an encoder sees, [1, 3, h, w]; gives, free with invar_free.
 * Uses two options of o, a list for "augment": size ("native", or N: the shorter side is
 * resized to N as Pillow does, then the centre N x N is cropped; default 224) and normalize
 * ("imagenet", "clip", "mnist", …; "none": pixels from 0 to 1; or MEANS/STDS, one number or
 * one per channel each: "0.5/0.5", "0.48,0.46,0.41/0.23,0.22,0.23"; default imagenet).
 */
INVAR_API invar_status invar_image_to_tensor(invar_context *ctx, const uint8_t *rgb,
                                             uint32_t width, uint32_t height,
                                             const invar_options *o, float **tensor,
                                             uint64_t shape[4]);

/* ---- 11. Weights, encoders and encoding ------------------------------------------ */

/*
 * F, the frozen network. "pixels" means no network: the feature is the normalised tensor,
 * flattened, with one channel if the images of the data set have one.
 */
typedef struct invar_encoder invar_encoder;

/*
 * Uses the options encoder (one of invar_encoder_names; recognised by the weights if not
 * set), key (see invar_weights_open) and those of its family, for what weights do not
 * contain, such as heads and eps of a vision transformer. o is a list for "features",
 * "encode" or "train", or NULL. If weights is NULL, the option weights is used; pixels need
 * none.
 */
INVAR_API invar_status invar_encoder_open(invar_context *ctx, const char *weights,
                                          const invar_options *o, invar_encoder **out);
/*
 * An encoder that is a function of the caller: PyTorch, ONNX Runtime, a GPU, a remote
 * service. Decoding, augmentation, the bank, resuming and forecasts work around it as with
 * other encoders. Set size to sizeof(invar_encoder_callback) and unused members to 0.
 *
 * run gets normalised images [n, c, h, w] and fills features [n, width]; one call at a
 * time, in the thread that called the library. It returns INVAR_OK; INVAR_E_CANCELLED to
 * stop; or another status after writing a sentence to message (size bytes with the final
 * 0). Features may depend on the batch but on nothing before it.
 */
typedef struct invar_encoder_callback {
	size_t size; /* sizeof(invar_encoder_callback) */
	void *user;
	invar_status (*run)(void *user, const float *nchw, const uint64_t shape[4], float *out,
	                    char *message, size_t message_size);
	const char *name; /* recorded as "encoder" in bank.json: what makes these features */
	const char
		*version;   /* recorded too; a bank of another version is not extended; or NULL */
	uint32_t width; /* of its features */
	uint32_t batch; /* max images per call, a power of two up to 256; 0: 64 */
	/* How images are prepared, as in invar_model; the options of a call win. */
	uint32_t resize, side; /* shorter side, 0: `side`; then the centre, 0: native */
	const char *filter;    /* "bilinear" or "bicubic"; NULL: bilinear */
	const char *normalize; /* as in invar_image_to_tensor; NULL: the data set's */
	const char *weights;   /* its file, whose SHA-256 is recorded and checked; or NULL */
} invar_encoder_callback;

/* `user` must outlive the encoder; texts are copied. Not for invar_train_images. */
INVAR_API invar_status invar_encoder_from_callback(invar_context *ctx,
                                                   const invar_encoder_callback *callback,
                                                   invar_encoder **out);
/* The name it was opened with, or that of its family; views. */
INVAR_API const char *invar_encoder_name(const invar_encoder *e);
/* A description in one line: "ViT, patch 8, width 384, …"; views. */
INVAR_API const char *invar_encoder_about(const invar_encoder *e);
/* The side of the square images it expects; 0: any. */
INVAR_API uint32_t invar_encoder_side(const invar_encoder *e);
/* The feature width for images of this shape. */
INVAR_API invar_status invar_encoder_width(invar_encoder *e, const uint64_t shape[4],
                                           uint64_t *width);
/*
 * Tensors [n, c, h, w] to features [n, width]. The bits of a feature do not depend on the
 * number of threads or on the other images of the call.
 */
INVAR_API invar_status invar_encoder_run(invar_encoder *e, const float *nchw,
                                         const uint64_t shape[4], float *out);
INVAR_API void invar_encoder_close(invar_encoder *e);

/*
 * Writes the features of every selected split of a data set to a bank, a folder that need
 * not exist yet. o is a list for "encode", or NULL. Existing rows are kept; after an
 * interruption, even a killed process, the same call resumes. It is an error if the bank
 * was made with another encoder, SPEC, size or seed.
 */
INVAR_API invar_status invar_encode(invar_encoder *e, const invar_dataset *d,
                                    const invar_options *o, const char *bank);

/*
 * What invar_encode would do now: "images", "features" (rows to make), "existing" (rows
 * already in the bank), "width", "bytes" (disk space needed), "free-bytes" (on the disk),
 * "rate" (measured rows per second; 0: nothing to do), "seconds" and their range,
 * "seconds-low" and "seconds-high". Takes a few seconds. Gives, free with
 * invar_figures_free.
 */
INVAR_API invar_status invar_encode_forecast(invar_encoder *e, const invar_dataset *d,
                                             const invar_options *o, const char *bank,
                                             invar_figures **out);

/*
 * Writes an adapter as a file for other programs: by the option format of a list for
 * "export" (NULL: the defaults) an ONNX model, also at the end of a foreign one, or a
 * model card. With an encoder F, one ONNX model of both: from normalised images "images"
 * [batch, c, h, w] to "codes", with "features" as a second output; INVAR_E_USE for pixels
 * and callbacks, and above 2 GB. F may be NULL. Atomic; equal adapters and options give
 * equal bytes.
 */
INVAR_API invar_status invar_adapter_export(const invar_adapter *e, invar_encoder *F,
                                            const invar_options *o, const char *path);

/*
 * Like invar_train, but on images instead of a bank: new copies are augmented and encoded
 * in every epoch. Clean features are encoded once, into the bank `run`/clean. o is a list
 * for "train". Of the data set, only the training split should be selected.
 */
INVAR_API invar_status invar_train_images(invar_encoder *e, const invar_dataset *d,
                                          const invar_options *o, const char *run);

/*
 * Resuming such a run needs the same images and encoder: for options that are not set, sets
 * the values that `run` was started with.
 */
INVAR_API invar_status invar_train_images_options(invar_options *o, const char *run);

/* ---- 12. Stages: still moving -------------------------------------------------------- */

#ifdef __cplusplus
}
#endif
#endif /* INVAR_H */
