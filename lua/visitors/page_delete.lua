-- page_delete: one step of removing a page: some of the days that it may have.
-- KEYS     sketches, or counters, of days; at most 500. The first step has the page's own key
--          (visitors/lib_page.lua) and its total before them: data that is added later makes the
--          page again
-- ARGV[1]  the Lua pattern with which the value of a day begins
-- ARGV[2]  the first index in KEYS of a day, or of the total
--@reply 1 removed, 0 absent
-- removed: some of the keys existed.
-- Errors: WRONGTYPE, nothing done in this step. O(N), about 2 us for each key that exists.
--@flags allow-oom
local pattern, first = ARGV[1], tonumber(ARGV[2])
if redis.call('EXISTS', unpack(KEYS)) == 0 then
  return { 0, now }
end
for i = first, #KEYS do
  local head = redis.call('GETRANGE', KEYS[i], '0', '3')
  if head ~= '' and not string.find(head, pattern) then
    return redis.error_reply('WRONGTYPE Operation against a key holding the wrong kind of value')
  end
end
redis.call('UNLINK', unpack(KEYS))
return { 1, now }
