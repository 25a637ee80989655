/*
 * proxy: links of two sockets, with a queue of pieces per direction. A piece is sent when it is
 * due. See proxy.h.
 *
 * The proxy's thread holds the mutex except in poll, so that a fault changes only between two
 * iterations. Only this thread touches sockets: a socket that is closed while poll watches it would
 * continue for a while.
 */
#include "proxy.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback.h"
#include "proc.h"
#include "test.h"

enum { LINKS_MAX = 512, PIECE_BYTES = 65536, QUEUE_BYTES = 1 << 20, RATE_STEPS = 50 };

/* Bytes on their way. */
struct piece {
	struct piece *next;
	int64_t due_us;
	size_t at, len;
	char bytes[];
};

/* One direction of a link. */
struct way {
	int from, to;
	struct piece *first, **last;
	size_t queued;
	int64_t busy_until_us; /* when the last byte queued will have passed a limited bandwidth */
	bool ended;            /* `from` sent its last byte */
	bool shut;             /* and `to` was shut down */
	bool lost;             /* some of its bytes were dropped: none may follow them */
};

struct link {
	struct link *next;
	struct way up, down;
	unsigned generation; /* of the fault that the next members count for */
	size_t replied;
	bool injected_before, injected_after;
	bool chosen; /* by `cut_on` and `cut_percent`: it is to be cut */
	bool cut;    /* closes when the way down is empty */
	bool dead;   /* closes at the end of this iteration */
	bool reset;  /* with RST */
};

struct proxy {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t taken_up; /* the thread has taken up `fault`: proxy_set returns */
	struct proxy_fault fault;
	unsigned generation, taken;
	int chance; /* the percents added up so far: at 100 a link is chosen */
	bool stop;
	int wake_fd, listen_fd; /* listen_fd is -1 while connecting is refused */
	int port, to_port;
	char url[64];
	struct link *links;
	struct proxy_counts counts;
};

static void way_open(struct way *w, int from, int to)
{
	*w = (struct way){ .from = from, .to = to };
	w->last = &w->first;
}

/* False when no client waits to be accepted. */
static bool accept_link(struct proxy *p)
{
	int client = loopback_accept(p->listen_fd);

	if (client < 0)
		return false;
	p->counts.connections++;
	int server = p->counts.open < LINKS_MAX ? loopback_connect(p->to_port) : -1;
	struct link *l = server >= 0 ? calloc(1, sizeof(*l)) : NULL;
	if (!l) {
		close(client);
		return true;
	}
	way_open(&l->up, client, server);
	way_open(&l->down, server, client);
	l->next = p->links;
	p->links = l;
	p->counts.open++;
	return true;
}

static void way_empty(struct way *w)
{
	struct piece *piece;

	while ((piece = w->first)) {
		w->first = piece->next;
		free(piece);
	}
	w->last = &w->first;
	w->queued = 0;
}

static void link_close(struct proxy *p, struct link *l)
{
	struct linger now = { .l_onoff = 1 };

	if (l->reset) {
		setsockopt(l->up.from, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		setsockopt(l->up.to, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	}
	close(l->up.from);
	close(l->up.to);
	way_empty(&l->up);
	way_empty(&l->down);
	p->counts.open--;
	free(l);
}

static void sweep(struct proxy *p, bool all)
{
	for (struct link **at = &p->links; *at;) {
		struct link *l = *at;
		if (all || l->dead) {
			*at = l->next;
			link_close(p, l);
		} else {
			at = &l->next;
		}
	}
}

/* Queues bytes with the delay and the bandwidth of the current fault. */
static void way_push(const struct proxy *p, struct way *w, const char *bytes, size_t len)
{
	struct piece *piece = len ? malloc(sizeof(*piece) + len) : NULL;

	if (!piece)
		return;
	int64_t due_us = monotonic_us() + (int64_t)p->fault.delay_ms * 1000;
	if (p->fault.bytes_per_second) {
		if (due_us < w->busy_until_us)
			due_us = w->busy_until_us;
		w->busy_until_us = due_us + (int64_t)(len * 1000000 / p->fault.bytes_per_second);
	}
	*piece = (struct piece){ .due_us = due_us, .len = len };
	memcpy(piece->bytes, bytes, len);
	*w->last = piece;
	w->last = &piece->next;
	w->queued += len;
}

/* Each fault starts a link's counts at zero. */
static void link_renew(const struct proxy *p, struct link *l)
{
	if (l->generation == p->generation)
		return;
	l->generation = p->generation;
	l->replied = 0;
	l->injected_before = l->injected_after = l->chosen = false;
}

/* True for `cut_percent` of the pieces that contain `cut_on`, evenly spread. */
static bool chooses(struct proxy *p, const char *bytes, size_t len)
{
	struct proxy_bytes on = p->fault.cut_on;

	if (!on.at || !memmem(bytes, len, on.at, on.len))
		return false;
	p->chance += p->fault.cut_percent;
	if (p->chance < 100)
		return false;
	p->chance -= 100;
	return true;
}

static bool drops_up(const struct proxy *p)
{
	return p->fault.drop_up || p->fault.answer.at;
}

/* Counts the commands (arrays) that begin in these bytes. Returns at least 1. */
static size_t commands_in(const char *bytes, size_t len)
{
	static const char next[] = { '\r', '\n', '*' };
	const char *end = bytes + len;
	size_t count = len > 0 && *bytes == '*';

	for (const char *at = bytes; (at = memmem(at, (size_t)(end - at), next, sizeof(next))); at += sizeof(next))
		count++;
	return count > 0 ? count : 1;
}

static void came_up(struct proxy *p, struct link *l, const char *bytes, size_t len)
{
	p->counts.bytes_up += len;
	link_renew(p, l);
	if (!l->chosen && chooses(p, bytes, len)) {
		l->chosen = true;
		l->replied = 0;
	}
	for (size_t n = p->fault.answer.at ? commands_in(bytes, len) : 0; n > 0; n--)
		way_push(p, &l->down, p->fault.answer.at, p->fault.answer.len);
	if (drops_up(p))
		l->up.lost = true;
	else
		way_push(p, &l->up, bytes, len);
}

static void inject(struct proxy *p, struct link *l, struct proxy_bytes bytes, bool *done)
{
	if (bytes.at && !*done) {
		*done = true;
		way_push(p, &l->down, bytes.at, bytes.len);
	}
}

static void came_down(struct proxy *p, struct link *l, const char *bytes, size_t len)
{
	p->counts.bytes_down += len;
	l->down.lost |= p->fault.drop_down;
	if (l->down.lost || l->cut)
		return;
	link_renew(p, l);
	bool may_cut = p->fault.cut && (!p->fault.cut_on.at || l->chosen);
	if (may_cut && l->replied + len >= p->fault.cut_at) {
		l->cut = true;
		len = p->fault.cut_at - l->replied;
	}
	l->replied += len;
	inject(p, l, p->fault.before, &l->injected_before);
	way_push(p, &l->down, bytes, len);
	inject(p, l, p->fault.after, &l->injected_after);
}

static void way_read(struct proxy *p, struct link *l, struct way *w)
{
	char bytes[PIECE_BYTES];
	size_t size = sizeof(bytes), rate = p->fault.bytes_per_second / RATE_STEPS + 1;

	if (p->fault.bytes_per_second && rate < size)
		size = rate;
	ssize_t n = recv(w->from, bytes, size, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		l->dead = true;
	else if (n == 0)
		w->ended = true;
	else if (w == &l->up)
		came_up(p, l, bytes, (size_t)n);
	else
		came_down(p, l, bytes, (size_t)n);
}

static bool way_due(const struct way *w, int64_t now_us)
{
	return w->first && w->first->due_us <= now_us;
}

static void way_write(const struct proxy *p, struct link *l, struct way *w)
{
	struct piece *piece = w->first;
	size_t len = piece->len - piece->at;

	if (p->fault.slice && len > p->fault.slice)
		len = p->fault.slice;
	ssize_t n = send(w->to, piece->bytes + piece->at, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		l->dead = true;
	if (n <= 0)
		return;
	piece->at += (size_t)n;
	w->queued -= (size_t)n;
	if (piece->at < piece->len)
		return;
	w->first = piece->next;
	if (!w->first)
		w->last = &w->first;
	free(piece);
}

/* Passes on the end of a direction after all its bytes, unless bytes are being dropped. */
static void way_finish(const struct proxy *p, struct link *l, struct way *w)
{
	bool lost = w == &l->up ? p->fault.drop_up : p->fault.drop_down;

	if (!w->ended || w->shut || w->first || lost)
		return;
	shutdown(w->to, SHUT_WR);
	w->shut = true;
}

static void link_settle(const struct proxy *p, struct link *l)
{
	way_finish(p, l, &l->up);
	way_finish(p, l, &l->down);
	if ((l->up.shut && l->down.shut) || (l->cut && !l->down.first))
		l->dead = true;
}

/* Sets what to poll a link's two sockets for, and the earliest time at which a piece is due. */
static void link_interest(const struct proxy *p, const struct link *l, struct pollfd at[2], int64_t now_us,
			  int64_t *due_us)
{
	const struct way *ways[] = { &l->up, &l->down };

	at[0] = (struct pollfd){ .fd = l->up.from };
	at[1] = (struct pollfd){ .fd = l->up.to };
	for (int i = 0; i < 2; i++) {
		const struct way *w = ways[i];
		bool is_held = w == &l->up && p->fault.hold_up;
		if (!w->ended && w->queued < QUEUE_BYTES && !is_held)
			at[i].events |= POLLIN;
		if (way_due(w, now_us))
			at[1 - i].events |= POLLOUT;
		else if (w->first && w->first->due_us < *due_us)
			*due_us = w->first->due_us;
	}
	for (int i = 0; i < 2; i++)
		if (!at[i].events)
			at[i].fd = -1; /* else an ended socket would keep poll from waiting */
}

static void link_step(struct proxy *p, struct link *l, const struct pollfd at[2])
{
	int64_t now_us = monotonic_us();

	if (l->dead)
		return;
	if (at[0].revents & (POLLIN | POLLHUP | POLLERR) && at[0].events & POLLIN)
		way_read(p, l, &l->up);
	if (at[1].revents & (POLLIN | POLLHUP | POLLERR) && at[1].events & POLLIN)
		way_read(p, l, &l->down);
	if (at[1].revents & (POLLOUT | POLLHUP | POLLERR) && way_due(&l->up, now_us))
		way_write(p, l, &l->up);
	if (at[0].revents & (POLLOUT | POLLHUP | POLLERR) && way_due(&l->down, now_us))
		way_write(p, l, &l->down);
	link_settle(p, l);
}

/*
 * Waits for something to do, with the mutex released. Returns how many links, from the first on,
 * were polled.
 */
static size_t wait_for_work(struct proxy *p, struct pollfd polled[])
{
	int64_t now_us = monotonic_us(), due_us = INT64_MAX;
	size_t n = 0;

	polled[0] = (struct pollfd){ .fd = p->wake_fd, .events = POLLIN };
	polled[1] = (struct pollfd){ .fd = p->listen_fd, .events = POLLIN };
	for (struct link *l = p->links; l; l = l->next)
		link_interest(p, l, &polled[2 + 2 * n++], now_us, &due_us);
	int timeout_ms = due_us == INT64_MAX ? -1 : (int)((due_us - now_us) / 1000 + 1);
	pthread_mutex_unlock(&p->mutex);
	poll(polled, 2 + 2 * n, timeout_ms);
	pthread_mutex_lock(&p->mutex);
	return n;
}

static void set_listening(struct proxy *p, bool listening)
{
	if (listening && p->listen_fd < 0)
		p->listen_fd = loopback_listen(&p->port);
	if (!listening && p->listen_fd >= 0) {
		while (accept_link(p))
			continue; /* these were connected already */
		close(p->listen_fd);
		p->listen_fd = -1;
	}
}

/* True when bytes would pass after lost ones. A TCP stream has no such hole. */
static bool would_skip(const struct proxy *p, const struct link *l)
{
	return (l->up.lost && !drops_up(p)) || (l->down.lost && !p->fault.drop_down);
}

/* Applies the parts of a new fault that take effect at once. */
static void take_fault(struct proxy *p)
{
	set_listening(p, !p->fault.refuse);
	for (struct link *l = p->links; l; l = l->next)
		if (p->fault.reset || would_skip(p, l))
			l->dead = l->reset = true;
	sweep(p, false);
	p->taken = p->generation;
	pthread_cond_broadcast(&p->taken_up);
}

static void *run(void *arg)
{
	static _Thread_local struct pollfd polled[2 + 2 * LINKS_MAX];
	struct proxy *p = arg;
	uint64_t woken;

	pthread_mutex_lock(&p->mutex);
	while (!p->stop) {
		size_t n = wait_for_work(p, polled);
		if (polled[0].revents && read(p->wake_fd, &woken, sizeof(woken)) < 0)
			continue;
		if (p->taken != p->generation) {
			take_fault(p);
			continue; /* what was polled may be gone */
		}
		struct link *l = p->links;
		for (size_t i = 0; i < n && l; i++, l = l->next)
			link_step(p, l, &polled[2 + 2 * i]);
		sweep(p, false);
		if (polled[1].revents && p->listen_fd >= 0)
			accept_link(p);
	}
	sweep(p, true);
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

struct proxy *proxy_open(int to_port)
{
	struct proxy *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->to_port = to_port;
	p->listen_fd = loopback_listen(&p->port);
	p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	snprintf(p->url, sizeof(p->url), "redis://127.0.0.1:%d/0", p->port);
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->taken_up, NULL);
	if (p->listen_fd < 0 || p->wake_fd < 0 || pthread_create(&p->thread, NULL, run, p) != 0)
		fail_msg("no proxy: %s", strerror(errno));
	return p;
}

static void wake(struct proxy *p)
{
	uint64_t one = 1;

	if (write(p->wake_fd, &one, sizeof(one)) < 0)
		p->stop = true;
}

void proxy_close(struct proxy *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->mutex);
	p->stop = true;
	wake(p);
	pthread_mutex_unlock(&p->mutex);
	pthread_join(p->thread, NULL);
	pthread_mutex_destroy(&p->mutex);
	pthread_cond_destroy(&p->taken_up);
	close(p->wake_fd);
	if (p->listen_fd >= 0)
		close(p->listen_fd);
	free(p);
}

int proxy_port(const struct proxy *p)
{
	return p->port;
}

const char *proxy_url(const struct proxy *p)
{
	return p->url;
}

void proxy_set(struct proxy *p, struct proxy_fault fault)
{
	pthread_mutex_lock(&p->mutex);
	p->fault = fault;
	p->generation++;
	wake(p);
	while (p->taken != p->generation)
		pthread_cond_wait(&p->taken_up, &p->mutex);
	bool listening = fault.refuse || p->listen_fd >= 0;
	pthread_mutex_unlock(&p->mutex);
	if (!listening)
		fail_msg("the proxy's port %d was lost", p->port);
}

struct proxy_counts proxy_count(struct proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	struct proxy_counts counts = p->counts;
	pthread_mutex_unlock(&p->mutex);
	return counts;
}

void proxy_inject(struct proxy *p, struct proxy_bytes bytes)
{
	pthread_mutex_lock(&p->mutex);
	for (struct link *l = p->links; l; l = l->next)
		way_push(p, &l->down, bytes.at, bytes.len);
	wake(p);
	pthread_mutex_unlock(&p->mutex);
}
