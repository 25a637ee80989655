#include "process/option.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/nearest.h"

static const struct option_name {
	const char *flag;
	bool once; /* on the command line only */
} names[] = {
#define OPTION_GROUP(title)
#define OPTION_TEXT(field, flag, argument, standard, help) { flag, false },
#define OPTION_SECRET(field, flag, argument, standard, help) { flag, false },
#define OPTION_OPTIONAL(field, flag, argument, help) { flag, false },
#define OPTION_CHOICE(field, flag, standard, choices, help) { flag, false },
#define OPTION_INT(field, flag, argument, standard, low, high, help) { flag, false },
#define OPTION_FLAG(field, flag, help) { flag, false },
#define OPTION_ONCE(flag, argument, help) { flag, true },
#include "process/options.def"
};

enum { NAMES = sizeof(names) / sizeof(names[0]), PREFIX = sizeof("PATTERND_") - 1 };

void option_variable(const char *flag, char out[OPTION_NAME_MAX])
{
	size_t n = (size_t)snprintf(out, OPTION_NAME_MAX, "PATTERND_%s", flag);

	for (size_t i = PREFIX; i < n; i++)
		out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
}

/* Names that other daemons have for these options. */
static const struct {
	const char *other, *known;
} foreign[] = {
	{ "port", "listen" },     { "host", "listen" },      { "bind", "listen" },      { "address", "listen" },
	{ "redis-url", "redis" }, { "redis-host", "redis" }, { "redis-addr", "redis" },
};

/* NULL: no name is near. */
static const char *nearest(const char *name, size_t len, bool once)
{
	struct nearest n = { .given = { name, len } };

	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (text_is(n.given, foreign[i].other))
			return foreign[i].known;
	for (size_t i = 0; i < NAMES; i++)
		if (once || !names[i].once)
			nearest_offer(&n, names[i].flag);
	return n.found;
}

bool option_refuse_name(const char *where, const char *dashes, const char *name, size_t len)
{
	for (size_t i = 0; i < NAMES; i++)
		if (strncmp(names[i].flag, name, len) == 0 && !names[i].flag[len] && (*dashes || !names[i].once)) {
			fprintf(stderr, "patternd: %s%s%s takes no value\n", where, dashes, names[i].flag);
			return false;
		}
	const char *meant = nearest(name, len, *dashes);
	fprintf(stderr, "patternd: %sunknown option '%s%.*s'", where, dashes, (int)len, name);
	fprintf(stderr, meant ? ": is %s%s meant?\n" : " (see --help)\n", dashes, meant);
	return false;
}

/* ---- Variables ---- */

/*
 * For each Service, Kubernetes gives a container {SERVICE}_SERVICE_HOST, _SERVICE_PORT[_NAME],
 * _PORT and _PORT_{number}_{protocol}[_ADDR, ...]. `name` is what follows "PATTERND_".
 */
static bool is_of_service(const char *name, size_t len)
{
	char text[256];

	if (len >= sizeof(text) - 1)
		return false;
	snprintf(text, sizeof(text), "_%.*s", (int)len, name);
	if (strstr(text, "_SERVICE_HOST") || strstr(text, "_SERVICE_PORT"))
		return true;
	for (const char *at = text; (at = strstr(at, "_PORT")); at++)
		if ((at[5] == '\0' && strstr(name + len, "://")) || (at[5] == '_' && isdigit((unsigned char)at[6])))
			return true;
	return false;
}

static bool is_known(const char *name, size_t len)
{
	static const char *const others[] = { "CONFIG", "URL", "TOKEN" }; /* clients use the last two */
	char variable[OPTION_NAME_MAX];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strlen(others[i]) == len && memcmp(others[i], name, len) == 0)
			return true;
	for (size_t i = 0; i < NAMES; i++) {
		option_variable(names[i].flag, variable);
		if (!names[i].once && strlen(variable + PREFIX) == len && memcmp(variable + PREFIX, name, len) == 0)
			return true;
	}
	return is_of_service(name, len);
}

static void report_unknown(const char *name, size_t len, void (*report)(const char *message))
{
	char flag[OPTION_NAME_MAX] = "", variable[OPTION_NAME_MAX], message[512];

	for (size_t i = 0; i < len && i < sizeof(flag) - 1; i++)
		flag[i] = name[i] == '_' ? '-' : (char)tolower((unsigned char)name[i]);
	const char *meant = len < sizeof(flag) ? nearest(flag, len, false) : NULL;
	option_variable(meant ? meant : "", variable);
	snprintf(message, sizeof(message), "the variable PATTERND_%.*s is not an option%s%s%s", (int)len, name,
		 meant ? ": is " : "; see --help", meant ? variable : "", meant ? " meant?" : "");
	report(message);
}

void option_unknown_variables(char **environment, void (*report)(const char *message))
{
	for (char **e = environment; *e; e++) {
		const char *name = *e + PREFIX;
		if (strncmp(*e, "PATTERND_", PREFIX) != 0)
			continue;
		size_t len = strcspn(name, "=");
		if (!is_known(name, len))
			report_unknown(name, len, report);
	}
}
