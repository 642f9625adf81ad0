/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataset.h - data sets of images behind one small interface.
 *
 * A data set is opened by a text, KIND:PLACE. Its kind finds the splits, their
 * labels and the names of the classes, and reads images; the rest (--split,
 * --holdout, --classes, --limit) is done here, once for all kinds. A new kind is
 * one file in kinds/ and one line in the list of kinds/meson.build.
 *
 * Three numbers of an image:
 *   source   its number within the kind's storage;
 *   index    its number in the split, before any class list: random draws are
 *            keyed by it, so that they stay the same when classes are left out;
 *   row      its number among the selected images, 0 … count-1.
 */
#ifndef INV_DATASET_H
#define INV_DATASET_H

#include <stdbool.h>

#include "base/context.h"
#include "base/file.h"
#include "base/options.h"
#include "images/image.h"
#include "images/names.h"

enum { INV_MAX_SPLITS = 32, INV_NO_LABEL = -1 };

typedef struct inv_images { /* one split */
	char *name;
	uint64_t total;       /* images before any selection */
	uint32_t *source;     /* [total] index -> source; NULL: the same */
	int32_t *labels;      /* [sources], INV_NO_LABEL or a class; NULL without labels */
	bool labels_borrowed; /* they belong to the kind, or to the whole */
	uint64_t count;       /* rows */
	uint32_t *index;      /* [count] row -> index; NULL: the same */
	const void *store;    /* the kind's own, the same for a split and its parts */
} inv_images;

/* The values of the options. */
typedef struct inv_dataset_settings {
	const char *split;   /* only these, "a,b"; NULL: all, without parts such as folds */
	double holdout;      /* no splits: this last share of each class becomes test */
	const char *classes; /* a file, one class per line, which chooses and renumbers; NULL */
	uint64_t limit;      /* images per split; 0: all */
	bool skip_broken;    /* pass over images that cannot be read */
} inv_dataset_settings;

struct inv_dataset_kind;

struct invar_dataset {
	invar_context *ctx;
	const struct inv_dataset_kind *kind;
	char *text, *place;
	bool plain;                /* the text is the place */
	invar_options *options;    /* its own */
	inv_dataset_settings opts; /* the values of those; views */
	inv_names split_names;     /* every existing split, also those not selected */
	inv_images splits[INV_MAX_SPLITS];
	size_t split_count;
	inv_names classes, titles; /* titles are for people; empty: the same as the names */
	int32_t *renumber;         /* [classes of the kind] by --classes; NULL: the same */
	bool grey;                 /* its images have one channel, read as three equal ones */
	bool whole;                /* has no splits, so --holdout may make them */
	int32_t *whole_labels;     /* of the split that --holdout has cut */
	void *own;                 /* the kind's own */
};

typedef struct inv_dataset_kind {
	const char *name;
	const char *place;          /* what follows "name:" in help: DIR */
	const char *about;          /* a phrase */
	const char *standard_place; /* the default of PLACE; NULL: it is required */
	const char *normalisation;  /* its own constants, by name; NULL: none are known */
	/* Adds classes and splits with the calls below; close follows if it fails. */
	invar_status (*open)(invar_dataset *d);
	/* Images are pixels of its own (read), files (path), or files in an archive (bytes). */
	invar_status (*read)(const invar_dataset *d, const inv_images *s, uint64_t source,
	                     inv_image *out);
	invar_status (*path)(const inv_images *s, uint64_t source, char **out); /* gives */
	invar_status (*bytes)(const inv_images *s, uint64_t source, const void **out,
	                      uint64_t *size); /* views */
	/* Of pixels: the size of all images of a split; NULL: side x side. */
	void (*measure)(const inv_images *s, uint32_t *width, uint32_t *height);
	uint32_t side;
	/* Its file, below the data set's folder; views. NULL: images are not files. */
	const char *(*file)(const inv_images *s, uint64_t source);
	/* The file that pixels or an archive are in. NULL: unknown, or see path. */
	bool (*file_id)(const inv_images *s, uint64_t source, inv_file_id *out);
	void (*close)(invar_dataset *d); /* frees own; accepts a half-open set */
} inv_dataset_kind;

/* In the order of the help; NULL past the last. */
const inv_dataset_kind *inv_dataset_kind_at(size_t i);

/*
 * The options of a data set; the second call, without split and classes, declares them as
 * belonging to another option.
 */
invar_status inv_dataset_declare(invar_options *o);
invar_status inv_dataset_declare_part(invar_options *o, const char *selector);

/* ---- For kinds ------------------------------------------------------------------- */

/* If PLACE has no `file` but PLACE/folder has, that becomes the place. */
invar_status inv_dataset_enter(invar_dataset *d, const char *folder, const char *file);
bool inv_dataset_has(const invar_dataset *d, const char *name);

/*
 * Whether an existing split is selected. A part of another split (a fold) is selected only
 * by name.
 */
invar_status inv_dataset_offer(invar_dataset *d, const char *split, bool part,
                               bool *wanted);
/* All images in one split, "train", whatever was requested; holdout cuts it. */
invar_status inv_dataset_add_whole(invar_dataset *d, uint64_t total, int32_t *labels,
                                   const void *store);
/* A split that was offered; takes labels, even if it fails. */
invar_status inv_dataset_add(invar_dataset *d, const char *split, uint64_t total,
                             int32_t *labels, const void *store);
/* The same with labels that the kind keeps, and takes a map from index to source. */
invar_status inv_dataset_add_part(invar_dataset *d, const char *split, uint64_t total,
                                  uint32_t *source, int32_t *labels, const void *store);
invar_status inv_dataset_add_class(invar_dataset *d, const char *name);
/* The lines of PLACE/file as classes, or the given names (terminated by NULL) without it.
 */
invar_status inv_dataset_name_classes(invar_dataset *d, const char *file,
                                      const char *const *standard);
/* Labels of one byte each, the first class being `first`; gives, inv_free. */
invar_status inv_dataset_byte_labels(const invar_dataset *d, const uint8_t *bytes,
                                     uint64_t count, uint64_t stride, unsigned first,
                                     const char *name, int32_t **out);

void inv_images_clear(inv_images *s);

/* ---- Choosing (select.c) ------------------------------------------------------------ */

invar_status inv_dataset_check_split_names(const invar_dataset *d);
invar_status inv_dataset_hold_out(invar_dataset *d);
invar_status inv_dataset_choose_classes(invar_dataset *d);
invar_status inv_dataset_limit(invar_dataset *d);

/* ---- For readers ----------------------------------------------------------------- */

const inv_images *inv_dataset_split(const invar_dataset *d, const char *name); /* or NULL */
invar_status inv_dataset_need_split(const invar_dataset *d, const char *name,
                                    const inv_images **out);
uint64_t inv_images_index(const inv_images *s, uint64_t row);
int32_t inv_images_kind_label(const inv_images *s, uint64_t row); /* without --classes */
int32_t inv_images_label(const invar_dataset *d, const inv_images *s, uint64_t row);
/* Its file, "cats/1.png"; views. NULL if images are not files. */
const char *inv_images_name(const invar_dataset *d, const inv_images *s, uint64_t row);
/* Several threads may read at once. Error messages name the image. */
invar_status inv_images_read(const invar_dataset *d, const inv_images *s, uint64_t row,
                             inv_image *out);
/* The same, with the fingerprint of what was read. */
invar_status inv_images_read_printed(const invar_dataset *d, const inv_images *s,
                                     uint64_t row, inv_image *out, inv_fingerprint *print);
/* Only the fingerprint; scratch is for pixels if there is no cheaper way. */
invar_status inv_images_fingerprint(const invar_dataset *d, const inv_images *s,
                                    uint64_t row, inv_image *scratch, inv_fingerprint *out);
/* The file that it is in; false if that is unknown. */
bool inv_images_file_id(const invar_dataset *d, const inv_images *s, uint64_t row,
                        inv_file_id *out);
invar_status inv_images_measure(const invar_dataset *d, const inv_images *s, uint64_t row,
                                uint32_t *width, uint32_t *height);
/* Identifies the selected images, 64 hexadecimal digits: equal if encoding would be. */
invar_status inv_dataset_fingerprint(const invar_dataset *d, char hex[65]);
/*
 * An image that --skip-broken may pass over: its file is faulty, rather than memory, a
 * limit on open files, permissions or the disk.
 */
bool inv_is_broken(invar_status st);
/* The error for such an image, with advice. */
invar_status inv_refuse_broken(const invar_dataset *d, invar_status st, const char *why);

/* Kind i, "stl10"; what follows the colon, "DIR"; a phrase about it. NULL past the last. */
const char *inv_dataset_kind_about(size_t i, const char **place, const char **about);
size_t inv_dataset_splits(const invar_dataset *d);
const char *inv_dataset_split_name(const invar_dataset *d, size_t i); /* views */
/* All splits of the data, selected or not; NULL past the last; views. */
const char *inv_dataset_offered(const invar_dataset *d, size_t i);
int inv_dataset_has_labels(const invar_dataset *d, const char *split);
size_t inv_dataset_classes(const invar_dataset *d);
const char *inv_dataset_class(const invar_dataset *d, size_t k); /* views */
/* A readable name ("goldfish" for n01443537), else the same name; views. */
const char *inv_dataset_class_title(const invar_dataset *d, size_t k);
/* The file of an image, relative to DIR; NULL if images are not files. Views. */
const char *inv_dataset_name(const invar_dataset *d, const char *split, uint64_t row);
/*
 * The sizes of all images of a split from their headers, or with `decode` by reading
 * every pixel: "count", "broken", "min-width", "max-width", "min-height", "max-height". A
 * broken image is an error, or is logged and counted if skip-broken is set. Gives, free
 * with invar_figures_free.
 */
invar_status inv_dataset_survey(const invar_dataset *d, const char *split, int decode,
                                invar_figures **out);

uint64_t inv_dataset_count(const invar_dataset *d, const char *split);
/* One label per image, -1 for none. */
invar_status inv_dataset_labels(const invar_dataset *d, const char *split, int64_t *out);
/* Gives 8-bit RGB, free with invar_free. Several threads may read at once. */
invar_status inv_dataset_read(const invar_dataset *d, const char *split, uint64_t row,
                              uint8_t **rgb, uint32_t *width, uint32_t *height);

#endif
