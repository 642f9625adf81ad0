/* SPDX-License-Identifier: Apache-2.0 */
/* test_no_memory.c - whichever allocation fails gives a message and no leak. */
#include <fcntl.h>
#include <unistd.h>

#include "failing.h"
#include "formats/idx.h"
#include "formats/npy.h"
#include "formats/pixels.h"
#include "formats/safetensors.h"
#include "formats/weights.h"
#include "support.h"

static invar_status open_npy(void *user)
{
	inv_npy *a;
	invar_status st = inv_npy_open(test_source("tests/formats/data/f4_le_c.npy"), &a);

	(void)user;
	assert_true((st == INVAR_OK) == (a != NULL));
	inv_npy_close(a);
	return st;
}

static invar_status stream_npy(void *user)
{
	int fd = open(test_source("tests/formats/data/f4_le_c.npy"), O_RDONLY);
	inv_npy_stream s;
	float out[12];
	invar_status st = inv_npy_stream_open(NULL, fd, "-", &s);

	(void)user;
	if (st == INVAR_OK)
		st = inv_npy_stream_read(&s, 12, out);
	close(fd);
	return st;
}

static invar_status write_npy(void *user)
{
	const uint64_t shape[1] = {3};
	const float data[3] = {1, 2, 3};

	(void)user;
	return invar_array_write(NULL, test_path("a.npy"), data, 1, shape, INVAR_FLOAT16);
}

static invar_status open_safetensors(void *user)
{
	inv_safetensors *f;
	invar_status st =
		inv_safetensors_open(test_source("tests/formats/data/mixed.safetensors"), &f);

	(void)user;
	assert_true((st == INVAR_OK) == (f != NULL));
	inv_safetensors_close(f);
	return st;
}

static invar_status save_safetensors(void *user)
{
	const float w[4] = {1, 2, 3, 4};
	const inv_tensor_out tensors[] = {{"w", 2, {2, 2}, w}, {"b", 1, {4}, w}};
	const inv_metadata metadata[] = {{"format", "pt"}, {"a", "b"}};

	(void)user;
	return inv_safetensors_save(test_path("a.safetensors"), tensors, 2, metadata, 2);
}

typedef invar_status decode_fn(const void *bytes, uint64_t size, const char *name,
                               inv_image *out);

/* Only our own allocations fail; those of libjpeg, libspng, libtiff and libwebp are
 * theirs. */
static invar_status decode_images(void *user)
{
	static const struct {
		const char *name;
		decode_fn *decode;
	} files[] = {{"cmyk.jpg", inv_jpeg_decode},        {"exif6.jpg", inv_jpeg_decode},
	             {"palette4.png", inv_png_decode},     {"turned.png", inv_png_decode},
	             {"plane_tiles.tif", inv_tiff_decode}, {"turned6.tif", inv_tiff_decode},
	             {"turned.webp", inv_webp_decode}};
	inv_image image = {0};
	invar_status st = INVAR_OK;

	(void)user;
	for (size_t i = 0; i < sizeof files / sizeof *files && st == INVAR_OK; i++) {
		inv_map map;

		assert_int_equal(
			inv_map_open(test_source("tests/formats/images/%s", files[i].name), &map),
			INVAR_OK);
		st = files[i].decode(map.data, map.size, files[i].name, &image);
		inv_map_close(&map);
		inv_image_clear(&image);
	}
	return st;
}

static invar_status encode_png(void *user)
{
	static const uint8_t rgb[12];
	void *bytes;
	size_t size;
	invar_status st = inv_png_encode(rgb, 2, 2, &bytes, &size);

	(void)user;
	assert_true((st == INVAR_OK) == (bytes != NULL));
	invar_free(bytes);
	return st;
}

static invar_status open_idx(void *user)
{
	inv_idx *x;
	invar_status st = inv_idx_open(test_source("fuzz/corpus/idx/images.gz"), &x);

	(void)user;
	assert_true((st == INVAR_OK) == (x != NULL));
	inv_idx_close(x);
	return st;
}

static invar_status convert_weights(void *user)
{
	inv_weights *w;
	invar_status st = inv_weights_open(
		NULL, test_source("tests/formats/torch/%s", (char *)user), NULL, &w);

	assert_true((st == INVAR_OK) == (w != NULL));
	if (st == INVAR_OK)
		st = inv_weights_save(w, test_path("b.safetensors"));
	inv_weights_close(w);
	return st;
}

static void converting_weights_survives(void **state)
{
	static char *const names[] = {"zip.pth", "legacy.pth", "deflated.pth", "nested.pth",
	                              "script.pt"};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_true(test_each_allocation_fails(convert_weights, names[i]) >= 10);
	assert_false(test_has_part(test_folder()));
}

static void images_survive(void **state)
{
	(void)state;
	assert_true(test_each_allocation_fails(decode_images, NULL) >= 6);
	assert_true(test_each_allocation_fails(encode_png, NULL) >= 1);
	assert_true(test_each_allocation_fails(open_idx, NULL) >= 3);
}

static void opening_npy_survives(void **state)
{
	(void)state;
	assert_true(test_each_allocation_fails(open_npy, NULL) >= 2);
}

static void streaming_npy_survives(void **state)
{
	(void)state;
	assert_true(test_each_allocation_fails(stream_npy, NULL) >= 1);
}

static void writing_npy_survives(void **state)
{
	(void)state;
	assert_true(test_each_allocation_fails(write_npy, NULL) >= 4);
	assert_false(test_has_part(test_folder()));
}

static void opening_safetensors_survives(void **state)
{
	(void)state;
	assert_true(test_each_allocation_fails(open_safetensors, NULL) >= 10);
}

static void saving_safetensors_survives(void **state)
{
	(void)state;
	assert_true(test_each_allocation_fails(save_safetensors, NULL) >= 10);
	assert_false(test_has_part(test_folder()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_survive),
		cmocka_unit_test(opening_npy_survives),
		cmocka_unit_test(streaming_npy_survives),
		cmocka_unit_test(writing_npy_survives),
		cmocka_unit_test(opening_safetensors_survives),
		cmocka_unit_test(saving_safetensors_survives),
		cmocka_unit_test(converting_weights_survives),
	};

	return cmocka_run_group_tests_name("no_memory", tests, NULL, NULL);
}
