/* redis_members: see redis/quorum.h. Owns the members' nodes; a majority of what is asked of them is its askers' affair. */
#include "redis/quorum.h"

#include <stdio.h>

#include "process/metrics.h"
#include "redis/handshake.h"

enum { LEAST_MEMBERS = 3, URL_BYTES = 1024 };

static struct redis_node *members[REDIS_MOST_MEMBERS];
static unsigned count;

unsigned members_count(void)
{
	return count;
}

struct redis_node *member_node(unsigned member)
{
	return member <= count ? members[member - 1] : NULL;
}

const char *members_address(unsigned member)
{
	return member_node(member)->url.address;
}

void members_flush(void)
{
	for (unsigned i = 0; i < count; i++)
		node_flush(members[i]);
}

static unsigned usable(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++)
		n += members[i]->ready > 0;
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

/* NULL, or what is wrong with the URL. */
static const char *parse_one(struct text written, struct redis_url *out)
{
	char one[URL_BYTES];

	if (written.len >= sizeof(one))
		return "its URL is too long";
	memcpy(one, written.at, written.len);
	one[written.len] = '\0';
	return redis_url_parse(out, one, NULL);
}

/* A server that stands twice would vote twice. */
static bool stands_already(const struct redis_url *url)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(members[i]->url.address, url->address) == 0)
			return true;
	return false;
}

static double members_there(void)
{
	return count;
}

static double members_usable(void)
{
	return usable();
}

bool members_open(const char *urls)
{
	static const struct redis_node_callbacks callbacks = { .up = on_up, .down = on_down };
	struct redis_url url;

	for (struct text rest = text_of(urls); rest.len;) {
		if (count == REDIS_MOST_MEMBERS)
			return refuse(count + 1, "there may be 9 at most");
		const char *why = parse_one(text_cut(&rest, ','), &url);
		if (why)
			return refuse(count + 1, why);
		url.kind = REDIS_MEMBER;
		if (stands_already(&url)) /* by another name: redis/handshake.c */
			return refuse(count + 1, "it stands in the list twice");
		members[count] = node_new_apart(&url, &callbacks);
		if (!members[count])
			return refuse(count + 1, "out of memory");
		count++;
	}
	if (count > 0 && count < LEAST_MEMBERS)
		return refuse(count + 1, "is missing: a majority needs 3 to 9 servers, URL,URL,URL");
	if (count > 0) {
		metrics_gauge("lock_quorum_members", "Servers of --lock-quorum.", members_there);
		metrics_gauge("lock_quorum_members_up", "Servers of --lock-quorum with a usable connection.",
			      members_usable);
	}
	return true;
}

void members_close(void)
{
	while (count > 0)
		node_free(members[--count]);
}
