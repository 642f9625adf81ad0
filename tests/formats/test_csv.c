/* SPDX-License-Identifier: Apache-2.0 */
/* test_csv.c - records of RFC 4180, line numbers, and what is refused. */
#include <stdlib.h>
#include <string.h>

#include "formats/csv.h"
#include "support.h"

/* The records as "a|b;c|d;", or NULL if one is refused. */
static const char *read_all(const char *bytes, size_t size)
{
	static char out[256];
	char *copy = malloc(size ? size : 1); /* so that the sanitizer guards its end */
	bool more = true;
	invar_status st;
	inv_csv *c;

	memcpy(copy, bytes, size);
	*out = '\0';
	assert_int_equal(inv_csv_open(copy, size, "a.csv", &c), INVAR_OK);
	while ((st = inv_csv_next(c, &more)) == INVAR_OK && more)
		for (size_t i = 0; i < c->count; i++) {
			strcat(out, c->field[i]);
			strcat(out, i + 1 < c->count ? "|" : ";");
		}
	inv_csv_close(c);
	free(copy);
	return st == INVAR_OK ? out : NULL;
}

static void gives(const char *text, const char *want)
{
	const char *got = read_all(text, strlen(text));

	if (!got)
		fail_msg("%s", invar_last_error());
	assert_string_equal(got, want);
}

static void refused(const char *text, const char *why)
{
	assert_null(read_all(text, strlen(text)));
	test_assert_error(why);
}

static void records_are_those_of_rfc_4180(void **state)
{
	(void)state;
	gives("", "");
	gives("a,b\nc,d\n", "a|b;c|d;");
	gives("a,b\r\nc,d", "a|b;c|d;");
	gives("a\rb\r", "a;b;");
	gives("\xef\xbb\xbf"
	      "a,b\n",
	      "a|b;");
	gives("\n\na\n\n\r\nb\n\n", "a;b;");
	gives("a,,\n,\n", "a||;|;");
	gives("a,", "a|;");
	gives("\"a,b\",\"c\"\"d\"\"\"\n", "a,b|c\"d\";");
	gives("\"a\nb\r\nc\",d\n", "a\nb\r\nc|d;");
	gives("\"\",\"\"", "|;");
	gives(" a , b\n", " a | b;");
}

static void faults_are_named_by_line(void **state)
{
	(void)state;
	refused("a\n\"b\n", "a.csv: line 2 has a quoted field that does not end");
	refused("a\nb\"c\n", "a.csv: line 2 has a quote inside a field");
	refused("\"a\n\n\"x\n", "a.csv: line 3 has text after the end of a quoted field");
	assert_null(read_all("a\n\0b", 4));
	test_assert_error("a.csv: line 2 has a NUL byte");
}

static void a_record_is_bounded(void **state)
{
	enum { SIZE = 3 << 20 };
	char *text = malloc(SIZE);
	inv_csv *c;
	bool more;

	(void)state;
	memset(text, 'x', SIZE);
	assert_int_equal(inv_csv_open(text, SIZE, "a.csv", &c), INVAR_OK);
	assert_int_equal(inv_csv_next(c, &more), INVAR_E_FORMAT);
	test_assert_error("a.csv: line 1 begins a record of more than 1 MB");
	inv_csv_close(c);
	memset(text, ',', SIZE);
	assert_int_equal(inv_csv_open(text, SIZE, "a.csv", &c), INVAR_OK);
	assert_int_equal(inv_csv_next(c, &more), INVAR_E_FORMAT);
	test_assert_error("a.csv: line 1 has more than 1024 fields");
	inv_csv_close(c);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_those_of_rfc_4180),
		cmocka_unit_test(faults_are_named_by_line),
		cmocka_unit_test(a_record_is_bounded),
	};

	return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
