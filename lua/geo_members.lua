-- geo_members: one page of a set's members, by ZSCAN.
-- A step of ZSCAN may bring more members than the page takes (a small set comes in one step, whatever was asked for).
-- They are told in the order of a digest, and the cursor names the last one told: who comes or goes meanwhile shifts
-- nothing.
-- KEYS[1]  the set
-- ARGV[1]  cursor: '0' to begin, or as answered before
-- ARGV[2]  glob that members must match, '' for all
-- ARGV[3]  how many members the page takes, at most 1000
-- Returns {0, now, next cursor ('0': that was all), member, longitude, latitude, geohash, ...}: four for each
--         {-1, now} that was no cursor
-- Errors: WRONGTYPE. O(page log M), and at most STEPS * STEP_COUNT members are looked at.
--@include time geo
--@reads
local STEP_COUNT, STEPS = 100, 20
local now, limit = now_ms(), tonumber(ARGV[3])
local step, told = string.match(ARGV[1], '^(%d+)%.?(%x*)$')
if not step then
  return {-1, now}
end

-- The members of one step that come after digest `after`, in the order of their digests; and the step after.
local function members_of(from, after)
  local scan = {'ZSCAN', KEYS[1], from, 'COUNT', digits(STEP_COUNT)}
  if ARGV[2] ~= '' then
    scan[#scan + 1] = 'MATCH'
    scan[#scan + 1] = ARGV[2]
  end
  local reply = redis.pcall(unpack(scan))
  if reply.err and string.find(reply.err, 'invalid cursor', 1, true) then
    return nil
  elseif reply.err then
    error(reply)
  end
  local found = {}
  for i = 1, #reply[2], 2 do
    local digest = string.sub(redis.sha1hex(reply[2][i]), 1, 16)
    if digest > after then
      found[#found + 1] = {digest, reply[2][i]}
    end
  end
  table.sort(found, function(a, b) return a[1] < b[1] end)
  return found, reply[1]
end

local members, next_cursor = {}, step
for _ = 1, STEPS do
  local found, next_step = members_of(step, told)
  if not found then
    return {-1, now}
  end
  local room = limit - #members
  for i = 1, math.min(room, #found) do
    members[#members + 1] = found[i][2]
  end
  if #found > room then
    next_cursor = step .. '.' .. found[room][1]
    break
  end
  step, told, next_cursor = next_step, '', next_step
  if step == '0' or #members == limit then
    break
  end
end

local places = geo_places(KEYS[1], members)
local reply = {0, now, next_cursor}
for i = 1, #members do
  reply[#reply + 1] = members[i]
  for j = 3 * i - 2, 3 * i do
    reply[#reply + 1] = places[j]
  end
end
return reply
