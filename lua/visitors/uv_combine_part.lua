-- uv_combine_part: what the pages of one slot contribute to pages that are combined from several
-- slots: counts, as uv_get returns them, and the sketch of all together.
-- KEYS     a key that is free, used within the script; sketches, page by page, at most 400
-- ARGV[1]  the day that the caller took for today, in days since 1970, or ''
-- ARGV[2]  keys in each page
--@reply 0: sketch text, counts int...
--@reply -1 wrong_day
-- sketch is the sketch of all together, as bytes; counts has one for each page. wrong_day: it is
-- not today.
-- Errors: WRONGTYPE. O(N), about 40 us for each sketch. It leaves nothing behind.
--@flags allow-oom
local expected, size = ARGV[1], tonumber(ARGV[2])
if day_is_wrong(now, expected) then
  return { -1, now }
end
redis.call('PFMERGE', KEYS[1], unpack(KEYS, 2))
local reply = { 0, now, redis.call('GET', KEYS[1]) }
redis.call('UNLINK', KEYS[1])
for first = 2, #KEYS, size do
  reply[#reply + 1] = redis.call('PFCOUNT', unpack(KEYS, first, first + size - 1))
end
return reply
