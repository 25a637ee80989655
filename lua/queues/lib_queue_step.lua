-- The bounds of one step of a purge or redrive.
local REMOVED_MOST, BYTES_MOST = 1000, 4194304
local bytes = 0 -- of the bodies that the step has taken

-- is_counted(m): whether a step counts a message that it removes: not one that was lost, or a dead
-- letter past its retention.
local function is_counted(m)
  return not m.lost and not (m.place == keys[DEAD] and m.at <= now - setting('dead_retention_ms'))
end

-- take_each(list, take): calls take(m) for each message of a list that messages_of() returned. The
-- content of a message without a state is read before take(m) is called. Returns the index at which
-- the step must end, because take() returned false or the bodies reached BYTES_MOST; nil if it need
-- not end.
local function take_each(list, take)
  local next_read = 1
  for i, m in ipairs(list) do
    if m.has_state then
      next_read = math.max(next_read, i + 1)
    elseif i >= next_read then
      next_read = add_contents(list, i)
    end
    if m.content then
      bytes = bytes + #m.content
    elseif m.has_state and m.size == 'b' then
      bytes = bytes + redis.call('HSTRLEN', keys[QUEUE], m.seq)
    end
    if not take(m) or bytes >= BYTES_MOST then
      return i
    end
  end
end
