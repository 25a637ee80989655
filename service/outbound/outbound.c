#include "outbound/outbound.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "core/loop.h"
#include "outbound/curl_library.h"
#include "outbound/loopback.h"
#include "outbound/outbound_socket.h"
#include "process/metrics.h"

enum {
	CONNECT_MS = 2000,
	SWEEP_US = 250000,
	/*
	 * longest life of a connection, so that a program that serves one at a time gets to the
	 * next
	 */
	LIFE_S = 1,
	/*
	 * An answer with more bytes counts as broken: an endless one is not read until its timeout.
	 */
	BODY_READ_MAX = 16 * 1024 * 1024,
	FAR_US = 1000000000,
	TOO_LARGE = 100, /* CURLE_TOO_LARGE, which libcurl has since 8.6 */
};

/* A request may try both addresses of localhost at once, and as many connections may be kept. */
_Static_assert(OUTBOUND_SOCKETS >= 3 * OUTBOUND_MOST, "sockets");

static const struct curl_library *curl;
static CURLM *multi;
static struct loop_timer timer, sweep;
static unsigned count;
static void (*freed)(void);

unsigned outbound_count(void)
{
	return count;
}

/* libcurl uses two more to wake itself up. */
unsigned outbound_descriptors(void)
{
	return curl ? OUTBOUND_SOCKETS + 2 : 0;
}

const char *outbound_library(void)
{
	return curl ? curl->curl_version() : "";
}

/* ---- Functions that libcurl calls. None of these may call it. ---- */

/*
 * libcurl calls it before each try to send. There is a second try if a connection has sent the
 * head, and the program then closed the connection.
 */
static int refuse_second_try(void *context, char *to, char *from, int to_port, int from_port)
{
	struct outbound *o = context;
	bool was_begun = o->is_begun;

	(void)to;
	(void)from;
	(void)to_port;
	(void)from_port;
	o->is_begun = true;
	if (was_begun)
		o->why = "the connection was closed before an answer";
	return was_begun ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static size_t read_body(char *to, size_t size, size_t items, void *context)
{
	struct outbound *o = context;
	size_t left = o->body.len - o->sent, n = size * items < left ? size * items : left;

	memcpy(to, o->body.at + o->sent, n);
	o->sent += n;
	return n;
}

/* To send a body again, libcurl would have to go back to its start. */
static int refuse_seek(void *context, curl_off_t offset, int origin)
{
	(void)context;
	(void)offset;
	(void)origin;
	return CURL_SEEKFUNC_FAIL;
}

static size_t take_body(char *bytes, size_t size, size_t items, void *context)
{
	struct outbound *o = context;
	size_t n = size * items;

	o->body_bytes += n;
	if (o->body_bytes > BODY_READ_MAX) {
		o->why = "the body of the answer is larger than 16 MiB";
		return 0;
	}
	if (o->is_larger)
		return n;
	char *at = o->answer.len + n > OUTBOUND_BODY_MAX ? NULL
							 : arena_grow(o->arena, (char *)(uintptr_t)o->answer.at,
								      o->answer.len, o->answer.len + n + 1);
	if (!at) {
		o->is_larger = true;
		o->answer = (struct text){ 0 };
		return n;
	}
	memcpy(at + o->answer.len, bytes, n);
	o->answer = (struct text){ at, o->answer.len + n };
	at[o->answer.len] = '\0';
	return n;
}

/* "HTTP/1.1 200" and a blank or the end. libcurl 8 reads a status of four digits as three. */
static bool is_status_line(const char *line, size_t n)
{
	return n > 12 && isdigit((unsigned char)line[9]) && isdigit((unsigned char)line[10]) &&
	       isdigit((unsigned char)line[11]) && strchr(" \r\n", line[12]) && line[12];
}

/*
 * Called with each line of each head, including heads of 100 Continue, and with trailers after a
 * chunked body.
 */
static size_t take_header(char *bytes, size_t size, size_t items, void *context)
{
	struct outbound *o = context;
	size_t n = size * items;
	const char *colon = memchr(bytes, ':', n);

	o->head_bytes += n;
	if (n > 5 && memcmp(bytes, "HTTP/", 5) == 0 && !o->body_bytes) {
		o->is_head_whole = false;
		if (!is_status_line(bytes, n)) {
			o->why = "the answer is not HTTP/1.1";
			return 0;
		}
	}
	if (text_trimmed((struct text){ bytes, n }).len == 0)
		o->is_head_whole = true;
	if (o->head_bytes > OUTBOUND_HEAD_MAX) {
		o->why = "the head of the answer is larger than 16 KiB";
		return 0;
	}
	if (colon && o->header)
		o->header(o, (struct text){ bytes, (size_t)(colon - bytes) },
			  text_trimmed((struct text){ colon + 1, n - (size_t)(colon + 1 - bytes) }));
	return n;
}

/* ---- Ends ---- */

static void release(struct outbound *o)
{
	CURL *easy = o->easy;

	if (!easy)
		return;
	curl->curl_multi_remove_handle(multi, easy);
	curl->curl_easy_cleanup(easy);
	curl->curl_slist_free_all(o->list);
	o->easy = o->list = NULL;
	outbound_socket_keep(easy);
	if (count-- == OUTBOUND_MOST)
		freed();
	if (sweep.due_us > loop_now_us() + SWEEP_US)
		loop_timer_set(&sweep, loop_now_us() + SWEEP_US);
}

void outbound_cancel(struct outbound *o)
{
	release(o);
}

static const char *why_of(const struct outbound *o, CURLcode code)
{
	if (o->why)
		return o->why;
	if (code == CURLE_OK) /* libcurl also accepts an answer that ends within its head */
		return "the answer ended within its head";
	if (code == CURLE_SEND_FAIL_REWIND || code == CURLE_GOT_NOTHING)
		return "the connection was closed before an answer";
	if (code == CURLE_PARTIAL_FILE)
		return "the connection was closed within the answer";
	if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY)
		return "the answer is not HTTP/1.1";
	if ((code == CURLE_OUT_OF_MEMORY || (int)code == TOO_LARGE) && o->is_begun)
		return "a header of the answer is too long, or there is no memory for it";
	return curl->curl_easy_strerror(code);
}

static enum outbound_outcome outcome_of(struct outbound *o, CURLcode code)
{
	long status = 0;

	curl->curl_easy_getinfo(o->easy, CURLINFO_RESPONSE_CODE, &status);
	o->status = (int)status;
	if (code == CURLE_OK && status >= 200 && o->is_head_whole)
		return OUTBOUND_ANSWERED;
	o->why = why_of(o, code);
	/* libcurl counts the bytes of the last try only. */
	if (!o->is_begun)
		return OUTBOUND_UNSENT;
	return code == CURLE_OPERATION_TIMEDOUT ? OUTBOUND_TIMED_OUT : OUTBOUND_BROKEN;
}

/* `ended` may send the next request, and free its own struct. */
static void take_ended(void)
{
	CURLMsg *m;
	int left;

	while ((m = curl->curl_multi_info_read(multi, &left))) {
		CURLcode code = m->data.result;
		char *context = NULL;
		if (m->msg != CURLMSG_DONE)
			continue;
		curl->curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &context);
		struct outbound *o = (struct outbound *)(void *)context;
		o->outcome = outcome_of(o, code);
		metrics_count(METRIC_outbound_requests);
		if (o->outcome != OUTBOUND_ANSWERED)
			metrics_count(METRIC_outbound_failures);
		release(o);
		o->ended(o);
	}
}

/* ---- The loop ---- */

static void act(int fd, int events)
{
	int running;

	if (!multi)
		return;
	curl->curl_multi_socket_action(multi, fd, events, &running);
	take_ended();
}

static void on_timer(struct loop_timer *t)
{
	loop_timer_set(t, loop_now_us() + FAR_US);
	act(CURL_SOCKET_TIMEOUT, 0);
}

/* The timer was set before, so setting it cannot fail. */
static int set_timer(CURLM *m, long ms, void *context)
{
	(void)m;
	(void)context;
	loop_timer_set(&timer, loop_now_us() + (ms < 0 ? FAR_US : ms * 1000 + 1));
	return 0;
}

/* ---- Open, close, send ---- */

const char *outbound_refusal(const char *url, const char *unix_socket)
{
	if (unix_socket && (*unix_socket != '/' || strlen(unix_socket) >= sizeof(((struct sockaddr_un *)0)->sun_path)))
		return "must be the absolute path of a socket, of at most 107 bytes";
	return loopback_refusal(url);
}

bool outbound_load(char *why, size_t size)
{
	if (!curl_library_open(why, size))
		return false;
	curl = curl_library();
	return true;
}

static bool open_multi(void)
{
	multi = curl->curl_multi_init();
	if (!multi)
		return false;
	curl->curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, outbound_socket_watch);
	curl->curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl->curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)OUTBOUND_MOST);
	return true;
}

static void close_multi(void)
{
	if (multi)
		curl->curl_multi_cleanup(multi);
	multi = NULL;
}

/* Closes libcurl's handle if there is neither a request nor a kept connection. */
static void on_sweep(struct loop_timer *t)
{
	bool are_kept = outbound_socket_sweep();

	loop_timer_set(t, loop_now_us() + (are_kept ? SWEEP_US : FAR_US));
	if (count == 0 && !are_kept)
		close_multi();
}

bool outbound_open(void (*call_freed)(void))
{
	freed = call_freed;
	timer.expired = on_timer;
	sweep.expired = on_sweep;
	outbound_socket_open(act);
	if (loop_timer_set(&timer, loop_now_us() + FAR_US) && loop_timer_set(&sweep, loop_now_us() + FAR_US))
		return true;
	loop_timer_stop(&timer);
	return false;
}

/* All requests have been cancelled before. */
void outbound_close(void)
{
	close_multi();
	loop_timer_stop(&timer);
	loop_timer_stop(&sweep);
}

/* Appends to the list in *to. False: memory ran out, and the list is unchanged. */
static bool append(struct curl_slist **to, const char *line)
{
	struct curl_slist *longer = curl->curl_slist_append(*to, line);

	if (longer)
		*to = longer;
	return longer != NULL;
}

/* "Name:" without a value keeps libcurl from adding that header itself. */
static bool set_headers(struct outbound *o)
{
	struct curl_slist *list = NULL;
	bool ok = append(&list, "Accept:") && append(&list, "Expect:");

	for (size_t i = 0; ok && i < o->header_count; i++)
		ok = append(&list, o->headers[i].at);
	o->list = list;
	return ok && curl->curl_easy_setopt(o->easy, CURLOPT_HTTPHEADER, list) == CURLE_OK;
}

static bool set_body(struct outbound *o)
{
	if (!o->body.at)
		return true;
	return curl->curl_easy_setopt(o->easy, CURLOPT_POST, 1L) == CURLE_OK &&
	       curl->curl_easy_setopt(o->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)o->body.len) == CURLE_OK &&
	       curl->curl_easy_setopt(o->easy, CURLOPT_READFUNCTION, read_body) == CURLE_OK &&
	       curl->curl_easy_setopt(o->easy, CURLOPT_READDATA, o) == CURLE_OK &&
	       curl->curl_easy_setopt(o->easy, CURLOPT_SEEKFUNCTION, refuse_seek) == CURLE_OK;
}

/* Each option must be set, because together they keep the request on this machine. */
static bool set_options(struct outbound *o)
{
	const struct {
		CURLoption option;
		long value;
	} numbers[] = {
		{ CURLOPT_NOSIGNAL, 1 },
		{ CURLOPT_FOLLOWLOCATION, 0 },
		{ CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1 },
		{ CURLOPT_MAXAGE_CONN, OUTBOUND_KEPT_S },
		{ CURLOPT_MAXLIFETIME_CONN, LIFE_S },
		{ CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS },
		{ CURLOPT_TIMEOUT_MS, (long)o->timeout_ms },
		{ CURLOPT_BUFFERSIZE, 4096 },
		{ CURLOPT_UPLOAD_BUFFERSIZE, 16384 },
		{ CURLOPT_HTTP09_ALLOWED, 0 },
	};
	const struct {
		CURLoption option;
		const void *value;
	} pointers[] = {
		{ CURLOPT_URL, o->url },
		{ CURLOPT_UNIX_SOCKET_PATH, o->unix_socket },
		{ CURLOPT_PROTOCOLS_STR, "http" },
		{ CURLOPT_PROXY, "" },
		{ CURLOPT_PRIVATE, o },
		{ CURLOPT_WRITEDATA, o },
		{ CURLOPT_HEADERDATA, o },
		{ CURLOPT_PREREQDATA, o },
	};
	bool ok = true;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		ok = curl->curl_easy_setopt(o->easy, numbers[i].option, numbers[i].value) == CURLE_OK && ok;
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++)
		ok = curl->curl_easy_setopt(o->easy, pointers[i].option, pointers[i].value) == CURLE_OK && ok;
	ok = curl->curl_easy_setopt(o->easy, CURLOPT_OPENSOCKETFUNCTION, outbound_socket_make) == CURLE_OK && ok;
	ok = curl->curl_easy_setopt(o->easy, CURLOPT_CLOSESOCKETFUNCTION, outbound_socket_close) == CURLE_OK && ok;
	ok = curl->curl_easy_setopt(o->easy, CURLOPT_PREREQFUNCTION, refuse_second_try) == CURLE_OK && ok;
	ok = curl->curl_easy_setopt(o->easy, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK && ok;
	ok = curl->curl_easy_setopt(o->easy, CURLOPT_HEADERFUNCTION, take_header) == CURLE_OK && ok;
	return ok;
}

bool outbound_send(struct outbound *o)
{
	o->sent = o->head_bytes = o->body_bytes = 0;
	o->answer = (struct text){ 0 };
	o->is_begun = o->is_head_whole = o->is_larger = false;
	o->why = NULL;
	if (count == OUTBOUND_MOST || (!multi && !open_multi()))
		return false;
	o->easy = curl->curl_easy_init();
	if (!o->easy)
		return false;
	count++;
	if (set_options(o) && set_body(o) && set_headers(o) && curl->curl_multi_add_handle(multi, o->easy) == CURLM_OK)
		return true;
	release(o);
	return false;
}
