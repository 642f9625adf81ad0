/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy.h - NumPy files: strict reading, mapped or streamed, and atomic writing.
 *
 * Invariants of what is accepted (NumPy format versions 1, 2 and 3):
 *   1. The header is at most 64 KiB, a dict literal with exactly the keys descr,
 *      fortran_order and shape, each once, ended by a newline.
 *   2. descr is one of f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 with a byte order;
 *      structured, object, text and complex arrays are errors that name the type.
 *   3. At most 8 dimensions, and the product of the shape times the item size neither
 *      overflows nor differs from the bytes that follow the header.
 *   4. Nothing is allocated from a number in the file before it is checked.
 */
#ifndef INV_NPY_H
#define INV_NPY_H

#include "base/context.h"
#include "base/file.h"
#include "base/sha256.h"
#include "formats/dtype.h"

enum { INV_NPY_NDIM = 8 };

typedef struct inv_npy_header {
	inv_dtype dtype;
	bool swap;    /* stored in the other byte order than this machine's */
	bool fortran; /* column-major, at least 2 dimensions */
	unsigned ndim;
	uint64_t shape[INV_NPY_NDIM];
	uint64_t cells;     /* product of the shape; 1 without dimensions */
	uint64_t data_from; /* bytes before the data */
} inv_npy_header;

enum { INV_NPY_PRELUDE = 12, INV_SHAPE_TEXT = 192 };

/* From the first 12 bytes: whether it is a NumPy file, and where its data starts. */
invar_status inv_npy_prelude(const unsigned char *bytes, uint64_t size, const char *name,
                             uint64_t *data_from);
/* Parses a header from the first `size` bytes of `name`; checks 1, 2 and overflow. */
invar_status inv_npy_parse(const unsigned char *bytes, uint64_t size, const char *name,
                           inv_npy_header *out);

/* "(3, 2)", as Python writes a tuple; returns text. */
const char *inv_shape_text(unsigned ndim, const uint64_t *shape, char text[INV_SHAPE_TEXT]);
/* The product of a shape; false if it has more than INT64_MAX bytes at `item` each. */
bool inv_shape_cells(unsigned ndim, const uint64_t *shape, size_t item, uint64_t *cells);

typedef struct invar_array inv_npy; /* the public invar_array is the same object */

struct invar_array {
	char *path;
	inv_map map;
	inv_npy_header h;
	const unsigned char *data; /* views the mapped file, or the caller's memory */
	char *header;              /* of inv_npy_wrap: what np.save writes before the data */
};

invar_status inv_npy_open(const char *path, inv_npy **out);
/* The same from memory, which must outlive the array. */
invar_status inv_npy_view(const unsigned char *bytes, uint64_t size, const char *name,
                          inv_npy **out);
/* Plain numbers in memory, in C order, which must outlive the array: float32 or int64. */
invar_status inv_npy_wrap(const void *data, inv_dtype dtype, unsigned ndim,
                          const uint64_t *shape, const char *name, inv_npy **out);
void inv_npy_close(inv_npy *a); /* accepts NULL and half-built arrays */

/* The size of its file, and the SHA-256 of bytes from … from+bytes-1 of it. An array of
 * inv_npy_wrap has those of the file that np.save would write. */
uint64_t inv_npy_bytes(const inv_npy *a);
invar_status inv_npy_sha256(const inv_npy *a, uint64_t from, uint64_t bytes,
                            char hex[INV_SHA256_HEX]);

/* Elements first … first+count-1 in C order, as float. */
invar_status inv_npy_read(const inv_npy *a, uint64_t first, uint64_t count, float *out);
/* The same; then gives pages of a long file back, so that it does not fill the memory. */
invar_status inv_npy_read_once(const inv_npy *a, uint64_t first, uint64_t count,
                               float *out);
/* The same as int64; fails unless the array has integers. */
invar_status inv_npy_read_int(const inv_npy *a, uint64_t first, uint64_t count,
                              int64_t *out);

/* A C-ordered array that comes through a pipe: header first, then rows. */
typedef struct inv_npy_stream {
	const invar_context *ctx; /* asked on a signal whether to stop; may be NULL */
	int fd;
	const char *name; /* borrowed, for messages */
	inv_npy_header h;
	uint64_t left; /* elements not read yet */
} inv_npy_stream;

invar_status inv_npy_stream_open(const invar_context *ctx, int fd, const char *name,
                                 inv_npy_stream *out);
invar_status inv_npy_stream_read(inv_npy_stream *s, uint64_t count, float *out);
invar_status inv_npy_stream_end(inv_npy_stream *s); /* fails if anything follows */

/* The header that np.save writes; returns its length. */
enum { INV_NPY_HEADER = 512 };
size_t inv_npy_make_header(inv_dtype t, unsigned ndim, const uint64_t *shape,
                           char header[INV_NPY_HEADER]);

/*
 * Writing: version 1, little-endian, C order; float32, float16 or int64 (INV_I64), and
 * uint8 (INV_U8) at any place.
 */
typedef struct inv_npy_writer inv_npy_writer;

/* An atomic file, its disk space reserved at once. */
invar_status inv_npy_create(const char *path, inv_dtype dtype, unsigned ndim,
                            const uint64_t *shape, inv_npy_writer **out);
/* The same through an open descriptor that the caller keeps (a pipe). */
invar_status inv_npy_create_stream(int fd, const char *name, inv_dtype dtype, unsigned ndim,
                                   const uint64_t *shape, inv_npy_writer **out);
invar_status inv_npy_put(inv_npy_writer *w, const float *data, size_t count);
invar_status inv_npy_put_int(inv_npy_writer *w, const int64_t *data, size_t count);
/* Fails if fewer or more elements were put than the shape says. Frees w. */
invar_status inv_npy_commit(inv_npy_writer *w);
void inv_npy_abort(inv_npy_writer *w);

/*
 * An atomic file that is filled in any order, if necessary by several programs in turn:
 * `keep` continues PATH.part, which must be an array of this shape.
 */
invar_status inv_npy_take_up(const char *path, inv_dtype dtype, unsigned ndim,
                             const uint64_t *shape, bool keep, inv_npy_writer **out);
/* The same file, opened by inv_npy_take_up in another process; end with inv_npy_leave. */
invar_status inv_npy_join(const char *path, inv_dtype dtype, unsigned ndim,
                          const uint64_t *shape, inv_npy_writer **out);
/* Writes elements first … first+count-1 of such a file; from any thread. */
invar_status inv_npy_put_at(inv_npy_writer *w, uint64_t first, const float *data,
                            size_t count);
/* The same for an array of uint8. */
invar_status inv_npy_put_bytes_at(inv_npy_writer *w, uint64_t first, const uint8_t *data,
                                  size_t count);
invar_status inv_npy_sync(inv_npy_writer *w);
/* Cuts such a file of `shape` after its first `rows` rows. */
invar_status inv_npy_shorten(inv_npy_writer *w, unsigned ndim, const uint64_t *shape,
                             uint64_t rows);
void inv_npy_leave(inv_npy_writer *w); /* frees w; the part file stays */

/* ---- Files or pipes --------------------------------------------------------------- */

/* An array that is a file or comes through standard input ("-"), read from front to back.
 */
typedef struct inv_npy_source {
	const char *name; /* for messages */
	const inv_npy_header *h;
	inv_npy *file; /* NULL: the stream */
	inv_npy_stream stream;
	uint64_t done; /* elements */
} inv_npy_source;

/* ctx is asked on a signal whether to stop. h points into the struct, which stays put. */
invar_status inv_npy_source_open(const invar_context *ctx, const char *path,
                                 inv_npy_source *out);
/* The next `count` elements in C order. */
invar_status inv_npy_source_read(inv_npy_source *in, uint64_t count, float *out);
invar_status inv_npy_source_end(inv_npy_source *in); /* fails if a pipe has more */
void inv_npy_source_close(inv_npy_source *in);

/* inv_npy_create, or for "-" the same on standard output. */
invar_status inv_npy_create_target(const char *path, inv_dtype dtype, unsigned ndim,
                                   const uint64_t *shape, inv_npy_writer **out);

#endif
