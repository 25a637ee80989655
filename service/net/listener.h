/*
 * listener: the sockets that clients connect to. It must not know HTTP.
 *
 * It owns the sockets and the files of Unix sockets. It replaces the file of a dead daemon, and
 * otherwise removes only files that it created.
 */
#ifndef PATTERND_LISTENER_H
#define PATTERND_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

#include "net/listener_address.h"

struct listener {
	int fd;    /* -1: closed */
	int error; /* errno, if it could not be opened */
	bool is_unix;
	char address[LISTENER_HOST_BYTES + 16]; /* such as 127.0.0.1:8379, with the real port; or unix:/path */
	dev_t device;                           /* of the file of a Unix socket */
	ino_t inode;
};

struct listener_options {
	const char *option; /* names the address in messages */
	mode_t mode;        /* of the file of a Unix socket */
	bool only_v6;       /* [::] does not serve IPv4 */
	bool may_lack;      /* an address that this machine does not have is skipped */
};

/*
 * Binds and listens. If that fails, writes one line to stderr and returns false. If the address was
 * skipped, returns true, and its descriptor is -1.
 */
bool listener_open(struct listener *l, const struct listener_address *a, const struct listener_options *options);

/*
 * Closes the socket, and removes the file of a Unix socket, unless another process has replaced it.
 */
void listener_close(struct listener *l);

/* Parses a file mode such as "0660". If that fails, writes one line to stderr and returns false. */
bool listener_parse_mode(const char *option, const char *text, mode_t *out);

#endif
