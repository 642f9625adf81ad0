/* SPDX-License-Identifier: Apache-2.0 */
/* rank_calls.c - rank 0 names a service, and the other ranks serve it. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/processes.h"
#include "base/processes_inside.h"

invar_status inv_call(const invar_context *ctx, const char *service)
{
	inv_processes *p = inv_ranks_of(ctx);
	inv_call_header h = {.threads = ctx->asked, .cpu = ctx->cpu};
	invar_status st;

	if (!p)
		return INVAR_OK;
	snprintf(h.name, sizeof h.name, "%s", service);
	st = inv_ranks_broadcast(p, 0, &h, sizeof h);
	return st == INVAR_OK ? inv_agree(ctx, INVAR_OK) : st;
}

/* The context of a service, with the threads and kernels that rank 0 asks for. */
static invar_status find_context(inv_processes *p, const inv_call_header *h,
                                 invar_context **out)
{
	size_t i = 0;
	invar_status st;

	while (i < INV_MAX_RANK_CONTEXTS && p->context[i] && p->context[i]->asked != h->threads)
		i++;
	*out = p->context[0];
	if (i == INV_MAX_RANK_CONTEXTS)
		return inv_fail(INVAR_E_USE, "rank 0 asks for too many numbers of threads");
	if (!p->context[i]) {
		if ((st = invar_context_new(h->threads, NULL, &p->context[i])) != INVAR_OK)
			return st;
		inv_context_share(p->context[i], p);
	}
	*out = p->context[i];
	if (h->cpu & ~(*out)->cpu)
		return inv_fail(INVAR_E_MISMATCH,
		                "this machine lacks instructions that rank 0 uses; set "
		                "INVAR_CPU=ref for all ranks, or choose other machines");
	(*out)->cpu = h->cpu;
	return INVAR_OK;
}

static size_t find_service(const inv_service *const *services, const char *name)
{
	size_t i = 0;

	while (services[i] && strcmp(services[i]->name, name) != 0)
		i++;
	return i;
}

void **inv_service_kept(const invar_context *ctx)
{
	return &ctx->processes->kept[ctx->processes->serving];
}

/* A context to agree with even if none could be made for the call. */
static invar_status enter(inv_processes *p, const inv_call_header *h,
                          const inv_service *const *services)
{
	const inv_service *s = services[p->serving = find_service(services, h->name)];
	invar_context stand_in = {.processes = p}, *ctx;
	invar_status st = find_context(p, h, &ctx);

	if (st == INVAR_OK && !s)
		st = inv_fail(INVAR_E_MISMATCH,
		              "has no service %.40s; all ranks must run the same version", h->name);
	st = inv_agree(&stand_in, st);
	if (st == INVAR_OK)
		s->serve(ctx);
	return p->broken ? INVAR_E_IO : INVAR_OK;
}

invar_status inv_serve(inv_processes *p, const inv_service *const *services)
{
	inv_call_header h = {.name = ""};
	invar_status st;

	assert(find_service(services, "") < INV_MAX_SERVICES); /* the end of the list */
	do {
		if ((st = inv_ranks_broadcast(p, 0, &h, sizeof h)) != INVAR_OK)
			return st;
		h.name[INV_SERVICE_NAME - 1] = '\0';
		p->result = h.result;
		st = *h.name ? enter(p, &h, services) : INVAR_OK;
	} while (*h.name && st == INVAR_OK);
	for (size_t i = 0; services[i]; i++)
		if (services[i]->forget)
			services[i]->forget(p->kept[i]);
	return st;
}

int inv_processes_result(const inv_processes *p)
{
	return p->result;
}
