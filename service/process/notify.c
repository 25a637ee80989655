/* notify: see notify.h. It does without libsystemd, since the protocol is one datagram. */
#include "process/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "process/log.h"

void notify_manager(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;

	if (len == 0)
		return;
	if (len > sizeof(to.sun_path) || (*path != '/' && *path != '@')) {
		log_event(LOG_WARN, "not_notified", "NOTIFY_SOCKET '%s' is neither a path nor @name", path);
		return;
	}
	memcpy(to.sun_path, path, len);
	if (*path == '@')
		to.sun_path[0] = '\0'; /* a name in the abstract namespace */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to, size) < 0)
		log_event(LOG_WARN, "not_notified", "the service manager at '%s' cannot be notified: %s", path,
			  strerror(errno));
	if (fd >= 0)
		close(fd);
}
