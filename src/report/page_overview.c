/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_overview.c - the page of a study with several banks: each bank in a few lines.
 *
 * A bank has its headline, its cards, what a few searches find, the numbers that people
 * compare first, and a link to the page that has everything else. So no page grows with the
 * number of banks.
 */
#include "report/html.h"

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

void inv_page_overview(inv_html *h)
{
	for (size_t i = 0; i < h->page->document_count; i++) {
		const inv_page_part *part = &h->page->part[i];

		h->document = i;
		inv_html_begin(h, "bank", part->title);
		inv_page_headline(h);
		if (part->pictures)
			inv_page_few_searches(h, part->pictures);
		inv_page_short_table(h, first_numbers);
		if (part->href) {
			fputs("<p><a class=\"more\" href=\"", h->out);
			inv_html_text(h, part->href, 4000);
			fputs(
				"\">Figures, pictures, all numbers and how to use these adapters</a></p>\n",
				h->out);
		}
		inv_html_end(h);
	}
	h->document = 0;
}
