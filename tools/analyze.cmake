# `make analyze`: each file is compiled under gcc -fanalyzer, and read by clang-tidy and cppcheck,
# by the build itself: in parallel, and only what has changed. A finding is an error. What is wrong
# of their findings is left out as narrowly as it can be, with its reason: here, in .clang-tidy, or
# beside the line.
find_program(CLANG_TIDY clang-tidy REQUIRED)
find_program(CPPCHECK cppcheck REQUIRED)
# clang knows neither gcc's names of warnings nor -fanalyzer, which therefore comes in when gcc is
# called.
set(CMAKE_C_CLANG_TIDY ${CLANG_TIDY} --quiet --extra-arg=-Wno-unknown-warning-option)
set(CMAKE_C_COMPILER_LAUNCHER sh -c "exec \"$@\" -fanalyzer" gcc)
# internalAstError: cppcheck 2.10 does not read a compound literal within a conditional operator,
# and leaves out the function.
set(CMAKE_C_CPPCHECK ${CPPCHECK} --quiet --std=c11 --enable=warning,performance,portability --error-exitcode=1 --inline-suppr
  --suppress=internalAstError)
