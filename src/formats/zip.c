/* SPDX-License-Identifier: Apache-2.0 */
/* zip.c - see zip.h. Numbers in a zip file are little-endian and at any alignment. */
#include "formats/zip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"

enum {
	END_BYTES = 22,
	LOCATOR_BYTES = 20,
	END64_BYTES = 56,
	DIRECTORY_BYTES = 46,
	LOCAL_BYTES = 30,
	STORED = 0,
	DEFLATED = 8,
	ENCRYPTED = 0x2041,    /* flags: encrypted, strongly so, names as well */
	SIZES_FOLLOW = 0x0008, /* flag: sizes and CRC-32 follow the data */
	MAX_RATIO = 100,
	MAX_GROWTH = 16
};

static uint16_t get16(const unsigned char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static uint32_t get32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static uint64_t get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static bool is_record(const unsigned char *p, const char kind[2])
{
	return p[0] == 'P' && p[1] == 'K' && p[2] == (unsigned char)kind[0] &&
	       p[3] == (unsigned char)kind[1];
}

static invar_status fail_damaged_zip(const inv_zip *z, const char *what)
{
	return inv_fail(INVAR_E_FORMAT, "%s: is a damaged zip archive: %s", z->path, what);
}

bool inv_zip_recognise(const unsigned char *bytes, uint64_t size)
{
	return size >= 4 && (is_record(bytes, "\3\4") || is_record(bytes, "\5\6"));
}

/* How much of a name, which may be long, a message shows. */
static int shown_length(const inv_zip_entry *e)
{
	return e->length < 100 ? (int)e->length : 100;
}

/* ---- Where the directory is ------------------------------------------------------- */

typedef struct directory {
	uint64_t count, bytes, offset;
	uint64_t end; /* where the end records begin */
} directory;

/* In ZIP64 both records have the same number, or the old one is all ones. */
static bool agrees_with_zip64(uint64_t narrow, uint64_t wide, uint64_t cannot)
{
	return narrow == wide || narrow == cannot;
}

static invar_status find_directory(const inv_zip *z, directory *d)
{
	const unsigned char *end;

	if (z->size < END_BYTES || !is_record(z->bytes + z->size - END_BYTES, "\5\6"))
		return fail_damaged_zip(z, "it has no end record; it is probably truncated");
	end = z->bytes + z->size - END_BYTES;
	if (get16(end + 4) || get16(end + 6) || get16(end + 8) != get16(end + 10))
		return fail_damaged_zip(z, "it is split over several disks, expected one");
	if (get16(end + 20))
		return fail_damaged_zip(z, "its comment is truncated");
	*d =
		(directory){get16(end + 10), get32(end + 12), get32(end + 16), z->size - END_BYTES};
	if (d->end >= LOCATOR_BYTES && is_record(end - LOCATOR_BYTES, "\6\7")) {
		const unsigned char *locator = end - LOCATOR_BYTES;
		uint64_t at = d->end - LOCATOR_BYTES - END64_BYTES;

		if (d->end < LOCATOR_BYTES + END64_BYTES || get64(locator + 8) != at)
			return fail_damaged_zip(
				z, "its ZIP64 locator does not point to the record before it");
		end = z->bytes + at;
		if (!is_record(end, "\6\6") || get64(end + 4) != END64_BYTES - 12)
			return fail_damaged_zip(z, "its ZIP64 locator points to something else");
		if (get32(locator + 4) || get32(locator + 16) > 1 || get32(end + 16) ||
		    get32(end + 20))
			return fail_damaged_zip(z, "it is split over several disks, expected one");
		if (get64(end + 24) != get64(end + 32) ||
		    !agrees_with_zip64(d->count, get64(end + 32), UINT16_MAX) ||
		    !agrees_with_zip64(d->bytes, get64(end + 40), UINT32_MAX) ||
		    !agrees_with_zip64(d->offset, get64(end + 48), UINT32_MAX))
			return fail_damaged_zip(z, "its two end records disagree");
		*d = (directory){get64(end + 32), get64(end + 40), get64(end + 48), at};
	}
	if (d->offset > d->end || d->bytes != d->end - d->offset)
		return fail_damaged_zip(z, "its directory is not where its end record says");
	if (d->count > d->bytes / DIRECTORY_BYTES)
		return fail_damaged_zip(z, "it claims more entries than fit in its directory");
	return d->count ? INVAR_OK : fail_damaged_zip(z, "it has no entries");
}

/* ---- The directory ---------------------------------------------------------------- */

/*
 * A field that cannot hold its number is all ones, and the number is in the extra field 1,
 * in the order of `fields`.
 */
static bool read_zip64_fields(const unsigned char *extra, size_t bytes, uint64_t *fields[],
                              size_t n)
{
	while (bytes >= 4) {
		size_t length = get16(extra + 2);

		if (length > bytes - 4)
			return false;
		if (get16(extra) == 1) {
			for (size_t i = 0, at = 0; i < n; i++) {
				if (*fields[i] != UINT32_MAX)
					continue;
				if (length - at < 8)
					return false;
				*fields[i] = get64(extra + 4 + at);
				at += 8;
			}
			return true;
		}
		extra += 4 + length;
		bytes -= 4 + length;
	}
	for (size_t i = 0; i < n; i++)
		if (*fields[i] == UINT32_MAX)
			return false;
	return true;
}

static bool is_safe_name(const char *name, size_t length)
{
	if (!length || *name == '/')
		return false;
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)name[i] < ' ' || name[i] == '\\' || name[i] == 127)
			return false;
		if (name[i] == '.' && i + 1 < length && name[i + 1] == '.')
			return false;
	}
	return true;
}

/* *at moves past the record. Names start with one common folder, which is removed. */
static invar_status read_record(const inv_zip *z, const directory *d, uint64_t *at,
                                const char **root, inv_zip_entry *e)
{
	const unsigned char *p = z->bytes + *at;
	const char *name = (const char *)p + DIRECTORY_BYTES, *slash;
	uint64_t size = d->end - *at, *wide[] = {&e->size, &e->packed, &e->header};
	size_t length, extra_bytes, all, folder;

	if (size < DIRECTORY_BYTES || !is_record(p, "\1\2"))
		return fail_damaged_zip(z, "its directory ends before its last entry");
	length = get16(p + 28);
	extra_bytes = get16(p + 30);
	all = DIRECTORY_BYTES + length + extra_bytes + get16(p + 32);
	if (all > size)
		return fail_damaged_zip(z,
		                        "an entry of its directory extends beyond the directory");
	*at += all;
	*e = (inv_zip_entry){.header = get32(p + 42),
	                     .packed = get32(p + 20),
	                     .size = get32(p + 24),
	                     .crc = get32(p + 16),
	                     .flags = get16(p + 8),
	                     .method = get16(p + 10)};
	if (get16(p + 34))
		return fail_damaged_zip(z, "it is split over several disks, expected one");
	if (!read_zip64_fields(p + DIRECTORY_BYTES + length, extra_bytes, wide, 3))
		return fail_damaged_zip(z, "an entry's ZIP64 sizes are missing");

	if (!is_safe_name(name, length))
		return fail_damaged_zip(z, "an entry's name is not a plain relative path");
	if (!(slash = memchr(name, '/', length)))
		return fail_damaged_zip(z, "an entry is outside the top folder");
	folder = (size_t)(slash - name) + 1;
	if (!*root)
		*root = name;
	if (memcmp(*root, name, folder) != 0) /* within: it ends with the slash at the latest */
		return fail_damaged_zip(z, "it has more than one top folder");
	e->name = name + folder;
	e->length = length - folder;

	if (e->flags & ENCRYPTED)
		return inv_fail(INVAR_E_FORMAT, "%s: its entry %.*s is encrypted", z->path,
		                shown_length(e), e->name);
	if (e->method != STORED && e->method != DEFLATED)
		return inv_fail(
			INVAR_E_FORMAT,
			"%s: its entry %.*s is compressed with method %u, which is not supported",
			z->path, shown_length(e), e->name, e->method);
	if (e->method == STORED && e->packed != e->size)
		return fail_damaged_zip(z, "a stored entry has two different sizes");
	if (e->packed > z->size)
		return fail_damaged_zip(z, "an entry is larger than the file");
	if (e->size / MAX_RATIO > e->packed)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its entry %.*s is compressed more than %d times, which no "
		                "real tensor is; the file may be an attack",
		                z->path, shown_length(e), e->name, MAX_RATIO);
	return INVAR_OK;
}

/* ---- The entries in the file ------------------------------------------------------ */

/* Sets data; *end becomes the byte after it. The name before e->name is the folder. */
static invar_status check_local(const inv_zip *z, inv_zip_entry *e, size_t folder,
                                uint64_t limit, uint64_t *end)
{
	const unsigned char *p = z->bytes + e->header;
	uint64_t size = limit - e->header, head;
	uint64_t plain, packed, *wide[] = {&plain, &packed};
	size_t name, extra;
	bool agree;

	if (size < LOCAL_BYTES || !is_record(p, "\3\4"))
		return fail_damaged_zip(z, "an entry is not where the directory says");
	name = get16(p + 26);
	extra = get16(p + 28);
	head = LOCAL_BYTES + name + extra;
	if (head > size || e->packed > size - head)
		return fail_damaged_zip(
			z, "an entry overlaps the next one or extends beyond the file");
	if (name != folder + e->length || memcmp(p + LOCAL_BYTES, e->name - folder, name) != 0)
		return fail_damaged_zip(z, "an entry's name differs from the one in the directory");
	plain = get32(p + 22);
	packed = get32(p + 18);
	agree = (e->flags & SIZES_FOLLOW) && !plain && !packed && !get32(p + 14);
	agree = agree || (read_zip64_fields(p + LOCAL_BYTES + name, extra, wide, 2) &&
	                  plain == e->size && packed == e->packed && get32(p + 14) == e->crc);
	if (get16(p + 6) != e->flags || get16(p + 8) != e->method || !agree)
		return fail_damaged_zip(
			z, "an entry's sizes or flags differ from those in the directory");
	e->data = p + head;
	*end = e->header + head + e->packed;
	return INVAR_OK;
}

/* What may be between an entry and the next: its CRC-32 and sizes once more. */
static bool check_descriptor(const unsigned char *p, uint64_t bytes, const inv_zip_entry *e)
{
	if (!(e->flags & SIZES_FOLLOW))
		return bytes == 0;
	if (bytes == 16 || bytes == 24) {
		if (!is_record(p, "\7\10"))
			return false;
		p += 4;
		bytes -= 4;
	}
	if (bytes == 12)
		return get32(p) == e->crc && get32(p + 4) == e->packed && get32(p + 8) == e->size;
	return bytes == 20 && get32(p) == e->crc && get64(p + 4) == e->packed &&
	       get64(p + 12) == e->size;
}

static int compare_headers(const void *a, const void *b)
{
	uint64_t x = ((const inv_zip_entry *)a)->header, y = ((const inv_zip_entry *)b)->header;

	return (x > y) - (x < y);
}

static int compare_entries(const void *a, const void *b)
{
	const inv_zip_entry *x = a, *y = b;
	size_t m = x->length, n = y->length;
	int order = memcmp(x->name, y->name, m < n ? m : n);

	return order ? order : (m > n) - (m < n);
}

invar_status inv_zip_open(const unsigned char *bytes, uint64_t size, const char *path,
                          inv_zip *out)
{
	const char *root = NULL;
	directory d = {0};
	uint64_t at;
	size_t folder;

	*out = (inv_zip){.path = path, .bytes = bytes, .size = size};
	INV_TRY(find_directory(out, &d));
	INV_TRY(inv_new_zeros(&out->entries, d.count));
	out->count = d.count;
	at = d.offset;
	for (size_t i = 0; i < out->count; i++)
		INV_TRY(read_record(out, &d, &at, &root, &out->entries[i]));
	if (at != d.end)
		return fail_damaged_zip(out,
		                        "its directory has more entries than its end record says");

	/* All entries share a top folder: the length of its name, with the slash. */
	folder = (size_t)(out->entries[0].name - root);
	qsort(out->entries, out->count, sizeof *out->entries, compare_headers);
	if (out->entries[0].header != 0)
		return fail_damaged_zip(out, "its first entry is not at its beginning");
	for (size_t i = 0; i < out->count; i++) {
		inv_zip_entry *e = &out->entries[i];
		uint64_t next = i + 1 < out->count ? e[1].header : d.offset, end = 0;

		if (next > d.offset || next < e->header)
			return fail_damaged_zip(out, "an entry is outside the file");
		INV_TRY(check_local(out, e, folder, next, &end));
		if (!check_descriptor(bytes + end, next - end, e))
			return fail_damaged_zip(out, "there is other data between two entries");
	}

	qsort(out->entries, out->count, sizeof *out->entries, compare_entries);
	for (size_t i = 1; i < out->count; i++)
		if (compare_entries(&out->entries[i - 1], &out->entries[i]) == 0)
			return inv_fail(INVAR_E_FORMAT, "%s: has two entries %.*s", path,
			                shown_length(&out->entries[i]), out->entries[i].name);
	return INVAR_OK;
}

void inv_zip_close(inv_zip *z)
{
	inv_free(z->entries);
	z->entries = NULL;
}

const inv_zip_entry *inv_zip_find(const inv_zip *z, const char *name)
{
	const inv_zip_entry key = {.name = name, .length = strlen(name)};

	return bsearch(&key, z->entries, z->count, sizeof key, compare_entries);
}

/* ---- Reading ---------------------------------------------------------------------- */

static void *z_memory(void *user, unsigned count, unsigned bytes)
{
	(void)user;
	return inv_calloc(count, bytes);
}

static void z_free(void *user, void *memory)
{
	(void)user;
	inv_free(memory);
}

static invar_status inflate_entry(inv_zip *z, const inv_zip_entry *e, unsigned char *to)
{
	z_stream s = {.zalloc = z_memory, .zfree = z_free};
	uint64_t in = e->packed, out = e->size;
	int result = inflateInit2(&s, -MAX_WBITS);

	s.next_in = (unsigned char *)(uintptr_t)e->data;
	s.next_out = to;
	while (result == Z_OK) { /* in pieces, as zlib counts in 32 bits */
		unsigned give = (unsigned)(in < UINT32_MAX ? in : UINT32_MAX);
		unsigned take = (unsigned)(out < UINT32_MAX ? out : UINT32_MAX);

		s.avail_in = give;
		s.avail_out = take;
		result = inflate(&s, Z_NO_FLUSH);
		in -= give - s.avail_in;
		out -= take - s.avail_out;
	}
	inflateEnd(&s);
	if (result == Z_STREAM_END && !in && !out)
		return INVAR_OK;
	if (result == Z_MEM_ERROR)
		return inv_no_memory();
	return inv_fail(INVAR_E_FORMAT,
	                "%s: its entry %.*s does not decompress to the %" PRIu64
	                " bytes it claims",
	                z->path, shown_length(e), e->name, e->size);
}

invar_status inv_zip_read(inv_zip *z, const inv_zip_entry *e, const unsigned char **data,
                          void **own)
{
	invar_status st;

	*own = NULL;
	*data = e->data;
	if (e->method == DEFLATED) {
		z->inflated += e->size; /* no overflow: at most 100 times the file per entry */
		if (z->inflated / MAX_GROWTH > z->size)
			return inv_fail(
				INVAR_E_FORMAT,
				"%s: decompresses to more than %d times its size, which no real weights do",
				z->path, MAX_GROWTH);
		*own = inv_alloc(e->size);
		INV_TRY(inv_check_memory(*own, e->size));
		INV_TRY_OR(fail, inflate_entry(z, e, *own));
		*data = *own;
	}
	if (crc32_z(0, *data, e->size) == e->crc)
		return INVAR_OK;
	st = inv_fail(INVAR_E_FORMAT,
	              "%s: its entry %.*s is damaged: its CRC-32 differs from the directory",
	              z->path, shown_length(e), e->name);
fail:
	inv_free(*own);
	*own = NULL;
	return st;
}
