-- key_get: what a key is, not what it holds.
-- KEYS[1]  any key
-- Returns {0, now, type, expires_at (-1: never), size (-1: not known)}: see lua/keys/lib_key.lua
-- Errors: none. O(1).
--@include time key
--@reads
local now = now_ms()
return {0, now, key_state(KEYS[1])}
