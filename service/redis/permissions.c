#include "redis/permissions.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "process/config.h"
#include "process/log.h"
#include "redis/reply_reader.h"

/* ACL WHOAMI or ACL DRYRUN is unknown, or not permitted. */
static void not_known(struct permissions_report *report)
{
	static bool logged;

	*report = (struct permissions_report){ 0 };
	if (!logged)
		log_event(LOG_WARN, "redis_permissions_unknown",
			  "the Redis user may not ask for its permissions, so they are not checked; add +acl|whoami "
			  "+acl|dryrun to it");
	logged = true;
}

void permissions_user(struct permissions_report *report, const struct reply *reply)
{
	bool is_name = reply->type == REPLY_TEXT && reply->text.len > 0 && reply->text.len < sizeof(report->user);

	if (is_name)
		memcpy(report->user, reply->text.at, reply->text.len);
	else
		not_known(report);
}

/* Returns the name of a key or channel under the prefix. */
static struct text something(void)
{
	static char name[512];

	snprintf(name, sizeof(name), "%s{acl}", config()->prefix);
	return text_of(name);
}

/* Returns the line for permission `i`. */
static const char *line_of(size_t i)
{
	const char *at = permissions;

	for (; i > 0; i--)
		at = strchr(at, '\n') + 1;
	return at;
}

size_t permissions_question(const struct permissions_report *report, size_t i, struct text args[PERMISSION_ARGS])
{
	size_t count = 0;

	args[count++] = TEXT("ACL");
	args[count++] = TEXT("DRYRUN");
	args[count++] = text_of(report->user);
	for (const char *at = line_of(i), *end = at; *end != '\n'; at = end + 1) {
		end = at + strcspn(at, " |\n");
		assert(count < PERMISSION_ARGS);
		args[count++] = *at == '$' ? something() : (struct text){ at, (size_t)(end - at) };
	}
	return count;
}

void permissions_answer(struct permissions_report *report, size_t i, const struct reply *reply)
{
	/*
	 * The texts are "User x has no permissions to run the 'y' command", "to access the 'y' key"
	 * and "... channel".
	 */
	bool lacks = reply->type == REPLY_TEXT ||
		     (reply->type == REPLY_ERROR && strncmp(reply->text.at, "ERR Command", 11) == 0);

	assert(i < PERMISSIONS_MOST);
	if (reply->type == REPLY_STATUS)
		return;
	if (!lacks)
		not_known(report);
	else if (strstr(reply->text.at, "' key"))
		report->lacks_keys = true;
	else if (strstr(reply->text.at, "' channel"))
		report->lacks_channels = true;
	else
		report->lacks[i] = true;
}

unsigned permissions_lacking(const struct permissions_report *report)
{
	unsigned n = (unsigned)report->lacks_keys + (unsigned)report->lacks_channels;

	for (size_t i = 0; i < PERMISSIONS_MOST; i++)
		n += report->lacks[i];
	return n;
}

static void append(char out[PERMISSIONS_TEXT_BYTES], const char *before, struct text text, const char *behind)
{
	size_t len = strlen(out);

	snprintf(out + len, PERMISSIONS_TEXT_BYTES - len, "%s%.*s%s", before, (int)text.len, text.at, behind);
}

void permissions_text(const struct permissions_report *report, char out[PERMISSIONS_TEXT_BYTES])
{
	*out = '\0';
	if (permissions_lacking(report) == 0)
		return;
	append(out, "the Redis user lacks permissions: ACL SETUSER ", text_of(report->user), "");
	size_t rules_at = strlen(out);
	for (size_t i = 0; i < permission_count_cluster; i++)
		if (report->lacks[i])
			append(out, " +", (struct text){ line_of(i), strcspn(line_of(i), " \n") }, "");
	for (char *c = out + rules_at; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (report->lacks_keys)
		append(out, " ~", text_of(config()->prefix), "*");
	if (report->lacks_channels)
		append(out, " &", text_of(config()->prefix), "*");
}

static char logged_missing[PERMISSIONS_TEXT_BYTES]; /* "": none, or the permissions were granted since */

void permissions_log(const struct permissions_report *report)
{
	char text[PERMISSIONS_TEXT_BYTES];

	permissions_text(report, text);
	if (!*text)
		return;
	if (strcmp(logged_missing, text) != 0)
		log_event(LOG_ERROR, "redis_permissions_missing", "%s", text);
	memcpy(logged_missing, text, sizeof(logged_missing));
}

void permissions_log_granted(void)
{
	if (*logged_missing)
		log_event(LOG_INFO, "redis_permissions_granted", "the Redis user has all permissions that it needs");
	*logged_missing = '\0';
}
