/* error: the errors of Redis that the daemon knows, by their first word. Pure. */
#ifndef PATTERND_REDIS_ERROR_H
#define PATTERND_REDIS_ERROR_H

#include "core/text.h"

/* Redis returns these errors before any part of the command has run. */
enum redis_error {
	ERROR_OTHER, /* another error, or none: there is no connection */
	ERROR_WRONGTYPE,
	ERROR_OOM,
	ERROR_READONLY,
	ERROR_MASTERDOWN,
	ERROR_LOADING,
	ERROR_BUSY,
	ERROR_MISCONF,
	ERROR_NOREPLICAS,
	ERROR_MOVED,
	ERROR_ASK,
	ERROR_CLUSTERDOWN,
	ERROR_TRYAGAIN,
	ERROR_NOAUTH,
	ERROR_WRONGPASS,
	ERROR_DENIED,
	ERROR_AUTH,
	ERROR_NOPERM,
	ERROR_MAX_CLIENTS,
	ERROR_COUNT,
};

enum redis_error redis_error_of(struct text error);

#endif
