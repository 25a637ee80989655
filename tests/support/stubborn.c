/* stubborn: one thread, a fixed table of connections; see stubborn.h. */
#include "stubborn.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback.h"
#include "test.h"

enum { PEERS_MAX = 64, BLOCK_BYTES = 65536, LOOK_MS = 20 };

struct peer {
	int fd;      /* -1: free */
	size_t left; /* answers still to send */
	size_t at;   /* bytes of the block that went out */
};

struct stubborn {
	const struct stubborn_manner *manner;
	pthread_t thread;
	atomic_bool stop;
	_Atomic uint64_t connections;
	int listen_fd, port;
	char url[64];
	struct peer peers[PEERS_MAX];
	char block[BLOCK_BYTES]; /* the answer, as often as it fits: a flood needs large writes */
	size_t answer_len, per_block;
};

static void welcome(struct stubborn *s)
{
	const char *greeting = s->manner->greeting;
	int fd = loopback_accept(s->listen_fd);

	if (fd < 0)
		return;
	s->connections++;
	if (greeting && send(fd, greeting, strlen(greeting), MSG_NOSIGNAL) < 0) {
		close(fd);
		return;
	}
	for (size_t i = 0; i < PEERS_MAX; i++) {
		if (s->peers[i].fd >= 0)
			continue;
		s->peers[i] = (struct peer){ .fd = fd };
		return;
	}
	close(fd);
}

static void dismiss(struct peer *peer)
{
	close(peer->fd);
	peer->fd = -1;
}

static void listen_to(const struct stubborn *s, struct peer *peer)
{
	char ignored[BLOCK_BYTES];
	ssize_t n = recv(peer->fd, ignored, sizeof(ignored), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN))
		dismiss(peer);
	else if (n > 0 && s->manner->answer)
		peer->left = s->manner->times ? s->manner->times : peer->left + 1;
}

static void talk(const struct stubborn *s, struct peer *peer)
{
	size_t answers = peer->left < s->per_block ? peer->left : s->per_block;
	size_t len = answers * s->answer_len;
	ssize_t n = send(peer->fd, s->block + peer->at, len - peer->at, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN) {
		dismiss(peer);
		return;
	}
	peer->at += n > 0 ? (size_t)n : 0;
	if (peer->at < len)
		return;
	peer->at = 0;
	if (s->manner->times != SIZE_MAX)
		peer->left -= answers;
}

static void *run(void *arg)
{
	struct stubborn *s = arg;
	struct pollfd polled[PEERS_MAX + 1];

	while (!s->stop) {
		for (size_t i = 0; i < PEERS_MAX; i++)
			polled[i] = (struct pollfd){ .fd = s->peers[i].fd,
						     .events = (short)(POLLIN | (s->peers[i].left ? POLLOUT : 0)) };
		polled[PEERS_MAX] = (struct pollfd){ .fd = s->listen_fd, .events = POLLIN };
		poll(polled, PEERS_MAX + 1, LOOK_MS);
		for (size_t i = 0; i < PEERS_MAX; i++) {
			if (polled[i].revents & (POLLIN | POLLHUP | POLLERR))
				listen_to(s, &s->peers[i]);
			if (s->peers[i].fd >= 0 && polled[i].revents & POLLOUT && s->peers[i].left)
				talk(s, &s->peers[i]);
		}
		if (polled[PEERS_MAX].revents)
			welcome(s);
	}
	return NULL;
}

struct stubborn *stubborn_open(const struct stubborn_manner *m)
{
	struct stubborn *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->manner = m;
	s->answer_len = m->answer ? strlen(m->answer) : 0;
	s->per_block = s->answer_len ? BLOCK_BYTES / s->answer_len : 0;
	for (size_t i = 0; i < s->per_block; i++)
		memcpy(s->block + i * s->answer_len, m->answer, s->answer_len);
	for (size_t i = 0; i < PEERS_MAX; i++)
		s->peers[i].fd = -1;
	s->listen_fd = loopback_listen(&s->port);
	snprintf(s->url, sizeof(s->url), "redis://127.0.0.1:%d/0", s->port);
	if (s->listen_fd < 0 || pthread_create(&s->thread, NULL, run, s) != 0)
		fail_msg("no stubborn peer: %s", strerror(errno));
	return s;
}

void stubborn_close(struct stubborn *s)
{
	if (!s)
		return;
	s->stop = true;
	pthread_join(s->thread, NULL);
	for (size_t i = 0; i < PEERS_MAX; i++)
		if (s->peers[i].fd >= 0)
			close(s->peers[i].fd);
	close(s->listen_fd);
	free(s);
}

int stubborn_port(const struct stubborn *s)
{
	return s->port;
}

const char *stubborn_url(const struct stubborn *s)
{
	return s->url;
}

uint64_t stubborn_connections(const struct stubborn *s)
{
	return s->connections;
}
