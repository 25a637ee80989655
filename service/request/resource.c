#include "request/resource.h"

#include <string.h>

#include "request/request.h"

struct resource_names resource_names(const struct operation *op, const struct needed_scope *n, const void *input)
{
	const struct field *row = &op->fields[n->field];
	const char *at = (const char *)input + row->offset;
	struct input_array many;

	if (row->kind == FIELD_OBJECT)
		return (struct resource_names){ .items = at + row->fields[n->inner].offset, .count = 1 };
	if (row->kind != FIELD_ARRAY)
		return (struct resource_names){ .items = at, .count = 1 };
	memcpy(&many, at, sizeof(many));
	return (struct resource_names){ .items = many.items,
					.count = many.count,
					.step = row->size,
					.offset = n->inner >= 0 ? row->fields[0].fields[n->inner].offset : 0 };
}

struct text resource_name(const struct resource_names *names, size_t i)
{
	struct text name;

	memcpy(&name, names->items + i * names->step + names->offset, sizeof(name));
	return name;
}

struct text resource_of(const struct request *req, size_t *count)
{
	const struct operation *op = req->op;

	if (req->gateway && req->gateway->resource.at) {
		*count = 1;
		return req->gateway->resource;
	}
	*count = 0;
	for (size_t i = 0; op && i < op->scope_count; i++) {
		const struct needed_scope *n = &op->scopes[i];
		bool in_path = n->field >= 0 && op->fields[n->field].place == IN_PATH;
		struct resource_names names = { 0 };
		if (n->field >= 0 && !in_path && req->input)
			names = resource_names(op, n, req->input);
		struct text name = in_path       ? req->asked.path_values[n->field]
				   : names.count ? resource_name(&names, 0)
						 : (struct text){ 0 };
		if (!name.at)
			continue;
		*count = in_path ? 1 : names.count;
		return name;
	}
	return (struct text){ 0 };
}

struct text resource_logged(const struct request *req, const char **name)
{
	const struct operation *op = req->op;
	struct text logged = { 0 };

	for (size_t i = 0; op && req->input && i < op->field_count; i++) {
		if (!op->fields[i].logged)
			continue;
		*name = op->fields[i].name;
		memcpy(&logged, (const char *)req->input + op->fields[i].offset, sizeof(logged));
		break;
	}
	return logged;
}
