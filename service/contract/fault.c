/* fault: see fault.h. Pure but for the problem it answers. */
#include "contract/fault.h"

#include <stdio.h>

#include "request/request.h"

void faults_begin(struct faults *f, struct request *req)
{
	f->req = req;
	f->count = 0;
}

/* A JSON pointer (RFC 6901) into the body; for what stands elsewhere "?name", "{name}" or "Name:". */
static size_t render(const struct spot *s, char *out, size_t size)
{
	static const char *const before[] = { "{", "?", "", "/" }, *const after[] = { "}", "", ":", "" };
	size_t n;

	if (s->row) {
		n = (size_t)snprintf(out, size, "%s%s%s", before[s->row->place], s->row->name, after[s->row->place]);
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

bool fault_add(struct faults *f, const struct spot *at, enum problem p, const char *format, ...)
{
	va_list args;

	if (f->count == MAX_FAULTS)
		return false;
	size_t i = f->count++;
	f->list[i].problem = p;
	render(at, f->list[i].pointer, POINTER_BYTES);
	va_start(args, format);
	vsnprintf(f->list[i].why, WHY_BYTES, format, args);
	va_end(args);
	return false;
}

void faults_answer(struct faults *f)
{
	const char *pointer = f->list[0].pointer;
	struct json_out *o = problem_begin(f->req, f->list[0].problem, "%s %s%s", *pointer ? pointer : "the body",
					   f->list[0].why, f->count > 1 ? " (and more, see errors)" : "");

	out_array(o, "errors");
	for (size_t i = 0; i < f->count; i++) {
		out_object(o, NULL);
		out_string(o, "pointer", f->list[i].pointer);
		out_string(o, "detail", f->list[i].why);
		out_close(o);
	}
	out_close(o);
	problem_end(f->req);
}
