/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - results, runs and pictures as one HTML page that needs nothing else.
 *
 * The page is made from descriptions: metrics, series and scatters of results documents,
 * and run.json. Only the headline knows metrics by name. Pictures come from the caller,
 * since this folder reads neither banks nor images. The recommended adapter comes first and
 * alone, the others are folded. Whatever is missing is left out, and a line at the end says
 * why. All text from outside is escaped and shortened (svg.h).
 *
 * A section is one file and one line in meson.build (html.h).
 */
#ifndef INV_PAGE_H
#define INV_PAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/pool.h"
#include "invar.h"

/* The page stays below this; the caller leaves out thumbnails otherwise. */
enum { INV_PAGE_MAX = 3000000 };

/* A JPEG or PNG file in memory. */
typedef struct inv_page_picture {
	void *bytes; /* NULL: there is no picture */
	size_t size;
	uint32_t width, height;
	char *caption; /* or NULL */
	int right;     /* 1: the class of the query, 0: another, -1: unknown */
	bool same;     /* the same image as the query */
} inv_page_picture;

/* What a search finds for one augmented image, before and after an adapter. */
typedef struct inv_page_query {
	inv_page_picture clean, augmented;
	inv_page_picture *by_f, *by_e; /* [nearest] */
	size_t nearest;
} inv_page_query;

/* Small pictures of rows side by side in one file, for points under the mouse. */
typedef struct inv_page_atlas {
	void *bytes; /* invar_free it; NULL: there is none */
	size_t size;
	uint32_t side, across; /* pixels per picture, pictures per line */
	uint64_t *row;         /* [count]: of the split, ascending */
	char **name;           /* [count]: names of the images; or NULL */
	size_t count;
} inv_page_atlas;

typedef struct inv_page_pictures {
	inv_pool pool;                 /* has all that follows, except for atlas.bytes */
	size_t document;               /* that they belong to */
	inv_page_picture *sheet;       /* [sheet_count]: images, each followed by its copies */
	size_t sheet_count, per_image; /* per_image: 1 + copies */
	inv_page_query *query;         /* [query_count] */
	size_t query_count;
	char *query_title;     /* of the adapter that they were searched with */
	inv_page_picture *row; /* [row_count]: of single rows, for lists of images */
	uint64_t *row_number;  /* [row_count] */
	size_t row_count;
	inv_page_atlas atlas;
} inv_page_pictures;

typedef struct inv_page_run {
	const char *path, *title;
	const json_t *json;            /* run.json; NULL if there is none */
	const invar_results *training; /* curves of its training; or NULL */
	uint32_t d, hidden, w;
	int residual, unit; /* unit: of norm 1, invar_adapter_unit */
} inv_page_run;

enum { INV_PAGE_GAPS = 64 };

/* What is not in the page, and why: "pictures", "no images were given". */
typedef struct inv_page_gaps {
	struct {
		char what[200], why[400];
	} gap[INV_PAGE_GAPS];
	size_t count;
} inv_page_gaps;

/* Of one reason, all that it explains; as far as there is space. */
void inv_page_leave_out(inv_page_gaps *g, const char *what, const char *why);

/* Of an overview: a document that has a page of its own. */
typedef struct inv_page_part {
	const char *title, *href; /* href: relative to the overview; NULL: it has no page */
	const inv_page_pictures *pictures; /* of which a few searches are shown; or NULL */
	const char *recommended;           /* as in inv_page */
} inv_page_part;

/* Everything is borrowed. */
typedef struct inv_page {
	const char *title;         /* NULL: the titles of the runs */
	const inv_page_part *part; /* [document_count]: this is an overview; NULL: a page */
	const invar_results *const *document; /* each with the columns F, 1, 2 … of the runs */
	size_t document_count;
	const inv_page_run *run;
	size_t run_count;
	const inv_page_pictures *pictures; /* or NULL */
	const inv_page_gaps *gaps;         /* or NULL */
	const char *recommended; /* title of the adapter that a trial named; NULL: the best */
} inv_page;

/* The page as text; gives, free() it. NULL if there is no memory. */
char *inv_page_text(const inv_page *p, size_t *size);

/*
 * The adapter that the page is about: `recommended`, if it was measured; else the best at
 * class or with `search` at same image, or the one that removes most displacement; or NULL.
 */
const invar_column *inv_page_best(const invar_results *r, const char *recommended,
                                  bool search);
/* Are all adapters for unit vectors, which are for search? */
bool inv_page_is_search(const inv_page *p);

#endif
