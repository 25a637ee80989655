-- topic_publish: publishes a message to the daemons that listen now.
-- KEYS[1]  the topic: not a key, but a sharded channel of that name
-- ARGV[1]  the message, JSON text
-- ARGV[2]  the channel of all topics for listeners to patterns, a classic one
--@reply 1: daemons int, published_at_ms int, pattern_daemons int
-- daemons is how many listen to the topic by its name. pattern_daemons is how many listen to
-- patterns, whether the topic matches one or not; they receive the topic's key, a newline and the
-- message. Redis has no sharded patterns, and PUBLISH in a Cluster goes to all nodes, so it is
-- called only if a daemon is subscribed here. O(daemons that listen).
--@idempotent
local body, channel = ARGV[1], ARGV[2]
local message = '{"published_at_ms":' .. format('%d', now) .. ',"body":' .. body .. '}'
local command = { 'PUBSUB', 'NUMSUB', channel }
local pattern_daemons = redis.call(unpack(command))[2]
local daemons = redis.call('SPUBLISH', KEYS[1], message)
if pattern_daemons > 0 then
  redis.call('PUBLISH', channel, table.concat({ KEYS[1], message }, '\n'))
end
return { 1, now, daemons, now, pattern_daemons }
