/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg.c - common to all pictures: head and style sheet, text, files.
 */
#include "report/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "formats/pixels.h"
#include "report/line_text.h"

enum {
	SHARPNESS = 2,   /* pixels of the PNG for one of the SVG */
	MAX_SIDE = 30000 /* cairo has 32767 */
};

/* ---- Colours ------------------------------------------------------------------------- */

typedef struct colour {
	const char *class, *light, *dark;
} colour;

/* Paper behind everything, ink for text, quiet for less of it, line for grids. */
static const colour tones[] = {
	{"paper", "#fbfaf8", "#1b1c1e"},
	{"ink", "#2b2b2b", "#e9e7e2"},
	{"quiet", "#76736d", "#a09d97"},
	{"line", "#dedbd5", "#3a3b3e"},
};

/*
 * Distinct for people who see colours differently, on both papers: neighbours in the list
 * differ in lightness as well as in hue (after Okabe and Ito). The first is that of F.
 */
static const colour hues[INV_COLOURS] = {
	{"c0", "#6f6f6f", "#b5b5b5"},  {"c1", "#0072b2", "#58a8de"},
	{"c2", "#d55e00", "#f08a4b"},  {"c3", "#009e73", "#3fc79c"},
	{"c4", "#a4478a", "#d98cc0"},  {"c5", "#b98600", "#e8bf4a"},
	{"c6", "#2f9fd8", "#8fd0f5"},  {"c7", "#7a4a2b", "#c79a74"},
	{"c8", "#5a4fb0", "#a79df0"},  {"c9", "#6b8e23", "#b3d465"},
	{"c10", "#c0334d", "#f2809a"}, {"c11", "#007f85", "#56c4c9"},
};

static void put_rules(FILE *out, const colour *c, size_t count, bool dark)
{
	for (size_t i = 0; i < count; i++) {
		const char *value = dark ? c[i].dark : c[i].light;

		fprintf(out, ".iv-%s{fill:%s}.iv-%s-stroke{stroke:%s;fill:none}\n", c[i].class,
		        value, c[i].class, value);
	}
}

void inv_svg_put_colours(FILE *out, bool dark)
{
	put_rules(out, tones, sizeof tones / sizeof *tones, dark);
	put_rules(out, hues, INV_COLOURS, dark);
	fprintf(out, ".iv-outline{stroke:%s}\n", dark ? tones[1].dark : tones[1].light);
}

void inv_svg_put_backgrounds(FILE *out, bool dark)
{
	for (size_t i = 0; i < INV_COLOURS; i++)
		fprintf(out, ".b%zu{background:%s}", i, dark ? hues[i].dark : hues[i].light);
	putc('\n', out);
}

/* ---- Begin and end ------------------------------------------------------------------- */

bool inv_svg_begin(inv_svg *s, double width, double height, inv_svg_theme theme)
{
	*s = (inv_svg){.width = ceil(width), .height = ceil(height), .serial = s->serial};
	if (!(s->out = open_memstream(&s->text, &s->size)))
		return false;
	fprintf(s->out,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" "
	        "xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
	        "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
	        s->width, s->height, s->width, s->height);
	if (theme == INV_SVG_EMBEDDED)
		return true;
	fputs("<style>\n", s->out);
	inv_svg_put_colours(s->out, theme == INV_SVG_DARK);
	if (theme == INV_SVG_LIGHT) {
		fputs("@media (prefers-color-scheme: dark) {\n", s->out);
		inv_svg_put_colours(s->out, true);
		fputs("}\n", s->out);
	}
	fputs("</style>\n<rect class=\"iv-paper\" width=\"100%\" height=\"100%\"/>\n", s->out);
	return true;
}

bool inv_svg_end(inv_svg *s)
{
	bool failed;

	fputs("</svg>\n", s->out);
	failed = ferror(s->out) != 0;
	failed |= fclose(s->out) != 0;
	s->out = NULL;
	return !failed;
}

void inv_svg_free(inv_svg *s)
{
	if (s->out)
		fclose(s->out);
	free(s->text);
	*s = (inv_svg){0};
}

/* ---- Text ---------------------------------------------------------------------------- */

/* The mean width of a letter of DejaVu Sans is a little below this fraction of its size. */
static const double letter_width = 0.58;

double inv_svg_text_width(const char *text, double size)
{
	return letter_width * size * (double)inv_count_characters(text);
}

static void put_within(FILE *out, double room, double size, const char *text)
{
	double letters = room / (letter_width * size);

	inv_xml_text(out, text, room <= 0 ? SIZE_MAX : letters < 2 ? 2 : (size_t)letters);
	fputs("</text>\n", out);
}

void inv_svg_text(const inv_svg *s, double x, double y, double size, inv_anchor anchor,
                  const char *class, double room, const char *text)
{
	static const char *const anchors[] = {"start", "middle", "end"};

	fprintf(s->out,
	        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" " INV_FONT
	        " text-anchor=\"%s\" class=\"iv-%s\">",
	        x, y, size, anchors[anchor], class);
	put_within(s->out, room, size, text);
}

void inv_svg_upward_text(const inv_svg *s, double x, double y, double size, double room,
                         const char *text)
{
	fprintf(
		s->out,
		"<text transform=\"translate(%.1f %.1f) rotate(-90)\" font-size=\"%.0f\" " INV_FONT
		" text-anchor=\"middle\" class=\"iv-ink\">",
		x, y, size);
	put_within(s->out, room, size, text);
}

void inv_base64(FILE *out, const void *data, size_t size)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i += 3) {
		uint32_t three = (uint32_t)bytes[i] << 16;

		three |= i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0;
		three |= i + 2 < size ? bytes[i + 2] : 0;
		putc(digit[three >> 18], out);
		putc(digit[three >> 12 & 63], out);
		putc(i + 1 < size ? digit[three >> 6 & 63] : '=', out);
		putc(i + 2 < size ? digit[three & 63] : '=', out);
	}
}

/* ---- Files --------------------------------------------------------------------------- */

invar_status inv_svg_save(invar_context *ctx, const inv_svg *s, const char *path)
{
	bool large = s->width > MAX_SIDE / SHARPNESS || s->height > MAX_SIDE / SHARPNESS;
	uint32_t sharpness = large ? 1 : SHARPNESS, width, height;
	char reason[256];
	uint8_t *rgb;
	void *png = NULL;
	size_t bytes = 0;
	invar_status st;

	if (s->width > MAX_SIDE || s->height > MAX_SIDE)
		return inv_fail(INVAR_E_USE,
		                "%s: a picture of %.0f x %.0f pixels is too large, at most %d per "
		                "side are possible; show less in it",
		                path, s->width, s->height, MAX_SIDE);
	if (strlen(path) >= 4 && strcmp(path + strlen(path) - 4, ".svg") == 0)
		return inv_file_write(ctx, path, s->text, s->size);
	width = (uint32_t)s->width * sharpness;
	height = (uint32_t)s->height * sharpness;
	if (!(rgb = inv_draw_svg(s->text, s->size, width, height, reason, sizeof reason)))
		return inv_fail(INVAR_E_NOMEM,
		                "%s: cannot render the picture: %s; a file name ending in .svg "
		                "needs no rendering",
		                path, reason);
	INV_TRY_OR(done, inv_png_encode(rgb, width, height, &png, &bytes));
	st = inv_file_write(ctx, path, png, bytes);
done:
	invar_free(png);
	free(rgb);
	return st;
}
