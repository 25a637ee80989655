/* answer: parses and checks answers; see answer.h. It knows no connection. */
#include <ctype.h>
#include <strings.h>

#include "answer.h"
#include "test.h"

enum { HEADERS_MAX = 64, PRINTED_BYTES = 600 };

struct answer_memory {
	struct answer_memory *next;
	char *head;
	char *body;
	json_t *json;
	struct answer_header headers[HEADERS_MAX];
};

static struct answer_memory *keep(struct answer_memory **list)
{
	struct answer_memory *k = calloc(1, sizeof(*k));

	assert_non_null(k);
	k->next = *list;
	*list = k;
	return k;
}

static char *copy_of(const char *at, size_t len)
{
	char *copy = malloc(len + 1);

	assert_non_null(copy);
	if (len)
		memcpy(copy, at, len);
	copy[len] = '\0';
	return copy;
}

/* Cuts the head into lines, in place. Returns how many headers it has. */
static size_t split_head(struct answer_memory *k)
{
	size_t n = 0;
	char *line, *rest = k->head;

	strsep(&rest, "\n");
	while (n < HEADERS_MAX && (line = strsep(&rest, "\n"))) {
		char *colon = strchr(line, ':');
		line[strcspn(line, "\r")] = '\0';
		if (!colon)
			continue;
		*colon++ = '\0';
		while (isspace((unsigned char)*colon))
			colon++;
		k->headers[n++] = (struct answer_header){ line, colon };
	}
	return n;
}

struct answer answer_make(struct answer_memory **kept, const char *head, size_t head_len, const char *body,
			  size_t body_len)
{
	struct answer_memory *k = keep(kept);
	struct answer a = { 0 };
	const char *type;

	k->head = copy_of(head, head_len);
	k->body = copy_of(body, body_len);
	const char *status = strchr(k->head, ' ');
	a.status = status ? atoi(status + 1) : 0;
	a.error = "";
	a.header_count = split_head(k);
	a.headers = k->headers;
	a.body = k->body;
	a.body_len = body_len;
	type = header_of(a, "Content-Type");
	if (type && strstr(type, "json"))
		k->json = json_loadb(k->body, body_len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	a.json = k->json;
	return a;
}

struct answer answer_missing(struct answer_memory **kept, const char *error)
{
	struct answer_memory *k = keep(kept);

	k->body = copy_of("", 0);
	k->head = copy_of(error, strlen(error));
	return (struct answer){ .error = k->head, .body = k->body };
}

void answer_memory_free(struct answer_memory **kept)
{
	struct answer_memory *k;

	while ((k = *kept)) {
		*kept = k->next;
		json_decref(k->json);
		free(k->head);
		free(k->body);
		free(k);
	}
}

const char *header_of(struct answer a, const char *name)
{
	for (size_t i = 0; i < a.header_count; i++)
		if (strcasecmp(a.headers[i].name, name) == 0)
			return a.headers[i].value;
	return NULL;
}

static const json_t *step(const json_t *at, const char *key)
{
	if (json_is_object(at))
		return json_object_get(at, key);
	return json_is_array(at) && isdigit((unsigned char)*key) ? json_array_get(at, (size_t)atol(key)) : NULL;
}

const json_t *json_at(struct answer a, const char *pointer)
{
	const json_t *at = a.json;
	char key[256];

	while (at && *pointer == '/') {
		size_t len = strcspn(++pointer, "/");
		snprintf(key, sizeof(key), "%.*s", (int)len, pointer);
		pointer += len;
		at = step(at, key);
	}
	return at;
}

const json_t *json_item(struct answer a, const char *list, const char *member, const char *text)
{
	const json_t *items = json_at(a, list);

	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i);
		if (strcmp(json_string_value(json_object_get(item, member)), text) == 0)
			return item;
	}
	return NULL;
}

void answer_print(struct answer a)
{
	print_error("status %d %s %.*s\n", a.status, a.error ? a.error : "", PRINTED_BYTES, a.body ? a.body : "");
}

/* Returns the value at a pointer. Fails the test when the value is of another kind. */
static const json_t *wanted_at(struct answer a, const char *pointer, bool fits, const char *kind)
{
	const json_t *at = json_at(a, pointer);

	if (!fits) {
		answer_print(a);
		fail_msg("%s is not %s", pointer, kind);
	}
	return at;
}

int64_t int_at(struct answer a, const char *pointer)
{
	return json_integer_value(wanted_at(a, pointer, json_is_integer(json_at(a, pointer)), "an integer"));
}

double real_at(struct answer a, const char *pointer)
{
	return json_number_value(wanted_at(a, pointer, json_is_number(json_at(a, pointer)), "a number"));
}

bool bool_at(struct answer a, const char *pointer)
{
	return json_is_true(wanted_at(a, pointer, json_is_boolean(json_at(a, pointer)), "a boolean"));
}

const char *text_at(struct answer a, const char *pointer)
{
	return json_string_value(wanted_at(a, pointer, json_is_string(json_at(a, pointer)), "a string"));
}

void answer_must_have(struct answer a, int status, const char *file, int line)
{
	if (a.status == status)
		return;
	answer_print(a);
	print_error("the status should have been %d\n", status);
	_fail(file, line);
}

static bool is_text(struct answer a, const char *pointer, const char *wanted)
{
	const char *is = json_string_value(json_at(a, pointer));

	return is && (!wanted || strcmp(is, wanted) == 0);
}

const char *problem_flaw(struct answer a, int status, const char *code, const char *effect)
{
	const char *media = header_of(a, "Content-Type"), *id = header_of(a, "X-Request-ID");
	const char *own_code = json_string_value(json_at(a, "/code"));
	char type[128];

	if (a.status != status)
		return "status";
	if (!media || strncmp(media, "application/problem+json", 24) != 0)
		return "content type is not application/problem+json";
	if (!json_is_object(a.json))
		return "body is no JSON object";
	if (!own_code || (code && strcmp(code, own_code) != 0))
		return "code";
	snprintf(type, sizeof(type), "/problems/%s", own_code);
	if (!is_text(a, "/type", type))
		return "type is not /problems/<code>";
	if (!is_text(a, "/title", NULL) || !is_text(a, "/detail", NULL))
		return "title or detail is missing";
	if (json_integer_value(json_at(a, "/status")) != status)
		return "member status";
	if (!is_text(a, "/effect", effect))
		return "effect";
	if (!is_text(a, "/effect", "none") && !is_text(a, "/effect", "applied") && !is_text(a, "/effect", "unknown"))
		return "effect is none of its three words";
	if (!id || !is_text(a, "/request_id", id))
		return "request_id is not that of the header X-Request-ID";
	if (status == 503 && !header_of(a, "Retry-After"))
		return "a 503 without Retry-After";
	if (status == 405 && !header_of(a, "Allow"))
		return "a 405 without Allow";
	return NULL;
}

void answer_must_be_problem(struct answer a, int status, const char *code, const char *effect, const char *file,
			    int line)
{
	const char *flaw = problem_flaw(a, status, code, effect);

	if (!flaw)
		return;
	answer_print(a);
	print_error("not a problem %d %s, effect %s: %s\n", status, code ? code : "(any)", effect ? effect : "(any)",
		    flaw);
	_fail(file, line);
}
