/* redis_greeting: see redis/handshake.h. Warns of configurations that lose data; --strict refuses them. */
#include "redis/handshake.h"

#include <stdio.h>
#include <stdlib.h>

#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "redis/command.h"
#include "redis/credentials.h"

enum { SHOWN_BYTES = 90, RUN_ID_BYTES = 48, OLDEST_REDIS = 7, OLDEST_VALKEY_MAJOR = 7, OLDEST_VALKEY_MINOR = 2 };

/* A server of --lock-quorum, as it was greeted last. */
struct member {
	const char *address; /* (ref) */
	char run_id[RUN_ID_BYTES];
};

static struct member members[REDIS_MOST_MEMBERS];
static const struct member *twin; /* was refused, and not greeted well since */
static char twins[160];
static const struct text *preload; /* ended by an absent one */

void greeting_set_preload(const struct text *texts)
{
	preload = texts;
}

static bool say(struct redis_greeting *g, struct resp_buffer *out, enum greeting_step step, const struct text *args,
		size_t count)
{
	if (step != STEP_SCRIPT)
		g->steps[g->asked++] = step;
	g->pending++;
	return resp_add(out, args, count);
}

static bool say_password(struct redis_greeting *g, struct resp_buffer *out)
{
	bool has_user = g->url->user[0] && g->kind != REDIS_SENTINEL; /* the URL's is the master's */
	struct text password = text_of(credentials_password(g->url));
	struct text with_user[] = { TEXT("AUTH"), text_of(g->url->user), password };

	return !password.len || say(g, out, STEP_AUTH, has_user ? with_user : (struct text[]){ TEXT("AUTH"), password },
				    has_user ? 3 : 2);
}

/* The scripts, and behind them, as there is something to be allowed, the user's name. */
static bool say_scripts(struct redis_greeting *g, struct resp_buffer *out)
{
	bool ok = true;

	if (!preload || !preload->at)
		return true;
	for (const struct text *s = preload; s->at && ok; s++)
		ok = say(g, out, STEP_SCRIPT, (struct text[]){ TEXT("SCRIPT"), TEXT("LOAD"), *s }, 3);
	g->whoami = g->pending;
	return ok && say(g, out, STEP_SCRIPT, (struct text[]){ TEXT("ACL"), TEXT("WHOAMI") }, 2);
}

bool greeting_begin(struct redis_greeting *g, const struct redis_url *url, bool has_scripts, struct resp_buffer *out)
{
	bool has_db = url->db[0] && url->kind != REDIS_SENTINEL;
	struct text select[] = { TEXT("SELECT"), text_of(url->db) };
	struct text name[] = { TEXT("CLIENT"), TEXT("SETNAME"), TEXT("patternd") };

	*g = (struct redis_greeting){ .url = url,
				      .kind = url->kind,
				      .credentials_version_used = credentials_version() };
	return say_password(g, out) && (!has_db || say(g, out, STEP_SELECT, select, 2)) &&
	       say(g, out, STEP_NAME, name, 3) &&
	       say(g, out, STEP_INFO, (struct text[]){ TEXT("INFO"), TEXT("default") }, 2) &&
	       (!has_scripts || say_scripts(g, out));
}

bool greeting_ask_permissions(struct redis_greeting *g, struct resp_buffer *out)
{
	struct text args[PERMISSION_ARGS];
	size_t count = g->kind == REDIS_CLUSTER ? permission_count_cluster : permission_count;
	bool ok = true;

	for (; ok && g->permissions.user[0] && g->permissions_asked < count; g->pending++)
		ok = resp_add(out, args, permissions_question(&g->permissions, g->permissions_asked++, args));
	return ok;
}

static bool refuse(struct redis_greeting *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(struct redis_greeting *g, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(g->why, sizeof(g->why), format, args);
	va_end(args);
	g->refused = true;
	return false;
}

/* Copies the value of "name:" out of INFO's text; "" when it is not there. */
static void info_value(struct text info, const char *name, char *out, size_t size)
{
	size_t name_len = strlen(name);

	*out = '\0';
	for (const char *at = info.at; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
		if (strncmp(at, name, name_len) != 0 || at[name_len] != ':')
			continue;
		size_t len = strcspn(at + name_len + 1, "\r\n");
		snprintf(out, size, "%.*s", (int)len, at + name_len + 1);
		return;
	}
}

enum finding { FINDING_EVICTION, FINDING_NO_FILE, FINDINGS };

/* False only with --strict. */
static bool unsafe(struct redis_greeting *g, enum finding finding, const char *what)
{
	static bool told[FINDINGS]; /* once, not once a connection */

	metrics_count(METRIC_redis_config_unsafe);
	if (!told[finding])
		log_event(LOG_WARN, "redis_config_unsafe", "%s", what);
	told[finding] = true;
	return config()->strict ? refuse(g, "--strict: %s", what) : true;
}

bool greeting_is_safe(struct redis_greeting *g, struct text info)
{
	char value[64], what[160];

	info_value(info, "maxmemory_policy", value, sizeof(value));
	snprintf(what, sizeof(what),
		 "maxmemory-policy is %s, not noeviction: short of memory, Redis drops locks, queues and limits",
		 value);
	if (value[0] && strcmp(value, "noeviction") != 0 && !unsafe(g, FINDING_EVICTION, what))
		return false;
	info_value(info, "aof_enabled", value, sizeof(value));
	return strcmp(value, "0") != 0 ||
	       unsafe(g, FINDING_NO_FILE, "appendonly is off: a restart of Redis loses what it held");
}

static bool check_version(struct redis_greeting *g, struct text info)
{
	char version[32], valkey[32];
	char *rest;

	info_value(info, "redis_version", version, sizeof(version));
	info_value(info, "valkey_version", valkey, sizeof(valkey));
	if (valkey[0]) {
		snprintf(g->server, sizeof(g->server), "valkey %s", valkey);
		long major = strtol(valkey, &rest, 10), minor = *rest ? strtol(rest + 1, NULL, 10) : 0;
		if (major < OLDEST_VALKEY_MAJOR || (major == OLDEST_VALKEY_MAJOR && minor < OLDEST_VALKEY_MINOR))
			return refuse(g, "Valkey %s is too old; 7.2 or later is needed", valkey);
		return true;
	}
	snprintf(g->server, sizeof(g->server), "redis %s", version);
	if (strtol(version, NULL, 10) < OLDEST_REDIS)
		return refuse(g, "Redis %s is too old; 7.0 or later is needed", version);
	return true;
}

/* Is it the kind of server that was to be there? */
static bool check_kind(struct redis_greeting *g, struct text info)
{
	char mode[64], role[64];

	info_value(info, "redis_mode", mode, sizeof(mode));
	info_value(info, "role", role, sizeof(role));
	bool is_cluster = strcmp(mode, "cluster") == 0;
	if (strcmp(mode, "sentinel") == 0 && g->kind != REDIS_SENTINEL)
		return refuse(g, "it is a Sentinel; it goes with redis+sentinel://host:port/master");
	if (is_cluster && g->kind != REDIS_CLUSTER)
		return refuse(g, "it is a Cluster node; it goes with redis+cluster://host:port");
	if (strcmp(mode, "sentinel") != 0 && g->kind == REDIS_SENTINEL)
		return refuse(g, "it is no Sentinel");
	if (!is_cluster && g->kind == REDIS_CLUSTER)
		return refuse(g, "it is no Cluster node; a single server goes with redis://");
	if (strcmp(role, "slave") != 0 || g->kind == REDIS_CLUSTER)
		return true;
	if (g->kind != REDIS_WATCHED)
		return refuse(g, "it is a replica; patternd needs the master");
	snprintf(g->why, sizeof(g->why), "it is a replica, not the master any more");
	return false; /* the Sentinels will know better: no long pause */
}

const char *greeting_twins(void)
{
	return twin ? twins : "";
}

/* A server under two names would vote twice. The one that is greeted later is refused. */
static bool check_member(struct redis_greeting *g, struct text info)
{
	struct member *own = NULL, *at = members;
	const struct member *same = NULL;
	char run_id[RUN_ID_BYTES];

	info_value(info, "run_id", run_id, sizeof(run_id));
	for (; at < members + REDIS_MOST_MEMBERS && at->address; at++)
		if (strcmp(at->address, g->url->address) == 0)
			own = at;
		else if (run_id[0] && strcmp(at->run_id, run_id) == 0)
			same = at;
	own = own ? own : at;
	*own = (struct member){ .address = g->url->address };
	if (same) {
		twin = own;
		snprintf(twins, sizeof(twins), "%.60s and %.60s are one server: list it once", same->address,
			 own->address);
		return refuse(g, "--lock-quorum: %s", twins);
	}
	memcpy(own->run_id, run_id, sizeof(run_id));
	if (twin == own)
		twin = NULL;
	return true;
}

static bool check_info(struct redis_greeting *g, struct text info)
{
	char value[64];

	if (!check_kind(g, info))
		return false;
	if (g->kind == REDIS_SENTINEL)
		return true;
	if (!check_version(g, info) || (g->kind == REDIS_MEMBER && !check_member(g, info)))
		return false;
	info_value(info, "arch_bits", value, sizeof(value));
	if (strcmp(value, "32") == 0)
		return refuse(
			g,
			"it is a build of 32 bits, context scripts cannot print an instant; one of 64 bits is needed");
	info_value(info, "loading", value, sizeof(value));
	if (strcmp(value, "1") == 0) {
		g->refused = false;
		snprintf(g->why, sizeof(g->why), "it is still loading its data");
		return false;
	}
	return greeting_is_safe(g, info);
}

static bool check_error(struct redis_greeting *g, enum greeting_step step, const char *text)
{
	if (step == STEP_SCRIPT || step == STEP_NAME)
		return true; /* not allowed to: scripts are sent whole then, the name is a courtesy */
	if (strncmp(text, "NOPERM", 6) == 0 && step == STEP_INFO) {
		snprintf(g->server, sizeof(g->server), "redis (INFO is not permitted)");
		return true;
	}
	if (strncmp(text, "LOADING", 7) == 0 || strstr(text, "max number of clients")) {
		snprintf(g->why, sizeof(g->why), "%.150s", text);
		return false;
	}
	bool wants_password = strncmp(text, "NOAUTH", 6) == 0 || strncmp(text, "WRONGPASS", 9) == 0;
	g->auth_failed = wants_password || step == STEP_AUTH;
	/* A server that does not know AUTH repeats what came with it: the password. */
	const char *args = step == STEP_AUTH ? strstr(text, ", with args") : NULL;
	int credentials_version_used = args ? (int)(args - text) : (int)strlen(text);
	const char *option = g->kind == REDIS_SENTINEL ? "sentinel" : "redis";
	return refuse(g, wants_password ? "%.*s (--%s-password-file gives the password)" : "%.*s",
		      credentials_version_used < SHOWN_BYTES ? credentials_version_used : SHOWN_BYTES, text, option);
}

/* The answer about the user's name, and then those about what the user may. */
static bool check_permission(struct redis_greeting *g, size_t at, const struct reply *reply)
{
	char what[PERMISSIONS_TEXT_BYTES];

	if (at == 0)
		permissions_user(&g->permissions, reply);
	else if (g->permissions.user[0])
		permissions_answer(&g->permissions, at - 1, reply);
	if (g->pending > 0 || permissions_lacking(&g->permissions) == 0 || !config()->strict)
		return true;
	permissions_log(&g->permissions);
	permissions_text(&g->permissions, what);
	return refuse(g, "--strict: %s", what);
}

bool greeting_reply(struct redis_greeting *g, const struct reply *reply)
{
	size_t at = g->at;
	enum greeting_step step = g->at < g->asked ? g->steps[g->at] : STEP_SCRIPT;

	g->at++;
	g->pending--;
	if (g->whoami && at >= g->whoami)
		return check_permission(g, at - g->whoami, reply);
	if (reply->type == REPLY_ERROR)
		return check_error(g, step, reply->text.at);
	if (step == STEP_INFO)
		return reply->type == REPLY_TEXT ? check_info(g, reply->text) : refuse(g, "its INFO is not text");
	if (reply->type != REPLY_STATUS && reply->type != REPLY_TEXT) {
		snprintf(g->why, sizeof(g->why), "what it says is not what Redis would say");
		return false;
	}
	return true;
}
