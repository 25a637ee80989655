/* check: see check.h. */
#include "check.h"

#include <netdb.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "process/config.h"
#include "json/json_tree.h"
#include "net/listener.h"

enum { CHECK_S = 2, ANSWER_BYTES = 8192, URL_BYTES = 512 };

/* Whom to ask, and what. */
struct question {
	struct listen_address to;
	bool is_secure;
	char path[URL_BYTES];
	char shown[2 * URL_BYTES];
};

/* An end of a connection, plain or not. */
struct line {
	int fd;
	SSL *tls; /* NULL: plain */
};

/* ---- Arguments ---- */

bool check_asked(int *argc, char **argv, const char **url)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--check") != 0 && strncmp(argv[i], "--check=", 8) != 0)
			continue;
		int taken = 1;
		*url = NULL;
		if (argv[i][7] == '=') {
			*url = argv[i] + 8;
		} else if (i + 1 < *argc && strncmp(argv[i + 1], "--", 2) != 0) {
			*url = argv[i + 1];
			taken = 2;
		}
		memmove(argv + i, argv + i + taken, (size_t)(*argc - i - taken + 1) * sizeof(*argv));
		*argc -= taken;
		return true;
	}
	return false;
}

/* ---- Whom to ask ---- */

/* The first address of an option's list. */
static bool first_address(const char *option, const char *list, struct listen_address *out)
{
	struct listen_address all[LISTEN_ADDRESSES_MAX];

	if (listen_addresses_parse(option, list, all) == 0)
		return false;
	*out = all[0];
	if (!out->is_unix && strcmp(out->port, "0") == 0) {
		fprintf(stderr, "patternd: --check: --%s takes any free port, so it cannot be known here; name it\n",
			option);
		return false;
	}
	return true;
}

static bool question_of_options(struct question *q)
{
	const char *health = config()->health_listen;

	snprintf(q->path, sizeof(q->path), "/readyz");
	if (*health)
		return first_address("health-listen", health, &q->to);
	if (!first_address("listen", config()->listen, &q->to))
		return false;
	q->is_secure = *config()->tls_cert && !q->to.is_unix;
	return true;
}

/* Takes scheme://HOST:PORT/path apart. */
static bool question_of_url(struct question *q, const char *url)
{
	char address[URL_BYTES];
	const char *at = url;

	snprintf(q->path, sizeof(q->path), "/readyz");
	if (strncmp(url, "http://", 7) == 0) {
		at = url + 7;
	} else if (strncmp(url, "https://", 8) == 0) {
		at = url + 8;
		q->is_secure = true;
	} else if (strncmp(url, "unix:/", 6) == 0) {
		return first_address("check", url, &q->to);
	} else {
		fprintf(stderr, "patternd: --check: '%s' is not http://HOST:PORT, https://HOST:PORT or unix:/path\n",
			url);
		return false;
	}
	size_t len = strcspn(at, "/");
	const char *colon = memrchr(at, ':', len), *bracket = memrchr(at, ']', len);
	bool has_port = colon && (!bracket || colon > bracket);
	const char *port = has_port ? "" : q->is_secure ? ":443" : ":80";
	snprintf(address, sizeof(address), "%.*s%s", (int)len, at, port);
	if (strlen(at + len) > 1)
		snprintf(q->path, sizeof(q->path), "%s", at + len);
	return first_address("check", address, &q->to);
}

static void show(struct question *q)
{
	bool v6 = strchr(q->to.host, ':') != NULL;

	if (q->to.is_unix)
		snprintf(q->shown, sizeof(q->shown), "unix:%s %s", q->to.host, q->path);
	else
		snprintf(q->shown, sizeof(q->shown), "%s://%s%s%s:%s%s", q->is_secure ? "https" : "http", v6 ? "[" : "",
			 q->to.host, v6 ? "]" : "", q->to.port, q->path);
}

/* ---- Asking ---- */

static char late[2 * URL_BYTES + 64];

static void on_late(int number)
{
	(void)number;
	(void)!write(STDOUT_FILENO, late, strlen(late)); /* when nobody reads it, the status tells */
	_exit(EXIT_FAILURE);
}

static int connect_unix(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(to.sun_path, path, strlen(path) + 1);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* A daemon that serves on every address is asked on the loopback. */
static const char *host_to_ask(const char *host)
{
	if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "*") == 0)
		return "127.0.0.1";
	return strcmp(host, "::") == 0 ? "::1" : host;
}

static int connect_tcp(const struct listen_address *to)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int fd = -1;

	if (getaddrinfo(host_to_ask(to->host), to->port, &hints, &found) != 0)
		return -1;
	for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(found);
	return fd;
}

static bool secure(struct line *l)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());

	if (!context)
		return false;
	SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
	l->tls = SSL_new(context);
	SSL_CTX_free(context);
	return l->tls && SSL_set_fd(l->tls, l->fd) == 1 && SSL_connect(l->tls) == 1;
}

static bool say(struct line *l, const char *bytes, size_t len)
{
	if (l->tls)
		return SSL_write(l->tls, bytes, (int)len) == (int)len;
	return send(l->fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static size_t hear(struct line *l, char *to, size_t most)
{
	ssize_t n = l->tls ? SSL_read(l->tls, to, (int)most) : recv(l->fd, to, most, 0);

	return n > 0 ? (size_t)n : 0;
}

static void hang_up(struct line *l)
{
	SSL_free(l->tls);
	if (l->fd >= 0)
		close(l->fd);
}

/* The whole answer as far as it fits, ended by a NUL. False when there was none. */
static bool ask(const struct question *q, char answer[ANSWER_BYTES])
{
	struct line l = { .fd = q->to.is_unix ? connect_unix(q->to.host) : connect_tcp(&q->to) };
	char request[2 * URL_BYTES];
	size_t len = 0, n = 0;

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", q->path);
	bool ok = l.fd >= 0 && (!q->is_secure || secure(&l)) && say(&l, request, strlen(request));
	while (ok && len < ANSWER_BYTES - 1 && (n = hear(&l, answer + len, ANSWER_BYTES - 1 - len)) > 0)
		len += n;
	answer[len] = '\0';
	hang_up(&l);
	return ok && len > 0;
}

/* What a problem says of itself, or nothing. */
static void print_detail(const char *answer)
{
	const char *body = strstr(answer, "\r\n\r\n");
	struct arena arena = { 0 };
	struct json_error error;
	const struct json *problem = body ? json_tree_read(&arena, text_of(body + 4), &error) : NULL;
	struct text detail = json_tree_string(problem, "detail");

	if (detail.at)
		printf(": %s", detail.at);
	arena_free(&arena);
}

/* The status of "HTTP/1.1 200 OK"; 0 when it is no such thing. */
static long status_of(const char *answer)
{
	return strncmp(answer, "HTTP/1.", 7) == 0 && answer[8] == ' ' ? strtol(answer + 9, NULL, 10) : 0;
}

int check_run(const char *url)
{
	struct question q = { 0 };
	char answer[ANSWER_BYTES];

	if (url ? !question_of_url(&q, url) : !question_of_options(&q))
		return EXIT_FAILURE;
	show(&q);
	snprintf(late, sizeof(late), "not ready: %s does not answer within %d s\n", q.shown, CHECK_S);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGALRM, on_late);
	alarm(CHECK_S);
	long status = ask(&q, answer) ? status_of(answer) : 0;
	alarm(0);
	if (status == 0) {
		printf("not ready: %s does not answer\n", q.shown);
		return EXIT_FAILURE;
	}
	printf("%s: %s says %ld", status == 200 ? "ready" : "not ready", q.shown, status);
	if (status != 200)
		print_detail(answer);
	printf("\n");
	return status == 200 ? EXIT_SUCCESS : EXIT_FAILURE;
}
