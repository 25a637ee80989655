-- scan_page(command, key, cursor, match, limit): one page of the members of a set (SSCAN), a sorted
-- set (ZSCAN) or the fields of a hash (HSCAN). `cursor` is '0' to begin, or as returned before;
-- `match` is a glob, '' for all. Returns the members and the next cursor, '0' at the end; nil for
-- an invalid cursor. A page takes at most 100 steps of 20 members, and a millisecond. This module
-- must not know what the members are.
-- A step of the scan may return more members than fit on the page: Redis returns a small set in one
-- step, whatever COUNT is. They are then listed in the order of a digest, and the cursor has the
-- last digest listed. So members that are added or removed between two pages do not move the
-- cursor.
local function scan_page(command, key, cursor, match, limit)
  local stride = command == 'SSCAN' and 1 or 2
  local step, listed = string.match(cursor, '^(%d+)%.?(%x*)$')
  if not step then
    return nil
  end

  -- members_of(from, after, room): the members of one step with a digest above `after`, the next
  -- step, and the digests. The members are sorted by digest if a page ends, or ended, within this
  -- step.
  local function members_of(from, after, room)
    local scan = { command, key, from, 'COUNT', '20' }
    if match ~= '' then
      scan[#scan + 1] = 'MATCH'
      scan[#scan + 1] = match
    end
    local reply = redis.pcall(unpack(scan))
    if reply.err and string.find(reply.err, 'invalid cursor', 1, true) then
      return nil
    elseif reply.err then
      error(reply)
    end
    local members, digest_of, is_cut = {}, {}, after ~= '' or #reply[2] / stride > room
    for i = 1, #reply[2], stride do
      local member = reply[2][i]
      if is_cut then
        digest_of[member] = string.sub(redis.sha1hex(member), 1, 16)
      end
      if not is_cut or digest_of[member] > after then
        members[#members + 1] = member
      end
    end
    if is_cut then
      table.sort(members, function(a, b) return digest_of[a] < digest_of[b] end)
    end
    return members, reply[1], digest_of
  end

  local members = {}
  for _ = 1, 100 do
    local room = limit - #members
    local found, next_step, digest_of = members_of(step, listed, room)
    if not found then
      return nil
    end
    for i = 1, math.min(room, #found) do
      members[#members + 1] = found[i]
    end
    if #found > room then
      return members, step .. '.' .. digest_of[found[room]]
    end
    step, listed = next_step, ''
    if step == '0' or #members == limit or out_of_time() then
      break
    end
  end
  return members, step
end
