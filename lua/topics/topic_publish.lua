-- topic_publish: publishes a message to the daemons that listen now.
-- KEYS[1]  the topic: no key, a sharded channel of that name
-- ARGV[1]  the message, JSON text
--@reply 1: daemons int, published_at_ms int
-- O(daemons that listen).
--@include time
--@idempotent
local now = now_ms()
local message = '{"published_at_ms":' .. digits(now) .. ',"body":' .. ARGV[1] .. '}'
return { 1, now, redis.call('SPUBLISH', KEYS[1], message), now }
