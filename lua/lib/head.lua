-- The head of every script: which operation it is, and the time. Operations and modules use these
-- names. An integer becomes text by format('%d', n): tostring, `..` and cjson would cut an instant
-- to 14 digits, and %d has 64 bits, since the daemon requires a 64-bit Redis. A constant is written
-- as text: redis.call takes longer for a number.
-- ARGV[last]  the operation; with an Idempotency-Key also what lib/record.lua reads. It is removed
local call, format = redis.call, string.format -- the build writes call(...) for redis.call(...)
local clock, operation = redis.call('TIME'), ARGV[#ARGV]
ARGV[#ARGV] = nil
local now_us = clock[1] * 1000000 + clock[2] -- on Redis 7.0 the clock advances while a script runs
local now = (now_us - now_us % 1000) / 1000 -- ms
