#include "redis_as_one.h"

#include <strings.h>

#include "redis_cluster_slots.h"
#include "test.h"

/* Where the key of a command is. */
enum { ON_ALL_NODES = 0, ON_ANY_NODE = -1, IN_PAIRS = -2, EACH_IS_A_KEY = -3, NOWHERE = -4 };

static const struct place {
	const char *verb;
	int key; /* its index, when it is not 1 */
} places[] = {
	{ "ACL", ON_ALL_NODES },
	{ "CLIENT", ON_ALL_NODES },
	{ "CONFIG", ON_ALL_NODES },
	{ "DBSIZE", ON_ALL_NODES },
	{ "DEL", EACH_IS_A_KEY },
	{ "EXISTS", EACH_IS_A_KEY },
	{ "EVAL", 3 },
	{ "EVALSHA", 3 },
	{ "FLUSHALL", ON_ALL_NODES },
	{ "INFO", ON_ALL_NODES },
	{ "KEYS", ON_ALL_NODES },
	{ "MSET", IN_PAIRS },
	{ "PING", ON_ANY_NODE },
	{ "PUBSUB", 2 },
	{ "REPLICAOF", NOWHERE },
	{ "SCRIPT", ON_ALL_NODES },
	{ "SELECT", NOWHERE },
	{ "SLOWLOG", ON_ALL_NODES },
	{ "TIME", ON_ANY_NODE },
};

bool tests_run_on_a_cluster(void)
{
	const char *topology = getenv("PATTERND_TEST_TOPOLOGY");

	if (!topology || !*topology || strcmp(topology, "single") == 0)
		return false;
	if (strcmp(topology, "cluster") != 0)
		fail_msg("PATTERND_TEST_TOPOLOGY is single or cluster, not %s", topology);
	return true;
}

static int place_of(const char *verb)
{
	for (size_t i = 0; i < COUNT(places); i++)
		if (strcasecmp(places[i].verb, verb) == 0)
			return places[i].key;
	return 1;
}

/* Parses a command into its words. A command has the form of a reply. */
static redisReply *words_of(const char *bytes, size_t len)
{
	redisReader *reader = redisReaderCreate();
	void *words = NULL;

	redisReaderFeed(reader, bytes, len);
	if (redisReaderGetReply(reader, &words) != REDIS_OK || !words)
		fail_msg("no command: %.60s", bytes);
	redisReaderFree(reader);
	return words;
}

/* ---- answers of all, put together ---- */

static void append_text(redisReply *all, const redisReply *more)
{
	all->str = realloc(all->str, all->len + more->len + 1);
	assert_non_null(all->str);
	memcpy(all->str + all->len, more->str, more->len + 1);
	all->len += more->len;
}

static void append_elements(redisReply *all, redisReply *more)
{
	all->element = realloc(all->element, (all->elements + more->elements + 1) * sizeof(redisReply *));
	assert_non_null(all->element);
	for (size_t i = 0; i < more->elements; i++)
		all->element[all->elements++] = more->element[i];
	more->elements = 0; /* they are in `all` now */
}

/* Takes ownership of both. */
static redisReply *joined(redisReply *all, redisReply *more)
{
	if (!all)
		return more;
	if (all->type == REDIS_REPLY_ERROR || more->type != all->type) {
		freeReplyObject(more);
		return all;
	}
	if (all->type == REDIS_REPLY_INTEGER)
		all->integer += more->integer;
	else if (all->type == REDIS_REPLY_STRING)
		append_text(all, more);
	else if (all->type == REDIS_REPLY_ARRAY)
		append_elements(all, more);
	freeReplyObject(more);
	return all;
}

static redisReply *ask(struct redis_cluster *c, int node, const char *bytes, size_t len)
{
	redisReply *reply = server_send(&c->nodes[node].server, bytes, len);

	if (!reply)
		fail_msg("node %d of the cluster does not answer", node);
	return reply;
}

static redisReply *ask_all(struct redis_cluster *c, const char *bytes, size_t len)
{
	redisReply *all = NULL;

	for (int i = 0; i < c->count; i++)
		all = joined(all, ask(c, i, bytes, len));
	return all;
}

static redisReply *send_words(struct redis_cluster *c, const char *verb, const redisReply *key, const redisReply *value)
{
	char *bytes = NULL;
	int len = value ? redisFormatCommand(&bytes, "%s %b %b", verb, key->str, key->len, value->str, value->len)
			: redisFormatCommand(&bytes, "%s %b", verb, key->str, key->len);
	redisReply *reply = cluster_send(c, cluster_slot(key->str, key->len), bytes, (size_t)len);

	redisFreeCommand(bytes);
	return reply;
}

/* Sends a command once per key, because different nodes may have the keys. */
static redisReply *send_each(struct redis_cluster *c, const redisReply *words)
{
	redisReply *all = NULL;

	for (size_t i = 1; i < words->elements; i++)
		all = joined(all, send_words(c, words->element[0]->str, words->element[i], NULL));
	return all;
}

/* Sends an MSET as one SET per key, because different nodes may have the keys. */
static redisReply *set_each(struct redis_cluster *c, const redisReply *words)
{
	redisReply *last = NULL;

	for (size_t i = 1; i + 1 < words->elements; i += 2) {
		if (last)
			freeReplyObject(last);
		last = send_words(c, "SET", words->element[i], words->element[i + 1]);
	}
	return last;
}

redisReply *as_one_send(struct redis_cluster *c, const char *bytes, size_t len)
{
	redisReply *words = words_of(bytes, len), *reply = NULL;
	int place = place_of(words->element[0]->str);

	if (place > 1 && (size_t)place >= words->elements)
		place = ON_ALL_NODES; /* PUBSUB without a channel */
	if (place == ON_ALL_NODES) {
		reply = ask_all(c, bytes, len);
	} else if (place == ON_ANY_NODE) {
		reply = ask(c, 0, bytes, len);
	} else if (place == IN_PAIRS) {
		reply = set_each(c, words);
	} else if (place == EACH_IS_A_KEY) {
		reply = send_each(c, words);
	} else if (place == NOWHERE || (size_t)place >= words->elements) {
		fail_msg("%s has no meaning on a cluster", words->element[0]->str);
	} else {
		const redisReply *key = words->element[place];
		reply = cluster_send(c, cluster_slot(key->str, key->len), bytes, len);
	}
	freeReplyObject(words);
	return reply;
}
