/*
 * listener: the sockets that clients connect to, and what --listen and --health-listen say of them.
 *
 * Owns the sockets, and the files of Unix sockets: one that a dead daemon left is replaced; nothing else is ever removed but what was made
 * here.
 */
#ifndef PATTERND_LISTENER_H
#define PATTERND_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { LISTENER_ADDRESSES_MAX = 16, LISTENER_HOST_BYTES = 256, LISTENER_PATH_BYTES = 108 };

/* HOST:PORT (a name, an IPv4 address, or an IPv6 address in brackets) or unix:/path, taken apart. */
struct listener_address {
	bool is_unix;
	char host[LISTENER_HOST_BYTES]; /* without brackets; of a Unix socket, its path */
	char port[6];                   /* decimal; 0 takes a free one */
};

/*
 * Takes a list apart, separated by commas. Returns how many addresses it has; 0 after one line on stderr that names `option` and says
 * what is wrong. Opens nothing.
 */
size_t listener_addresses_parse(const char *option, const char *list,
				struct listener_address out[LISTENER_ADDRESSES_MAX]);

struct listener {
	int fd; /* -1: closed */
	bool is_unix;
	char address[LISTENER_HOST_BYTES + 16]; /* 127.0.0.1:8379 with the port that was really taken; unix:/path */
	dev_t device;                           /* of a Unix socket's file */
	ino_t inode;
};

struct listener_options {
	const char *option; /* that the address came from, for messages */
	mode_t mode;        /* of a Unix socket's file */
	bool only_v6;       /* [::] leaves IPv4 to another address */
};

/* As it would be written. */
void listener_address_print(const struct listener_address *a, char *out, size_t size);

/* True when nobody but this machine reaches it: an address of the loopback, localhost where that has no others, a Unix socket. */
bool listener_address_is_private(const struct listener_address *a);

/* Binds and listens. False after one line on stderr that says why not. */
bool listener_open(struct listener *l, const struct listener_address *a, const struct listener_options *options);

/* Nobody connects any more. A Unix socket's file goes too, unless somebody else has put his own in its place. */
void listener_close(struct listener *l);

/* "0660" as a file mode. False after one line on stderr. */
bool listener_parse_mode(const char *option, const char *text, mode_t *out);

#endif
