/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_about.c - how to use the adapters, how they were made, and with which options they
 * were measured.
 */
#include <string.h>

#include "report/html.h"
#include "run/run.h"

/* ---- Use ----------------------------------------------------------------------------- */

/* A path as a string of Python and of C. */
static void put_literal(const inv_html *h, const char *path, const char *file)
{
	char text[1200];
	size_t fill = 0;

	for (const char *c = path; *c && fill < 1000; c++) {
		unsigned char byte = (unsigned char)*c;

		if (byte == '"' || byte == '\\')
			fill += (size_t)snprintf(text + fill, sizeof text - fill, "\\%c", byte);
		else if (byte < 0x20 || byte == 0x7f)
			fill += (size_t)snprintf(text + fill, sizeof text - fill, "\\x%02x", byte);
		else
			text[fill++] = *c;
	}
	snprintf(text + fill, sizeof text - fill, "%s%s", *file ? "/" : "", file);
	fputs("\"", h->out);
	inv_html_text(h, text, 1200);
	fputs("\"", h->out);
}

static void put_python(const inv_html *h, const inv_page_run *run)
{
	fprintf(h->out,
	        "<h4>PyTorch</h4>\n<pre><code>import torch\nfrom safetensors.torch import "
	        "load_file\n\nE = torch.nn.Sequential(torch.nn.Linear(%u, %u), "
	        "torch.nn.ReLU(), torch.nn.Linear(%u, %u))\nE.load_state_dict(load_file(",
	        run->d, run->hidden, run->hidden, run->w);
	put_literal(h, run->path, INV_RUN_ADAPTER);
	fprintf(h->out,
	        "))\nwith torch.no_grad():\n%s    codes = %s%sE(%s)%s  # [n, %u] in, [n, %u] "
	        "out%s</code></pre>\n",
	        run->unit ? "    unit = torch.nn.functional.normalize\n"
	                    "    z = unit(features, dim=-1)\n"
	                  : "",
	        run->unit ? "unit(" : "",
	        !run->residual ? ""
	        : run->unit    ? "z + "
	                       : "features + ",
	        run->unit ? "z" : "features", run->unit ? ", dim=-1)" : "", run->d, run->w,
	        run->residual ? "; this adapter is residual" : "");
}

static void put_onnx(const inv_html *h, const inv_page_run *run)
{
	fputs("<h4>ONNX Runtime</h4>\n<pre><code># invar export RUN -o adapter.onnx\nimport "
	      "onnxruntime\n\nE = onnxruntime.InferenceSession(&quot;adapter.onnx&quot;)\n"
	      "codes = E.run([&quot;codes&quot;], {&quot;features&quot;: features})[0]",
	      h->out);
	fprintf(h->out, "  # float32, [n, %u] in, [n, %u] out</code></pre>\n", run->d, run->w);
}

static void put_c(const inv_html *h, const inv_page_run *run)
{
	fputs("<h4>C</h4>\n<pre><code>#include &lt;invar.h&gt; /* cc program.c -linvar "
	      "*/\n\ninvar_context *ctx;\ninvar_adapter *E;\nfloat *features, *codes;\n\nif "
	      "(invar_context_new(0, NULL, &amp;ctx) == INVAR_OK &amp;&amp;\n    "
	      "invar_adapter_open(ctx, ",
	      h->out);
	put_literal(h, run->path, "");
	fprintf(h->out,
	        ", &amp;E) == INVAR_OK)\n\tinvar_adapter_apply(E, features, n, codes); /* [n, "
	        "%u] in, [n, %u] out */</code></pre>\n",
	        run->d, run->w);
}

static void put_shell(const inv_html *h)
{
	fputs("<h4>On the command line</h4>\n<pre><code>invar apply RUN features.npy -o "
	      "codes.npy</code></pre>\n",
	      h->out);
}

void inv_page_use(inv_html *h)
{
	inv_html_begin(h, "use", "How to use the adapter");
	fputs("<p>The adapter takes the features of the encoder, as they are, and gives codes. "
	      "It is a safetensors file with the names that <code>torch.nn.Sequential</code> "
	      "gives.</p>\n",
	      h->out);
	for (size_t i = 0; i < h->page->run_count && i < 8; i++) {
		const inv_page_run *run = &h->page->run[i];

		if (!run->d)
			continue;
		if (h->page->run_count > 1) {
			fputs("<h3>", h->out);
			inv_html_name(h, run->title);
			fputs("</h3>\n", h->out);
		}
		put_python(h, run);
		put_onnx(h, run);
		put_c(h, run);
	}
	put_shell(h);
	inv_html_end(h);
}

/* ---- JSON as tables ------------------------------------------------------------------ */

static void put_scalar(const inv_html *h, const json_t *value)
{
	if (json_is_string(value))
		inv_html_text(h, json_string_value(value), 200);
	else if (json_is_integer(value))
		fprintf(h->out, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		fprintf(h->out, "%.6g", json_real_value(value));
	else
		fputs(json_is_true(value)    ? "yes"
		      : json_is_false(value) ? "no"
		      : json_is_null(value)  ? "–"
		                             : "…",
		      h->out);
}

static bool is_scalar(const json_t *value)
{
	return value && !json_is_object(value) && !json_is_array(value);
}

static bool differs(const json_t *a, const json_t *b)
{
	return a != b &&
	       (!a || !b || !json_equal((json_t *)(uintptr_t)a, (json_t *)(uintptr_t)b));
}

static const json_t *part(const inv_html *h, size_t run, const char *of)
{
	const json_t *json = h->page->run[run].json;

	return *of ? json_object_get(json, of) : json;
}

static void put_setting(const inv_html *h, const char *of, const char *key)
{
	const json_t *first = json_object_get(part(h, 0, of), key);
	bool other = false;

	for (size_t i = 1; i < h->page->run_count; i++)
		other = other || differs(first, json_object_get(part(h, i, of), key));
	fprintf(h->out, "<tr%s><th scope=\"row\">", other ? " class=\"differs\"" : "");
	inv_html_text(h, key, INV_NAME);
	fputs("</th>", h->out);
	for (size_t i = 0; i < h->page->run_count; i++) {
		const json_t *value = json_object_get(part(h, i, of), key);

		fputs("<td>", h->out);
		if (value)
			put_scalar(h, value);
		fputs("</td>", h->out);
	}
	fputs("</tr>\n", h->out);
}

/* The settings of one object of run.json, for all runs side by side. */
static void put_settings(const inv_html *h, const char *of, const char *title)
{
	json_t *keys = json_object(), *value;
	const char *key;

	for (size_t i = 0; i < h->page->run_count; i++)
		json_object_foreach ((json_t *)(uintptr_t)part(h, i, of), key, value)
			if (is_scalar(value))
				json_object_set_new(keys, key, json_true());
	if (json_object_size(keys)) {
		fprintf(h->out,
		        "<div class=\"scroll\" tabindex=\"0\"><table class=\"settings\"><thead><tr>"
		        "<th scope=\"col\">%s</th>",
		        title);
		for (size_t i = 0; i < h->page->run_count; i++) {
			fputs("<th scope=\"col\">", h->out);
			inv_html_name(h, h->page->run[i].title);
			fputs("</th>", h->out);
		}
		fputs("</tr></thead><tbody>\n", h->out);
		json_object_foreach (keys, key, value)
			put_setting(h, of, key);
		fputs("</tbody></table></div>\n", h->out);
	}
	json_decref(keys);
}

/* ---- Inputs -------------------------------------------------------------------------- */

static void put_input(const inv_html *h, const char *run, const json_t *input)
{
	fputs("<tr><td>", h->out);
	inv_html_name(h, run);
	fputs("</td><td>", h->out);
	put_scalar(h, json_object_get(input, "file"));
	fputs("</td><td>", h->out);
	put_scalar(h, json_object_get(input, "bytes"));
	fputs("</td><td class=\"hash\">", h->out);
	put_scalar(h, json_object_get(input, "sha256"));
	fputs("</td></tr>\n", h->out);
}

static void put_inputs(const inv_html *h)
{
	bool any = false;

	for (size_t i = 0; i < h->page->run_count; i++) {
		const json_t *input;
		size_t k;

		json_array_foreach (json_object_get(h->page->run[i].json, "inputs"), k, input) {
			if (!any)
				fputs(
					"<div class=\"scroll\" tabindex=\"0\"><table class=\"settings\"><thead>"
					"<tr><th>trained "
					"on</th><th>file</th><th>bytes</th><th>SHA-256</th></tr>"
					"</thead><tbody>\n",
					h->out);
			any = true;
			put_input(h, h->page->run[i].title, input);
		}
	}
	if (any)
		fputs("</tbody></table></div>\n", h->out);
}

/* ---- Measurements -------------------------------------------------------------------- */

static void put_measured_with(const inv_html *h, const char *measurement,
                              const json_t *options)
{
	const char *key;
	json_t *value;
	bool any = false;

	fputs("<tr><th scope=\"row\">", h->out);
	inv_html_text(h, inv_html_measurement(measurement), INV_NAME);
	fputs("</th><td>", h->out);
	json_object_foreach ((json_t *)(uintptr_t)options, key, value) {
		if (!is_scalar(value) || json_is_null(value))
			continue;
		fputs(any ? ", " : "", h->out);
		inv_html_text(h, key, INV_NAME);
		fputs("&nbsp;", h->out);
		put_scalar(h, value);
		any = true;
	}
	fputs("</td></tr>\n", h->out);
}

static void put_measurements(const inv_html *h, size_t document)
{
	json_t *all = json_object_get(h->json[document], "options"), *options;
	const json_t *bank = json_object_get(h->json[document], "bank");
	const json_t *print = json_object_get(h->json[document], "fingerprint");
	const char *measurement;

	if (!json_object_size(all))
		return;
	fputs("<div class=\"scroll\" tabindex=\"0\"><table class=\"settings\"><thead><tr><th>"
	      "measured on ",
	      h->out);
	if (bank)
		put_scalar(h, bank);
	fputs("</th><th>with</th></tr></thead><tbody>\n", h->out);
	json_object_foreach (all, measurement, options)
		put_measured_with(h, measurement, options);
	if (print) {
		fputs("<tr><th scope=\"row\">fingerprint</th><td class=\"hash\">", h->out);
		put_scalar(h, print);
		fputs("</td></tr>\n", h->out);
	}
	fputs("</tbody></table></div>\n", h->out);
}

void inv_page_configuration(inv_html *h)
{
	static const struct {
		const char *key, *title;
	} parts[] = {{"options", "option"},
	             {"", "run"},
	             {"versions", "version of"},
	             {"machine", "machine"},
	             {"frame", "scale"}};

	inv_html_begin(h, "configuration", "Configuration and provenance");
	if (h->page->run_count > 1)
		fputs("<p>Settings that differ between runs are <b>bold</b>.</p>\n", h->out);
	fputs("<div class=\"tables\">\n", h->out);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		put_settings(h, parts[i].key, parts[i].title);
	fputs("</div>\n", h->out);
	put_inputs(h);
	for (size_t i = 0; i < h->page->document_count; i++)
		put_measurements(h, i);
	inv_html_end(h);
}
