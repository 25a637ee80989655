/* log: gathers lines in one buffer and writes it without ever waiting; see log.h. */
#include "process/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/loop.h"
#include "process/config.h"
#include "json/json_out.h"

enum { BUFFER_BYTES = 256 * 1024, LINE_BYTES = 2048, NAME_BYTES = 128 };

static const char *const level_names[] = { "debug", "info", "warn", "error" };

static enum log_level min_level = LOG_WARN;
static bool as_json;
static int fd = STDERR_FILENO;
static char buffer[BUFFER_BYTES];
static size_t buffered;
static uint64_t dropped;

/*
 * Reopens stderr, so that O_NONBLOCK does not affect other processes that share it. Where that is
 * impossible (a socket) lines go to stderr as it is.
 */
static void open_own_description(void)
{
	int own = open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);

	if (own >= 0)
		fd = own;
}

void log_open(void)
{
	for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++)
		if (strcmp(config()->log_level, level_names[i]) == 0)
			min_level = (enum log_level)i;
	as_json = strcmp(config()->log_format, "json") == 0;
	open_own_description();
}

uint64_t log_dropped(void)
{
	return dropped;
}

void log_flush(void)
{
	size_t done = 0;

	while (done < buffered) {
		ssize_t n = write(fd, buffer + done, buffered - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (done)
		memmove(buffer, buffer + done, buffered - done);
	buffered -= done;
}

/* Room for a line, or NULL when the reader is too far behind. */
static char *line_begin(void)
{
	if (BUFFER_BYTES - buffered < LINE_BYTES)
		log_flush();
	if (BUFFER_BYTES - buffered < LINE_BYTES) {
		dropped++;
		return NULL;
	}
	return buffer + buffered;
}

/* A line under way; what does not fit is cut, the newline always fits. */
struct line {
	char *at;
	size_t len;
};

static void add(struct line *l, const char *bytes, size_t n)
{
	if (n > LINE_BYTES - 8 - l->len)
		n = LINE_BYTES - 8 - l->len;
	if (n)
		memcpy(l->at + l->len, bytes, n);
	l->len += n;
}

static void add_string(struct line *l, const char *s)
{
	add(l, s, strlen(s));
}

static void add_int(struct line *l, int64_t value)
{
	char room[TEXT_DIGITS];
	struct text digits = text_of_int(value, room);

	add(l, digits.at, digits.len);
}

/* Text from outside: controls, quotes and backslashes cannot break a line or its JSON. */
static void add_safe(struct line *l, struct text t)
{
	size_t from = l->len;

	add(l, t.at, t.len);
	for (char *c = l->at + from; c < l->at + l->len; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '"' || *c == '\\')
			*c = '?';
}

/* The wall clock, formatted once a second: "2026-11-20T12:00:00" and milliseconds. */
static void add_time(struct line *l)
{
	static time_t last;
	static char text[24];
	int64_t ms = loop_wall_ms();
	time_t second = (time_t)(ms / 1000);

	if (second != last) {
		struct tm t;
		gmtime_r(&second, &t);
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &t);
		last = second;
	}
	char fraction[] = { '.', (char)('0' + ms / 100 % 10), (char)('0' + ms / 10 % 10), (char)('0' + ms % 10), 'Z' };
	add_string(l, text);
	add(l, fraction, sizeof(fraction));
}

static void line_lead(struct line *l, enum log_level level, const char *event)
{
	add_string(l, as_json ? "{\"ts\":\"" : "");
	add_time(l);
	add_string(l, as_json ? "\",\"level\":\"" : " ");
	add_string(l, level_names[level]);
	add_string(l, as_json ? "\",\"event\":\"" : " ");
	add_string(l, event);
	add_string(l, as_json ? "\"" : "");
}

/* The name and opening of a member that holds text or a number. */
static void member(struct line *l, const char *name, bool quoted)
{
	add_string(l, as_json ? ",\"" : " ");
	add_string(l, name);
	add_string(l, as_json ? (quoted ? "\":\"" : "\":") : "=");
}

static void member_text(struct line *l, const char *name, struct text value)
{
	member(l, name, true);
	add_safe(l, value);
	add_string(l, as_json ? "\"" : "");
}

/*
 * At most NAME_BYTES of a name that a client chose, as a JSON string in either format: its quotes
 * keep blanks and `=` inside of it. Bytes that are not UTF-8 become U+FFFD.
 */
static void member_name(struct line *l, const char *name, struct text value)
{
	char escape[8];

	member(l, name, false);
	add_string(l, "\"");
	for (size_t i = 0, step; i < value.len; i += step) {
		step = text_utf8_char((struct text){ value.at + i, value.len - i });
		struct text c = { value.at + i, step };
		if (i + (step ? step : 1) > NAME_BYTES)
			break;
		if (step == 0) {
			add_string(l, "\xef\xbf\xbd");
			step = 1;
		} else if (*c.at == '"' || *c.at == '\\' || text_has_control(c)) {
			int code = step == 1 ? (unsigned char)*c.at : 0x80 | (c.at[1] & 0x3f);
			snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)code);
			add_string(l, escape);
		} else {
			add(l, c.at, c.len);
		}
	}
	add_string(l, "\"");
}

static void line_end(struct line *l)
{
	add_string(l, as_json ? "}" : "");
	l->at[l->len++] = '\n';
	buffered += l->len;
}

void log_event(enum log_level level, const char *event, const char *format, ...)
{
	char message[1024];
	va_list args;

	if (level < min_level)
		return;
	struct line l = { .at = line_begin() };
	if (!l.at)
		return;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	line_lead(&l, level, event);
	member_text(&l, "message", text_of(message));
	line_end(&l);
	if (level >= LOG_WARN)
		log_flush();
}

void log_request(const struct log_request *r)
{
	enum log_level level = r->status >= 500 ? LOG_WARN : LOG_INFO;

	if (level < min_level)
		return;
	struct line l = { .at = line_begin() };
	if (!l.at)
		return;
	line_lead(&l, level, "request");
	member_text(&l, "request_id", r->request_id);
	if (r->trace_id.at)
		member_text(&l, "trace_id", r->trace_id);
	if (r->caller.at)
		member_text(&l, "caller", r->caller);
	member(&l, "operation", true);
	add_string(&l, r->operation);
	add_string(&l, as_json ? "\"" : "");
	if (r->resource.at)
		member_name(&l, "resource", r->resource);
	if (r->resources > 1) {
		member(&l, "resources", false);
		add_int(&l, (int64_t)r->resources);
	}
	member_text(&l, "method", text_of(r->method));
	member(&l, "status", false);
	add_int(&l, r->status);
	member(&l, "duration_us", false);
	add_int(&l, r->duration_us);
	if (r->waited_us > 0) {
		member(&l, "waited_us", false);
		add_int(&l, r->waited_us);
	}
	if (r->code)
		member_text(&l, "code", text_of(r->code));
	line_end(&l);
}
