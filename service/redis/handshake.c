/*
 * handshake: see redis/handshake.h. It warns of unsafe configurations; with --strict it rejects
 * them.
 */
#include "redis/handshake.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/loop.h"
#include "process/config.h"
#include "process/log.h"
#include "process/metrics.h"
#include "redis/command.h"
#include "redis/credentials.h"
#include "redis/info.h"

enum { SHOWN_BYTES = 90, OLDEST_REDIS = 7, OLDEST_VALKEY_MAJOR = 7, OLDEST_VALKEY_MINOR = 2 };

/* A server of --lock-quorum, as of its latest handshake. */
struct handshake_server {
	const char *address; /* (ref) */
	char run_id[REDIS_RUN_ID_BYTES];
};

static struct handshake_server quorum[REDIS_MOST_QUORUM];
static const struct handshake_server *duplicate; /* a server that was rejected, until a handshake succeeds */
static char duplicates[160];
static const struct redis_handshake *(*find_other)(const struct redis_handshake *h); /* may be NULL */

static bool send(struct redis_handshake *h, struct resp_buffer *out, enum handshake_step step, const struct text *args,
		 size_t count)
{
	h->steps[h->asked++] = step;
	h->pending++;
	return resp_add(out, args, count);
}

static bool send_password(struct redis_handshake *h, struct resp_buffer *out)
{
	/* The user in the URL is the user at the master. */
	bool has_user = h->url->user[0] && h->kind != REDIS_SENTINEL;
	struct text password = text_of(credentials_password(h->url));
	struct text with_user[] = { TEXT("AUTH"), text_of(h->url->user), password };

	return !password.len ||
	       send(h, out, STEP_AUTH, has_user ? with_user : (struct text[]){ TEXT("AUTH"), password },
		    has_user ? 3 : 2);
}

bool handshake_begin(struct redis_handshake *h, const struct redis_url *url, bool takes_calls, struct resp_buffer *out)
{
	bool has_db = url->db[0] && url->kind != REDIS_SENTINEL;
	struct text select[] = { TEXT("SELECT"), text_of(url->db) };
	struct text name[] = { TEXT("CLIENT"), TEXT("SETNAME"), TEXT("patternd") };

	*h = (struct redis_handshake){ .url = url,
				       .kind = url->kind,
				       .credentials_version_used = credentials_version() };
	return send_password(h, out) && (!has_db || send(h, out, STEP_SELECT, select, 2)) &&
	       send(h, out, STEP_NAME, name, 3) &&
	       (!(url->replica && url->kind == REDIS_CLUSTER) ||
		send(h, out, STEP_READONLY, (struct text[]){ TEXT("READONLY") }, 1)) &&
	       send(h, out, STEP_INFO, (struct text[]){ TEXT("INFO"), TEXT("default") }, 2) &&
	       (takes_calls ? send(h, out, STEP_USER, (struct text[]){ TEXT("ACL"), TEXT("WHOAMI") }, 2)
			    : send(h, out, STEP_ID, (struct text[]){ TEXT("CLIENT"), TEXT("ID") }, 2));
}

static bool ask_tracking(struct redis_handshake *h, struct resp_buffer *out)
{
	char digits[TEXT_DIGITS];
	struct text tracking[] = { TEXT("CLIENT"), TEXT("TRACKING"), TEXT("ON"),
				   TEXT("OPTIN"),  TEXT("REDIRECT"), text_of_int(h->client_id, digits) };

	h->client_id = 0;
	return send(h, out, STEP_TRACKING, tracking, 6);
}

void handshake_share(const struct redis_handshake *(*find)(const struct redis_handshake *h))
{
	find_other = find;
}

/* Uses the answers that another connection got, or waits for them. */
static void share_permissions(struct redis_handshake *h)
{
	bool will_ask = h->permissions.user[0] && h->permissions_asked == 0;
	const struct redis_handshake *other = will_ask && find_other ? find_other(h) : NULL;

	h->waits = other && other->pending > 0;
	if (!other || h->waits)
		return;
	h->permissions = other->permissions;
	h->permissions_asked = other->permissions_asked;
}

bool handshake_ask_more(struct redis_handshake *h, struct resp_buffer *out)
{
	if (h->client_id > 0)
		return ask_tracking(h, out);
	struct text args[PERMISSION_ARGS];
	size_t count = h->kind == REDIS_CLUSTER ? permission_count_cluster : permission_count;
	bool ok = true;

	share_permissions(h);
	for (; ok && !h->waits && h->permissions.user[0] && h->permissions_asked < count; h->pending++)
		ok = resp_add(out, args, permissions_question(&h->permissions, h->permissions_asked++, args));
	return ok;
}

static bool reject(struct redis_handshake *h, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool reject(struct redis_handshake *h, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(h->why, sizeof(h->why), format, args);
	va_end(args);
	h->rejected = true;
	return false;
}

static void note_memory(struct redis_handshake *h, struct text info)
{
	int64_t used = info_number(info, "used_memory"), limit = info_number(info, "maxmemory");

	if (used >= 0)
		h->memory = (struct redis_memory){ used, limit < 0 ? 0 : limit, loop_now_us() };
}

static void note_keys(struct redis_handshake *h, struct text info)
{
	char key[sizeof("db") + sizeof(h->url->db)], keys[64];

	snprintf(key, sizeof(key), "db%s", h->url->db[0] ? h->url->db : "0");
	info_value(info, key, keys, sizeof(keys));
	h->process.has_keys = keys[0] != '\0';
}

enum handshake_finding { FINDING_EVICTION, FINDING_NO_FILE, FINDINGS };

/* Returns false with --strict only. */
static bool unsafe(struct redis_handshake *h, enum handshake_finding finding, const char *what)
{
	static bool logged[FINDINGS]; /* logged once, not for each connection */

	h->risks |= 1U << finding;
	metrics_count(METRIC_redis_config_unsafe);
	if (!logged[finding])
		log_event(LOG_WARN, "redis_config_unsafe", "%s", what);
	logged[finding] = true;
	return config()->strict ? reject(h, "--strict: %s", what) : true;
}

bool handshake_is_safe(struct redis_handshake *h, struct text info)
{
	char value[64], what[160];

	note_memory(h, info);
	note_keys(h, info);
	if (h->url->replica)
		return true; /* the server is only read from, so it does not matter what it keeps */
	h->risks = 0;
	info_value(info, "maxmemory_policy", value, sizeof(value));
	snprintf(what, sizeof(what),
		 "maxmemory-policy is %s, not noeviction: when full, Redis drops locks, queues and limits", value);
	if (value[0] && strcmp(value, "noeviction") != 0 && !unsafe(h, FINDING_EVICTION, what))
		return false;
	info_value(info, "aof_enabled", value, sizeof(value));
	return strcmp(value, "0") != 0 ||
	       unsafe(h, FINDING_NO_FILE, "appendonly is off: a restart of Redis loses what it held");
}

static bool check_version(struct redis_handshake *h, struct text info)
{
	char version[32], valkey[32];
	char *rest;

	info_value(info, "redis_version", version, sizeof(version));
	info_value(info, "valkey_version", valkey, sizeof(valkey));
	if (valkey[0]) {
		snprintf(h->process.server, sizeof(h->process.server), "valkey %s", valkey);
		long major = strtol(valkey, &rest, 10), minor = *rest ? strtol(rest + 1, NULL, 10) : 0;
		if (major < OLDEST_VALKEY_MAJOR || (major == OLDEST_VALKEY_MAJOR && minor < OLDEST_VALKEY_MINOR))
			return reject(h, "Valkey %s is too old; 7.2 or later is needed", valkey);
		return true;
	}
	snprintf(h->process.server, sizeof(h->process.server), "redis %s", version);
	if (strtol(version, NULL, 10) < OLDEST_REDIS)
		return reject(h, "Redis %s is too old; 7.0 or later is needed", version);
	return true;
}

/* Returns true if the server is of the expected kind. */
static bool check_kind(struct redis_handshake *h, struct text info)
{
	char mode[64], role[64];

	info_value(info, "redis_mode", mode, sizeof(mode));
	if (!mode[0])
		info_value(info, "server_mode", mode, sizeof(mode)); /* Valkey 8 and later */
	info_value(info, "role", role, sizeof(role));
	bool is_cluster = strcmp(mode, "cluster") == 0;
	if (strcmp(mode, "sentinel") == 0 && h->kind != REDIS_SENTINEL)
		return reject(h, "it is a Sentinel; use redis+sentinel://host:port/master");
	if (is_cluster && h->kind != REDIS_CLUSTER)
		return reject(h, "it is a Cluster node; use redis+cluster://host:port");
	if (strcmp(mode, "sentinel") != 0 && h->kind == REDIS_SENTINEL)
		return reject(h, "it is not a Sentinel");
	if (!is_cluster && h->kind == REDIS_CLUSTER)
		return reject(h, "it is not a Cluster node; use redis:// for a single server");
	if (strcmp(role, "slave") != 0 || h->kind == REDIS_CLUSTER || h->url->replica)
		return true;
	h->error = ERROR_READONLY;
	if (h->kind != REDIS_WATCHED)
		return reject(h, "it is a replica; patternd needs the master");
	snprintf(h->why, sizeof(h->why), "it is a replica, not the master any more");
	return false; /* the Sentinels know the new master, so the pause is short */
}

const char *handshake_duplicates(void)
{
	return duplicate ? duplicates : "";
}

/* A server that is listed under two names would vote twice, so the later one is rejected. */
static bool check_quorum(struct redis_handshake *h, struct text info)
{
	struct handshake_server *own = NULL, *at = quorum;
	const struct handshake_server *same = NULL;
	char run_id[REDIS_RUN_ID_BYTES];

	info_value(info, "run_id", run_id, sizeof(run_id));
	for (; at < quorum + REDIS_MOST_QUORUM && at->address; at++)
		if (strcmp(at->address, h->url->address) == 0)
			own = at;
		else if (run_id[0] && strcmp(at->run_id, run_id) == 0)
			same = at;
	own = own ? own : at;
	*own = (struct handshake_server){ .address = h->url->address };
	if (same) {
		duplicate = own;
		snprintf(duplicates, sizeof(duplicates), "%.60s and %.60s are one server: list it once", same->address,
			 own->address);
		return reject(h, "--lock-quorum: %s", duplicates);
	}
	memcpy(own->run_id, run_id, sizeof(run_id));
	if (duplicate == own)
		duplicate = NULL;
	return true;
}

/*
 * A server that starts with --appendonly makes an append-only file that begins with a snapshot.
 * `aof_base_size` is 0 only if that file was made at this start. With aof-use-rdb-preamble off, it
 * is 0 until the first rewrite, too: a restart is then reported that may have lost nothing.
 */
static void note_process(struct redis_handshake *h, struct text info)
{
	struct redis_process *p = &h->process;

	if (info_is(info, "role", "master"))
		info_value(info, "run_id", p->run_id, sizeof(p->run_id));
	p->uptime_us = info_number(info, "uptime_in_seconds") * 1000000;
	p->began_empty = info_is(info, "aof_enabled", "1")
				 ? info_number(info, "aof_base_size") == 0
				 : info_number(info, "rdb_last_load_keys_loaded") == 0 &&
					   info_number(info, "rdb_last_load_keys_expired") == 0;
}

static bool check_info(struct redis_handshake *h, struct text info)
{
	char value[64];

	if (!check_kind(h, info))
		return false;
	if (h->kind == REDIS_SENTINEL)
		return true;
	if (!check_version(h, info) || (h->kind == REDIS_QUORUM && !check_quorum(h, info)))
		return false;
	info_value(info, "arch_bits", value, sizeof(value));
	if (strcmp(value, "32") == 0)
		return reject(h, "it is a 32-bit build, whose scripts cannot print an instant; use a 64-bit build");
	info_value(info, "loading", value, sizeof(value));
	if (strcmp(value, "1") == 0) {
		h->rejected = false;
		h->error = ERROR_LOADING;
		snprintf(h->why, sizeof(h->why), "it is still loading its data");
		return false;
	}
	note_process(h, info);
	return handshake_is_safe(h, info);
}

static bool check_error(struct redis_handshake *h, enum handshake_step step, const char *text)
{
	if (step == STEP_NAME || step == STEP_ID || step == STEP_TRACKING)
		return true; /* optional */
	if (strncmp(text, "NOPERM", 6) == 0 && step == STEP_INFO) {
		snprintf(h->process.server, sizeof(h->process.server), "redis (INFO is not permitted)");
		return true;
	}
	h->error = redis_error_of(text_of(text));
	if (h->error == ERROR_LOADING || strstr(text, "max number of clients")) {
		snprintf(h->why, sizeof(h->why), "%.150s", text);
		return false;
	}
	bool wants_password = h->error == ERROR_NOAUTH || h->error == ERROR_WRONGPASS;
	h->auth_failed = wants_password || step == STEP_AUTH;
	/* A server without AUTH repeats its arguments, which include the password. */
	const char *args = step == STEP_AUTH ? strstr(text, ", with args") : NULL;
	int credentials_version_used = args ? (int)(args - text) : (int)strlen(text);
	const char *option = h->kind == REDIS_SENTINEL ? "sentinel" : "redis";
	return reject(h, wants_password ? "%.*s (--%s-password-file gives the password)" : "%.*s",
		      credentials_version_used < SHOWN_BYTES ? credentials_version_used : SHOWN_BYTES, text, option);
}

/* Takes the reply with the user's name, or one about a permission. */
static bool check_permission(struct redis_handshake *h, enum handshake_step step, const struct reply *reply)
{
	char what[PERMISSIONS_TEXT_BYTES];

	if (step == STEP_USER)
		permissions_user(&h->permissions, reply);
	else if (h->permissions.user[0])
		permissions_answer(&h->permissions, h->permissions_answered++, reply);
	if (h->pending > 0 || permissions_lacking(&h->permissions) == 0 || !config()->strict)
		return true;
	permissions_log(&h->permissions);
	permissions_text(&h->permissions, what);
	return reject(h, "--strict: %s", what);
}

bool handshake_reply(struct redis_handshake *h, const struct reply *reply)
{
	enum handshake_step step = h->at < h->asked ? h->steps[h->at] : STEP_PERMISSION;

	h->at++;
	h->pending--;
	if (step == STEP_USER || step == STEP_PERMISSION)
		return check_permission(h, step, reply);
	if (reply->type == REPLY_ERROR)
		return check_error(h, step, reply->text.at);
	if (step == STEP_ID)
		h->client_id = reply->type == REPLY_INTEGER ? reply->integer : 0;
	if (step == STEP_ID)
		return true;
	if (step == STEP_INFO)
		return reply->type == REPLY_TEXT ? check_info(h, reply->text) : reject(h, "its INFO is not text");
	if (reply->type != REPLY_STATUS && reply->type != REPLY_TEXT) {
		snprintf(h->why, sizeof(h->why), "unexpected handshake reply; is this Redis?");
		return false;
	}
	return true;
}
