/* url: parses the URLs of --redis and --lock-quorum. Pure. */
#ifndef PATTERND_REDIS_URL_H
#define PATTERND_REDIS_URL_H

#include <stdbool.h>

#include "core/text.h"

/* What kind of server is expected. */
enum redis_kind {
	REDIS_SERVER,  /* a single master */
	REDIS_CLUSTER, /* a node of a Cluster */
	REDIS_WATCHED, /* a master that Sentinels reported */
	REDIS_SENTINEL,
	REDIS_QUORUM, /* a master of --lock-quorum */
};

struct redis_url {
	enum redis_kind kind;
	char host[256], port[16];      /* "" with a path */
	char path[108];                /* of a Unix socket, "" with a host */
	char user[128], password[512]; /* "" when there is none */
	char db[8];                    /* "": database 0 */
	char address[384];             /* for people: host:port or the path */
	bool tls;                      /* rediss:// */
	bool replica;                  /* only read from: it need not be a master */
};

/*
 * One server: redis:// or unix://. Returns NULL, or what is wrong with `url`, for people.
 * `password` takes precedence over the URL's.
 */
const char *redis_url_parse(struct redis_url *out, const char *url, const char *password);

enum { REDIS_MOST_HOSTS = 16 };

/* One server, the seeds of a Cluster, or Sentinels. */
struct redis_urls {
	enum redis_kind kind;
	char master[128]; /* its name at the Sentinels */
	size_t count;
	struct redis_url at[REDIS_MOST_HOSTS];
};

/*
 * As above, and redis[s]+cluster://host:port,host:port and
 * redis[s]+sentinel://host:port,host:port/master[/db].
 */
const char *redis_urls_parse(struct redis_urls *out, const char *url, const char *password);

/* `like` with another host and port. False: not an address, or too long. */
bool redis_url_at(struct redis_url *out, const struct redis_url *like, struct text host, long port);

#endif
