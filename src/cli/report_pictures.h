/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_pictures.h - the pictures of a page: copies of a few images, what a search finds,
 * the images that measurements list, and thumbnails for the points of an embedding.
 */
#ifndef INV_REPORT_PICTURES_H
#define INV_REPORT_PICTURES_H

#include "cli/session.h"
#include "report/page.h"

typedef struct inv_picture_request {
	const invar_bank *bank;
	const invar_dataset *images;
	const char *split;
	const invar_adapter *adapter; /* to search with; NULL: no search */
	const char *title;            /* of that adapter */
	const invar_results *results; /* whose images are wanted */
	bool search_only;             /* nothing but a few searches */
} inv_picture_request;

/* Fills out, which inv_page_pictures_clear frees in any case. */
invar_status inv_report_pictures(inv_session *s, const inv_picture_request *q,
                                 inv_page_pictures *out);

void inv_page_pictures_clear(inv_page_pictures *p);

#endif
