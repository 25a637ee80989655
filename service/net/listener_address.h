/*
 * listener_address: the addresses of --listen and --health-listen, before they are opened. It must
 * not know sockets.
 */
#ifndef PATTERND_LISTENER_ADDRESS_H
#define PATTERND_LISTENER_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

enum { LISTENER_ADDRESSES_MAX = 16, LISTENER_OF_NAME_MAX = 8, LISTENER_HOST_BYTES = 256, LISTENER_PATH_BYTES = 108 };

#define LISTENER_UNIX "unix:"

/*
 * A parsed address: HOST:PORT (a name, an IPv4 address, or an IPv6 address in brackets) or
 * unix:/path.
 */
struct listener_address {
	bool is_unix;
	char host[LISTENER_HOST_BYTES]; /* without brackets; for a Unix socket, its path */
	char port[6];                   /* decimal; 0: the kernel chooses a free one */
};

/* The addresses of an option. */
struct listener_list {
	const char *option;
	struct listener_address addresses[LISTENER_ADDRESSES_MAX];
	size_t count;
};

/*
 * Parses a list separated by commas, and opens nothing. Returns the number of addresses, or 0 after
 * one line on stderr that names `option`.
 */
size_t listener_address_parse(const char *option, const char *list,
			      struct listener_address out[LISTENER_ADDRESSES_MAX]);

/* Writes the address in the form of the option. */
void listener_address_print(const struct listener_address *a, char *out, size_t size);

/* Writes one line to stderr, and returns false. */
bool listener_address_refuse(const char *option, const struct listener_address *a, const char *why);

/* Returns true if the host has to be resolved. */
bool listener_address_is_name(const struct listener_address *a);

/*
 * Returns true for a loopback address, for localhost if all its addresses are loopback, and for a
 * Unix socket.
 */
bool listener_address_is_private(const struct listener_address *a);

/*
 * Resolves a name to all its addresses. Returns their number, 1 for other addresses, or 0 after one
 * line on stderr.
 */
size_t listener_address_expand(const char *option, const struct listener_address *a,
			       struct listener_address out[LISTENER_OF_NAME_MAX]);

/* Returns NULL, or why no Unix socket can be made at the path. */
const char *listener_address_flaw(const char *path);

/*
 * Checks what can be known before a socket is opened: that no address is twice in the list, or in
 * `other` as well (NULL: there is no other list), and that the folder of each path exists. Writes
 * each fault to stderr, and returns false if there is one.
 */
bool listener_address_check(const struct listener_list *list, const struct listener_list *other);

#endif
