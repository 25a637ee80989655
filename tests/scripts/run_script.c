#include "run_script.h"

#include "test.h"

enum { WORDS_MAX = 4096 };

static redisReply *send_words(struct redis_server *r, int count, const char **words)
{
	char *bytes = NULL;
	long long len = redisFormatCommandArgv(&bytes, count, words, NULL);

	if (r->reply)
		freeReplyObject(r->reply);
	r->reply = len < 0 ? NULL : server_send(r, bytes, (size_t)len);
	redisFreeCommand(bytes);
	if (!r->reply)
		fail_msg("%s: %s", words[0], r->context ? r->context->errstr : "no connection to redis-server");
	return r->reply;
}

static void load(struct redis_server *r, const struct script *s)
{
	const char *words[] = { "SCRIPT", "LOAD", s->text->source.at };
	redisReply *reply = send_words(r, 3, words);

	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("%s does not load: %s", s->name, reply->str);
	assert_string_equal(reply->str, s->text->sha1);
}

/* The bug that run_with_bug plants in scripts. */
static struct {
	const char *right, *wrong;
	int places;
} planted;

void run_with_bug(const char *right, const char *wrong)
{
	planted.right = right;
	planted.wrong = wrong;
	planted.places = 0;
}

int places_of_bug(void)
{
	return planted.places;
}

/* The source with the planted bug, or NULL if the source has no place for it. */
static const char *with_bug(const struct script *s)
{
	static char text[262144];
	const char *from = s->text->source.at, *at = planted.right ? strstr(from, planted.right) : NULL;
	size_t n = 0;

	if (!at)
		return NULL;
	for (; at; at = strstr(from, planted.right), planted.places++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*s%s", (int)(at - from), from, planted.wrong);
		assert_true(n < sizeof(text));
		from = at + strlen(planted.right);
	}
	n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", from);
	assert_true(n < sizeof(text));
	return text;
}

/* The index of names that lists a key: "p:names:{}:queue" for "p:queue:{a}". */
static const char *names_of(const char *key)
{
	static char index[64];
	const char *kind = strchr(key, ':') + 1;

	snprintf(index, sizeof(index), "p:names:{}:%.*s", (int)strcspn(kind, ":"), kind);
	return index;
}

static redisReply *call(struct redis_server *r, const struct script *s, const char *const keys[],
			const char *const args[], const char *record, const char *fingerprint)
{
	const char *words[WORDS_MAX];
	char key_count[16], operation[160];
	int n = 3;

	const char *first = *keys;
	for (; *keys; keys++)
		words[n++] = *keys;
	if (s->indexed)
		words[n++] = names_of(first);
	if (record)
		words[n++] = record;
	snprintf(key_count, sizeof(key_count), "%d", n - 3);
	for (; *args; args++) {
		assert_true(n < WORDS_MAX - 1);
		words[n++] = *args;
	}
	snprintf(operation, sizeof(operation), "%s%s%s", s->name, record ? " " : "", record ? fingerprint : "");
	words[n++] = operation;
	const char *bugged = with_bug(s);
	words[0] = bugged ? "EVAL" : "EVALSHA";
	words[1] = bugged ? bugged : s->text->sha1;
	words[2] = key_count;
	redisReply *reply = send_words(r, n, words);
	if (reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOSCRIPT", 8) == 0) {
		load(r, s);
		reply = send_words(r, n, words);
	}
	return reply;
}

/* Replaces the reply of a replay by the recorded one. */
static redisReply *replied(struct redis_server *r)
{
	redisReply *reply = r->reply;

	if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 && reply->element[0]->type == REDIS_REPLY_STRING &&
	    strcmp(reply->element[0]->str, "replayed") == 0) {
		r->reply = reply->element[1];
		reply->element[1] = NULL;
		freeReplyObject(reply);
	}
	return r->reply;
}

/* Copies a reply into the form in which the daemon reads it. The caller frees the copy. */
static struct reply *as_reply(const redisReply *r)
{
	static const enum reply_type types[] = {
		[REDIS_REPLY_STRING] = REPLY_TEXT, [REDIS_REPLY_STATUS] = REPLY_STATUS,
		[REDIS_REPLY_ARRAY] = REPLY_ARRAY, [REDIS_REPLY_INTEGER] = REPLY_INTEGER,
		[REDIS_REPLY_ERROR] = REPLY_ERROR,
	};
	struct reply *copy = calloc(1, sizeof(*copy) + r->elements * sizeof(copy));

	*copy = (struct reply){ .type = types[r->type], .integer = r->integer, .count = r->elements };
	copy->text = (struct text){ r->str, r->len };
	copy->items = (struct reply **)(copy + 1);
	for (size_t i = 0; i < copy->count; i++)
		copy->items[i] = as_reply(r->element[i]);
	return copy;
}

static void free_reply(struct reply *r)
{
	for (size_t i = 0; i < r->count; i++)
		free_reply(r->items[i]);
	free(r);
}

static bool is_ended(const redisReply *r)
{
	return r->elements == 2 && r->element[0]->type == REDIS_REPLY_STRING &&
	       strcmp(r->element[0]->str, "ended") == 0;
}

static redisReply *must_be_reply(struct redis_server *r, const struct script *s)
{
	redisReply *reply = replied(r);

	if (reply->type == REDIS_REPLY_ERROR) {
		struct script_place at = script_place(s->text, reply->str);
		fail_msg("%s, %s:%ld: %s", s->name, at.file ? at.file : "", at.line, reply->str);
	}
	struct reply *copy = as_reply(reply);
	if (!reply_form_of(copy, s->forms) && !(s->replay == REPLAY_GRANT && is_ended(reply)))
		fail_msg("%s: the reply is none that the script declares", s->name);
	free_reply(copy);
	return reply;
}

static void must_be_error(const struct script *s, const redisReply *reply, const char *part)
{
	if (reply->type != REDIS_REPLY_ERROR)
		fail_msg("%s was not refused with '%s'", s->name, part);
	if (!strstr(reply->str, part))
		fail_msg("%s was refused with '%s', not '%s'", s->name, reply->str, part);
}

redisReply *run(struct redis_server *r, const struct script *s, const char *const keys[], const char *const args[])
{
	call(r, s, keys, args, NULL, "");
	return must_be_reply(r, s);
}

redisReply *run_with_record(struct redis_server *r, const struct script *s, const char *const keys[],
			    const char *const args[], const char *record, const char *fingerprint)
{
	assert_true(s->replay != REPLAY_NONE);
	call(r, s, keys, args, record, fingerprint);
	return must_be_reply(r, s);
}

void run_fails(struct redis_server *r, const struct script *s, const char *const keys[], const char *const args[],
	       const char *part)
{
	must_be_error(s, call(r, s, keys, args, NULL, ""), part);
}

void run_with_record_ended(struct redis_server *r, const struct script *s, const char *const keys[],
			   const char *const args[], const char *record, const char *fingerprint)
{
	run_with_record(r, s, keys, args, record, fingerprint);
	assert_int_equal(r->reply->elements, 2);
	assert_true(is_ended(r->reply));
}

void run_with_record_fails(struct redis_server *r, const struct script *s, const char *const keys[],
			   const char *const args[], const char *record, const char *fingerprint, const char *part)
{
	must_be_error(s, call(r, s, keys, args, record, fingerprint), part);
}

bool run_may_fail(struct redis_server *r, const struct script *s, const char *const keys[], const char *const args[],
		  const char *part)
{
	redisReply *reply = call(r, s, keys, args, NULL, "");

	if (reply->type == REDIS_REPLY_ERROR)
		must_be_error(s, reply, part);
	return reply->type != REDIS_REPLY_ERROR;
}

static const redisReply *item(const struct redis_server *r, size_t i)
{
	if (!r->reply || r->reply->type != REDIS_REPLY_ARRAY || i >= r->reply->elements)
		fail_msg("the reply has no item %zu", i);
	return r->reply->element[i];
}

int64_t item_int(const struct redis_server *r, size_t i)
{
	const redisReply *found = item(r, i);
	char *end = "x";

	if (found->type == REDIS_REPLY_INTEGER)
		return found->integer;
	long long value = found->type == REDIS_REPLY_STRING ? strtoll(found->str, &end, 10) : 0;
	if (end == found->str || *end)
		fail_msg("item %zu is no integer, nor its digits", i);
	return value;
}

const char *item_text(const struct redis_server *r, size_t i)
{
	assert_int_equal(item(r, i)->type, REDIS_REPLY_STRING);
	return item(r, i)->str;
}

int64_t outcome(const struct redis_server *r)
{
	return item_int(r, REPLY_OUTCOME);
}

double item_real(const struct redis_server *r, size_t i)
{
	return strtod(item_text(r, i), NULL);
}

void must_be_near(double got, double wanted, double within, const char *file, int line)
{
	if (!(got >= wanted - within && got <= wanted + within)) {
		print_error("%.17g is not within %g of %.17g\n", got, within, wanted);
		_fail(file, line);
	}
}

int64_t redis_pttl_ms(struct redis_server *r, const char *key)
{
	return server_command(r, "PTTL %s", key)->integer;
}

int64_t redis_exists(struct redis_server *r, const char *key)
{
	return server_command(r, "EXISTS %s", key)->integer;
}
