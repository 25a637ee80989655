/* log: see log.h. It gathers lines in one buffer, and writes them without waiting. */
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
#include "json/out.h"

enum { BUFFER_BYTES = 256 * 1024, LINE_BYTES = 3072, NAME_BYTES = 128, END_BYTES = 32 };

static const char *const level_names[] = { "debug", "info", "warn", "error" };

enum requests { NOTABLE, ALL, OFF };
static const char *const requests_names[] = { "notable", "all", "off" };

static enum requests requests = NOTABLE;
static enum log_level min_level = LOG_WARN;
static bool as_json;
static int fd = STDERR_FILENO;
static char buffer[BUFFER_BYTES];
static size_t buffered;
static uint64_t dropped;

/*
 * Reopens stderr, so that O_NONBLOCK does not affect other processes that share it. A socket cannot
 * be reopened; then lines are written to stderr itself.
 */
static void open_own_description(void)
{
	int own = open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);

	if (own >= 0)
		fd = own;
}

static enum requests requests_of(const char *name)
{
	enum requests r = NOTABLE;

	while (r < OFF && strcmp(requests_names[r], name) != 0)
		r++;
	return r;
}

void log_open(void)
{
	for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++)
		if (strcmp(config()->log_level, level_names[i]) == 0)
			min_level = (enum log_level)i;
	as_json = strcmp(config()->log_format, "json") == 0;
	requests = requests_of(config()->access_log);
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

/* Returns room for a line, or NULL if the reader is too far behind. */
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

/* A line that is being written. Text that does not fit is cut; the newline always fits. */
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

/*
 * Writes the wall clock, "2026-11-20T12:00:00" and milliseconds. It is formatted once per second.
 */
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

static void member(struct line *l, const char *name)
{
	add_string(l, as_json ? ",\"" : " ");
	add_string(l, name);
	add_string(l, as_json ? "\":" : "=");
}

/* Returns true if logfmt allows the value without quotes. */
static bool is_plain(struct text t)
{
	for (const char *c = t.at; c < t.at + t.len; c++)
		if (*c <= ' ' || *c >= 0x7f || *c == '"' || *c == '\\' || *c == '=')
			return false;
	return t.len > 0;
}

/* Writes the first character of `t`, escaped. Returns its length in `t`. */
static size_t add_escaped(struct line *l, struct text t)
{
	char escape[8];
	size_t step = text_utf8_char(t);
	struct text c = { t.at, step };

	if (step == 0) {
		add_string(l, "\xef\xbf\xbd");
		return 1;
	}
	if (*c.at == '"' || *c.at == '\\') {
		add(l, "\\", 1);
		add(l, c.at, 1);
	} else if (text_has_control(c)) {
		int code = step == 1 ? (unsigned char)*c.at : 0x80 | (c.at[1] & 0x3f);
		snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)code);
		add_string(l, escape);
	} else {
		add(l, c.at, c.len);
	}
	return step;
}

/*
 * Writes at most `most` bytes of a text, which may come from outside, as a JSON string. The text
 * format (logfmt) needs a string only if the text has a blank, a quote or `=`. Bytes that are not
 * UTF-8 become U+FFFD.
 */
static void member_cut(struct line *l, const char *name, struct text value, size_t most)
{
	bool plain = value.len <= most && is_plain(value), quoted = as_json || !plain;

	member(l, name);
	add(l, "\"", quoted);
	if (plain)
		add(l, value.at, value.len);
	for (size_t i = 0, step; !plain && i < value.len && l->len < LINE_BYTES - END_BYTES; i += step) {
		struct text rest = { value.at + i, value.len - i };
		size_t next = text_utf8_char(rest);
		if (i + (next ? next : 1) > most)
			break;
		step = add_escaped(l, rest);
	}
	add(l, "\"", quoted);
}

static void member_text(struct line *l, const char *name, struct text value)
{
	member_cut(l, name, value, SIZE_MAX);
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

/* ---- Requests ---- */

bool log_takes_request(bool is_notable)
{
	return requests == ALL || (requests == NOTABLE && is_notable);
}

void log_switch_requests(void)
{
	enum requests configured = requests_of(config()->access_log);

	requests = requests != ALL ? ALL : configured != ALL ? configured : NOTABLE;
	log_event(LOG_WARN, "access_log", "requests logged from now on: %s", requests_names[requests]);
}

static void member_int(struct line *l, const char *name, int64_t value)
{
	member(l, name);
	add_int(l, value);
}

void log_request(const struct log_request *r)
{
	struct line l = { .at = line_begin() };

	if (!l.at)
		return;
	line_lead(&l, r->is_notable ? LOG_WARN : LOG_INFO, "request");
	member_text(&l, "request_id", r->request_id);
	if (r->trace_id.at)
		member_text(&l, "trace_id", r->trace_id);
	if (r->caller.at)
		member_text(&l, "caller", r->caller);
	member_text(&l, "operation", text_of(r->operation));
	if (r->resource.at)
		member_cut(&l, "resource", r->resource, NAME_BYTES);
	if (r->resources > 1)
		member_int(&l, "resources", (int64_t)r->resources);
	if (r->label.at)
		member_cut(&l, r->label_name, r->label, NAME_BYTES);
	member_text(&l, "method", text_of(r->method));
	member_int(&l, "status", r->status);
	member_int(&l, "duration_us", r->duration_us);
	if (r->waited_us > 0)
		member_int(&l, "waited_us", r->waited_us);
	if (r->code)
		member_text(&l, "code", text_of(r->code));
	line_end(&l);
}
