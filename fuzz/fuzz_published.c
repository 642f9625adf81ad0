/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_published.c - any bytes as a file of published figures.
 *
 * If it is accepted, its figures are ordered and finite, each is found by its key, and its
 * names have titles; if not, there is a message.
 */
#include "study/published.h"

#include <math.h>

#include "fuzz_file.h"
#include "invar.h"

static void ask_all(const inv_published *p)
{
	const inv_published_value *value;
	inv_published_key key;
	size_t count = 0;

	while ((value = inv_published_at(p, count, &key))) {
		require(isfinite(value->value) && value->digits < 10 && strlen(value->label) > 0);
		require(inv_published_find(p, &key) == value);
		require(inv_published_title(p, "datasets", key.dataset));
		require(inv_published_title(p, "encoders", key.encoder));
		require(inv_published_title(p, "columns", key.column));
		count++;
	}
	key = (inv_published_key){"no", "such", "figure", "is", "there"};
	require(!inv_published_find(p, &key) || count > 0);
	require(strlen(inv_published_paper(p)) > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH];
	int fd = memory_file(data, size, path);
	inv_published *p = inv_published_open(path);

	if (p)
		ask_all(p);
	require(p || *invar_last_error());
	inv_published_close(p);
	close(fd);
	return 0;
}
