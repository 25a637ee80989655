-- bitmap_delete: removes a bitmap.
-- KEYS[1]  the bitmap
--@reply 1 removed, 0 absent
-- Errors: WRONGTYPE, nothing done. O(1); Redis frees the memory in the background.
--@flags allow-oom
redis.call('STRLEN', KEYS[1]) -- UNLINK removes a key of any type
return { redis.call('UNLINK', KEYS[1]), now }
