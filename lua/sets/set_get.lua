-- set_get: how many members a set has, and when it expires.
-- KEYS[1]  the set
--@reply 0, -1 absent: set
-- Errors: WRONGTYPE. O(1).
--@reads
return set_state(KEYS[1], now)
