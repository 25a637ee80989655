/* error: the errors of Redis that the daemon knows, by the word they begin with. Pure. */
#ifndef PATTERND_REDIS_ERROR_H
#define PATTERND_REDIS_ERROR_H

#include "core/text.h"

/* Redis returns these before anything of the command ran. */
enum redis_error {
	ERROR_OTHER, /* another one, or none: no connection */
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
