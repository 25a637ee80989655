-- name_page: names of one kind in their order, from one index after the other (lib/names.lua).
-- Removes the names that do not exist any more.
-- KEYS  none: the indexes of many slots, and the first keys of their names, are all on this node;
--       their names are made of ARGV
-- ARGV[1]  what precedes a name in its first key: 'p:queue:{'
-- ARGV[2]  what precedes a tag in the key of an index, ARGV[3] what follows it: 'p:names:{',
--          '}:queue'
-- ARGV[4]  only names after this one, of the first index; '' for all
-- ARGV[5]  only names that match: literal but for '*', any bytes; '' for all
-- ARGV[6]  how many names at most
-- ARGV[7]  the tags of the indexes, a comma behind each
-- Returns {0, now, indexes that were read to their end, the last name that was looked at in the
--         next one ('' none), name, ...}
-- What this node does not serve (any more) is left as it is: the names of a key that moved are
-- returned, an index that moved is skipped.
-- Errors: WRONGTYPE. A millisecond, or 64 names, if that takes longer.
--@include time out_of_time
--@flags allow-oom allow-cross-slot-keys
local now = now_ms()
local lead, before_tag, behind_tag, after, match, most = unpack(ARGV)
local STEP = 64
most = tonumber(most)
local literal = string.match(match, '^[^*]*')
local pattern = match ~= '' and '^' .. string.gsub(string.gsub(match, '[^%w*]', '%%%0'), '%*', '.*') .. '$'
local first, last = literal == '' and '-' or '[' .. literal, literal == '' and '+' or '(' .. literal .. '\255'

local found = {}
-- Of one index: the last name looked at, '' when there is none behind it.
local function read_index(key, from)
  while true do
    local names = redis.pcall('ZRANGE', key, from, last, 'BYLEX', 'LIMIT', '0', STEP)
    if names.err then
      if string.find(names.err, '^WRONGTYPE') then
        error(names)
      end
      return ''
    end
    for _, name in ipairs(names) do
      if not pattern or string.find(name, pattern) then
        if redis.pcall('EXISTS', lead .. name .. '}') == 0 then
          redis.call('ZREM', key, name)
        else
          found[#found + 1] = name
          if #found == most then
            return name
          end
        end
      end
      from = '(' .. name
    end
    if #names < STEP then
      return ''
    elseif out_of_time() then
      return string.sub(from, 2)
    end
  end
end

local ended, stopped_at = 0, ''
for tag in string.gmatch(ARGV[7], '([^,]*),') do
  stopped_at = read_index(before_tag .. tag .. behind_tag, ended == 0 and after ~= '' and '(' .. after or first)
  if stopped_at ~= '' then
    break
  end
  ended = ended + 1
  if ended % 32 == 0 and out_of_time() then
    break
  end
end
return { 0, now, ended, stopped_at, unpack(found) }
