-- Takes a message with options (`content`), or one that was delivered before (`state`). This part
-- must not know how much the reply has room for. Needs the variables of lib_receive_choose.lua.
local options
if not state then -- without a ttl and a group, the state has the same options
  options, id = content:match('^\t(0\t%d+\t([^\t\n]*)\t\t[%d:]*)\n', 15)
end
if options then
  taken = delivered .. member:sub(1, 1) .. '-1\t' .. options .. '\t\t\t' .. worker .. '\t'
else
  if not q.read_state then
--@include queue_types queue_message
    q.read_header, q.read_state, q.state_of, q.check_types = read_header, read_state, state_of, check_types
  end
  local m = state and q.read_state(state) or q.read_header(content)
  if m.group ~= '' then
--@include receive_group
    is_refused = g.room < 1
  end
  is_last = m.marks ~= '' and (acknowledges or m.expires_at > 0 and m.expires_at <= now)
  if is_last then -- another message waits for its end
    q.check_types()
  end
  if m.expires_at > 0 then
    redis.call('ZCARD', groups_key)
    is_timed = true
  end
  if m.expires_at > 0 and m.expires_at <= now then
    q.gone, q.dropped_ids, q.dropped = q.gone or {}, q.dropped_ids or {}, (q.dropped or 0) + 1
    q.gone[#q.gone + 1] = fields[k]
    q.gone[#q.gone + 1] = fields[k + 1]
    q.ended = q.ended or {}
    q.ended[#q.ended + 1] = fields[k]
    q.dropped_ids[#q.dropped_ids + 1] = m.id ~= '' and m.id or nil
    if is_last then
      q.followed = q.followed or {}
      q.followed[#q.followed + 1] = m
    end
    is_refused = false
  elseif not is_refused then
    m.nonce, m.ends, m.receives, m.priority, m.worker = nonce, ends, m.receives + 1, member:sub(1, 1), worker
    taken, id, group = q.state_of(m), m.id, m.group
  end
end
