#include "common/finding.h"

#include <stdarg.h>
#include <stdio.h>

void finding_write(struct json_out *o, const struct finding *f)
{
	bool has_value = f->unit && f->value >= 0;

	out_object(o, NULL);
	out_string(o, "kind", f->kind);
	out_string(o, "severity", f->severity);
	out_text_or_null(o, "name", f->name);
	out_int_or_null(o, "value", has_value, f->value);
	out_string(o, "unit", has_value ? f->unit : NULL);
	out_int_or_null(o, "count", f->count > 0, f->count);
	out_text_or_null(o, "message_id", f->message_id);
	out_text(o, "detail", f->detail);
	out_int_or_null(o, "since_at_ms", f->since_at_ms > 0, f->since_at_ms);
	out_int_or_null(o, "until_ms", f->until_ms > 0, f->until_ms);
	out_close(o);
}

void finding_out(struct json_out *o, const struct finding *f, const char *format, ...)
{
	struct finding with_detail = *f;
	char detail[FINDING_DETAIL_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	with_detail.detail = text_of(detail);
	finding_write(o, &with_detail);
}

const char *finding_plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

const char *finding_verb(int64_t n)
{
	return n == 1 ? "is" : "are";
}
