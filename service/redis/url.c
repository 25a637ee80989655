#include "redis/url.h"

#include <stdio.h>
#include <string.h>

#include "core/percent.h"

/* Copies `len` bytes as a string. False: they do not fit. */
static bool take(char *out, size_t size, const char *from, size_t len)
{
	if (len >= size)
		return false;
	memcpy(out, from, len);
	out[len] = '\0';
	return true;
}

/* %XX in user and password may be any byte except NUL. */
static bool unescape(char *s)
{
	size_t len = strlen(s);

	return percent_decode(s, &len);
}

static const char *parse_credentials(struct redis_url *out, const char *at, size_t len)
{
	const char *colon = memchr(at, ':', len);
	size_t user_len = colon ? (size_t)(colon - at) : len;

	if (!take(out->user, sizeof(out->user), at, user_len) ||
	    (colon && !take(out->password, sizeof(out->password), colon + 1, len - user_len - 1)))
		return "the user or password is too long";
	if (!unescape(out->user) || !unescape(out->password))
		return "the user or password has a bad %XX escape";
	return NULL;
}

static const char *parse_unix(struct redis_url *out, const char *rest)
{
	const char *query = strstr(rest, "?db=");
	size_t len = query ? (size_t)(query - rest) : strlen(rest);

	if (len == 0 || rest[0] != '/')
		return "a unix socket needs an absolute path";
	if (!take(out->path, sizeof(out->path), rest, len))
		return "the socket's path is longer than the 107 bytes that the system allows";
	if (query && (!take(out->db, sizeof(out->db), query + 4, strlen(query + 4)) || text_u16(text_of(out->db)) < 0))
		return "the database is not a number";
	memcpy(out->address, out->path, sizeof(out->path));
	return NULL;
}

static const char *parse_host(struct redis_url *out, const char *rest, const char *standard_port)
{
	const char *at = strrchr(rest, '@');

	if (at) {
		const char *why = parse_credentials(out, rest, (size_t)(at - rest));
		if (why)
			return why;
		rest = at + 1;
	}
	size_t len = strcspn(rest, "/");
	if (rest[len] == '/' && rest[len + 1] &&
	    (!take(out->db, sizeof(out->db), rest + len + 1, strlen(rest + len + 1)) || text_u16(text_of(out->db)) < 0))
		return "the database is not a number";
	const char *close = rest[0] == '[' ? memchr(rest, ']', len) : NULL;
	if ((rest[0] == '[') != (close != NULL) || (close && close + 1 < rest + len && close[1] != ':'))
		return "the host's brackets are not closed";
	const char *colon = memchr(close ? close : rest, ':', len - (size_t)((close ? close : rest) - rest));
	size_t host_len = colon ? (size_t)(colon - rest) : len;
	size_t bracket = close ? 1 : 0;
	if (host_len <= 2 * bracket || !take(out->host, sizeof(out->host), rest + bracket, host_len - 2 * bracket))
		return "the host is missing or too long";
	if (!colon)
		take(out->port, sizeof(out->port), standard_port, strlen(standard_port));
	else if (!take(out->port, sizeof(out->port), colon + 1, len - host_len - 1) || text_u16(text_of(out->port)) < 0)
		return "the port is not a number up to 65535";
	snprintf(out->address, sizeof(out->address), close ? "[%s]:%s" : "%s:%s", out->host, out->port);
	return NULL;
}

static const char *set_password(struct redis_url *out, const char *password)
{
	if (password && *password && !take(out->password, sizeof(out->password), password, strlen(password)))
		return "the password is too long";
	return NULL;
}

const char *redis_url_parse(struct redis_url *out, const char *url, const char *password)
{
	const char *why;

	*out = (struct redis_url){ 0 };
	out->tls = strncmp(url, "rediss://", 9) == 0;
	if (out->tls)
		why = parse_host(out, url + 9, "6379");
	else if (strncmp(url, "redis://", 8) == 0)
		why = parse_host(out, url + 8, "6379");
	else if (strncmp(url, "unix://", 7) == 0)
		why = parse_unix(out, url + 7);
	else
		return strstr(url, "://") ? "the scheme is unknown" : "the scheme is missing; begin with redis://";
	return why ? why : set_password(out, password);
}

bool redis_url_at(struct redis_url *out, const struct redis_url *like, struct text host, long port)
{
	*out = *like;
	if (host.len == 0 || port <= 0 || port > 65535 || !take(out->host, sizeof(out->host), host.at, host.len))
		return false;
	out->path[0] = '\0';
	snprintf(out->port, sizeof(out->port), "%ld", port);
	snprintf(out->address, sizeof(out->address), strchr(out->host, ':') ? "[%s]:%s" : "%s:%s", out->host,
		 out->port);
	return true;
}

/* The text is "<master>[/<db>]", after the hosts of the Sentinels. */
static const char *parse_master(struct redis_urls *out, const char *rest, char *db, size_t db_size)
{
	size_t len = strcspn(rest, "/");

	if (len == 0)
		return "the name of the master is missing: redis+sentinel://host:26379,host2/mymaster";
	if (!take(out->master, sizeof(out->master), rest, len))
		return "the name of the master is too long";
	if (rest[len] && (!take(db, db_size, rest + len + 1, strlen(rest + len + 1)) || text_u16(text_of(db)) < 0))
		return "the database is not a number";
	return NULL;
}

/* The text is "[user:password@]host[:port],host[:port]...". */
static const char *parse_hosts(struct redis_urls *out, const char *hosts, size_t len, const char *standard_port)
{
	char one[1024];
	const char *at = memrchr(hosts, '@', len);
	size_t credentials = at ? (size_t)(at + 1 - hosts) : 0;

	for (struct text rest = { hosts + credentials, len - credentials }; rest.at;) {
		struct text host = text_cut(&rest, ',');
		if (out->count == REDIS_MOST_HOSTS)
			return "there are more than 16 hosts";
		int n = snprintf(one, sizeof(one), "%.*s%.*s", (int)credentials, hosts, (int)host.len, host.at);
		if (n < 0 || (size_t)n >= sizeof(one))
			return "a host is too long";
		struct redis_url *url = &out->at[out->count++];
		const char *why = parse_host(url, one, standard_port);
		if (why)
			return why;
		url->kind = out->kind;
	}
	return NULL;
}

static const char *parse_several(struct redis_urls *out, const char *rest, const char *standard_port)
{
	char db[sizeof(out->at[0].db)] = "";
	const char *at = strrchr(rest, '@');
	size_t hosts = (at ? (size_t)(at - rest) : 0) + strcspn(at ? at : rest, "/");
	const char *why = NULL;

	if (out->kind == REDIS_SENTINEL)
		why = parse_master(out, rest + hosts + (rest[hosts] == '/'), db, sizeof(db));
	else if (rest[hosts] && strcmp(rest + hosts, "/0") != 0 && strcmp(rest + hosts, "/") != 0)
		why = "there is no database to choose in a Cluster";
	if (!why)
		why = parse_hosts(out, rest, hosts, standard_port);
	for (size_t i = 0; i < out->count; i++)
		snprintf(out->at[i].db, sizeof(db), "%s", db);
	return why;
}

/* Returns true if `url` begins with "redis<scheme>" or "rediss<scheme>", which is then skipped. */
static bool takes_scheme(const char **url, const char *scheme, bool *tls)
{
	size_t redis = strncmp(*url, "rediss+", 7) == 0 ? 6 : 5, len = strlen(scheme);

	if (strncmp(*url, "redis", 5) != 0 || strncmp(*url + redis, scheme, len) != 0)
		return false;
	*tls = redis == 6;
	*url += redis + len;
	return true;
}

const char *redis_urls_parse(struct redis_urls *out, const char *url, const char *password)
{
	const char *why;
	bool tls;

	*out = (struct redis_urls){ .kind = REDIS_SERVER };
	if (takes_scheme(&url, "+cluster://", &tls)) {
		out->kind = REDIS_CLUSTER;
		why = parse_several(out, url, "6379");
	} else if (takes_scheme(&url, "+sentinel://", &tls)) {
		out->kind = REDIS_SENTINEL;
		why = parse_several(out, url, "26379");
	} else {
		out->count = 1;
		return redis_url_parse(&out->at[0], url, password);
	}
	for (size_t i = 0; i < out->count && !why; i++) {
		out->at[i].tls = tls;
		why = set_password(&out->at[i], password);
	}
	return why;
}
