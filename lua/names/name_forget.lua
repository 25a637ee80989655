-- name_forget: removes the name of a key that does not exist any more from its index.
-- KEYS  1 the first key of a resource, 2 the index of names (lib/made.lua)
--@reply 1 removed, 0
-- 0: the key exists, or the name was removed before.
-- O(log names).
--@flags allow-oom
if redis.call('EXISTS', KEYS[1]) == 1 then
  return { 0, now }
end
return { redis.call('ZREM', names_key, string.match(KEYS[1], '^.*{(.*)}$')), now }
