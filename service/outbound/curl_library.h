/*
 * curl_library: libcurl, opened while the daemon runs, and only when it has something to send: it
 * loads some thirty other libraries, which a daemon that sends nothing does without
 * (docs/adr/0030-push.md). Never closed: libraries behind it cannot be unloaded.
 */
#ifndef PATTERND_CURL_LIBRARY_H
#define PATTERND_CURL_LIBRARY_H

#define CURL_DISABLE_TYPECHECK /* its macros take members for calls */
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
#define CURL_LIBRARY_MEMBER(name) __typeof__(name) *name;
	CURL_LIBRARY_FUNCTIONS(CURL_LIBRARY_MEMBER)
#undef CURL_LIBRARY_MEMBER
};

/* False: `why`, of `size` bytes, names the library that is missing or too old. */
bool curl_library_open(char *why, size_t size);

/* After curl_library_open. */
const struct curl_library *curl_library(void);

#endif
