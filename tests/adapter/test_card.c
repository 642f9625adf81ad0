/* SPDX-License-Identifier: Apache-2.0 */
/* test_card.c - model cards, and hostile names in them. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/export/card_text.h"

static char *written(void (*write)(FILE *out, const char *text), const char *text)
{
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	write(f, text);
	fclose(f);
	return out;
}

static void names_cannot_leave_their_place(void **state)
{
	static const struct {
		const char *text, *yaml, *markdown;
	} cases[] = {
		{"resnet18", "\"resnet18\"", "resnet18"},
		{"a\"\nlicense: mit", "\"a\\\"?license: mit\"", "a\"?license\\: mit"},
		{"\\", "\"\\\\\"", "\\\\"},
		{"<script>", "\"<script>\"", "\\<script\\>"},
		{"[x](javascript:1)", "\"[x](javascript:1)\"", "\\[x\\]\\(javascript\\:1\\)"},
		{"a | b `c`", "\"a | b `c`\"", "a \\| b \\`c\\`"},
		{"é…\xf0\x9f\x98\x80", "\"é…\xf0\x9f\x98\x80\"", "é…\xf0\x9f\x98\x80"},
		{"\xe2\x80\xae"
	     "evil",
	     "\"?evil\"", "?evil"}, /* writes from right to left */
		{"a\xe2\x80\xa8"
	     "b",
	     "\"a?b\"", "a?b"}, /* a line separator */
		{"\xff\xc3"
	     "a",
	     "\"??a\"", "??a"},                        /* no UTF-8 */
		{"\xc0\xaf\xed\xa0\x80", "\"???\"", NULL}, /* overlong, a surrogate */
		{"\x7f\x1b[31m", "\"??[31m\"", "??\\[31m"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *yaml = written(inv_card_yaml, cases[i].text);
		char *markdown = written(inv_card_markdown, cases[i].text);

		if (cases[i].markdown) {
			assert_string_equal(yaml, cases[i].yaml);
			assert_string_equal(markdown, cases[i].markdown);
		}
		for (const char *s = yaml; *s; s++)
			assert_true((unsigned char)*s >= 0x20);
		free(yaml);
		free(markdown);
	}
}

static void long_names_end(void **state)
{
	char text[2000], *out;

	(void)state;
	memset(text, 'a', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	out = written(inv_card_yaml, text);
	assert_int_equal(strlen(out), 300 + strlen("\"…\""));
	free(out);
}

static void a_card_says_what_the_adapter_is(void **state)
{
	const float W[6] = {0}, b[3] = {0};
	invar_options *o = test_options("export", "format", "card", "license", "mit", "title",
	                                "# A *title*", NULL);
	invar_adapter *e;
	char *text;

	(void)state;
	assert_int_equal(invar_adapter_new(test_ctx, 2, 3, 2, 1, W, b, W, b, &e), INVAR_OK);
	assert_int_equal(invar_adapter_export(e, NULL, o, test_path("README.md")), INVAR_OK);
	text = test_read(test_path("README.md"), NULL);
	assert_ptr_equal(strstr(text, "---\nlibrary_name: invar\nlicense: \"mit\"\n"), text);
	assert_non_null(strstr(text, "\n# \\# A \\*title\\*\n"));
	assert_non_null(strstr(text, "E is an MLP (2, 3, 2) with ReLU, added to its input"));
	assert_non_null(strstr(text, "None are recorded in this file."));
	assert_non_null(strstr(text, "codes = features + E(features)"));
	assert_null(strstr(text, "model-index"));
	free(text);
	test_set(o, "dtype", "float16", NULL); /* of the other format */
	assert_int_equal(invar_adapter_export(e, NULL, o, test_path("README.md")), INVAR_E_USE);
	invar_adapter_close(e);
	invar_options_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_cannot_leave_their_place),
		cmocka_unit_test(long_names_end),
		cmocka_unit_test(a_card_says_what_the_adapter_is),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
