/* SPDX-License-Identifier: Apache-2.0 */
/* loss_output.c - gradients as files, the value and its terms as text or JSON. */
#include "cli/loss_output.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/command_files.h"
#include "cli/outputs.h"

static char *gradient_path(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s.npy", folder, name) < 0 ? NULL : path;
}

static invar_status check_gradient(inv_session *s, const inv_grad_folder *to,
                                   const char *name)
{
	char *path = gradient_path(to->path, name);
	invar_status st = path ? inv_check_output(s, &(inv_output){.option = "--grad",
	                                                           .path = path,
	                                                           .kind = &inv_kind_npy,
	                                                           .force = to->force})
	                       : inv_no_memory();

	free(path);
	return st;
}

static invar_status write_array(inv_session *s, const char *folder, const char *name,
                                const float *data, unsigned rank, const uint64_t *shape)
{
	char *path = gradient_path(folder, name);
	invar_status st =
		path ? invar_array_write(s->ctx, path, data, rank, shape, INVAR_FLOAT32)
			 : inv_no_memory();

	free(path);
	return st;
}

invar_status inv_gradient_write(inv_session *s, const inv_grad_folder *to, const char *name,
                                const float *data, unsigned rank, const uint64_t *shape)
{
	invar_status st = inv_folder_make(to->path);

	if (st == INVAR_OK)
		st = check_gradient(s, to, name);
	return st == INVAR_OK ? write_array(s, to->path, name, data, rank, shape) : st;
}

/* All names are looked at before the first file is written. */
invar_status inv_loss_write(inv_session *s, const inv_grad_folder *to,
                            const inv_loss_result *r)
{
	INV_TRY(inv_folder_make(to->path));
	for (size_t i = 0; i < r->grad_count; i++)
		INV_TRY(check_gradient(s, to, r->grads[i].name));
	for (size_t i = 0; i < r->grad_count; i++)
		INV_TRY(write_array(s, to->path, r->grads[i].name, r->grads[i].data,
		                    r->grads[i].rank, r->grads[i].shape));
	return INVAR_OK;
}

static invar_status print_value(inv_session *s, double value, json_t *terms)
{
	value += 0.0; /* no minus before a zero */
	if (s->common->json)
		return inv_print_json(json_pack("{s:f, s:o}", "value", value, "terms", terms));
	json_decref(terms);
	printf("value  %.9g\n", value);
	return INVAR_OK;
}

invar_status inv_value_print(inv_session *s, double value)
{
	return print_value(s, value, json_object());
}

invar_status inv_loss_print(inv_session *s, const inv_loss_result *r)
{
	json_t *terms = json_object();

	for (size_t i = 0; i < r->term_count; i++)
		json_object_set_new(terms, r->terms[i].name, json_real(r->terms[i].value));
	INV_TRY(print_value(s, r->value, terms));
	for (size_t i = 0; i < r->term_count && !s->common->json; i++)
		printf("%s  %.9g\n", r->terms[i].name, r->terms[i].value);
	return INVAR_OK;
}
