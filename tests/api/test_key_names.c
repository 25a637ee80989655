/*
 * P16, keys do not collide or escape. Names are random bytes, many of which have a meaning in a
 * key, a path or a Cluster. Each accepted name has its own key below the prefix. All keys of one
 * resource have its name as their hash tag, so that they share a slot.
 */
#include "../support/stage.h"
#include "../support/stride.h"
#include "test.h"

enum { TRIES = 600, LONGEST = 6 };

struct name {
	char bytes[LONGEST];
	size_t len;
};

static struct name taken[TRIES];
static size_t count;

/* Some names are valid UTF-8, so that names beyond ASCII are accepted, too. */
static struct name random_name(void)
{
	static const char *const pieces[] = { "{", "}", ":",        "%",    "*", "a", "b",  "A",
					      ".", "-", "\xc3\xa9", "\xff", "/", " ", "\\", "" };
	struct name n = { .len = 0 };

	for (int i = 1 + rand() % 3; i > 0; i--) {
		const char *piece = pieces[(size_t)rand() % (COUNT(pieces))];
		size_t len = *piece ? strlen(piece) : 1; /* "" is replaced by a NUL byte */
		memcpy(n.bytes + n.len, piece, len);
		n.len += len;
	}
	return n;
}

static bool is_taken(const char *bytes, size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (taken[i].len == len && memcmp(taken[i].bytes, bytes, len) == 0)
			return true;
	return false;
}

/*
 * Sends `body` to each percent-encoded name, and keeps the accepted names. The status must be
 * `done`, or `again` for a name that was sent before.
 */
static void ask_all(const char *before, const char *after, const char *body, int done, int again)
{
	char target[128];

	srand(16);
	count = 0;
	for (int i = 0; i < TRIES / stride(); i++) {
		struct name n = random_name();
		int at = snprintf(target, sizeof(target), "%s", before);
		for (size_t b = 0; b < n.len; b++)
			at += snprintf(target + at, sizeof(target) - (size_t)at, "%%%02X", (unsigned char)n.bytes[b]);
		snprintf(target + at, sizeof(target) - (size_t)at, "%s", after);
		struct answer a = post(target, body);
		bool is_again = is_taken(n.bytes, n.len);
		assert_true(a.status == (is_again ? again : done) || (a.status == 400 && !is_again));
		if (a.status == done && !is_again)
			taken[count++] = n;
		client_forget(client);
	}
	assert_in_range(count, TRIES / 10 / stride(), TRIES);
}

/*
 * The hash tag of a key is the text between its first opening brace and the next closing brace. The
 * tag must be the whole name, since no name has a brace.
 */
static void check_key(const redisReply *key, const char *kind)
{
	size_t len = strlen(kind);
	const char *tag = key->str + len + 1, *end = memchr(key->str, '}', key->len);

	assert_true(key->len > len + 2 && memcmp(key->str, kind, len) == 0 && key->str[len] == '{' && end);
	assert_ptr_equal(memchr(key->str, '{', key->len), tag - 1);
	assert_true(is_taken(tag, (size_t)(end - tag)));
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(each_name_has_a_key_of_its_own)
{
	ask_all("/counters/", "/increment", "{\"counters\":{\"n\":1}}", 200, 200);
	const redisReply *keys = server_command(&redis, "KEYS p:counter:*");
	assert_int_equal(keys->elements, count);
	for (size_t i = 0; i < keys->elements; i++) {
		check_key(keys->element[i], "p:counter:");
		assert_int_equal(keys->element[i]->str[keys->element[i]->len - 1], '}');
	}
}

TEST(all_keys_of_a_resource_have_its_tag)
{
	ask_all("/queues/", "/messages", "{\"body\":1,\"id\":\"a\"}", 201, 200);
	const redisReply *keys = server_command(&redis, "KEYS p:queue:*");
	assert_true(keys->elements >= 2 * count);
	for (size_t i = 0; i < keys->elements; i++)
		check_key(keys->element[i], "p:queue:");
}
