-- counter_get: all counters under a name.
-- KEYS[1]  the counters: hash
--@reply 0: counter_state
-- Errors: WRONGTYPE, also when the key has more fields than counters can be, or a field is not a
-- counter. O(counters), at most 500.
--@reads
return { 0, now, expiry_reply(expiry_at(KEYS)), unpack(counter_state(KEYS[1])) }
