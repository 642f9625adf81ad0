/* SPDX-License-Identifier: Apache-2.0 */
/* golden_spec.h - the SPEC that a file of Kornia's parameters was drawn with. */
#ifndef INV_GOLDEN_SPEC_H
#define INV_GOLDEN_SPEC_H

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static void golden_stage_spec(const json_t *stage, char *out, size_t capacity)
{
	static const char *const names[][2] = {{"RandomRotation", "rotation"},
	                                       {"RandomAffine", "affine"},
	                                       {"RandomResizedCrop", "crop"}};
	const char *class_name = json_string_value(json_object_get(stage, "class"));
	const json_t *flags = json_object_get(stage, "flags");
	const json_t *size = json_object_get(flags, "size");
	size_t fill = 0;

	for (size_t i = 0; i < 3; i++)
		if (strcmp(class_name, names[i][0]) == 0)
			fill += (size_t)snprintf(out + fill, capacity - fill, "%s", names[i][1]);
	fill += (size_t)snprintf(
		out + fill, capacity - fill, ":align_corners=%s,p=%g,same_on_batch=%d",
		json_is_true(json_object_get(flags, "align_corners")) ? "true" : "false",
		json_number_value(json_object_get(stage, "p")),
		json_is_true(json_object_get(stage, "same_on_batch")));
	if (size)
		snprintf(out + fill, capacity - fill, ",mode=%s,size=%dx%d",
		         json_string_value(json_object_get(flags, "cropping_mode")),
		         (int)json_integer_value(json_array_get(size, 0)),
		         (int)json_integer_value(json_array_get(size, 1)));
}

static void golden_spec(const json_t *params, char *out, size_t size)
{
	const json_t *stages = json_object_get(params, "stages");

	out[0] = '\0';
	for (size_t i = 0; i < json_array_size(stages); i++) {
		if (i)
			strncat(out, "+", size - strlen(out) - 1);
		golden_stage_spec(json_array_get(stages, i), out + strlen(out), size - strlen(out));
	}
}

#endif
