#include "redis/error.h"

#include <string.h>

#include "redis/reply.h"

static const char *const words[ERROR_COUNT] = {
	[ERROR_WRONGTYPE] = "WRONGTYPE",
	[ERROR_OOM] = "OOM",
	[ERROR_READONLY] = "READONLY",
	[ERROR_MASTERDOWN] = "MASTERDOWN",
	[ERROR_LOADING] = "LOADING",
	[ERROR_BUSY] = "BUSY",
	[ERROR_MISCONF] = "MISCONF",
	[ERROR_NOREPLICAS] = "NOREPLICAS",
	[ERROR_MOVED] = "MOVED",
	[ERROR_ASK] = "ASK",
	[ERROR_CLUSTERDOWN] = "CLUSTERDOWN",
	[ERROR_TRYAGAIN] = "TRYAGAIN",
	[ERROR_NOAUTH] = "NOAUTH",
	[ERROR_WRONGPASS] = "WRONGPASS",
	[ERROR_DENIED] = "DENIED",
	[ERROR_AUTH] = "ERR AUTH",
	[ERROR_NOPERM] = "NOPERM",
	[ERROR_MAX_CLIENTS] = "ERR max number of clients",
};

/*
 * Redis 7.0 and 8 return "ERR " and these texts when they deny a command to a script; 7.2 returns
 * NOPERM.
 */
static const char *const denied_in_script[] = { "The user executing the script can't ", "ACL failure in script: " };

static bool is_denied_in_script(const char *error)
{
	return strstr(error, denied_in_script[0]) || strstr(error, denied_in_script[1]);
}

enum redis_error redis_error_of(struct text error)
{
	for (enum redis_error e = ERROR_OTHER + 1; e < ERROR_COUNT; e++)
		if (reply_error_begins(error, words[e]))
			return e;
	return error.at && is_denied_in_script(error.at) ? ERROR_NOPERM : ERROR_OTHER;
}
