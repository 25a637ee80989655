# `make analyze`: the build compiles each changed file under gcc -fanalyzer, and runs clang-tidy and
# cppcheck on it, in parallel. A finding is an error. False findings are suppressed as narrowly as
# possible and with a reason: here, in .clang-tidy, or beside the line.
find_program(CLANG_TIDY clang-tidy REQUIRED)
find_program(CPPCHECK cppcheck REQUIRED)
# clang knows neither gcc's names of warnings nor -fanalyzer, so the option is added only when gcc
# is called.
set(CMAKE_C_CLANG_TIDY ${CLANG_TIDY} --quiet --extra-arg=-Wno-unknown-warning-option)
set(CMAKE_C_COMPILER_LAUNCHER sh -c "exec \"$@\" -fanalyzer" gcc)
# internalAstError: cppcheck 2.10 cannot parse a compound literal within a conditional operator, and
# skips the function.
set(CMAKE_C_CPPCHECK ${CPPCHECK} --quiet --std=c11 --enable=warning,performance,portability --error-exitcode=1 --inline-suppr
  --suppress=internalAstError)
