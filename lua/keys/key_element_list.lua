-- key_element_list: one page of what a set, hash, sorted set or list holds.
-- A step of a scan may return more elements than fit on the page: Redis returns a small key in one
-- step, whatever COUNT is. They are then returned in the order of a digest, and the cursor has the
-- last digest returned. So elements that are added or removed between two pages do not move the
-- cursor. The cursor of a list is an index.
-- KEYS[1]  any key
-- ARGV  1 cursor: '0' to begin, or as returned before, 2 how many elements fit on the page, 3 what
--       members, fields, or values of a list must match (lib/star_match.lua), '' for all, 4 the
--       same as a glob, 5 its depth (service/call/match.h)
--@reply 0: type text, next_cursor text, elements (key_element)...
--@reply -1 absent
--@reply -2 no_elements: type text
--@reply -3 no_cursor
--@shape key_element: element text, beside text, is_cut int
-- next_cursor is '0' at the end. element and beside are member and '' of a set, member and score of
-- a sorted set, field and value of a hash, value and index of a list.
-- no_elements: a key of this type has none.
-- Errors: none. O(STEPS * STEP_COUNT), or the size of a small key; large elements make the steps
-- smaller. A page ends when it has PAGE_BYTES, or after a millisecond. A text beyond TEXT_BYTES is
-- cut. A match leaves most elements out, so more of them are looked at if there is one; fewer if it
-- is deep, since Redis compares it at each byte of an element.
--@reads
local cursor, limit, match, glob, depth = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5])
local STEP_BYTES, PAGE_BYTES, TEXT_BYTES, DEPTH = 65536, 131072, 1048576, 64
local STEPS, STEP_COUNT = 100, 100
if match == '' then
  STEPS, STEP_COUNT, glob = 25, 10, '*'
end
local SCANS = { set = 'SSCAN', hash = 'HSCAN', zset = 'ZSCAN' }
local kind, _, size = key_state(KEYS[1])
if kind == 'none' then
  return { -1, now }
elseif kind ~= 'list' and not SCANS[kind] then
  return { -2, now, kind }
end
local step, listed = string.match(cursor, '^(%d+)%.?(%x*)$')
if not step or (kind == 'list' and #step > 15) then
  return { -3, now }
end
local usage = { 'MEMORY', 'USAGE', KEYS[1] }
local count = math.min(STEP_COUNT, STEP_BYTES * size / redis.call(unpack(usage)))
count = math.max(1, math.floor(count * DEPTH / (DEPTH + depth)))
local reply, bytes = { 0, now, kind, '0' }, 0

local function is_full()
  return (#reply - 4) / 3 >= limit or bytes >= PAGE_BYTES
end

local function add_element(element, beside)
  reply[#reply + 1] = string.sub(element, 1, TEXT_BYTES)
  reply[#reply + 1] = string.sub(beside, 1, TEXT_BYTES)
  reply[#reply + 1] = (#element > TEXT_BYTES or #beside > TEXT_BYTES) and 1 or 0
  bytes = bytes + math.min(#element, TEXT_BYTES) + math.min(#beside, TEXT_BYTES)
end

-- in_order(elements, after): the elements of a step whose digests are above `after`, sorted by
-- digest. Each gets its digest as [3].
local function in_order(elements, after)
  local left = {}
  for _, element in ipairs(elements) do
    element[3] = string.sub(redis.sha1hex(element[1]), 1, 16)
    if element[3] > after then
      left[#left + 1] = element
    end
  end
  table.sort(left, function(a, b) return a[3] < b[3] end)
  return left
end

-- page_step(from, after): adds the elements of the step `from` whose digests are above `after` ('':
-- all). Returns the next cursor, nil when Redis does not know the step.
local function page_step(from, after)
  local found = redis.pcall(SCANS[kind], KEYS[1], from, 'MATCH', glob, 'COUNT', format('%d', count))
  if found.err then
    return nil
  end
  local elements, room, width = {}, PAGE_BYTES - bytes, kind == 'set' and 1 or 2
  for i = 1, #found[2], width do
    local element = { found[2][i], width == 2 and found[2][i + 1] or '' }
    elements[#elements + 1] = element
    room = room - #element[1] - #element[2]
  end
  if after ~= '' or room < 0 or (#reply - 4) / 3 + #elements > limit then
    elements = in_order(elements, after)
  end
  for i, element in ipairs(elements) do
    if is_full() then
      return from .. '.' .. elements[i - 1][3]
    end
    add_element(element[1], element[2])
  end
  return found[1]
end

local _, is_match = star_match(match)

-- page_range(from): adds a step of a list, whose cursors are indexes.
local function page_range(from)
  local index = tonumber(from)
  for _, value in ipairs(redis.call('LRANGE', KEYS[1], from, format('%d', index + count - 1))) do
    if is_full() then
      break
    end
    if is_match(value) then
      add_element(value, format('%d', index))
    end
    index = index + 1
  end
  return index < size and format('%d', index) or '0'
end

cursor = step
for _ = 1, STEPS do
  cursor = kind == 'list' and page_range(cursor) or page_step(cursor, listed)
  listed = ''
  if not cursor then
    return { -3, now }
  end
  if cursor == '0' or is_full() or out_of_time() then
    break
  end
end
reply[4] = cursor
return reply
