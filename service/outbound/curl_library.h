/*
 * curl_library: opens libcurl at run time, and only if the daemon has something to send: libcurl
 * loads about thirty other libraries, which a daemon that sends nothing does not need
 * (docs/adr/0030-push.md). It is never closed, since some of these libraries cannot be unloaded. It
 * must not know requests.
 */
#ifndef PATTERND_CURL_LIBRARY_H
#define PATTERND_CURL_LIBRARY_H

#define CURL_DISABLE_TYPECHECK /* its macros would replace calls through members */
#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>

#define CURL_LIBRARY_FUNCTIONS(F)   \
	F(curl_global_init)         \
	F(curl_version)             \
	F(curl_easy_init)           \
	F(curl_easy_cleanup)        \
	F(curl_easy_setopt)         \
	F(curl_easy_getinfo)        \
	F(curl_easy_strerror)       \
	F(curl_slist_append)        \
	F(curl_slist_free_all)      \
	F(curl_multi_init)          \
	F(curl_multi_cleanup)       \
	F(curl_multi_setopt)        \
	F(curl_multi_add_handle)    \
	F(curl_multi_remove_handle) \
	F(curl_multi_info_read)     \
	F(curl_multi_socket_action)

/* libcurl's functions under their own names: curl_library()->curl_easy_init(). */
struct curl_library {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): it declares a member. */
#define CURL_LIBRARY_MEMBER(name) __typeof__(name) *name;
	CURL_LIBRARY_FUNCTIONS(CURL_LIBRARY_MEMBER)
#undef CURL_LIBRARY_MEMBER
};

/*
 * Opens it. Returns false if a library is missing or too old; `why`, of `size` bytes, has its name.
 */
bool curl_library_open(char *why, size_t size);

/* Call it after curl_library_open. */
const struct curl_library *curl_library(void);

#endif
