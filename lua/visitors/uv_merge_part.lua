-- uv_merge_part: what the sources in one slot contribute to a merge into a page in another slot: a
-- sketch per day.
-- KEYS     a key that is free, used within the script; sketches, page by page, each page's in the
--          order of the days, at most 400
-- ARGV[1]  the day that the caller took for today, in days since 1970, or ''
-- ARGV[2]  how many days
--@reply 0: sketches text...
--@reply -1 wrong_day
-- There is a sketch for each day, as bytes: '' when no source has one. wrong_day: it is not today.
-- Errors: WRONGTYPE. O(N), about 40 us for each sketch. It leaves nothing behind.
--@flags allow-oom
local expected, days = ARGV[1], tonumber(ARGV[2])
if day_is_wrong(now, expected) then
  return { -1, now }
end
local reply = { 0, now }
for day = 1, days do
  local sources = {}
  for i = 1 + day, #KEYS, days do
    sources[#sources + 1] = KEYS[i]
  end
  local sketch = ''
  if redis.call('EXISTS', unpack(sources)) > 0 then
    redis.call('PFMERGE', KEYS[1], unpack(sources))
    sketch = redis.call('GET', KEYS[1])
    redis.call('UNLINK', KEYS[1])
  end
  reply[#reply + 1] = sketch
end
return reply
