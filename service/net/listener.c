#include "net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "process/log.h"

static const char path_in_use[] =
	"another process listens there already (as root, ss -lxnp shows which); stop it, or give another address";

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

/* Returns NULL, or why the address, which is not a name, cannot be listened on. */
static const char *listen_tcp(struct listener *l, const struct listener_address *a, bool only_v6)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *found;
	int error = getaddrinfo(a->host, a->port, &hints, &found);

	if (error)
		return gai_strerror(error);
	l->fd = open_tcp(found, only_v6);
	l->error = errno;
	freeaddrinfo(found);
	if (l->fd < 0)
		return l->error == EADDRINUSE ? port_in_use(a->port) : strerror(l->error);
	note_address(l);
	return NULL;
}

/*
 * [::] alone serves IPv4, too, so manifests use it. A kernel may be without IPv6 (ipv6.disable=1):
 * then it serves IPv4 only.
 */
static const char *listen_any(struct listener *l, struct listener_address a, const char *why)
{
	snprintf(a.host, sizeof(a.host), "0.0.0.0");
	if (listen_tcp(l, &a, false))
		return why;
	log_event(LOG_WARN, "no_ipv6", "the kernel has no IPv6, so %s serves in place of [::]", l->address);
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
	const char *why = listener_address_flaw(path);
	if (!why)
		why = clear_stale(path);
	if (!why)
		why = bind_unix(l, path, mode);
	if (lock >= 0)
		close(lock);
	if (!why)
		snprintf(l->address, sizeof(l->address), "%s%s", LISTENER_UNIX, path);
	return why;
}

/* ---- TCP or Unix ---- */

bool listener_open(struct listener *l, const struct listener_address *a, const struct listener_options *options)
{
	*l = (struct listener){ .fd = -1, .is_unix = a->is_unix };
	const char *why = a->is_unix ? listen_unix(l, a->host, options->mode) : listen_tcp(l, a, options->only_v6);
	if (why && l->error == EAFNOSUPPORT && !options->only_v6 && strcmp(a->host, "::") == 0)
		why = listen_any(l, *a, why);
	if (!why)
		return true;
	/* A name may have an address that this machine lacks, such as ::1 where IPv6 is off. */
	bool is_skipped = options->may_lack && (l->error == EADDRNOTAVAIL || l->error == EAFNOSUPPORT);
	return is_skipped || listener_address_refuse(options->option, a, why);
}

void listener_close(struct listener *l)
{
	const char *path = l->address + strlen(LISTENER_UNIX);
	struct stat s;

	if (l->fd < 0)
		return;
	/* While the socket is open, the kernel does not reuse its inode. */
	if (l->is_unix && lstat(path, &s) == 0 && s.st_dev == l->device && s.st_ino == l->inode)
		unlink(path);
	close(l->fd);
	l->fd = -1;
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
