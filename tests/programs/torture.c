/*
 * torture: preloaded into a daemon, it makes the n-th call of a kind fail, as often as the test
 * arms it: see torture.h.
 *
 * It counts from main on, so that libraries load without failures. Memory comes from glibc. Calls
 * inside glibc count when they allocate memory, but not when they open or connect.
 */
#include "torture.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FRAMES = 24, TLS_LIBRARIES_MAX = 16 };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *at, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *at);

static struct torture nobody = { .kind = TORTURE_KINDS };
static struct torture *shared = &nobody;

/* ---- Whose memory it is ---- */

static struct range {
	uintptr_t from, to;
} tls_libraries[TLS_LIBRARIES_MAX];
static size_t tls_library_count;

static int note_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	static const char *const names[] = { "/libgnutls.", "/libhogweed.", "/libnettle.",    "/libgmp.",
					     "/libtasn1.",  "/libp11-kit.", "/libunistring.", "/libidn2." };

	(void)size;
	(void)arg;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (int k = 0; strstr(info->dlpi_name, names[i]) && k < info->dlpi_phnum; k++) {
			const ElfW(Phdr) *part = &info->dlpi_phdr[k];
			uintptr_t from = info->dlpi_addr + part->p_vaddr;
			if (part->p_type == PT_LOAD && (part->p_flags & PF_X) && tls_library_count < TLS_LIBRARIES_MAX)
				tls_libraries[tls_library_count++] = (struct range){ from, from + part->p_memsz };
		}
	return 0;
}

static enum torture_kind memory_of(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	for (size_t i = 0; i < tls_library_count; i++)
		if (at >= tls_libraries[i].from && at < tls_libraries[i].to)
			return TORTURE_TLS;
	return TORTURE_MEMORY;
}

#define MEMORY memory_of(__builtin_return_address(0))

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("TORTURE_FILE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *frames[2];

	backtrace(frames, 2); /* loads what it needs now, not while something fails */
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		_exit(126);
	close(fd);
	dl_iterate_phdr(note_library, NULL);
	unsetenv("LD_PRELOAD"); /* no failures in what the daemon starts */
	shared = at;
	shared->blocks = shared->bytes = 0;
	shared->seen = 0;
}

/* ---- Which call fails ---- */

static void note_where(void)
{
	void *frames[FRAMES];
	int count = backtrace(frames, FRAMES);
	size_t len = 0;

	for (int i = 2; i < count && len < TORTURE_WHERE_BYTES; i++) { /* skips this function and its caller */
		Dl_info info;
		const char *name = dladdr(frames[i], &info) && info.dli_fname ? info.dli_fname : "?";
		const char *slash = strrchr(name, '/');
		ptrdiff_t offset = (char *)frames[i] - (*name == '?' ? NULL : (char *)info.dli_fbase);
		len += (size_t)snprintf(shared->where + len, TORTURE_WHERE_BYTES - len, "%s+0x%tx\n",
					slash ? slash + 1 : name, offset);
	}
}

static bool fails(enum torture_kind kind, int error)
{
	if (shared->kind != (int)kind)
		return false;
	uint64_t n = atomic_fetch_add(&shared->seen, 1) + 1;
	if (!shared->first || n < shared->first || n > shared->last)
		return false;
	if (n == shared->first)
		note_where();
	errno = error;
	return true;
}

/* ---- Memory ---- */

static void *allocated(void *at)
{
	if (at) {
		shared->blocks++;
		shared->bytes += (int64_t)malloc_usable_size(at);
	}
	return at;
}

static void freed(int64_t bytes)
{
	shared->blocks--;
	shared->bytes -= bytes;
}

void *malloc(size_t size)
{
	return fails(MEMORY, ENOMEM) ? NULL : allocated(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return fails(MEMORY, ENOMEM) ? NULL : allocated(__libc_calloc(count, size));
}

static void *resized(void *at, size_t size, enum torture_kind kind)
{
	int64_t before = at ? (int64_t)malloc_usable_size(at) : 0;

	if (fails(kind, ENOMEM))
		return NULL;
	void *to = __libc_realloc(at, size);
	if (at && (to || !size))
		freed(before);
	return allocated(to);
}

void *realloc(void *at, size_t size)
{
	return resized(at, size, MEMORY);
}

void *reallocarray(void *at, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / size) {
		errno = ENOMEM;
		return NULL;
	}
	return resized(at, count * size, MEMORY);
}

static void *aligned(size_t alignment, size_t size, enum torture_kind kind)
{
	return fails(kind, ENOMEM) ? NULL : allocated(__libc_memalign(alignment, size));
}

void *memalign(size_t alignment, size_t size)
{
	return aligned(alignment, size, MEMORY);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return aligned(alignment, size, MEMORY);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	void *at = aligned(alignment, size, MEMORY);

	if (at)
		*out = at;
	return at ? 0 : ENOMEM;
}

void free(void *at)
{
	int error = errno;

	if (at)
		freed((int64_t)malloc_usable_size(at));
	__libc_free(at);
	errno = error;
}

/* ---- The system's calls ---- */

/* Sets `real` to the next definition of the function that uses this macro. */
#define REAL(type, ...)                   \
	static type (*real)(__VA_ARGS__); \
	if (!real)                        \
	*(void **)&real = dlsym(RTLD_NEXT, __func__)

int socket(int domain, int type, int protocol)
{
	REAL(int, int, int, int);
	return fails(TORTURE_SOCKET, EMFILE) ? -1 : real(domain, type, protocol);
}

int bind(int fd, const struct sockaddr *at, socklen_t len)
{
	REAL(int, int, const struct sockaddr *, socklen_t);
	return fails(TORTURE_SOCKET, EADDRINUSE) ? -1 : real(fd, at, len);
}

int listen(int fd, int backlog)
{
	REAL(int, int, int);
	return fails(TORTURE_SOCKET, EADDRINUSE) ? -1 : real(fd, backlog);
}

int epoll_create1(int flags)
{
	REAL(int, int);
	return fails(TORTURE_SOCKET, EMFILE) ? -1 : real(flags);
}

int eventfd(unsigned count, int flags)
{
	REAL(int, unsigned, int);
	return fails(TORTURE_SOCKET, EMFILE) ? -1 : real(count, flags);
}

int signalfd(int fd, const sigset_t *mask, int flags)
{
	REAL(int, int, const sigset_t *, int);
	return fails(TORTURE_SOCKET, EMFILE) ? -1 : real(fd, mask, flags);
}

int accept4(int fd, struct sockaddr *from, socklen_t *len, int flags)
{
	REAL(int, int, struct sockaddr *, socklen_t *, int);
	return fails(TORTURE_ACCEPT, EMFILE) ? -1 : real(fd, from, len, flags);
}

int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	REAL(int, int, const struct sockaddr *, socklen_t);
	return fails(TORTURE_CONNECT, ECONNREFUSED) ? -1 : real(fd, to, len);
}

/* Removing a descriptor never fails. */
int epoll_ctl(int set, int operation, int fd, struct epoll_event *event)
{
	REAL(int, int, int, int, struct epoll_event *);
	return operation != EPOLL_CTL_DEL && fails(TORTURE_EPOLL, ENOMEM) ? -1 : real(set, operation, fd, event);
}

ssize_t read(int fd, void *at, size_t size)
{
	REAL(ssize_t, int, void *, size_t);
	return fails(TORTURE_READ, EIO) ? -1 : real(fd, at, size);
}

ssize_t recv(int fd, void *at, size_t size, int flags)
{
	REAL(ssize_t, int, void *, size_t, int);
	return fails(TORTURE_READ, ECONNRESET) ? -1 : real(fd, at, size, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	REAL(ssize_t, int, struct msghdr *, int);
	return fails(TORTURE_READ, ECONNRESET) ? -1 : real(fd, message, flags);
}

ssize_t write(int fd, const void *at, size_t size)
{
	REAL(ssize_t, int, const void *, size_t);
	return fails(TORTURE_WRITE, ENOSPC) ? -1 : real(fd, at, size);
}

ssize_t send(int fd, const void *at, size_t size, int flags)
{
	REAL(ssize_t, int, const void *, size_t, int);
	return fails(TORTURE_WRITE, EPIPE) ? -1 : real(fd, at, size, flags);
}

ssize_t sendto(int fd, const void *at, size_t size, int flags, const struct sockaddr *to, socklen_t len)
{
	REAL(ssize_t, int, const void *, size_t, int, const struct sockaddr *, socklen_t);
	return fails(TORTURE_WRITE, EPIPE) ? -1 : real(fd, at, size, flags, to, len);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	REAL(ssize_t, int, const struct msghdr *, int);
	return fails(TORTURE_WRITE, EPIPE) ? -1 : real(fd, message, flags);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	REAL(ssize_t, int, const struct iovec *, int);
	return fails(TORTURE_WRITE, EPIPE) ? -1 : real(fd, parts, count);
}

static mode_t mode_of(int flags, va_list args)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	REAL(int, const char *, int, ...);
	va_list args;

	va_start(args, flags);
	mode_t mode = mode_of(flags, args);
	va_end(args);
	return fails(TORTURE_OPEN, EMFILE) ? -1 : real(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	REAL(int, const char *, int, ...);
	va_list args;

	va_start(args, flags);
	mode_t mode = mode_of(flags, args);
	va_end(args);
	return fails(TORTURE_OPEN, EMFILE) ? -1 : real(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	REAL(FILE *, const char *, const char *);
	return fails(TORTURE_OPEN, EMFILE) ? NULL : real(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	REAL(FILE *, const char *, const char *);
	return fails(TORTURE_OPEN, EMFILE) ? NULL : real(path, mode);
}
