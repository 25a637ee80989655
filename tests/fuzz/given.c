#include "given.h"

#include <jansson.h>
#include <math.h>
#include <strings.h>

#include "core/arena.h"
#include "fuzz.h"
#include "json/read.h"

static char method[16];
static struct text names[GIVEN_HEADERS + 1], values[GIVEN_HEADERS + 1];
static size_t header_count;

static struct text find_header(struct request *req, const char *name, unsigned *lines)
{
	(void)req;
	if (lines)
		*lines = 1;
	for (size_t i = 0; i < header_count; i++)
		if (strcasecmp(names[i].at, name) == 0)
			return values[i];
	return (struct text){ 0 };
}

struct request *given_request(struct text line)
{
	const char *blank = memchr(line.at, ' ', line.len);
	size_t len = blank ? (size_t)(blank - line.at) : line.len;

	snprintf(method, sizeof(method), "%.*s", (int)len, line.at);
	struct request *req = blank ? request_new(blank + 1, line.len - len - 1) : request_new(line.at + line.len, 0);
	CHECK(req);
	req->asked.method = method;
	req->asked.header = find_header;
	header_count = 0;
	memset(names, 0, sizeof(names));
	return req;
}

void given_end(struct request *req)
{
	request_asker_done(req);
}

/* As libmicrohttpd passes them, each text ends at its first NUL byte. */
void given_header(struct request *req, struct text line)
{
	const char *colon = memchr(line.at, ':', line.len);
	const char *value = colon ? colon + 1 : line.at + line.len;

	if (header_count == GIVEN_HEADERS)
		return;
	value += strspn(value, " \t");
	names[header_count] = arena_copy(&req->arena, line.at, colon ? (size_t)(colon - line.at) : line.len);
	values[header_count++] = arena_copy(&req->arena, value, strcspn(value, "\r"));
}

struct text given_name(size_t i)
{
	return names[i];
}

struct text given_value(size_t i)
{
	return values[i];
}

void given_check_refusal(const struct request *req)
{
	json_error_t error;

	CHECK(req->state == ANSWERED && req->answer.problem);
	CHECK(req->answer.status == req->answer.problem->status && req->answer.status >= 400);
	json_t *root = json_loadb(req->answer.body.at, req->answer.body.len, JSON_REJECT_DUPLICATES, &error);
	CHECK(root);
	const char *code = json_string_value(json_object_get(root, "code"));
	CHECK(code && strcmp(code, req->answer.problem->code) == 0);
	json_decref(root);
	for (size_t i = 0; i < req->answer.header_count; i++)
		CHECK(!text_has_control(text_of(req->answer.headers[i].value)));
}

/* ---- The rows ---- */

static void check_struct(const struct field *rows, size_t count, const char *at);

/* Any JSON, as it was sent. */
static void check_any(const struct field *row, struct text t)
{
	struct arena arena = { 0 };

	CHECK(t.at ? json_read_is_valid(&arena, arena_copy(&arena, t.at, t.len)) : !row->required);
	arena_free(&arena);
}

static void check_text(const struct field *row, struct text t)
{
	if (!t.at) {
		CHECK(!row->required || row->nullable); /* null removes a text of a map */
		return;
	}
	CHECK(t.at[t.len] == '\0' && (int64_t)t.len >= row->low && (int64_t)t.len <= row->high);
	CHECK(!memchr(t.at, '\0', t.len));
	CHECK(row->kind == FIELD_BYTES || text_is_utf8(t));
	if (row->kind == FIELD_NAME)
		CHECK(!text_has_control(t) && !memchr(t.at, '{', t.len) && !memchr(t.at, '}', t.len) &&
		      !text_is(t, ".") && !text_is(t, ".."));
}

static void check_int(const struct field *row, int64_t n)
{
	CHECK((n >= row->low && n <= row->high) || (!row->required && n == row->default_value));
}

static void check_real(const struct field *row, double d)
{
	CHECK((d >= row->real_low && d <= row->real_high && isfinite(d)) ||
	      (!row->required && d == row->real_default)); /* NaN is neither */
}

static void check_choice(const struct field *row, int choice)
{
	int count = 0;

	while (row->choices[count])
		count++;
	CHECK(choice >= (row->required ? 1 : 0) && choice <= count);
}

static void check_value(const struct field *row, const char *slot);

static void check_many(const struct field *row, const char *slot)
{
	struct input_array many;

	memcpy(&many, slot, sizeof(many));
	CHECK(many.count == 0 ? !row->required || row->low == 0
			      : (int64_t)many.count >= row->low && (int64_t)many.count <= row->high);
	for (size_t i = 0; i < many.count; i++) {
		const char *item = (const char *)many.items + i * row->size;
		if (row->kind == FIELD_ARRAY)
			check_value(row->fields, item);
		else
			check_struct(row->fields, row->field_count, item);
	}
}

static void check_value(const struct field *row, const char *slot)
{
	switch (row->kind) {
	case FIELD_TEXT:
	case FIELD_NAME:
	case FIELD_BYTES:
		check_text(row, *(const struct text *)(const void *)slot);
		break;
	case FIELD_INT:
		check_int(row, *(const int64_t *)(const void *)slot);
		break;
	case FIELD_REAL:
		check_real(row, *(const double *)(const void *)slot);
		break;
	case FIELD_BOOL:
		CHECK(*(const unsigned char *)slot <= 1);
		break;
	case FIELD_CHOICE:
		check_choice(row, *(const int *)(const void *)slot);
		break;
	case FIELD_ANY:
		check_any(row, *(const struct text *)(const void *)slot);
		break;
	case FIELD_OBJECT:
		check_struct(row->fields, row->field_count, slot);
		break;
	case FIELD_ARRAY:
	case FIELD_MAP:
		check_many(row, slot);
		break;
	}
}

/*
 * A row with `excludes` may be absent without a flag that shows it, so its value is not checked.
 */
static void check_struct(const struct field *rows, size_t count, const char *at)
{
	for (size_t i = 0; i < count; i++) {
		bool has_flag = rows[i].has_offset != NO_OFFSET;
		bool absent = has_flag && !*(const bool *)(at + rows[i].has_offset);
		if (!absent && !rows[i].excludes)
			check_value(&rows[i], at + rows[i].offset);
	}
}

void given_check_input(const struct request *req, const void *input)
{
	CHECK(req->state == READING);
	check_struct(req->op->fields, req->op->field_count, input);
}
