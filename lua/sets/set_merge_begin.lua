-- set_merge_begin: whether a key can become a set that is made of others.
-- KEYS  1 the set to be made
--@reply 0
--@reply 1: set
-- 1: a replay, after set_merge_end answered the request.
-- Errors: WRONGTYPE, nothing done. O(1).
--@idempotent
redis.call('SCARD', KEYS[1])
return { 0, now }
