/*
 * slow_send: preloaded into the daemon, it makes each send() take 20 ms longer, after the bytes are
 * on their way. So a peer can answer, or end the connection, between two parts of a request.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
	static ssize_t (*real)(int, const void *, size_t, int);

	if (!real) {
		void *found = dlsym(RTLD_NEXT, "send");
		memcpy(&real, &found, sizeof(real));
	}
	ssize_t sent = real(fd, bytes, len, flags);
	usleep(20000);
	return sent;
}
