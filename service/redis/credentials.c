#include "redis/credentials.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/backoff.h"
#include "core/loop.h"
#include "net/tls.h"
#include "process/config.h"
#include "process/log.h"
#include "redis/url.h"

enum { PAUSE_MS = 5000, SPREAD_MS = 1000, LINE_BYTES = 1024 };

enum { PASSWORD_BYTES = sizeof(((struct redis_url *)0)->password) };

static bool is_tls;                            /* a URL asks for TLS */
static char password[PASSWORD_BYTES];          /* "": no file */
static char sentinel_password[PASSWORD_BYTES]; /* "": no file */
static struct tls_context *context;            /* NULL: no TLS */
static unsigned version;
static bool is_rejected;
static int64_t next_try_us;
static char rejection[192];

/* ---- Files ---- */

static bool read_password(const char *option, const char *path, char out[PASSWORD_BYTES], char why[TLS_WHY_BYTES])
{
	char line[LINE_BYTES] = "";

	*out = '\0';
	if (!*path)
		return true;
	errno = 0;
	FILE *f = fopen(path, "re");
	bool got = f && fgets(line, sizeof(line), f);
	const char *wrong = got ? NULL : errno ? strerror(errno) : "it is empty";
	if (f)
		fclose(f);
	line[strcspn(line, "\r\n")] = '\0';
	if (!wrong && !*line)
		wrong = "its first line is empty";
	if (!wrong && strlen(line) >= PASSWORD_BYTES)
		wrong = "the password is too long";
	if (wrong)
		snprintf(why, TLS_WHY_BYTES, "%s: cannot read '%.200s': %s", option, path, wrong);
	else
		memcpy(out, line, strlen(line) + 1);
	return !wrong;
}

static bool read_files(char why[TLS_WHY_BYTES])
{
	const struct config *c = config();
	const struct tls_options options = { c->redis_ca_file, c->redis_cert_file, c->redis_key_file,
					     c->redis_server_name };
	struct tls_context *fresh = NULL;
	char line[PASSWORD_BYTES], sentinel_line[PASSWORD_BYTES];

	if (!read_password("--redis-password-file", c->redis_password_file, line, why) ||
	    !read_password("--sentinel-password-file", c->sentinel_password_file, sentinel_line, why) ||
	    (is_tls && !(fresh = tls_context_new(&options, why))))
		return false;
	memcpy(password, line, sizeof(password));
	memcpy(sentinel_password, sentinel_line, sizeof(sentinel_password));
	tls_context_free(context);
	context = fresh;
	version++;
	return true;
}

static void warn_of_readers(const char *path)
{
	struct stat s;

	if (*path && stat(path, &s) == 0 && (s.st_mode & S_IROTH))
		log_event(LOG_WARN, "secret_readable_by_all", "every user of this machine can read '%s'; run chmod o-r",
			  path);
}

/* A CA without rediss:// is a mistake: the password would be sent unencrypted. */
static bool check_tls_is_meant(void)
{
	const struct config *c = config();

	if (is_tls || (!*c->redis_ca_file && !*c->redis_cert_file && !*c->redis_key_file && !*c->redis_server_name))
		return true;
	fprintf(stderr, "patternd: --redis-%s is given, but --redis is not rediss://host:port, so there is no TLS\n",
		*c->redis_ca_file     ? "ca-file"
		: *c->redis_cert_file ? "cert-file"
		: *c->redis_key_file  ? "key-file"
				      : "server-name");
	return false;
}

bool credentials_open(const char *url)
{
	static struct redis_urls urls;
	char why[TLS_WHY_BYTES];

	if (redis_urls_parse(&urls, url, NULL) != NULL)
		return true; /* topology_fault has reported it */
	is_tls = urls.at[0].tls || strstr(config()->lock_quorum, "rediss://") ||
		 strstr(config()->redis_replicas, "rediss://");
	if (!check_tls_is_meant())
		return false;
	if (!read_files(why)) {
		fprintf(stderr, "patternd: %s\n", why);
		return false;
	}
	warn_of_readers(config()->redis_password_file);
	warn_of_readers(config()->sentinel_password_file);
	warn_of_readers(config()->redis_key_file);
	return true;
}

void credentials_close(void)
{
	tls_context_free(context);
	context = NULL;
	memset(password, 0, sizeof(password));
	memset(sentinel_password, 0, sizeof(sentinel_password));
}

bool credentials_reread(void)
{
	static char logged[TLS_WHY_BYTES]; /* a repeated error is logged at debug level */
	char why[TLS_WHY_BYTES];

	if (read_files(why)) {
		*logged = '\0';
		return true;
	}
	log_event(strcmp(logged, why) != 0 ? LOG_ERROR : LOG_DEBUG, "credentials_not_read",
		  "%s; the previous ones stay in use", why);
	memcpy(logged, why, sizeof(logged));
	return false;
}

bool credentials_have_files(void)
{
	return context || *password || *sentinel_password;
}

const char *credentials_password(const struct redis_url *url)
{
	if (url->kind == REDIS_SENTINEL)
		return sentinel_password;
	if (url->kind == REDIS_QUORUM && url->password[0])
		return url->password;
	return *password ? password : url->password;
}

bool credentials_are_shared(const struct redis_url *url)
{
	return url->kind != REDIS_SENTINEL && url->kind != REDIS_QUORUM && !url->replica;
}

bool credentials_are_same(const struct redis_url *a, const struct redis_url *b)
{
	return (a->tls && b->tls) ||
	       (strcmp(a->user, b->user) == 0 && strcmp(credentials_password(a), credentials_password(b)) == 0);
}

unsigned credentials_version(void)
{
	return version;
}

struct tls_session *credentials_tls_session(int fd, const char *host)
{
	return context ? tls_session_new(context, fd, host) : NULL;
}

/* ---- Rejected credentials ---- */

static void set_next_try(void)
{
	next_try_us = loop_now_us() + (PAUSE_MS + backoff_ms(0, SPREAD_MS, SPREAD_MS, 0)) * 1000;
}

void credentials_rejected(const char *why)
{
	snprintf(rejection, sizeof(rejection), "%s", why);
	if (!is_rejected)
		set_next_try();
	is_rejected = true;
}

bool credentials_accepted(void)
{
	bool was_rejected = is_rejected;

	is_rejected = false;
	return was_rejected;
}

const char *credentials_rejection(void)
{
	return rejection;
}

int64_t credentials_wait_us(void)
{
	if (!is_rejected)
		return 0;
	int64_t left_us = next_try_us - loop_now_us();
	if (left_us > 0)
		return left_us;
	set_next_try();
	if (credentials_have_files())
		credentials_reread();
	return 0;
}
