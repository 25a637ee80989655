# Builds for another architecture of Debian, with Debian's cross compiler and the multiarch packages of
# that architecture: cmake --toolchain tools/cross.cmake -DTRIPLET=aarch64-linux-gnu. Test programs run
# under qemu-user.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TRIPLET)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR ${TRIPLET})
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${TRIPLET}-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE ${TRIPLET})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR}-static)
set(ENV{PKG_CONFIG_LIBDIR}
  /usr/local/lib/${TRIPLET}/pkgconfig:/usr/lib/${TRIPLET}/pkgconfig:/usr/share/pkgconfig)
