-- topic_get: how many daemons listen to a topic now.
-- KEYS[1]  the topic: not a key, but a sharded channel of that name
--@reply 0: daemons int
-- O(1).
--@reads
local command = { 'PUBSUB', 'SHARDNUMSUB', KEYS[1] }
local counts = redis.call(unpack(command))
return { 0, now, counts[2] }
