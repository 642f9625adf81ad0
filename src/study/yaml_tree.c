/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_tree.c - libyaml's events become nodes; everything unusual is refused. */
#include "study/yaml_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/memory.h"

typedef struct reader {
	yaml_parser_t parser;
	const char *where;
	bool places;
	inv_node *open[INV_NODE_DEPTH]; /* lists and mappings that have not ended */
	size_t depth, nodes;
	inv_node *top;
	inv_node *key; /* of the entry to come, as a text; NULL: none */
} reader;

bool inv_can_read_yaml(void)
{
	return true;
}

static invar_status complain(const reader *r, yaml_mark_t at, const char *sentence)
{
	return r->places ? inv_fail(INVAR_E_FORMAT, "%.400s:%zu:%zu: %.400s", r->where,
	                            at.line + 1, at.column + 1, sentence)
	                 : inv_fail(INVAR_E_FORMAT, "%.400s: %.400s", r->where, sentence);
}

static inv_node *innermost(const reader *r)
{
	return r->depth ? r->open[r->depth - 1] : NULL;
}

static bool expects_key(const reader *r)
{
	const inv_node *n = innermost(r);

	return n && n->kind == INV_NODE_MAP && !r->key;
}

static inv_node *make_node(reader *r, inv_node_kind kind, yaml_mark_t at)
{
	inv_node *n = inv_node_new(kind, r->top, r->where);

	if (n && r->places) {
		n->line = (unsigned)at.line + 1;
		n->column = (unsigned)at.column + 1;
	}
	return n;
}

/* Puts a node where it belongs: below the innermost one, with the key that came before. */
static invar_status place_node(reader *r, inv_node *n)
{
	inv_node *parent = innermost(r);

	if (!n)
		return inv_no_memory();
	if (!parent) {
		r->top = n;
		return INVAR_OK;
	}
	if (r->key) {
		n->key = r->key->text;
		n->key_line = r->key->line;
		n->key_column = r->key->column;
		r->key->text = NULL;
		inv_node_free(r->key);
		r->key = NULL;
	}
	return inv_node_append(parent, n) ? INVAR_OK : inv_no_memory();
}

/* A text, or a list or mapping that begins. */
static invar_status take_node(reader *r, const yaml_event_t *e, inv_node_kind kind,
                              const yaml_char_t *anchor, const yaml_char_t *tag)
{
	const char *text = (const char *)e->data.scalar.value;
	char sentence[200];
	inv_node *n;

	if (anchor)
		return complain(r, e->start_mark,
		                "anchors (&) are not supported; write the value again");
	if (tag)
		return complain(r, e->start_mark, "tags (!) are not supported; remove it");
	if (r->nodes++ >= INV_NODE_MAX)
		return complain(r, e->start_mark, "the file has too many values");
	if (kind != INV_NODE_TEXT) {
		if (expects_key(r))
			return complain(r, e->start_mark, "a key must be a text");
		if (r->depth == INV_NODE_DEPTH)
			return complain(r, e->start_mark, "nested deeper than 16 levels");
		n = make_node(r, kind, e->start_mark);
		INV_TRY(place_node(r, n));
		r->open[r->depth++] = n;
		return INVAR_OK;
	}
	if (strlen(text) != e->data.scalar.length)
		return complain(r, e->start_mark, "a text must not contain a zero byte");
	if (!(n = make_node(r, INV_NODE_TEXT, e->start_mark)) || !(n->text = strdup(text))) {
		inv_node_free(n);
		return inv_no_memory();
	}
	n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	if (!expects_key(r))
		return place_node(r, n);
	if (inv_node_find(innermost(r), text)) {
		snprintf(sentence, sizeof sentence, "the key '%.100s' appears twice", text);
		inv_node_free(n);
		return complain(r, e->start_mark, sentence);
	}
	r->key = n;
	return INVAR_OK;
}

/* INVAR_OK; *ended at the end of the stream. */
static invar_status take_event(reader *r, const yaml_event_t *e, bool *ended)
{
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		return r->top ? complain(r, e->start_mark,
		                         "only one document is allowed; remove what follows")
		              : INVAR_OK;
	case YAML_ALIAS_EVENT:
		return complain(r, e->start_mark,
		                "aliases (*) are not supported; put a value that begins with * "
		                "in quotes");
	case YAML_SCALAR_EVENT:
		return take_node(r, e, INV_NODE_TEXT, e->data.scalar.anchor, e->data.scalar.tag);
	case YAML_SEQUENCE_START_EVENT:
		return take_node(r, e, INV_NODE_LIST, e->data.sequence_start.anchor,
		                 e->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return take_node(r, e, INV_NODE_MAP, e->data.mapping_start.anchor,
		                 e->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		r->depth--;
		return INVAR_OK;
	default:
		*ended = e->type == YAML_STREAM_END_EVENT;
		return INVAR_OK;
	}
}

static invar_status read_events(reader *r)
{
	yaml_event_t event;
	bool ended = false;

	while (!ended) {
		invar_status st;

		if (!yaml_parser_parse(&r->parser, &event)) {
			const yaml_parser_t *p = &r->parser;
			yaml_mark_t at = p->problem_mark;
			char sentence[300];

			if (p->error == YAML_MEMORY_ERROR)
				return inv_no_memory();
			if (p->error == YAML_READER_ERROR) {
				snprintf(sentence, sizeof sentence, "is not UTF-8 text: %s at byte %zu",
				         p->problem ? p->problem : "unreadable", p->problem_offset);
				at = p->mark;
			} else
				snprintf(sentence, sizeof sentence, "is not valid YAML: %s%s%s",
				         p->problem ? p->problem : "unreadable", p->context ? ", " : "",
				         p->context ? p->context : "");
			return complain(r, at, sentence);
		}
		st = take_event(r, &event, &ended);
		yaml_event_delete(&event);
		INV_TRY(st);
	}
	if (!r->top)
		r->top = inv_node_new(INV_NODE_MAP, NULL, r->where);
	return r->top ? INVAR_OK : inv_no_memory();
}

invar_status inv_yaml_read(const char *text, size_t bytes, const char *where, bool places,
                           inv_node **out)
{
	static const char mark[] = "\xEF\xBB\xBF"; /* of UTF-8, which some editors write */
	reader r = {.where = where, .places = places};
	invar_status st;

	*out = NULL;
	if (bytes >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0) {
		text += sizeof mark - 1;
		bytes -= sizeof mark - 1;
	}
	if (bytes > INV_RECIPE_MAX)
		return inv_fail(INVAR_E_FORMAT,
		                "%.400s: is larger than 1 MB, too large for a recipe", where);
	if (!yaml_parser_initialize(&r.parser))
		return inv_no_memory();
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, bytes);
	st = read_events(&r);
	yaml_parser_delete(&r.parser);
	inv_node_free(r.key);
	if (st == INVAR_OK)
		*out = r.top;
	else
		inv_node_free(r.top);
	return st;
}
