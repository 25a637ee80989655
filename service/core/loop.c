/* loop: see loop.h. Epoll and the timer heap. */
#include "core/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { MAX_EVENTS = 256, LONG_US = 5000, STALL_US = 20000, CPU_READ_US = 2000 };

static int epoll_fd = -1;
static bool running;
static int64_t now_us;
static int64_t cpu_us;       /* CPU time of this thread, when it was last read */
static int64_t since_cpu_us; /* duration of the iterations since then */
static struct loop_stats stats;

static struct loop_timer **heap; /* heap[1..heap_count], smallest key first */
static size_t heap_count, heap_size;

/* The events of this iteration that are not handled yet; loop_unwatch clears its own. */
static struct epoll_event events[MAX_EVENTS];
static int event_count, event_at;

static int64_t clock_us(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

bool loop_iteration_is_long(void)
{
	return clock_us(CLOCK_MONOTONIC) - now_us > LONG_US;
}

int64_t loop_now_us(void)
{
	return now_us;
}

const struct loop_stats *loop_stats(void)
{
	return &stats;
}

int64_t loop_wall_ms(void)
{
	return clock_us(CLOCK_REALTIME) / 1000;
}

bool loop_open(void)
{
	now_us = clock_us(CLOCK_MONOTONIC);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll_fd >= 0;
}

void loop_close(void)
{
	if (epoll_fd >= 0)
		close(epoll_fd);
	epoll_fd = -1;
	free(heap);
	heap = NULL;
	heap_count = heap_size = 0;
}

static bool control(int operation, struct loop_watch *w, uint32_t wanted)
{
	struct epoll_event event = { .events = wanted, .data.ptr = w };

	return epoll_ctl(epoll_fd, operation, w->fd, &event) == 0;
}

bool loop_watch(struct loop_watch *w, uint32_t wanted)
{
	return control(EPOLL_CTL_ADD, w, wanted);
}

bool loop_rewatch(struct loop_watch *w, uint32_t wanted)
{
	return control(EPOLL_CTL_MOD, w, wanted);
}

void loop_unwatch(struct loop_watch *w)
{
	control(EPOLL_CTL_DEL, w, 0);
	for (int i = event_at; i < event_count; i++)
		if (events[i].data.ptr == w)
			events[i].data.ptr = NULL;
}

static void put(struct loop_timer *t, size_t at)
{
	heap[at] = t;
	t->slot = at;
}

static void sift_up(struct loop_timer *t, size_t at)
{
	for (; at > 1 && heap[at / 2]->key_us > t->key_us; at /= 2)
		put(heap[at / 2], at);
	put(t, at);
}

static void sift_down(struct loop_timer *t, size_t at)
{
	for (;;) {
		size_t child = at * 2;
		if (child > heap_count)
			break;
		if (child < heap_count && heap[child + 1]->key_us < heap[child]->key_us)
			child++;
		if (heap[child]->key_us >= t->key_us)
			break;
		put(heap[child], at);
		at = child;
	}
	put(t, at);
}

static bool heap_add(struct loop_timer *t)
{
	if (heap_count + 1 >= heap_size) {
		size_t size = heap_size ? heap_size * 2 : 64;
		struct loop_timer **bigger = realloc(heap, size * sizeof(*heap));
		if (!bigger)
			return false;
		heap = bigger;
		heap_size = size;
	}
	sift_up(t, ++heap_count);
	return true;
}

bool loop_timer_set(struct loop_timer *t, int64_t due_us)
{
	t->due_us = due_us;
	if (t->slot && t->key_us <= due_us)
		return true; /* run_timers finds that it is early, and moves it to its time */
	t->key_us = due_us;
	if (!t->slot)
		return heap_add(t);
	sift_up(t, t->slot);
	return true;
}

void loop_timer_stop(struct loop_timer *t)
{
	size_t at = t->slot;

	t->due_us = 0;
	if (!at)
		return;
	t->slot = 0;
	struct loop_timer *last = heap[heap_count--];
	if (last == t)
		return;
	if (at > 1 && heap[at / 2]->key_us > last->key_us)
		sift_up(last, at);
	else
		sift_down(last, at);
}

static void run_timers(void)
{
	while (heap_count && heap[1]->key_us <= now_us) {
		struct loop_timer *t = heap[1];
		if (t->due_us > now_us) {
			t->key_us = t->due_us;
			sift_down(t, 1);
			continue;
		}
		loop_timer_stop(t);
		t->expired(t);
	}
}

/* epoll_wait takes whole milliseconds. This rounds up, so that a timer is due when it returns. */
static int wait_ms(int64_t max_ms, int64_t from_us)
{
	int64_t ms = max_ms;

	if (heap_count) {
		int64_t timer_ms = (heap[1]->key_us - from_us + 999) / 1000;
		if (timer_ms < 0)
			timer_ms = 0;
		if (ms < 0 || timer_ms < ms)
			ms = timer_ms;
	}
	return ms > 60000 ? 60000 : (int)ms;
}

/*
 * Reading the clock of CPU time is a system call, unlike the other clocks. So it is read after 2 ms
 * of work, or after a longer iteration. The CPU time of an iteration may therefore include up to 2
 * ms of those before it, but it is never more than the iteration's duration.
 */
static void measure_cpu(int64_t duration_us)
{
	int64_t before_us = cpu_us;

	since_cpu_us += duration_us;
	if (since_cpu_us < CPU_READ_US)
		return;
	cpu_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
	since_cpu_us = 0;
	int64_t cpu_time_us = cpu_us - before_us < duration_us ? cpu_us - before_us : duration_us;
	if (cpu_time_us > stats.longest_cpu_us)
		stats.longest_cpu_us = cpu_time_us;
}

/*
 * Counts the iteration that ends. Returns the time; waiting for the next iteration takes no CPU
 * time.
 */
static int64_t end_iteration(void)
{
	int64_t end_us = clock_us(CLOCK_MONOTONIC), duration_us = end_us - now_us;

	measure_cpu(duration_us);
	if (duration_us > stats.longest_us)
		stats.longest_us = duration_us;
	if (duration_us > STALL_US) {
		stats.stalls++;
		stats.stall_us += duration_us;
	}
	return end_us;
}

void loop_run(int64_t (*iterate)(void))
{
	running = true;
	now_us = clock_us(CLOCK_MONOTONIC);
	cpu_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
	since_cpu_us = 0;
	int64_t max_ms = iterate();
	while (running) {
		int n = epoll_wait(epoll_fd, events, MAX_EVENTS, wait_ms(max_ms, end_iteration()));
		assert(n >= 0 || errno == EINTR);
		now_us = clock_us(CLOCK_MONOTONIC);
		event_count = n > 0 ? n : 0;
		for (event_at = 0; event_at < event_count;) {
			struct epoll_event *e = &events[event_at++];
			struct loop_watch *w = e->data.ptr;
			if (w)
				w->ready(w, e->events);
		}
		run_timers();
		max_ms = iterate();
	}
}

void loop_stop(void)
{
	running = false;
}
