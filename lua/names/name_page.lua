-- name_page: names of one kind, sorted, from one index after the other (lib/made.lua), and the
-- names whose keys do not exist any more.
-- KEYS  none: the indexes of many slots, and the first keys of their names, are all on this node;
--       the script makes these keys of ARGV
-- ARGV[1]  what precedes a name in its first key: 'p:queue:{'
-- ARGV[2]  what precedes a tag in the key of an index, ARGV[3] what follows it: 'p:names:{',
--          '}:queue'
-- ARGV[4]  only names after this one, in the first index; '' for all
-- ARGV[5]  only names that match (lib/star_match.lua); '' for all
-- ARGV[6]  how many names at most
-- ARGV[7]  the tags of the indexes, each with a comma after it
--@reply 0, -1 away: ended int, stopped_at text, count int, names text...
-- ended is how many indexes were read to their end; stopped_at is the last name that was looked at
-- in the next one ('': none). The first `count` names exist; the keys of the others do not.
-- away: this node does not have the next index, perhaps only for a time.
-- Errors: WRONGTYPE, CLUSTERDOWN. It takes a millisecond, or 64 names if these take longer.
--@flags allow-cross-slot-keys
--@reads
local lead, before_tag, behind_tag, after = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local match, most, tags = ARGV[5], tonumber(ARGV[6]), ARGV[7]
local STEP = 64
local head, is_match = star_match(match)
local first, last = head == '' and '-' or '[' .. head, head == '' and '+' or '(' .. head .. '\255'
local found, gone = {}, {}
-- read_index(key, from): reads one index. Returns the last name that it looked at, '' at the end;
-- nil when the index is not on this node.
local function read_index(key, from)
  while true do
    local names = redis.pcall('ZRANGE', key, from, last, 'BYLEX', 'LIMIT', '0', STEP)
    if names.err and string.find(names.err, 'cluster is down', 1, true) then
      error(redis.error_reply('CLUSTERDOWN the cluster is down'))
    elseif names.err and string.find(names.err, 'Script attempted to', 1, true) then
      return nil
    elseif names.err then
      error(names)
    end
    for _, name in ipairs(names) do
      if is_match(name) then
        if redis.pcall('EXISTS', lead .. name .. '}') == 0 then
          gone[#gone + 1] = name
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
for tag in string.gmatch(tags, '([^,]*),') do
  stopped_at = read_index(before_tag .. tag .. behind_tag, ended == 0 and after ~= '' and '(' .. after or first)
  if stopped_at ~= '' then
    break
  end
  ended = ended + 1
  if ended % 32 == 0 and out_of_time() then
    break
  end
end
local reply = { stopped_at and 0 or -1, now, ended, stopped_at or ended == 0 and after or '', #found }
for _, list in ipairs({ found, gone }) do
  for _, name in ipairs(list) do
    reply[#reply + 1] = name
  end
end
return reply
