/* quorum: see topology/quorum.h. It owns the nodes of the servers. It must not count votes. */
#include "topology/quorum.h"

#include <stdio.h>

#include "process/metrics.h"
#include "redis/handshake.h"

enum { LEAST_MEMBERS = 3, URL_BYTES = 1024 };

static struct redis_node *servers[REDIS_MOST_QUORUM];
static unsigned count;
static struct redis_url urls[REDIS_MOST_QUORUM];
static unsigned url_count;

unsigned quorum_count(void)
{
	return count;
}

struct redis_node *quorum_node(unsigned server)
{
	return server <= count ? servers[server - 1] : NULL;
}

const char *quorum_address(unsigned server)
{
	return quorum_node(server)->url.address;
}

void quorum_flush(void)
{
	for (unsigned i = 0; i < count; i++)
		node_flush(servers[i]);
}

static unsigned usable(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++)
		n += servers[i]->ready > 0;
	return n;
}

/* ---- Start and end ---- */

static void on_up(struct redis_node *n)
{
	(void)n;
}

static void on_down(struct redis_node *n, const char *why, bool was_up)
{
	(void)n;
	(void)why;
	(void)was_up;
}

static bool refuse(unsigned number, const char *why)
{
	fprintf(stderr, "patternd: --lock-quorum: server %u: %s\n", number, why);
	return false;
}

/* Returns NULL, or what is wrong with the URL. */
static const char *parse_one(struct text written, struct redis_url *out)
{
	char one[URL_BYTES];

	if (written.len >= sizeof(one))
		return "its URL is too long";
	memcpy(one, written.at, written.len);
	one[written.len] = '\0';
	return redis_url_parse(out, one, NULL);
}

/* A server that is listed twice would vote twice. */
static bool is_listed(const struct redis_url *url)
{
	for (unsigned i = 0; i < url_count; i++)
		if (strcmp(urls[i].address, url->address) == 0)
			return true;
	return false;
}

static double quorum_there(void)
{
	return count;
}

static double quorum_usable(void)
{
	return usable();
}

bool quorum_check(const char *list)
{
	for (struct text rest = text_of(list); rest.len;) {
		if (url_count == REDIS_MOST_QUORUM)
			return refuse(url_count + 1, "there may be 9 at most");
		struct redis_url *url = &urls[url_count];
		const char *why = parse_one(text_cut(&rest, ','), url);
		if (why)
			return refuse(url_count + 1, why);
		url->kind = REDIS_QUORUM;
		if (is_listed(url)) /* redis/handshake.c finds a server that is listed under two names */
			return refuse(url_count + 1, "it is in the list twice");
		url_count++;
	}
	if (url_count > 0 && url_count < LEAST_MEMBERS)
		return refuse(url_count + 1, "is missing: a majority needs 3 to 9 servers, URL,URL,URL");
	return true;
}

bool quorum_open(void)
{
	static const struct redis_node_callbacks callbacks = { .up = on_up, .down = on_down };

	for (; count < url_count; count++) {
		servers[count] = node_new_apart(&urls[count], &callbacks, 1);
		if (!servers[count])
			return false;
	}
	if (count > 0) {
		metrics_gauge("lock_quorum_members", "Servers of --lock-quorum.", quorum_there);
		metrics_gauge("lock_quorum_members_up", "Servers of --lock-quorum with a usable connection.",
			      quorum_usable);
	}
	return true;
}

void quorum_close(void)
{
	while (count > 0)
		node_free(servers[--count]);
}
