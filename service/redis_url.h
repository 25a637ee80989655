/* redis_url: what --redis says, taken apart. Pure. */
#ifndef PATTERND_REDIS_URL_H
#define PATTERND_REDIS_URL_H

#include "text.h"

struct redis_url {
	char host[256], port[16];      /* "" with a path */
	char path[108];                /* of a unix socket, "" with a host */
	char user[128], password[512]; /* "" when there is none */
	char db[8];                    /* "" is database 0 */
	char address[384];             /* for people: host:port or the path */
};

/* NULL, or what is wrong with `url`, for a person. A password given apart wins over the URL's. */
const char *redis_url_parse(struct redis_url *out, const char *url, const char *password);

/* The URL for people to see: redis://user:secret@host is redis://user:...@host. In `out`, or the URL itself. */
struct text redis_url_redacted(const char *url, char *out, size_t size);

#endif
