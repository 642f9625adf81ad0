/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - the context: number of threads, hooks, CPU features. */
#ifndef INV_CONTEXT_H
#define INV_CONTEXT_H

#include <stdbool.h>

#include "base/status.h"

/* What may be used; 0 (plain C only) with INVAR_CPU=ref. */
enum {
	INV_CPU_AVX2 = 1,      /* AVX2, FMA and F16C together */
	INV_CPU_LIBRARIES = 2, /* OpenBLAS, which chooses for itself */
	INV_CPU_AVX512 = 4,    /* AVX-512 with VNNI, beside AVX2; changes no result */
	INV_CPU_NEON = 8,      /* of 64-bit ARM; with the bits of AVX2 */
	INV_CPU_BFLOAT16 = 16, /* AVX-512 BF16, beside AVX-512; changes no result */
	/* Products of our own, by panels: */
	INV_CPU_PANELS = INV_CPU_AVX2 | INV_CPU_NEON
};

enum { INV_MAX_THREADS = 1024 };

typedef struct inv_processes inv_processes; /* processes.h */

struct invar_context {
	unsigned threads;
	unsigned cpu;
	invar_hooks hooks;
	unsigned asked;           /* threads as the caller asked; 0: all cores */
	inv_processes *processes; /* NULL: a single one; see processes.h */
};

/* "ref", "portable", "avx2", "avx512", "neon" */
const char *inv_context_cpu(const invar_context *ctx);

/* An @ in the format marks the name of an option, as in inv_fail. */
void inv_log(const invar_context *ctx, int level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* INVAR_E_CANCELLED if the caller asks to stop; fails if another process has failed. */
invar_status inv_progress(const invar_context *ctx, const char *stage, uint64_t done,
                          uint64_t total);

#endif
