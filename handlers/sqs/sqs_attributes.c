#include "sqs/sqs_attributes.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/digest.h"
#include "core/percent.h"
#include "request/traceparent.h"
#include "sqs/sqs_text.h"
#include "json/base64.h"

enum { ATTRIBUTES_MOST = 10, NAME_MOST = 256, MD5_PARTS = 7 };

#define TYPES_HEADER "AWS.DataTypes"

static bool begins(struct text t, const char *with)
{
	size_t len = strlen(with);

	return t.len >= len && strncasecmp(t.at, with, len) == 0;
}

static bool is_of_type(struct text type, const char *basic)
{
	size_t len = strlen(basic);

	return type.len >= len && memcmp(type.at, basic, len) == 0 && (type.len == len || type.at[len] == '.');
}

static int compare(const void *a, const void *b)
{
	struct text x = ((const struct sqs_attribute *)a)->name, y = ((const struct sqs_attribute *)b)->name;
	int order = memcmp(x.at, y.at, x.len < y.len ? x.len : y.len);

	return order ? order : (x.len > y.len) - (x.len < y.len);
}

/* ---- What a client sends ---- */

static bool refuse(struct request *req, struct sqs_refusal *why, const char *message, ...)
	__attribute__((format(printf, 3, 4)));

static bool refuse(struct request *req, struct sqs_refusal *why, const char *message, ...)
{
	va_list args;

	va_start(args, message);
	*why = (struct sqs_refusal){ SQS_INVALID_PARAMETER, arena_vprintf(&req->arena, message, args) };
	va_end(args);
	return false;
}

static bool is_name(struct text name)
{
	if (!name.len || name.len > NAME_MOST || name.at[0] == '.' || name.at[name.len - 1] == '.' ||
	    begins(name, "aws.") || begins(name, "amazon."))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.at[i];
		bool is_ascii = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
		if (!is_ascii && ((c < 0x80 && !strchr("_-.", c)) || c == 0xC2)) /* U+0080 to U+00BF: no letters */
			return false;
		if (c == '.' && name.at[i + 1] == '.')
			return false;
	}
	return true;
}

static bool is_number(struct text t)
{
	char *end = NULL;

	if (!t.len || strspn(t.at, "0123456789+-.eE") != t.len)
		return false;
	strtod(t.at, &end);
	return end == t.at + t.len;
}

/* Decodes BinaryValue. False: it is not base64. */
static bool take_bytes(struct request *req, struct sqs_attribute *a)
{
	char why[BASE64_WHY], *out = arena_alloc(&req->arena, base64_room(a->value.len) + 1);

	if (!out || !base64_decode(a->value, out, &a->bytes.len, why))
		return false;
	out[a->bytes.len] = '\0';
	a->bytes.at = out;
	return true;
}

static bool check_type(struct request *req, const struct sqs_attribute *a, bool is_system, struct sqs_refusal *why)
{
	if (is_system ? !text_is(a->name, "AWSTraceHeader") : !is_name(a->name))
		return refuse(
			req, why,
			"Message %s attribute name '%s' is invalid. Attribute name can contain A-Z, a-z, 0-9, underscore "
			"(_), hyphen (-), and period (.) characters.",
			is_system ? "system" : "user", a->name.at);
	if (!a->type.len)
		return refuse(req, why, "The message attribute '%s' must contain non-empty message attribute type.",
			      a->name.at);
	if (a->type.len <= NAME_MOST &&
	    (is_of_type(a->type, "Binary") || is_of_type(a->type, "String") || is_of_type(a->type, "Number")))
		return true;
	return refuse(
		req, why,
		"The message attribute '%s' has an invalid message attribute type, the set of supported type prefixes "
		"is Binary, Number, and String.",
		a->name.at);
}

static bool check_value(struct request *req, struct sqs_attribute *a, struct sqs_refusal *why)
{
	if (a->value.at && !a->value.len)
		return refuse(req, why, "Message (user) attribute '%s' must contain a non-empty value of type '%s'.",
			      a->name.at, a->type.at);
	if (!a->value.at)
		return refuse(req, why,
			      "The message attribute '%s' must contain a non-empty message attribute value for message "
			      "attribute type '%s'.",
			      a->name.at, a->type.at);
	if (is_of_type(a->type, "Binary") && !take_bytes(req, a))
		return refuse(req, why, "The BinaryValue of the message attribute '%s' is not base64.", a->name.at);
	if (is_of_type(a->type, "Number") && !is_number(a->value))
		return refuse(req, why, "Can't cast the value of message (user) attribute '%s' to a number.",
			      a->name.at);
	if (sqs_text_is_allowed(a->value) && sqs_text_is_allowed(a->type))
		return true;
	return refuse(req, why, "Message attribute '%s' has characters that are not allowed.", a->name.at);
}

static bool read_one(struct request *req, const struct json *given, bool is_system, struct sqs_attribute *a,
		     struct sqs_refusal *why)
{
	a->name = given->key;
	a->type = json_tree_string(given, "DataType");
	a->value = json_tree_string(given, is_of_type(a->type, "Binary") ? "BinaryValue" : "StringValue");
	a->bytes = a->value;
	return check_type(req, a, is_system, why) && check_value(req, a, why);
}

bool sqs_attributes_read(struct request *req, const struct json *given, bool is_system, struct sqs_attributes *out,
			 struct sqs_refusal *why)
{
	*out = (struct sqs_attributes){ 0 };
	if (!given || given->kind == JSON_IS_NULL || (given->kind == JSON_IS_OBJECT && !given->count))
		return true;
	if (given->kind != JSON_IS_OBJECT)
		return refuse(req, why, "The attributes of a message must be an object.");
	if (given->count > ATTRIBUTES_MOST)
		return refuse(req, why, "Number of message attributes [%zu] exceeds the allowed maximum [%d].",
			      given->count, ATTRIBUTES_MOST);
	out->items = arena_alloc(&req->arena, given->count * sizeof(*out->items));
	for (const struct json *m = given->first; out->items && m; m = m->next) {
		struct sqs_attribute *a = &out->items[out->count++];
		if (!read_one(req, m, is_system, a, why))
			return false;
		out->bytes += a->name.len + a->type.len + a->bytes.len;
	}
	if (out->items)
		qsort(out->items, out->count, sizeof(*out->items), compare);
	return true;
}

/* True if the attribute is stored as the message's `traceparent`. */
static bool is_trace(const struct sqs_attribute *a)
{
	return text_is(a->name, "traceparent") && text_is(a->type, "String") && traceparent_is_valid(a->value);
}

/* Percent-encodes a type, which may have commas, as they separate the types. */
static const char *encoded(struct request *req, struct text type)
{
	char *out = arena_alloc(&req->arena, 3 * type.len + 1);

	if (out)
		percent_encode(type, out);
	return out ? out : "";
}

void sqs_attributes_out_headers(struct json_out *o, struct request *req, const struct sqs_attributes *user,
				const struct sqs_attributes *system)
{
	struct text types = TEXT("");

	if (!user->count && !system->count)
		return;
	out_object(o, "headers");
	for (size_t i = 0; i < user->count; i++) {
		const struct sqs_attribute *a = &user->items[i];
		if (is_trace(a))
			continue;
		out_key(o, a->name);
		out_text(o, NULL, a->value);
		if (!text_is(a->type, "String"))
			types = arena_printf(&req->arena, "%s%s%s=%s", types.at, types.len ? "," : "", a->name.at,
					     encoded(req, a->type));
		if (!types.at)
			types = TEXT("");
	}
	if (types.len)
		out_text(o, TYPES_HEADER, types);
	if (system->count)
		out_text(o, SQS_TRACE_HEADER, system->items[0].value);
	out_close(o);
	for (size_t i = 0; i < user->count; i++)
		if (is_trace(&user->items[i]))
			out_text(o, "traceparent", user->items[i].value);
}

/* ---- What a client receives ---- */

bool sqs_attribute_is_wanted(const struct json *names, struct text name)
{
	for (const struct json *n = names && names->kind == JSON_IS_ARRAY ? names->first : NULL; n; n = n->next) {
		struct text t = n->kind == JSON_IS_TEXT ? n->text : (struct text){ 0 };
		if (!t.len)
			continue;
		if ((t.len == 3 && strncasecmp(t.at, "All", 3) == 0) || text_is(t, "*") || text_equal(t, name))
			return true;
		if (t.len >= 2 && memcmp(t.at + t.len - 2, ".*", 2) == 0 && name.len >= t.len - 2 &&
		    memcmp(t.at, name.at, t.len - 2) == 0)
			return true;
	}
	return false;
}

/* Returns the type that the header of types has for a name. */
static struct text type_of(struct request *req, struct text types, struct text name)
{
	while (types.len) {
		struct text type = text_cut(&types, ',');
		if (!text_equal(text_cut(&type, '='), name) || !type.len)
			continue;
		type = arena_copy(&req->arena, type.at, type.len);
		return type.at && percent_decode((char *)(uintptr_t)type.at, &type.len) ? type : TEXT("String");
	}
	return TEXT("String");
}

static void add(struct request *req, struct sqs_attributes *out, const struct json *names, struct sqs_attribute a)
{
	if (!sqs_attribute_is_wanted(names, a.name))
		return;
	a.bytes = a.value;
	if (is_of_type(a.type, "Binary") && !take_bytes(req, &a))
		a.type = TEXT("String"); /* the header is not from a client of SQS */
	out->items[out->count++] = a;
}

struct sqs_attributes sqs_attributes_of(struct request *req, const struct json *message, const struct json *names)
{
	const struct json *headers = json_tree_member(message, "headers");
	struct text trace = json_tree_string(message, "traceparent"), types = json_tree_string(headers, TYPES_HEADER);
	struct sqs_attributes out = { 0 };
	size_t most = (headers ? headers->count : 0) + (trace.at != NULL);

	if (!most || !names)
		return out;
	out.items = arena_alloc(&req->arena, most * sizeof(*out.items));
	for (const struct json *h = headers ? headers->first : NULL; out.items && h; h = h->next)
		if (!begins(h->key, "AWS."))
			add(req, &out, names,
			    (struct sqs_attribute){ h->key, type_of(req, types, h->key), sqs_text_of(req, h), { 0 } });
	if (out.items && trace.at)
		add(req, &out, names, (struct sqs_attribute){ TEXT("traceparent"), TEXT("String"), trace, { 0 } });
	if (out.count)
		qsort(out.items, out.count, sizeof(*out.items), compare);
	return out;
}

void sqs_attributes_out(struct json_out *o, const struct sqs_attributes *a)
{
	if (!a->count)
		return;
	out_object(o, "MessageAttributes");
	for (size_t i = 0; i < a->count; i++) {
		bool is_binary = is_of_type(a->items[i].type, "Binary");
		out_key(o, a->items[i].name);
		out_object(o, NULL);
		out_text(o, "DataType", a->items[i].type);
		out_text(o, is_binary ? "BinaryValue" : "StringValue", a->items[i].value);
		out_close(o);
	}
	out_close(o);
}

/* Adds the length of a part as four bytes, big endian, and the part. */
static void add_part(struct arena *arena, struct text *parts, size_t *n, struct text t)
{
	const char length[4] = { (char)(t.len >> 24), (char)(t.len >> 16), (char)(t.len >> 8), (char)t.len };

	parts[(*n)++] = arena_copy(arena, length, sizeof(length));
	parts[(*n)++] = t;
}

void sqs_attributes_out_md5(struct json_out *o, const char *key, const struct sqs_attributes *a)
{
	struct text *parts = a->count ? arena_alloc(o->arena, a->count * MD5_PARTS * sizeof(*parts)) : NULL;
	size_t n = 0;

	for (size_t i = 0; parts && i < a->count; i++) {
		const struct sqs_attribute *one = &a->items[i];
		add_part(o->arena, parts, &n, one->name);
		add_part(o->arena, parts, &n, one->type);
		parts[n++] = is_of_type(one->type, "Binary") ? TEXT("\2") : TEXT("\1");
		add_part(o->arena, parts, &n, one->bytes);
	}
	if (parts && !o->arena->failed)
		sqs_md5_out(o, key, parts, n);
}
