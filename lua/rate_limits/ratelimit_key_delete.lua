-- ratelimit_key_delete: deletes what was counted.
-- KEYS  1.. the states
--@reply 0..
-- The outcome is how many states there were. O(1); Redis frees a long log in the background.
--@flags allow-oom
return { redis.call('UNLINK', unpack(KEYS)), now }
