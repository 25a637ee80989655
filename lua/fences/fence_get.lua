-- fence_get: the highest fence seen.
-- KEYS[1]  the highest fence seen: counter, no TTL
--@reply 0, -1 absent: highest int
-- highest is 0 when there is none.
-- Errors: WRONGTYPE. O(1).
--@reads
local highest = fence_last(KEYS[1])
return { highest > 0 and 0 or -1, now, highest }
