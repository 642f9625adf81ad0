/* loss_output.c - gradients as files, the value and its terms as text or JSON. */
#include "cli/loss_output.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/files.h"

invar_status inv_loss_write(inv_session *s, const char *folder, const invar_loss_result *r)
{
	invar_status st = inv_folder_make(s, folder);

	for (size_t i = 0; i < r->grad_count && st == INVAR_OK; i++) {
		const invar_named_array *g = &r->grads[i];
		char *name, *path = NULL;

		if (asprintf(&name, "%s.npy", g->name) < 0)
			return inv_no_memory(s);
		path = inv_path(folder, name);
		free(name);
		st = path ? invar_array_write(s->ctx, path, g->data, g->rank, g->shape,
		                              INVAR_FLOAT32)
		          : inv_no_memory(s);
		free(path);
	}
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
