/*
 * The lines of an input are --allowed-hosts, --cors-origins, Host, Origin and Sec-Fetch-Site. The
 * host of an admitted request is an IP literal, localhost or an allowed host, and the request comes
 * from that host or from an allowed origin. The target checks this with its own code, not the
 * daemon's.
 */
#include <arpa/inet.h>
#include <strings.h>

#include "access/cors.h"
#include "fuzz.h"
#include "given.h"
#include "http/precheck.h"
#include "process/config.h"
#include "world.h"

enum { ALLOWED, CORS, HOST, ORIGIN, SITE, LINES };

/* Whether `one` is an item of the option's list. */
static bool is_listed(const char *list, const char *one, int (*compare)(const char *, const char *))
{
	char copy[4096], *rest = copy, *item;

	snprintf(copy, sizeof(copy), "%s", list);
	while ((item = strsep(&rest, ", ")))
		if (*item && compare(item, one) == 0)
			return true;
	return false;
}

static bool is_address(const char *name)
{
	unsigned char bytes[16];
	size_t len = strlen(name);
	char inner[64];

	if (len < 2 || name[0] != '[' || name[len - 1] != ']')
		return inet_pton(AF_INET, name, bytes) == 1;
	return len < sizeof(inner) && snprintf(inner, sizeof(inner), "%.*s", (int)len - 2, name + 1) > 0 &&
	       inet_pton(AF_INET6, inner, bytes) == 1;
}

/* Whether the host is this machine or an allowed host; one dot behind a name is ignored. */
static bool may_be_served(const char *host)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s", host);
	char *colon = *name == '[' ? strstr(name, "]:") : strchr(name, ':');
	if (colon)
		colon[*name == '[' ? 1 : 0] = '\0';
	if (strcasecmp(name, "localhost") == 0 || is_address(name) ||
	    is_listed(config()->allowed_hosts, name, strcasecmp))
		return true;
	size_t len = strlen(name);
	if (len < 2 || name[len - 1] != '.')
		return false;
	name[len - 1] = '\0';
	return is_listed(config()->allowed_hosts, name, strcasecmp);
}

/* A page of another site is admitted only if its origin is allowed. */
static bool may_ask(const char *host, const char *origin, const char *site)
{
	if (origin && is_listed(config()->cors_origins, origin, strcmp))
		return true;
	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return false;
	const char *after = origin ? strstr(origin, "://") : NULL;
	return !origin || (after && host && strcasecmp(after + 3, host) == 0);
}

static void ask(const struct text lines[LINES])
{
	static const char *const names[LINES] = { [HOST] = "Host", [ORIGIN] = "Origin", [SITE] = "Sec-Fetch-Site" };
	struct request *req = given_request(TEXT("GET /locks/a"));
	struct precheck a;
	const char *values[LINES] = { NULL };

	precheck_begin(&a, req, "HTTP/1.1");
	for (int i = HOST; i < LINES; i++)
		if (lines[i].at && lines[i].at[0] != '-') { /* a header that did not come */
			values[i] = lines[i].at;
			http_headers_add(&a.headers, names[i], values[i]);
		}
	if (precheck_run(&a)) {
		CHECK(!values[HOST] || may_be_served(values[HOST]));
		CHECK(may_ask(values[HOST], values[ORIGIN], values[SITE]));
	} else {
		given_check_refusal(req);
	}
	CHECK(!req->caller.cors_origin || strcmp(req->caller.cors_origin, values[ORIGIN]) == 0);
	given_end(req);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct text lines[LINES] = { { 0 } };

	world_open((const char *const[]){ NULL });
	for (int i = 0; i < LINES && input_piece(&in, '\n', &lines[i]); i++)
		;
	char allowed[5000], cors[5000], *variables[] = { allowed, cors, NULL };
	if (lines[CORS].at && lines[CORS].len < 4000 && lines[ALLOWED].len < 4000) {
		snprintf(allowed, sizeof(allowed), "PATTERND_ALLOWED_HOSTS=%s", lines[ALLOWED].at);
		snprintf(cors, sizeof(cors), "PATTERND_CORS_ORIGINS=%s", lines[CORS].at);
		CHECK(config_load(1, (char *[]){ "patternd" }, variables) == CONFIG_RUN);
		if (cors_open() && lines[HOST].len < 4000)
			ask(lines);
		cors_close();
		config_free();
	}
	for (int i = 0; i < LINES; i++)
		free((char *)(uintptr_t)lines[i].at);
	return 0;
}
