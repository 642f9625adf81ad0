/* SPDX-License-Identifier: Apache-2.0 */
/* codes.c - see codes.h: sheets of codes in memory, then in files. */
#include "measure/codes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"

/* The codes of one view of one copy of a split. */
typedef struct sheet {
	const inv_split *split;
	int32_t copy;
	unsigned view;
	uint64_t bytes;
	float *codes;         /* [rows, w], mapped; NULL: they are not kept */
	unsigned char *known; /* a bit per row */
	struct sheet *next;
} sheet;

struct inv_codes {
	const invar_adapter *e;
	const invar_bank *bank;
	uint64_t left; /* bytes still available in memory */
	sheet *sheets;
	float *features; /* [BLOCK, d] */
	float *fresh;    /* [BLOCK, w] */
};

uint64_t inv_codes_bound(void)
{
	uint64_t bound = 1u << 30;
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	struct rlimit space;

	if (pages > 0 && page > 0 && (uint64_t)pages * (uint64_t)page / 4 < bound)
		bound = (uint64_t)pages * (uint64_t)page / 4;
	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY &&
	    space.rlim_cur / 4 < bound)
		bound = space.rlim_cur / 4;
	return bound;
}

invar_status inv_codes_new(const invar_adapter *e, const invar_bank *bank, uint64_t bound,
                           inv_codes **out)
{
	inv_codes *c;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&c));
	*c = (inv_codes){.e = e, .bank = bank, .left = bound};
	INV_TRY_OR(fail, inv_new_array(&c->features, INV_CODES_BLOCK * e->s.d));
	INV_TRY_OR(fail, inv_new_array(&c->fresh, INV_CODES_BLOCK * e->s.w));
	*out = c;
	return INVAR_OK;
fail:
	inv_codes_free(c);
	return st;
}

void inv_codes_free(inv_codes *c)
{
	if (!c)
		return;
	for (sheet *s = c->sheets, *next; s; s = next) {
		next = s->next;
		if (s->codes)
			munmap(s->codes, s->bytes);
		inv_free(s->known);
		inv_free(s);
	}
	inv_free(c->features);
	inv_free(c->fresh);
	inv_free(c);
}

/* An unnamed file of `bytes`; -1 if there is no space for it. */
static int open_file(uint64_t bytes)
{
	const char *folder = getenv("TMPDIR");
	struct rlimit size;
	int fd;

	/* Exceeding the limit on file sizes raises a signal, not an error. */
	if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur < bytes)
		return -1;
	fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	/* All blocks at once: a disk that fills up later would raise a signal too. */
	if (fd >= 0 && posix_fallocate(fd, 0, (off_t)bytes) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static float *map_bytes(uint64_t bytes, int flags, int fd)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void map_codes(inv_codes *c, sheet *s)
{
	uint64_t rows = s->split->rows;
	int fd;

	if (inv_mul_overflow(rows, c->e->s.w * sizeof *s->codes, &s->bytes) || !s->bytes ||
	    s->bytes > INT64_MAX || !(s->known = inv_calloc(rows / 8 + 1, 1)))
		return;
	if (s->bytes <= c->left &&
	    (s->codes = map_bytes(s->bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1)))
		c->left -= s->bytes;
	else if ((fd = open_file(s->bytes)) >= 0) {
		s->codes = map_bytes(s->bytes, MAP_SHARED, fd);
		close(fd); /* the mapping keeps the file */
	}
	if (!s->codes)
		inv_log(
			c->bank->ctx, INVAR_LOG_DETAIL,
			"codes of %s are not cached, because there is no space for a file in TMPDIR",
			s->split->name);
}

static invar_status find_sheet(inv_codes *c, const inv_split *split, int32_t copy,
                               unsigned view, sheet **out)
{
	for (*out = c->sheets; *out; *out = (*out)->next)
		if ((*out)->split == split && (*out)->copy == copy && (*out)->view == view)
			return INVAR_OK;
	INV_TRY(inv_new(out));
	**out = (sheet){.split = split, .copy = copy, .view = view, .next = c->sheets};
	c->sheets = *out;
	map_codes(c, *out);
	return INVAR_OK;
}

invar_status inv_codes_take(inv_codes *c, const inv_split *split, int32_t copy,
                            unsigned view, const uint64_t *row, size_t count, size_t stride,
                            float *out)
{
	size_t d = c->e->s.d, w = c->e->s.w, missing = 0;
	size_t place[INV_CODES_BLOCK];
	sheet *s;

	INV_TRY(find_sheet(c, split, copy, view, &s));
	for (size_t i = 0; i < count; i++)
		if (s->codes && s->known[row[i] / 8] >> row[i] % 8 & 1) {
			memcpy(out + i * stride, s->codes + row[i] * w, w * sizeof *out);
		} else {
			place[missing] = i;
			INV_TRY(inv_bank_view_row(c->bank, split, copy, view, row[i],
			                          c->features + missing++ * d));
		}
	if (missing)
		INV_TRY(inv_adapter_apply_finite(c->e, c->features, missing, c->fresh));
	for (size_t i = 0; i < missing; i++) {
		uint64_t at = row[place[i]];

		memcpy(out + place[i] * stride, c->fresh + i * w, w * sizeof *out);
		if (!s->codes)
			continue;
		memcpy(s->codes + at * w, c->fresh + i * w, w * sizeof *out);
		s->known[at / 8] |= (unsigned char)(1 << at % 8);
	}
	return INVAR_OK;
}
