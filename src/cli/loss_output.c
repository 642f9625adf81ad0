/* loss_output.c - gradients as files, the value and its terms as text or JSON. */
#include "cli/loss_output.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/files.h"
#include "cli/outputs.h"

static char *gradient_path(const char *folder, const invar_named_array *g)
{
	char *path;

	return asprintf(&path, "%s/%s.npy", folder, g->name) < 0 ? NULL : path;
}

static invar_status check_gradient(inv_session *s, const inv_grad_folder *to,
                                   const invar_named_array *g)
{
	char *path = gradient_path(to->path, g);
	invar_status st = path ? inv_check_output(s, &(inv_output){.option = "--grad",
	                                                           .path = path,
	                                                           .kind = INV_OUTPUT_NPY,
	                                                           .force = to->force})
	                       : inv_no_memory(s);

	free(path);
	return st;
}

static invar_status write_gradient(inv_session *s, const char *folder,
                                   const invar_named_array *g)
{
	char *path = gradient_path(folder, g);
	invar_status st =
		path ? invar_array_write(s->ctx, path, g->data, g->rank, g->shape, INVAR_FLOAT32)
			 : inv_no_memory(s);

	free(path);
	return st;
}

/* All names are looked at before the first file is written. */
invar_status inv_loss_write(inv_session *s, const inv_grad_folder *to,
                            const invar_loss_result *r)
{
	invar_status st = inv_folder_make(s, to->path);

	for (size_t i = 0; i < r->grad_count && st == INVAR_OK; i++)
		st = check_gradient(s, to, &r->grads[i]);
	for (size_t i = 0; i < r->grad_count && st == INVAR_OK; i++)
		st = write_gradient(s, to->path, &r->grads[i]);
	return st;
}

invar_status inv_loss_print(inv_session *s, const invar_loss_result *r)
{
	double value = r->value + 0.0; /* no minus before a zero */
	json_t *terms;

	if (!s->common->json) {
		printf("value  %.9g\n", value);
		for (size_t i = 0; i < r->term_count; i++)
			printf("%s  %.9g\n", r->terms[i].name, r->terms[i].value);
		return INVAR_OK;
	}
	terms = json_object();
	for (size_t i = 0; i < r->term_count; i++)
		json_object_set_new(terms, r->terms[i].name, json_real(r->terms[i].value));
	return inv_print_json(s, json_pack("{s:f, s:o}", "value", value, "terms", terms));
}
