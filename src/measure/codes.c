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

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t inv_codes_bound(void)
{
	uint64_t bound = 1u << 30;
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	struct rlimit space;

	if (pages > 0 && page > 0)
		bound = smaller(bound, (uint64_t)pages * (uint64_t)page / 4);
	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
		bound = smaller(bound, space.rlim_cur / 4);
	return bound;
}

invar_status inv_codes_new(const invar_adapter *e, const invar_bank *bank, uint64_t bound,
                           inv_codes **out)
{
	inv_codes *c = *out = inv_calloc(1, sizeof *c);

	if (c) {
		*c = (inv_codes){.e = e, .bank = bank, .left = bound};
		c->features = inv_alloc(INV_CODES_BLOCK * e->s.d * sizeof *c->features);
		c->fresh = inv_alloc(INV_CODES_BLOCK * e->s.w * sizeof *c->fresh);
	}
	if (c && c->features && c->fresh)
		return INVAR_OK;
	inv_codes_free(c);
	*out = NULL;
	return inv_fail(INVAR_E_NOMEM, "not enough memory for a block of codes");
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

/* ---- Sheets ------------------------------------------------------------------------- */

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

static float *map_file(uint64_t bytes)
{
	int fd = open_file(bytes);
	float *codes = fd >= 0 ? map_bytes(bytes, MAP_SHARED, fd) : NULL;

	if (fd >= 0)
		close(fd); /* the mapping keeps the file */
	return codes;
}

static void map_codes(inv_codes *c, sheet *s)
{
	uint64_t rows = s->split->rows;

	if (inv_mul_overflow(rows, c->e->s.w * sizeof *s->codes, &s->bytes) || !s->bytes ||
	    s->bytes > INT64_MAX || !(s->known = inv_calloc(rows / 8 + 1, 1)))
		return;
	if (s->bytes <= c->left &&
	    (s->codes = map_bytes(s->bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1)))
		c->left -= s->bytes;
	else if (!(s->codes = map_file(s->bytes)))
		inv_log(
			c->bank->ctx, INVAR_LOG_DETAIL,
			"codes of %s are not cached, because there is no space for a file in TMPDIR",
			s->split->name);
}

static sheet *find_sheet(inv_codes *c, const inv_split *split, int32_t copy, unsigned view)
{
	sheet *s = c->sheets;

	while (s && !(s->split == split && s->copy == copy && s->view == view))
		s = s->next;
	if (s || !(s = inv_calloc(1, sizeof *s)))
		return s;
	*s = (sheet){.split = split, .copy = copy, .view = view, .next = c->sheets};
	c->sheets = s;
	map_codes(c, s);
	return s;
}

/* ---- Rows --------------------------------------------------------------------------- */

static bool is_known(const sheet *s, uint64_t row)
{
	return s->codes && s->known[row / 8] >> row % 8 & 1;
}

static void keep_code(sheet *s, uint64_t row, const float *code, size_t w)
{
	if (!s->codes)
		return;
	memcpy(s->codes + row * w, code, w * sizeof *code);
	s->known[row / 8] |= (unsigned char)(1 << row % 8);
}

invar_status inv_codes_take(inv_codes *c, const inv_split *split, int32_t copy,
                            unsigned view, const uint64_t *row, size_t count, size_t stride,
                            float *out)
{
	sheet *s = find_sheet(c, split, copy, view);
	size_t d = c->e->s.d, w = c->e->s.w, missing = 0;
	size_t place[INV_CODES_BLOCK];
	invar_status st = INVAR_OK;

	if (!s)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the codes of %s",
		                split->name);
	for (size_t i = 0; i < count && st == INVAR_OK; i++)
		if (is_known(s, row[i])) {
			memcpy(out + i * stride, s->codes + row[i] * w, w * sizeof *out);
		} else {
			place[missing] = i;
			st = inv_bank_view_row(c->bank, split, copy, view, row[i],
			                       c->features + missing++ * d);
		}
	if (st == INVAR_OK && missing)
		st = inv_adapter_apply_finite(c->e, c->features, missing, c->fresh);
	for (size_t i = 0; i < missing && st == INVAR_OK; i++) {
		memcpy(out + place[i] * stride, c->fresh + i * w, w * sizeof *out);
		keep_code(s, row[place[i]], c->fresh + i * w, w);
	}
	return st;
}
