/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_about.c - how to use the adapters, how they were made, and with which options they
 * were measured.
 */
#include <string.h>

#include "report/html.h"
#include "run/results.h"
#include "run/run.h"

enum { LITERAL = 1200 };

/* A path as a string of Python and of C; returns text. */
static const char *spell_literal(const char *path, char text[LITERAL])
{
	size_t fill = 0;

	for (const char *c = path; *c && fill < LITERAL - 8; c++) {
		unsigned char byte = (unsigned char)*c;

		if (byte == '"' || byte == '\\')
			fill += (size_t)sprintf(text + fill, "\\%c", byte);
		else if (byte < 0x20 || byte == 0x7f)
			fill += (size_t)sprintf(text + fill, "\\x%02x", byte);
		else
			text[fill++] = *c;
	}
	text[fill] = '\0';
	return text;
}

static void put_pytorch(const inv_html *h, const inv_page_run *run)
{
	const char *z = run->unit ? "z" : "features";
	char path[LITERAL];

	inv_html_put(
		h,
		"<h4>PyTorch, " INV_HTML_NAME
		"</h4>\n<pre><code>import torch\nfrom safetensors.torch import "
		"load_file\n\nE = torch.nn.Sequential(torch.nn.Linear(%u, %u), "
		"torch.nn.ReLU(), torch.nn.Linear(%u, %u))\n"
		"E.load_state_dict(load_file(\"%s/" INV_RUN_ADAPTER "\"))\n"
		"with torch.no_grad():\n%s    codes = %s%s%sE(%s)%s  # [n, %u] in, [n, %u] "
		"out%s</code></pre>\n",
		run->title, run->d, run->hidden, run->hidden, run->w,
		spell_literal(run->path, path),
		run->unit ? "    unit = torch.nn.functional.normalize\n"
					"    z = unit(features, dim=-1)\n"
				  : "",
		run->unit ? "unit(" : "", run->residual ? z : "", run->residual ? " + " : "", z,
		run->unit ? ", dim=-1)" : "", run->d, run->w,
		run->residual ? "; this adapter is residual" : "");
}

/* The recommended adapter in PyTorch; other programs and other adapters are folded. */
static void put_use(inv_html *h)
{
	const inv_page_run *run = h->page->run, *best = run ? &run[h->best_run] : NULL;
	char path[LITERAL];

	if (!best || !best->d)
		return;
	put_pytorch(h, best);
	inv_html_put(h, INV_HTML_FOLD,
	             h->page->run_count > 1
	                 ? "ONNX, C, the command line, and the other adapters"
	                 : "ONNX, C and the command line");
	inv_html_put(h,
	             "<h4>ONNX Runtime</h4>\n<pre><code># invar export RUN -o adapter.onnx\n"
	             "import onnxruntime\n\n"
	             "E = onnxruntime.InferenceSession(&quot;adapter.onnx&quot;)\n"
	             "codes = E.run([&quot;codes&quot;], {&quot;features&quot;: features})[0]"
	             "  # float32, [n, %u] in, [n, %u] out</code></pre>\n",
	             best->d, best->w);
	inv_html_put(
		h,
		"<h4>C</h4>\n<pre><code>#include &lt;invar.h&gt; /* cc program.c -linvar "
		"*/\n\ninvar_context *ctx;\ninvar_adapter *E;\nfloat *features, *codes;\n\n"
		"if (invar_context_new(0, NULL, &amp;ctx) == INVAR_OK &amp;&amp;\n"
		"    invar_adapter_open(ctx, \"%s\", &amp;E) == INVAR_OK)\n"
		"\tinvar_adapter_apply(E, features, n, codes); /* [n, %u] in, [n, %u] out "
		"*/</code></pre>\n",
		spell_literal(best->path, path), best->d, best->w);
	fputs("<h4>On the command line</h4>\n<pre><code>invar apply RUN features.npy -o "
	      "codes.npy</code></pre>\n",
	      h->out);
	for (size_t i = 0; i < h->page->run_count && i < 8; i++)
		if (&run[i] != best && run[i].d)
			put_pytorch(h, &run[i]);
	inv_html_put(h, INV_HTML_UNFOLD);
}

enum { SPELLED = 800 };

/* Returns text. */
static const char *spell_scalar(const json_t *value, char text[SPELLED])
{
	if (json_is_integer(value))
		snprintf(text, SPELLED, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(text, SPELLED, "%.6g", json_real_value(value));
	else
		snprintf(text, SPELLED, "%s",
		         json_is_string(value)  ? json_string_value(value)
		         : json_is_true(value)  ? "yes"
		         : json_is_false(value) ? "no"
		         : json_is_null(value)  ? "–"
		         : value                ? "…"
		                                : "");
	return text;
}

static bool is_scalar(const json_t *value)
{
	return value && !json_is_object(value) && !json_is_array(value);
}

/* An object of run.json of a run; "" is run.json itself. */
static json_t *settings_of(const inv_html *h, size_t run, const char *of)
{
	json_t *json = (json_t *)(uintptr_t)h->page->run[run].json;

	return *of ? json_object_get(json, of) : json;
}

/* The settings of one object of run.json, for all runs side by side. */
static void put_settings(const inv_html *h, const char *of, const char *title)
{
	json_t *keys = json_object(), *value;
	inv_table *t = inv_table_new(1 + h->page->run_count);
	const char *key;
	char text[SPELLED];

	for (size_t i = 0; i < h->page->run_count; i++)
		json_object_foreach (settings_of(h, i, of), key, value)
			if (is_scalar(value))
				json_object_set_new(keys, key, json_true());
	if (!t || !json_object_size(keys))
		goto done;
	inv_table_cell(t, "%s", title);
	for (size_t i = 0; i < h->page->run_count; i++) {
		inv_table_cell(t, "%s", h->page->run[i].title);
		inv_table_look(t, INV_LOOK_NAME, NULL);
	}
	json_object_foreach (keys, key, value) {
		json_t *first = json_object_get(settings_of(h, 0, of), key);
		bool differs = false;

		for (size_t i = 1; i < h->page->run_count; i++) {
			json_t *other = json_object_get(settings_of(h, i, of), key);

			differs = differs ||
			          (first != other && !(first && other && json_equal(first, other)));
		}
		inv_table_cell(t, "%s", key);
		inv_table_look(t, differs ? INV_LOOK_DIFFERS : 0, NULL);
		for (size_t i = 0; i < h->page->run_count; i++)
			inv_table_cell(t, "%s",
			               spell_scalar(json_object_get(settings_of(h, i, of), key), text));
	}
	inv_table_write_html(t, "settings", h->out);
done:
	inv_table_free(t);
	json_decref(keys);
}

/* The files that the runs were trained on. */
static void put_inputs(const inv_html *h)
{
	static const char *const heads[] = {"trained on", "file", "bytes", "SHA-256"};
	static const char *const keys[] = {"file", "bytes", "sha256"};
	inv_table *t = inv_table_new(4);
	bool any = false;
	char text[SPELLED];

	for (size_t i = 0; t && i < 4; i++)
		inv_table_cell(t, "%s", heads[i]);
	for (size_t i = 0; t && i < h->page->run_count; i++) {
		const json_t *input;
		size_t k;

		json_array_foreach (json_object_get(h->page->run[i].json, "inputs"), k, input) {
			any = true;
			inv_table_cell(t, "%s", h->page->run[i].title);
			inv_table_look(t, INV_LOOK_NAME, NULL);
			for (size_t c = 0; c < 3; c++)
				inv_table_cell(t, "%s",
				               spell_scalar(json_object_get(input, keys[c]), text));
			inv_table_look(t, INV_LOOK_HASH, NULL);
		}
	}
	if (any)
		inv_table_write_html(t, "settings", h->out);
	inv_table_free(t);
}

static void put_measurements(const inv_html *h, const invar_results *r)
{
	const json_t *all = inv_results_all_options(r);
	const char *bank = invar_results_about(r, "bank"), *measurement, *key;
	const char *print = invar_results_about(r, "fingerprint");
	inv_table *t = json_object_size(all) ? inv_table_new(2) : NULL;
	json_t *options, *value;

	if (!t)
		return;
	inv_table_cell(t, "measured on %s", bank ? bank : "");
	inv_table_cell(t, "with");
	json_object_foreach ((json_t *)(uintptr_t)all, measurement, options) {
		char text[SPELLED] = "", one[SPELLED]; /* "k 20, index old" */

		json_object_foreach (options, key, value)
			if (is_scalar(value) && !json_is_null(value)) {
				size_t length = strlen(text);

				snprintf(text + length, sizeof text - length, "%s%.60s\u00a0%s",
				         length ? ", " : "", key, spell_scalar(value, one));
			}
		inv_table_cell(t, "%s", inv_html_measurement(measurement));
		inv_table_cell(t, "%s", text);
	}
	if (print) {
		inv_table_cell(t, "fingerprint");
		inv_table_cell(t, "%s", print);
		inv_table_look(t, INV_LOOK_HASH, NULL);
	}
	inv_html_table(h, t, "settings");
}

static void put_configuration(inv_html *h)
{
	static const char *const objects[][2] = {{"options", "option"},
	                                         {"", "run"},
	                                         {"versions", "version of"},
	                                         {"machine", "machine"},
	                                         {"frame", "scale"}};

	inv_html_put(h, INV_HTML_FOLD, "Options, versions, machine, files and their hashes");
	if (h->page->run_count > 1)
		fputs("<p>Settings that differ between runs are <b>bold</b>.</p>\n", h->out);
	fputs("<div class=\"tables\">\n", h->out);
	for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
		put_settings(h, objects[i][0], objects[i][1]);
	fputs("</div>\n", h->out);
	put_inputs(h);
	for (size_t i = 0; i < h->page->document_count; i++)
		put_measurements(h, h->page->document[i]);
	inv_html_put(h, INV_HTML_UNFOLD);
}

const inv_section inv_section_use = {
	.id = "use",
	.title = "How to use the adapter",
	.text =
		"The adapter takes the features of the encoder, as they are, and gives codes. It "
		"is a safetensors file with the names that <code>torch.nn.Sequential</code> "
		"gives.",
	.once = true,
	.put = put_use};

const inv_section inv_section_configuration = {.id = "configuration",
                                               .title = "Configuration and provenance",
                                               .once = true,
                                               .put = put_configuration};
