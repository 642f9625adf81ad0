/* SPDX-License-Identifier: Apache-2.0 */
/* test_sha256.c - the known answers of FIPS 180, for buffers and files. */
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "support.h"

static const struct {
	const char *text, *hex;
} known[] = {
	{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void buffers_have_their_known_hash(void **state)
{
	char hex[INV_SHA256_HEX];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(inv_sha256(known[i].text, strlen(known[i].text), hex), INVAR_OK);
		assert_string_equal(hex, known[i].hex);
	}
}

static void files_have_the_hash_of_their_bytes(void **state)
{
	char hex[INV_SHA256_HEX], *million = malloc(1000000);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		test_write(test_path("f"), known[i].text, strlen(known[i].text));
		assert_int_equal(inv_sha256_file(test_path("f"), hex), INVAR_OK);
		assert_string_equal(hex, known[i].hex);
	}
	memset(million, 'a', 1000000);
	test_write(test_path("f"), million, 1000000);
	assert_int_equal(inv_sha256_file(test_path("f"), hex), INVAR_OK);
	assert_string_equal(hex,
	                    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
}

static void a_missing_file_is_named(void **state)
{
	char hex[INV_SHA256_HEX];

	(void)state;
	assert_int_equal(inv_sha256_file(test_path("absent"), hex), INVAR_E_IO);
	test_assert_error("absent: cannot open");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers_have_their_known_hash),
		cmocka_unit_test(files_have_the_hash_of_their_bytes),
		cmocka_unit_test(a_missing_file_is_named),
	};

	return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
