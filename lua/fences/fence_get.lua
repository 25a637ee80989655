-- fence_get: the highest fence seen.
-- KEYS[1]  the highest fence seen: counter, no TTL
--@reply 0: highest int
-- highest is 0 when there is none.
-- Errors: WRONGTYPE. O(1).
--@reads
return { 0, now, fence_last(KEYS[1]) }
