/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - creating a context, detecting the CPU, calling the hooks. */
#include "base/context.h"

#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/memory.h"
#include "base/processes.h"

enum { LINE = 1024 };

static unsigned detect_cpu(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	/* __builtin_cpu_supports knows the word f16c in GCC but not in clang 14. */
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
	    !__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C))
		return INV_CPU_LIBRARIES;
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
	    !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512vnni"))
		return INV_CPU_LIBRARIES | INV_CPU_AVX2;
	return INV_CPU_LIBRARIES | INV_CPU_AVX2 | INV_CPU_AVX512 |
	       (__builtin_cpu_supports("avx512bf16") ? INV_CPU_BFLOAT16 : 0);
#elif defined(__aarch64__)
	return INV_CPU_LIBRARIES | INV_CPU_NEON;
#else
	return INV_CPU_LIBRARIES;
#endif
}

/* The instruction sets that may be named, each with what it allows. */
static const struct {
	const char *name;
	unsigned allows;
} caps[] = {
	{"ref", 0},
#if defined(__x86_64__)
	{"avx2", ~(unsigned)(INV_CPU_AVX512 | INV_CPU_BFLOAT16)},
	{"avx512", ~0u},
#define CAPS "ref, avx2 or avx512"
#elif defined(__aarch64__)
	{"neon", ~0u},
#define CAPS "ref or neon"
#else
#define CAPS "ref"
#endif
};

invar_status invar_context_new(unsigned threads, const invar_hooks *hooks,
                               invar_context **out)
{
	const char *cap = getenv("INVAR_CPU");
	unsigned cpu = detect_cpu();
	size_t i = 0;
	invar_context *ctx;

	*out = NULL;
	if (threads > INV_MAX_THREADS)
		return inv_fail(INVAR_E_USE, "%u threads are more than the %d allowed", threads,
		                INV_MAX_THREADS);
	if (cap && *cap) {
		while (i < sizeof caps / sizeof *caps && strcmp(cap, caps[i].name) != 0)
			i++;
		if (i == sizeof caps / sizeof *caps)
			return inv_fail(INVAR_E_USE, "INVAR_CPU is '%s' but must be " CAPS, cap);
		cpu &= caps[i].allows;
	}
	INV_TRY(inv_new(&ctx));
	ctx->threads = threads ? threads : (unsigned)omp_get_num_procs();
	ctx->asked = threads;
	ctx->cpu = cpu;
	if (hooks)
		memcpy(&ctx->hooks, hooks,
		       hooks->size < sizeof *hooks ? hooks->size : sizeof *hooks);
	*out = ctx;
	return INVAR_OK;
}

void invar_context_free(invar_context *ctx)
{
	inv_free(ctx);
}

const char *inv_context_cpu(const invar_context *ctx)
{
	if (ctx->cpu & INV_CPU_AVX512)
		return "avx512";
	if (ctx->cpu & INV_CPU_NEON)
		return "neon";
	return ctx->cpu & INV_CPU_AVX2 ? "avx2" : ctx->cpu ? "portable" : "ref";
}

void inv_log(const invar_context *ctx, int level, const char *format, ...)
{
	const char *prefix = ctx->hooks.option_prefix;
	char line[LINE];
	va_list args;

	if (!ctx->hooks.log)
		return;
	va_start(args, format);
	inv_spell(prefix ? prefix : "", format, args, line, sizeof line);
	va_end(args);
	ctx->hooks.log(ctx->hooks.user, level, line);
}

invar_status inv_progress(const invar_context *ctx, const char *stage, uint64_t done,
                          uint64_t total)
{
	if (ctx->hooks.progress && ctx->hooks.progress(ctx->hooks.user, stage, done, total))
		return inv_fail(INVAR_E_CANCELLED, "interrupted");
	return inv_processes_check(ctx->processes);
}
