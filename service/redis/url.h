/* url: parses the URLs of --redis and --lock-quorum. Pure. */
#ifndef PATTERND_REDIS_URL_H
#define PATTERND_REDIS_URL_H

#include <stdbool.h>

#include "core/text.h"

/* The kind of server that is expected. */
enum redis_kind {
	REDIS_SERVER,  /* a single master */
	REDIS_CLUSTER, /* a node of a Cluster */
	REDIS_WATCHED, /* a master that Sentinels reported */
	REDIS_SENTINEL,
	REDIS_QUORUM, /* a master of --lock-quorum */
};

struct redis_url {
	enum redis_kind kind;
	char host[256], port[16];      /* "" if there is a path */
	char path[108];                /* of a Unix socket; "" if there is a host */
	char user[128], password[512]; /* "": none */
	char db[8];                    /* "": database 0 */
	char address[384];             /* shown to users: host:port, or the path */
	bool tls;                      /* rediss:// */
	bool replica;                  /* the server is only read from, so it need not be a master */
};

/*
 * Parses the URL of one server: redis:// or unix://. `password` takes precedence over the URL's.
 * Returns NULL, or what is wrong with `url`.
 */
const char *redis_url_parse(struct redis_url *out, const char *url, const char *password);

enum { REDIS_MOST_HOSTS = 16 };

/* One server, the seeds of a Cluster, or Sentinels. */
struct redis_urls {
	enum redis_kind kind;
	char master[128]; /* the name of the master at the Sentinels */
	size_t count;
	struct redis_url at[REDIS_MOST_HOSTS];
};

/*
 * Parses what redis_url_parse does, and also redis[s]+cluster://host:port,host:port and
 * redis[s]+sentinel://host:port,host:port/master[/db].
 */
const char *redis_urls_parse(struct redis_urls *out, const char *url, const char *password);

/* Copies `like` with another host and port. False: this is not an address, or it is too long. */
bool redis_url_at(struct redis_url *out, const struct redis_url *like, struct text host, long port);

#endif
