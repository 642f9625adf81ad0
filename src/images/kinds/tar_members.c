/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_members.c - see tar_members.h for what a member is.
 *
 * The headers are read once, in their order; then members are sorted by path, which finds
 * the last one of a path, or the last one before a hard link, by bisection. Hard links come
 * first: each leads to an earlier member, so going from the first to the last settles
 * chains of them. A hard link to a symbolic link is one more symbolic link.
 */
#include "images/kinds/tar_members.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { FIRST_MEMBERS = 256, MAX_LINKS = 40 }; /* links on the way to a file, as in Linux */

/* ---- Paths ------------------------------------------------------------------------- */

/* The next part of a path that is not empty and not "."; false past the last. */
static bool next_part(const char **at, size_t *length)
{
	for (;;) {
		*at += strspn(*at, "/");
		*length = strcspn(*at, "/");
		if (*length != 1 || **at != '.')
			return *length > 0;
		*at += 1;
	}
}

static bool is_parent_folder(const char *part, size_t length)
{
	return length == 2 && part[0] == '.' && part[1] == '.';
}

/* `used` bytes of a path, a slash and a part; false if that is too long. */
static bool append_to_path(char path[INV_TAR_PATH], size_t *used, const char *part,
                           size_t length)
{
	if (*used + (*used > 0) + length >= INV_TAR_PATH)
		return false;
	if (*used)
		path[(*used)++] = '/';
	memcpy(path + *used, part, length);
	*used += length;
	path[*used] = '\0';
	return true;
}

/* Invariant 1; false if the path leads outside. */
static bool clean_tar_path(const char *path, char out[INV_TAR_PATH])
{
	size_t used = 0, length;

	*out = '\0';
	for (; next_part(&path, &length); path += length)
		if (is_parent_folder(path, length) || !append_to_path(out, &used, path, length))
			return false;
	return true;
}

/* ---- Reading ----------------------------------------------------------------------- */

static invar_status note_tar_path(const char *path, uint64_t *count, char **first)
{
	return (*count)++ ? INVAR_OK : inv_new_text(first, path);
}

static invar_status add_tar_member(inv_tar_members *m, const inv_tar *t)
{
	char path[INV_TAR_PATH];

	if (!clean_tar_path(t->path, path))
		return note_tar_path(t->path, &m->outside, &m->first_outside);
	if (!*path) /* the folder itself, "./" */
		return INVAR_OK;
	if (*t->path == '/')
		INV_TRY(note_tar_path(t->path, &m->rooted, &m->first_rooted));
	if (m->count == m->capacity) {
		size_t capacity = m->capacity ? 2 * m->capacity : FIRST_MEMBERS;
		inv_tar_member *more;

		INV_TRY(inv_new_array(&more, capacity));
		if (m->count)
			memcpy(more, m->at, m->count * sizeof *more);
		inv_free(m->at);
		m->at = more;
		m->capacity = capacity;
	}
	m->at[m->count] =
		(inv_tar_member){t->offset, t->bytes, m->targets.count, t->type, false};
	INV_TRY(inv_names_add(&m->paths, path, strlen(path)));
	m->count++;
	if (t->type != INV_TAR_HARD && t->type != INV_TAR_SYMBOLIC)
		return INVAR_OK;
	return inv_names_add(&m->targets, t->target, strlen(t->target));
}

static int order_by_path(const void *a, const void *b, void *members)
{
	const inv_tar_members *m = members;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	int order = strcmp(inv_names_at(&m->paths, i), inv_names_at(&m->paths, k));

	return order ? order : i < k ? -1 : i > k;
}

/* ---- Links ------------------------------------------------------------------------- */

/* The last member of a path whose number is below `before`; NULL if there is none. */
static inv_tar_member *find_tar_member(const inv_tar_members *m, const char *path,
                                       size_t before)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2, i = m->order[middle];
		int order = strcmp(inv_names_at(&m->paths, i), path);

		if (order < 0 || (!order && i < before))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || strcmp(inv_names_at(&m->paths, m->order[low - 1]), path) != 0)
		return NULL;
	return &m->at[m->order[low - 1]];
}

/* The file that the symbolic link i leads to; NULL if it is not in the archive. */
static const inv_tar_member *follow_tar_link(const inv_tar_members *m, size_t i)
{
	char path[INV_TAR_PATH], rest[2 * INV_TAR_PATH], next[2 * INV_TAR_PATH];
	const char *own = inv_names_at(&m->paths, i), *slash = strrchr(own, '/'), *target, *at;
	const inv_tar_member *found = &m->at[i];
	size_t used = slash ? (size_t)(slash - own) : 0, length;

	memcpy(path, own, used);
	*rest = '\0';
	for (int links = 0; links < MAX_LINKS; links++) {
		/* path: the folder that the link is in; rest: what follows after the link. */
		target = inv_names_at(&m->targets, found->target);
		if (*target == '/' ||
		    snprintf(next, sizeof next, "%s/%s", target, rest) >= (int)sizeof next)
			return NULL;
		memcpy(rest, next, strlen(next) + 1);
		found = NULL;
		for (at = rest; next_part(&at, &length); at += length) {
			size_t before = used;

			if (is_parent_folder(at, length)) {
				if (!used)
					return NULL;
				while (used && path[--used] != '/')
					;
				found = NULL;
				continue;
			}
			if (!append_to_path(path, &used, at, length))
				return NULL;
			found = find_tar_member(m, path, m->count);
			if (found && found->type == INV_TAR_SYMBOLIC) {
				used = before;
				at += length;
				break;
			}
		}
		if (!found || found->type != INV_TAR_SYMBOLIC)
			return found && found->type == INV_TAR_FILE ? found : NULL;
		memmove(rest, at, strlen(at) + 1);
	}
	return NULL;
}

invar_status inv_tar_members_read(inv_tar_members *m, const void *data, uint64_t size,
                                  const char *name)
{
	const inv_tar_member **found, *to;
	char path[INV_TAR_PATH];
	bool more;
	inv_tar t;

	INV_TRY(inv_tar_open(data, size, name, &t));
	for (;;) {
		INV_TRY(inv_tar_next(&t, &more));
		if (!more)
			break;
		INV_TRY(add_tar_member(m, &t));
	}
	if (!m->count)
		return INVAR_OK;

	INV_TRY(inv_new_array(&m->order, m->count));
	for (size_t i = 0; i < m->count; i++)
		m->order[i] = i;
	qsort_r(m->order, m->count, sizeof *m->order, order_by_path, m);
	for (size_t i = 1; i < m->count; i++)
		if (strcmp(inv_names_at(&m->paths, m->order[i - 1]),
		           inv_names_at(&m->paths, m->order[i])) == 0) {
			m->at[m->order[i - 1]].replaced = true;
			m->replaced++;
		}
	if (!m->targets.count)
		return INVAR_OK;

	for (size_t i = 0; i < m->count; i++) {
		inv_tar_member *one = &m->at[i];
		bool replaced = one->replaced;

		if (one->type == INV_TAR_HARD &&
		    clean_tar_path(inv_names_at(&m->targets, one->target), path) &&
		    (to = find_tar_member(m, path, i)) &&
		    (to->type == INV_TAR_FILE || to->type == INV_TAR_SYMBOLIC)) {
			*one = *to;
			one->replaced = replaced;
		}
	}
	/* Symbolic links see the members at the end: all are followed before one changes. */
	INV_TRY(inv_new_zeros(&found, m->count));
	for (size_t i = 0; i < m->count; i++)
		if (m->at[i].type == INV_TAR_SYMBOLIC && !m->at[i].replaced)
			found[i] = follow_tar_link(m, i);
	for (size_t i = 0; i < m->count; i++)
		if (found[i]) {
			m->at[i].offset = found[i]->offset;
			m->at[i].bytes = found[i]->bytes;
			m->at[i].type = INV_TAR_FILE;
		}
	inv_free(found);
	return INVAR_OK;
}

void inv_tar_members_clear(inv_tar_members *m)
{
	inv_names_clear(&m->paths);
	inv_names_clear(&m->targets);
	inv_free(m->at);
	inv_free(m->order);
	inv_free(m->first_rooted);
	inv_free(m->first_outside);
	*m = (inv_tar_members){0};
}
