/* listener: see listener.h. */
#include "net/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/text.h"

static const char unix_prefix[] = "unix:";
static const char path_in_use[] =
	"another process listens there already (as root, ss -lxnp shows which); stop it, or give another address";

static bool refuse(const char *option, const char *what, size_t len, const char *why)
{
	fprintf(stderr, "patternd: --%s: cannot serve on '%.*s': %s\n", option, (int)len, what, why);
	return false;
}

/* ---- Addresses ---- */

static bool parse_unix(const char *option, const char *at, size_t len, struct listener_address *out)
{
	const char *path = at + sizeof(unix_prefix) - 1;
	size_t n = len - (sizeof(unix_prefix) - 1);

	out->is_unix = true;
	if (n < 2 || *path != '/')
		return refuse(option, at, len, "expected a path from the root, like unix:/run/patternd.sock");
	if (n >= LISTENER_PATH_BYTES)
		return refuse(option, at, len, "the path of a Unix socket has at most 107 bytes");
	snprintf(out->host, sizeof(out->host), "%.*s", (int)n, path);
	return true;
}

static bool parse_one(const char *option, const char *at, size_t len, struct listener_address *out)
{
	const char *colon = memrchr(at, ':', len);
	size_t host_len = colon ? (size_t)(colon - at) : 0;

	*out = (struct listener_address){ 0 };
	if (len >= sizeof(unix_prefix) - 1 && memcmp(at, unix_prefix, sizeof(unix_prefix) - 1) == 0)
		return parse_unix(option, at, len, out);
	if (host_len == 0 || host_len >= LISTENER_HOST_BYTES ||
	    text_u16((struct text){ colon + 1, len - host_len - 1 }) < 0)
		return refuse(option, at, len, "expected HOST:PORT, like 127.0.0.1:8379 or [::1]:8379, or unix:/path");
	bool bracketed = at[0] == '[' && at[host_len - 1] == ']';
	if (!bracketed && memchr(at, ':', host_len))
		return refuse(option, at, len, "an IPv6 address needs brackets, like [::1]:8379");
	snprintf(out->host, sizeof(out->host), "%.*s", (int)(bracketed ? host_len - 2 : host_len), at + bracketed);
	snprintf(out->port, sizeof(out->port), "%.*s", (int)(len - host_len - 1), colon + 1);
	return true;
}

size_t listener_addresses_parse(const char *option, const char *list,
				struct listener_address out[LISTENER_ADDRESSES_MAX])
{
	size_t count = 0;

	for (struct text rest = text_of(list); rest.at;) {
		struct text one = text_cut(&rest, ',');
		if (count == LISTENER_ADDRESSES_MAX) {
			refuse(option, list, strlen(list), "at most 16 addresses are allowed");
			return 0;
		}
		if (!parse_one(option, one.at, one.len, &out[count++]))
			return 0;
	}
	return count;
}

void listener_address_print(const struct listener_address *a, char *out, size_t size)
{
	if (a->is_unix)
		snprintf(out, size, "%s%s", unix_prefix, a->host);
	else
		snprintf(out, size, strchr(a->host, ':') ? "[%s]:%s" : "%s:%s", a->host, a->port);
}

static bool is_loopback(const struct sockaddr *a)
{
	const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;

	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return a->sa_family == AF_INET6 &&
	       (IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == IN_LOOPBACKNET));
}

bool listener_address_is_private(const struct listener_address *a)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	unsigned char bytes[16];

	if (a->is_unix)
		return true;
	/* Other names may resolve to other addresses tomorrow. "127.1" is also a name. */
	if (strcasecmp(a->host, "localhost") != 0 && inet_pton(AF_INET, a->host, bytes) != 1 &&
	    inet_pton(AF_INET6, a->host, bytes) != 1)
		return false;
	if (getaddrinfo(a->host, NULL, &hints, &found) != 0)
		return false;
	bool all = true;
	for (struct addrinfo *at = found; at; at = at->ai_next)
		all = all && is_loopback(at->ai_addr);
	freeaddrinfo(found);
	return all;
}

bool listener_parse_mode(const char *option, const char *text, mode_t *out)
{
	size_t len = strlen(text);

	if (len >= 3 && len <= 4 && strspn(text, "01234567") == len && strtoull(text, NULL, 8) <= 0777) {
		*out = (mode_t)strtoull(text, NULL, 8);
		return true;
	}
	fprintf(stderr, "patternd: --%s: '%s' is not an octal mode like 0660\n", option, text);
	return false;
}

/* ---- TCP ---- */

/*
 * Responses that a slow client has not read wait in the kernel. Without this, the kernel would let
 * that buffer grow to mebibytes per client, which --max-request-memory does not count. Linux
 * doubles the number.
 */
enum { SEND_BUFFER_BYTES = 128 * 1024 };

static int open_tcp(const struct addrinfo *a, bool only_v6)
{
	int on = 1, v6 = only_v6, send_buffer = SEND_BUFFER_BYTES;
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* Accepted connections inherit the size. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
	if (a->ai_family == AF_INET6 && v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6, sizeof(v6));
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

static void note_address(struct listener *l)
{
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);
	char host[64], port[16];

	if (getsockname(l->fd, (struct sockaddr *)&own, &len) != 0 ||
	    getnameinfo((struct sockaddr *)&own, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	/* Only IPv6 addresses have colons. */
	snprintf(l->address, sizeof(l->address), strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

/*
 * SO_REUSEADDR helps only if the other socket has it, too, which a client's socket does not. While
 * the port is the local end of a client's connection, and for a minute afterwards, no process can
 * listen on it.
 */
static const char *port_in_use(const char *port)
{
	static char why[320];

	snprintf(why, sizeof(why),
		 "another process listens there already, or the port is the local end of a connection, perhaps of one "
		 "that ended within the last minute (as root, ss -tanp 'sport = :%s' shows which); end it, or give "
		 "another address",
		 port);
	return why;
}

/* Returns NULL, or why the address cannot be listened on. */
static const char *listen_tcp(struct listener *l, const struct listener_address *a, bool only_v6)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *found;
	int error = getaddrinfo(a->host, a->port, &hints, &found);

	if (error)
		return gai_strerror(error);
	l->fd = open_tcp(found, only_v6);
	error = errno;
	freeaddrinfo(found);
	if (l->fd < 0)
		return error == EADDRINUSE ? port_in_use(a->port) : strerror(error);
	note_address(l);
	return NULL;
}

/* ---- Unix sockets ---- */

static struct sockaddr_un unix_address(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	memcpy(to.sun_path, path, strlen(path) + 1); /* the parser has checked the length */
	return to;
}

/* Removes a socket on which no process listens. Returns NULL, or why `path` is in use. */
static const char *clear_stale(const char *path)
{
	struct sockaddr_un to = unix_address(path);
	struct stat s;

	if (lstat(path, &s) != 0)
		return errno == ENOENT ? NULL : strerror(errno);
	if (!S_ISSOCK(s.st_mode))
		return "the file there is not a socket";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return strerror(errno);
	int error = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? 0 : errno;
	close(fd);
	if (error == 0 || error == EAGAIN) /* EAGAIN: the backlog is full */
		return path_in_use;
	if (error != ECONNREFUSED)
		return strerror(error);
	return unlink(path) == 0 || errno == ENOENT ? NULL : strerror(errno);
}

/* The umask sets the mode, because other users could connect before a later chmod. */
static const char *bind_unix(struct listener *l, const char *path, mode_t mode)
{
	struct sockaddr_un at = unix_address(path);
	struct stat s;

	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd < 0)
		return strerror(errno);
	mode_t before = umask((mode_t)(~mode & 0777));
	bool ok = bind(l->fd, (struct sockaddr *)&at, sizeof(at)) == 0;
	int error = errno;
	umask(before);
	if (ok && listen(l->fd, SOMAXCONN) == 0 && lstat(path, &s) == 0) {
		l->device = s.st_dev;
		l->inode = s.st_ino;
		return NULL;
	}
	if (ok)
		error = errno;
	close(l->fd);
	l->fd = -1;
	return error == EADDRINUSE ? path_in_use : strerror(error);
}

/*
 * Two daemons that start at once may both find the socket of a dead one. The second must not remove
 * the socket that the first has just bound, so the folder is locked. If the folder cannot be
 * opened, the socket cannot be replaced either.
 */
static const char *listen_unix(struct listener *l, const char *path, mode_t mode)
{
	char folder[LISTENER_HOST_BYTES];
	const char *slash = strrchr(path, '/');

	snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lock >= 0)
		flock(lock, LOCK_EX);
	const char *why = clear_stale(path);
	if (!why)
		why = bind_unix(l, path, mode);
	if (lock >= 0)
		close(lock);
	if (!why)
		snprintf(l->address, sizeof(l->address), "%s%s", unix_prefix, path);
	return why;
}

/* ---- TCP or Unix ---- */

bool listener_open(struct listener *l, const struct listener_address *a, const struct listener_options *options)
{
	char shown[LISTENER_HOST_BYTES + 16];

	*l = (struct listener){ .fd = -1, .is_unix = a->is_unix };
	const char *why = a->is_unix ? listen_unix(l, a->host, options->mode) : listen_tcp(l, a, options->only_v6);
	if (!why)
		return true;
	listener_address_print(a, shown, sizeof(shown));
	return refuse(options->option, shown, strlen(shown), why);
}

void listener_close(struct listener *l)
{
	const char *path = l->address + sizeof(unix_prefix) - 1;
	struct stat s;

	if (l->fd < 0)
		return;
	/* While the socket is open, the kernel does not reuse its inode. */
	if (l->is_unix && lstat(path, &s) == 0 && s.st_dev == l->device && s.st_ino == l->inode)
		unlink(path);
	close(l->fd);
	l->fd = -1;
}
