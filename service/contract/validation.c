/* validation: see validation.h. Pure, except for the problem that it answers with. */
#include "contract/validation.h"

#include <stdio.h>

#include "request/request.h"

void validation_begin(struct validation *v, struct request *req)
{
	v->req = req;
	v->count = 0;
}

/*
 * Writes a JSON pointer (RFC 6901) into the body, or "?name", "{name}" or "Name:" for a parameter.
 */
static size_t render(const struct json_pointer *s, char *out, size_t size)
{
	static const char *const before[] = { "{", "?", "", "/" }, *const after[] = { "}", "", ":", "" };
	size_t n;

	if (s->field) {
		n = (size_t)snprintf(out, size, "%s%s%s", before[s->field->place], s->field->name,
				     after[s->field->place]);
		return n < size ? n : size - 1;
	}
	if (!s->parent) {
		out[0] = '\0';
		return 0;
	}
	n = render(s->parent, out, size);
	if (!s->key) {
		n += (size_t)snprintf(out + n, size - n, "/%zu", s->index);
		return n < size ? n : size - 1;
	}
	if (n + 1 < size)
		out[n++] = '/';
	for (const char *c = s->key; *c && n + 3 < size; c++) {
		bool special = *c == '~' || *c == '/';
		out[n++] = special ? '~' : *c;
		if (special)
			out[n++] = *c == '~' ? '0' : '1';
	}
	out[n] = '\0';
	return n;
}

bool validation_error(struct validation *v, const struct json_pointer *at, enum problem p, const char *format, ...)
{
	va_list args;

	if (v->count == VALIDATION_ERRORS_MAX)
		return false;
	size_t i = v->count++;
	v->errors[i].problem = p;
	render(at, v->errors[i].pointer, VALIDATION_POINTER_BYTES);
	va_start(args, format);
	vsnprintf(v->errors[i].detail, VALIDATION_DETAIL_BYTES, format, args);
	va_end(args);
	return false;
}

void validation_add(struct validation *v, const char *format, ...)
{
	va_list args;

	if (v->count == 0 || v->count == VALIDATION_ERRORS_MAX)
		return;
	char *detail = v->errors[v->count - 1].detail;
	size_t n = strlen(detail);
	va_start(args, format);
	vsnprintf(detail + n, VALIDATION_DETAIL_BYTES - n, format, args);
	va_end(args);
}

void validation_answer(struct validation *v)
{
	const char *pointer = v->errors[0].pointer;
	struct json_out *o =
		answer_begin_problem(v->req, v->errors[0].problem, "%s %s%s", *pointer ? pointer : "the body",
				     v->errors[0].detail, v->count > 1 ? " (and more, see errors)" : "");

	out_array(o, "errors");
	for (size_t i = 0; i < v->count; i++) {
		out_object(o, NULL);
		out_string(o, "pointer", v->errors[i].pointer);
		out_string(o, "detail", v->errors[i].detail);
		out_close(o);
	}
	out_close(o);
	answer_end(v->req);
}
