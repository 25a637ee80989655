/*
 * listener: the sockets that clients connect to; parses --listen and --health-listen.
 *
 * Owns the sockets and the files of Unix sockets. It replaces the file that a dead daemon left, and
 * otherwise only removes files that it created.
 */
#ifndef PATTERND_LISTENER_H
#define PATTERND_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { LISTENER_ADDRESSES_MAX = 16, LISTENER_HOST_BYTES = 256, LISTENER_PATH_BYTES = 108 };

/* HOST:PORT (a name, an IPv4 address, or an IPv6 address in brackets) or unix:/path, parsed. */
struct listener_address {
	bool is_unix;
	char host[LISTENER_HOST_BYTES]; /* without brackets; for a Unix socket, its path */
	char port[6];                   /* decimal; 0: the kernel chooses a free one */
};

/*
 * Parses a list separated by commas. Returns the number of addresses; 0 after one line on stderr
 * that names `option`. Opens nothing.
 */
size_t listener_addresses_parse(const char *option, const char *list,
				struct listener_address out[LISTENER_ADDRESSES_MAX]);

struct listener {
	int fd; /* -1: closed */
	bool is_unix;
	char address[LISTENER_HOST_BYTES + 16]; /* 127.0.0.1:8379, with the real port; unix:/path */
	dev_t device;                           /* of a Unix socket's file */
	ino_t inode;
};

struct listener_options {
	const char *option; /* names the address in messages */
	mode_t mode;        /* of a Unix socket's file */
	bool only_v6;       /* [::] does not serve IPv4 */
};

/* Writes the address as in the option. */
void listener_address_print(const struct listener_address *a, char *out, size_t size);

/*
 * True for a loopback address, for localhost if all its addresses are loopback, and for a Unix
 * socket.
 */
bool listener_address_is_private(const struct listener_address *a);

/* Binds and listens. False after one line on stderr. */
bool listener_open(struct listener *l, const struct listener_address *a, const struct listener_options *options);

/* Closes the socket and removes a Unix socket's file, unless another process has replaced it. */
void listener_close(struct listener *l);

/* "0660" as a file mode. False after one line on stderr. */
bool listener_parse_mode(const char *option, const char *text, mode_t *out);

#endif
