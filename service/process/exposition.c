#include "process/exposition.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/arena.h"

/* Returns where `n` more bytes can be written, or NULL. */
static char *room(struct exposition *e, size_t n)
{
	if (e->len + n > e->size) {
		size_t size = (e->size + n) * 2;
		char *bigger = arena_grow(e->arena, e->at, e->len, size);
		if (!bigger)
			return NULL;
		e->at = bigger;
		e->size = size;
	}
	return e->at + e->len;
}

void exposition_add(struct exposition *e, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	int n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	assert(n >= 0 && (size_t)n < sizeof(line));
	char *to = room(e, (size_t)n);
	if (!to)
		return;
	memcpy(to, line, (size_t)n);
	e->len += (size_t)n;
}

void exposition_line(struct exposition *e, const struct text *parts, size_t n, struct text value)
{
	struct text end[] = { value, TEXT("\n") };
	size_t len = end[0].len + end[1].len;

	for (size_t i = 0; i < n; i++)
		len += parts[i].len;
	char *to = room(e, len);
	if (!to)
		return;
	for (size_t i = 0; i < n + 2; i++) {
		struct text part = i < n ? parts[i] : end[i - n];
		memcpy(to, part.at, part.len);
		to += part.len;
	}
	e->len += len;
}

void exposition_head(struct exposition *e, const char *name, const char *type, const char *help)
{
	exposition_add(e, "# HELP patternd_%s %s\n# TYPE patternd_%s %s\n", name, help, name, type);
}

void exposition_counter(struct exposition *e, const char *name, const char *help, uint64_t value)
{
	exposition_head(e, name, "counter", help);
	exposition_add(e, "patternd_%s %" PRIu64 "\n", name, value);
}

void exposition_gauge(struct exposition *e, const char *name, const char *help, double value)
{
	exposition_head(e, name, "gauge", help);
	exposition_add(e, "patternd_%s %.17g\n", name, value);
}

struct text exposition_label(char *to, struct text value)
{
	size_t n = 0;

	for (size_t i = 0; i < value.len; i++) {
		char c = value.at[i];
		if (c == '\\' || c == '"' || c == '\n')
			to[n++] = '\\';
		to[n++] = c == '\n' ? 'n' : c;
	}
	to[n] = '\0';
	return (struct text){ to, n };
}
