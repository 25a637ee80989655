/*
 * listener: the sockets that clients connect to. It also parses --listen and --health-listen. It
 * must not know HTTP.
 *
 * It owns the sockets and the files of Unix sockets. It replaces the file of a dead daemon, and
 * otherwise removes only files that it created.
 */
#ifndef PATTERND_LISTENER_H
#define PATTERND_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { LISTENER_ADDRESSES_MAX = 16, LISTENER_HOST_BYTES = 256, LISTENER_PATH_BYTES = 108 };

/*
 * A parsed address: HOST:PORT (a name, an IPv4 address, or an IPv6 address in brackets) or
 * unix:/path.
 */
struct listener_address {
	bool is_unix;
	char host[LISTENER_HOST_BYTES]; /* without brackets; for a Unix socket, its path */
	char port[6];                   /* decimal; 0: the kernel chooses a free one */
};

/*
 * Parses a list separated by commas, and opens nothing. Returns the number of addresses, or 0 after
 * one line on stderr that names `option`.
 */
size_t listener_addresses_parse(const char *option, const char *list,
				struct listener_address out[LISTENER_ADDRESSES_MAX]);

struct listener {
	int fd; /* -1: closed */
	bool is_unix;
	char address[LISTENER_HOST_BYTES + 16]; /* such as 127.0.0.1:8379, with the real port; or unix:/path */
	dev_t device;                           /* of the file of a Unix socket */
	ino_t inode;
};

struct listener_options {
	const char *option; /* names the address in messages */
	mode_t mode;        /* of the file of a Unix socket */
	bool only_v6;       /* [::] does not serve IPv4 */
};

/* Writes the address in the form of the option. */
void listener_address_print(const struct listener_address *a, char *out, size_t size);

/*
 * Returns true for a loopback address, for localhost if all its addresses are loopback, and for a
 * Unix socket.
 */
bool listener_address_is_private(const struct listener_address *a);

/* Binds and listens. If that fails, writes one line to stderr and returns false. */
bool listener_open(struct listener *l, const struct listener_address *a, const struct listener_options *options);

/*
 * Closes the socket, and removes the file of a Unix socket, unless another process has replaced it.
 */
void listener_close(struct listener *l);

/* Parses a file mode such as "0660". If that fails, writes one line to stderr and returns false. */
bool listener_parse_mode(const char *option, const char *text, mode_t *out);

#endif
