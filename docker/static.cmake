# For the image, by -DCMAKE_PROJECT_INCLUDE: what Debian has as archives is linked in, so that only
# what is used of it counts. glibc stays shared: names are resolved through it.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
set(PKG_CONFIG_ARGN --static)
add_link_options(-Wl,--gc-sections -Wl,--as-needed)
