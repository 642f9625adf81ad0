/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_overview.c - the page of a study with several banks: each bank in a few lines.
 *
 * A bank has its headline, its cards, what a few searches find, the numbers that people
 * compare first, and a link to the page that has everything else. So no page grows with the
 * number of banks.
 */
#include "report/html.h"
#include "report/results_table.h"

/* Each only if it was measured. */
static const char *const first_numbers[] = {"lc.clean",
                                            "lc.augmented",
                                            "kept.clean",
                                            "kept.augmented",
                                            "knn.clean",
                                            "knn.augmented",
                                            "same-image.old.l2.augmented.recall_at_1",
                                            "structure.R2",
                                            "collision.raw",
                                            "invariance.gone",
                                            NULL};

static void put_bank(inv_html *h)
{
	const inv_page_part *part = &h->page->part[h->document];

	inv_page_headline(h);
	if (part->pictures)
		inv_page_few_searches(h, part->pictures);
	inv_html_table(h, inv_results_lines_of(h->r, first_numbers), "results");
	if (part->href)
		inv_html_put(h,
		             "<p><a class=\"more\" href=\"%s\">Figures, pictures, all numbers and "
		             "how to use these adapters</a></p>\n",
		             part->href);
}

void inv_page_overview(inv_html *h)
{
	for (h->document = 0; h->document < h->page->document_count; h->document++) {
		h->r = h->page->document[h->document];
		inv_html_section(h, &(inv_section){.id = "bank",
		                                   .title = h->page->part[h->document].title,
		                                   .put = put_bank});
	}
}
