-- key_get: the type, the expiry and the size of a key, without its content.
-- KEYS[1]  any key
--@reply 0: key_state
-- The type is 'none' when there is no key.
-- Errors: none. O(1).
--@reads
return { 0, now, key_state(KEYS[1]) }
