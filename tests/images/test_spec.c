/* SPDX-License-Identifier: Apache-2.0 */
/* test_spec.c - valid SPECs, their canonical form, and one message per fault. */
#include "support.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "images/spec.h"

static inv_spec spec;

static void assert_canonical(const char *text, const char *want)
{
	char once[INV_SPEC_CANONICAL];

	if (inv_spec_parse(text, &spec) != INVAR_OK)
		fail_msg("'%s': %s", text, invar_last_error());
	assert_string_equal(spec.canonical, want);
	strcpy(once, spec.canonical);
	assert_int_equal(inv_spec_parse(once, &spec), INVAR_OK);
	assert_string_equal(spec.canonical, once);
}

static void one_form_for_one_meaning(void **state)
{
	(void)state;
	assert_canonical("rotation", "rotation");
	assert_canonical("rotation:degrees=-180..180", "rotation");
	assert_canonical(" rotation : degrees = 180 , p = 1 ", "rotation");
	assert_canonical("rotation:degrees=90..90", "rotation:degrees=90..90");
	assert_canonical("rotation:degrees=45", "rotation:degrees=-45..45");
	assert_canonical("rotation:degrees=-45", "rotation:degrees=-45..45");
	assert_canonical("rotation:p=.5,degrees=10", "rotation:degrees=-10..10,p=0.5");
	assert_canonical("affine:shear=-15..15,translate=0.2,scale=0.8..1.2", "affine");
	assert_canonical("affine:scale=0.9", "affine:scale=0.9");
	assert_canonical("affine:align_corners=true,fill=reflect",
	                 "affine:align_corners=true,fill=reflect");
	assert_canonical("crop:mode=slice,size=64x48", "crop:size=64x48");
	assert_canonical("crop:size=96", "crop:size=96x96");
	assert_canonical("noise:std=1.0", "noise");
	assert_canonical("2*rotation|2*noise", "rotation|noise");
	assert_canonical("1e3*id|0.10*noise", "1000*id|0.1*noise");
	assert_canonical("1*id|2*noise", "id|2*noise");
	assert_canonical("rotation+crop | id", "rotation+crop|id");
	assert_canonical("rotation:circle=1,corners=exact,same_on_batch=1",
	                 "rotation:corners=exact,circle=1,same_on_batch=1");
	assert_canonical("rotation:inside=0", "rotation");
	assert_canonical("affine:inside=1,degrees=30", "affine:inside=1");
	assert_canonical("blur:sigma=0.1..0.30000000000000004",
	                 "blur:sigma=0.1..0.30000000000000004");
}

static void columns_have_the_names_of_the_design(void **state)
{
	static const struct {
		const char *text, *columns;
	} cases[] = {
		{"rotation", "angle"},
		{"affine", "angle,scale,tx,ty,shear_x,shear_y"},
		{"crop", "x0,y0,w,h"},
		{"noise", "mean,std"},
		{"id", ""},
		{"rotation:p=0.5", "on,angle"},
		{"rotation+crop", "0.angle,1.x0,1.y0,1.w,1.h"},
		{"rotation|id", "chain,0.angle"},
		{"id|rotation:p=0.1+noise", "chain,1.on,1.angle,2.mean,2.std"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char all[256] = "", name[32];

		assert_int_equal(inv_spec_parse(cases[i].text, &spec), INVAR_OK);
		for (size_t k = 0; k < spec.columns; k++) {
			inv_spec_column(&spec, k, name);
			strcat(strcat(all, k ? "," : ""), name);
		}
		assert_string_equal(all, cases[i].columns);
	}
}

static void each_fault_has_a_sentence(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{"", "the augmentation has an operation without a name"},
		{"rotatoin",
	     "there is no augmentation 'rotatoin'; choose from rotation, affine, noise, crop, "
	     "flip, blur, brightness, contrast, jpeg or id; did you mean rotation?"},
		{"rotation+", "the augmentation has an operation without a name"},
		{"rotation||id", "the augmentation has an operation without a name"},
		{"rotation:", "the augmentation 'rotation' has '' where key=value is expected"},
		{"rotation:90", "the augmentation 'rotation' has '90' where key=value is expected"},
		{"noise:sdt=1", "the augmentation 'noise' has no key 'sdt'; it has mean, std, p or "
	                    "same_on_batch; did you mean std?"},
		{"rotation:degrees=x", "the augmentation 'rotation' needs a number (meaning -n..n) "
	                           "or a range a..b for degrees, not 'x'"},
		{"rotation:degrees=10..", "the augmentation 'rotation' needs a number (meaning "
	                              "-n..n) or a range a..b for degrees, not '10..'"},
		{"rotation:degrees=nan", "the augmentation 'rotation' needs a number (meaning "
	                             "-n..n) or a range a..b for degrees, not 'nan'"},
		{"rotation:degrees=0x10", "the augmentation 'rotation' needs a number (meaning "
	                              "-n..n) or a range a..b for degrees, not '0x10'"},
		{"rotation:degrees=10..-10",
	     "the augmentation 'rotation' has degrees=10..-10, but the first number of a range "
	     "must not be the larger one"},
		{"rotation:degrees=9999", "the augmentation 'rotation' has degrees=9999, which "
	                              "must be between -3600 and 3600"},
		{"rotation:p=1.5",
	     "the augmentation 'rotation' has p=1.5, which must be between 0 and 1"},
		{"rotation:p=0..1", "the augmentation 'rotation' needs a number for p, not '0..1'"},
		{"rotation:p=1,p=1", "the augmentation 'rotation' has p twice"},
		{"rotation:fill=zeroes", "the augmentation 'rotation' needs zeros, edge, reflect "
	                             "or mean for fill, not 'zeroes'; did you mean zeros?"},
		{"crop:size=9x",
	     "the augmentation 'crop' needs a size such as 96 or 64x48 for size, not '9x'"},
		{"crop:size=0",
	     "the augmentation 'crop' has size=0, which must be between 1 and 16384"},
		{"crop:size=2.5",
	     "the augmentation 'crop' needs a size such as 96 or 64x48 for size, not '2.5'"},
		{"0*rotation",
	     "the weight '0' of an augmentation must be a number above 0 and at most "
	     "a million"},
		{"x*rotation",
	     "the weight 'x' of an augmentation must be a number above 0 and at most "
	     "a million"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(inv_spec_parse(cases[i].text, &spec), INVAR_E_USE);
		assert_string_equal(invar_last_error(), cases[i].sentence);
	}
}

static void only_rotations_with_empty_corners_have_a_note(void **state)
{
	static const char *const with[] = {"rotation", "rotation:degrees=90..90,fill=mean",
	                                   "noise|rotation+crop"};
	static const char *const without[] = {"rotation:inside=1",
	                                      "rotation:circle=1",
	                                      "rotation:fill=reflect",
	                                      "noise",
	                                      "affine",
	                                      "coherent displacement",
	                                      ""};

	(void)state;
	for (size_t i = 0; i < sizeof with / sizeof *with; i++)
		assert_non_null(strstr(inv_augment_corner_note(with[i]), "rotation:inside=1"));
	for (size_t i = 0; i < sizeof without / sizeof *without; i++)
		assert_null(inv_augment_corner_note(without[i]));
	assert_null(inv_augment_corner_note(NULL));
}

static void size_is_bounded(void **state)
{
	char text[2 * INV_SPEC_TEXT] = "id";

	(void)state;
	for (int i = 1; i < INV_MAX_OPS; i++)
		strcat(text, "+id");
	assert_int_equal(inv_spec_parse(text, &spec), INVAR_OK);
	strcat(text, "+id");
	assert_int_equal(inv_spec_parse(text, &spec), INVAR_E_USE);
	memset(text, ' ', sizeof text - 1);
	assert_int_equal(inv_spec_parse(text, &spec), INVAR_E_USE);
	test_assert_error("longer than");
}

/* A program that called setlocale for a language that writes 0,5. */
static void a_locale_changes_nothing(void **state)
{
	(void)state;
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
		print_message("no German locale here\n");
		skip();
	}
	assert_canonical("noise:std=0.5", "noise:std=0.5");
	setlocale(LC_NUMERIC, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_form_for_one_meaning),
		cmocka_unit_test(columns_have_the_names_of_the_design),
		cmocka_unit_test(each_fault_has_a_sentence),
		cmocka_unit_test(only_rotations_with_empty_corners_have_a_note),
		cmocka_unit_test(size_is_bounded),
		cmocka_unit_test(a_locale_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
