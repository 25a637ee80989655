#include "outbound/curl_library.h"

#include <dlfcn.h>
#include <stdio.h>

static struct curl_library library;
static void *handle;

/*
 * Tries the library with GnuTLS first, since the daemon has loaded GnuTLS already. No request here
 * uses TLS.
 */
static void *open_any(void)
{
	static const char *const names[] = { "libcurl-gnutls.so.4", "libcurl.so.4" };
	void *found = NULL;

	for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++)
		found = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return found;
}

bool curl_library_open(char *why, size_t size)
{
	static const struct {
		const char *name;
		size_t offset;
	} functions[] = {
#define CURL_LIBRARY_ROW(name) { #name, offsetof(struct curl_library, name) },
		CURL_LIBRARY_FUNCTIONS(CURL_LIBRARY_ROW)
	};

	if (handle)
		return true;
	handle = open_any();
	if (!handle) {
		snprintf(why, size, "libcurl is missing: install libcurl3-gnutls or libcurl4 (%s)", dlerror());
		return false;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(handle, functions[i].name);
		if (!function) {
			snprintf(why, size, "libcurl is too old: it has no %s", functions[i].name);
			return false;
		}
		/* The page of dlsym in POSIX stores a function like this. */
		*(void **)(void *)((char *)&library + functions[i].offset) = function;
	}
	/* Without TLS and with malloc: the daemon has initialized the rest. */
	if (library.curl_global_init(CURL_GLOBAL_NOTHING) == CURLE_OK)
		return true;
	snprintf(why, size, "libcurl cannot start: there is no memory for it");
	return false;
}

const struct curl_library *curl_library(void)
{
	return &library;
}
