/* redis_url: what --redis says, taken apart. Pure. */
#ifndef PATTERND_REDIS_URL_H
#define PATTERND_REDIS_URL_H

#include <stdbool.h>

#include "core/text.h"

/* What is at the other end. */
enum redis_kind {
	REDIS_SERVER,  /* one server that is to be used, a master */
	REDIS_CLUSTER, /* a node of a Cluster, which tells who serves what */
	REDIS_WATCHED, /* a master that Sentinels told of */
	REDIS_SENTINEL,
	REDIS_QUORUM, /* one server of a quorum, a master */
};

struct redis_url {
	enum redis_kind kind;
	char host[256], port[16];      /* "" with a path */
	char path[108];                /* of a unix socket, "" with a host */
	char user[128], password[512]; /* "" when there is none */
	char db[8];                    /* "" is database 0 */
	char address[384];             /* for people: host:port or the path */
	bool tls;                      /* rediss:// */
};

/* One server: redis:// or unix://. NULL, or what is wrong with `url`, for a person. A password given apart wins over the URL's. */
const char *redis_url_parse(struct redis_url *out, const char *url, const char *password);

enum { REDIS_MOST_HOSTS = 16 };

/* One server, the seeds of a Cluster, or Sentinels. */
struct redis_urls {
	enum redis_kind kind;
	char master[128]; /* of Sentinels: the name that they know it by */
	size_t count;
	struct redis_url at[REDIS_MOST_HOSTS];
};

/* As above, and redis[s]+cluster://host:port,host:port and redis[s]+sentinel://host:port,host:port/master[/db]. */
const char *redis_urls_parse(struct redis_urls *out, const char *url, const char *password);

/* The same server's access (user, password, db), elsewhere. False: the address is too long, or no address. */
bool redis_url_at(struct redis_url *out, const struct redis_url *like, struct text host, long port);

#endif
