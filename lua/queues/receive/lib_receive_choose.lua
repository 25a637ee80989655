-- Third: writes what time has changed in queue `i`, then chooses the messages that it hands out. It
-- must not write what it chooses: lib_receive_write.lua does, after all reads. Needs the variables
-- of queue_message_receive.
local q = queues[i]
if q.change then
  q.change()
end
local has_turn = q.has_turn or not q.is_awaited
local members, flight, states = q.members, q.flight, q.states
local delivered = nonce .. digits(q.visible_until)
local ends = delivered:sub(17)
local first, last_count = 0, math.min(most, reply[1] + q.room)
local has_room, page, from_order = has_turn and not q.is_paused and not q.is_held, nil, false
local met, round, is_ready_over -- groups with more messages at this priority; groups of the next round
while has_room and reply[1] < last_count and looked_at < 1000 and not is_full do
  local count = 0
  if round then
--@include receive_round
  else
    count, from_order = first == 0 and last_count - reply[1] or 100, false
    local last = first + count - 1
    page = redis.call('ZRANGE', ready_key, first == 0 and '0' or digits(first), last == 0 and '0' or digits(last))
  end
  local at, cut = 1, nil
  while page[at] and has_room and not is_full do
    -- One read has a row of small messages, or one large message.
    local fields, row = {}, at
    repeat
      local seq = page[at]:sub(2, 17)
      local n = #fields
      fields[n + 1], fields[n + 2] = seq, seq .. 's'
      at = at + 1
    until not page[at] or page[at]:byte(18) == 98 or page[row]:byte(18) == 98 -- 'b'
    local stored = redis.call('HMGET', queue_key, unpack(fields))
    for k = 1, #fields, 2 do
      local member, content, state = page[row + (k - 1) / 2], stored[k], stored[k + 1]
      if met and member:byte() ~= met.priority then -- the groups in `met` come first, up to their priority
        cut = row + (k - 1) / 2
        break
      end
      local taken, id, group, is_last, g, is_refused, is_timed
      if content and not state and content:byte(15) == 10 then -- not delivered yet, without options
        taken = delivered .. member:sub(1, 1) .. first_state
      elseif not content then
        q.gone = q.gone or {}
        q.gone[#q.gone + 1] = fields[k]
        q.gone[#q.gone + 1] = fields[k + 1]
        if #member > 18 then
--@include receive_group
        end
      else
--@include receive_options
      end
      if taken and reply[1] == last_count then
        has_room = false
        break
      elseif taken and (reply[1] > 0 and bytes + #content - 15 > 1048576) then
        is_full = true
        break
      elseif taken then
        if is_last then
          q.followed = q.followed or {}
          q.followed[#q.followed + 1] = { id = id }
        elseif acknowledges and id and id ~= '' then
          q.ids = q.ids or {}
          q.ids[#q.ids + 1] = id
        end
        if is_timed and acknowledges then
          q.timed = q.timed or {}
          q.timed[#q.timed + 1] = 't' .. fields[k]
        end
        bytes = bytes + #content - 15
        reply[1] = reply[1] + 1
        reply[reply[1] + 4] = { fields[k], content, taken, acknowledges and 0 or q.visible_until, i }
        local n = #states
        states[n + 1], states[n + 2] = fields[k + 1], taken
        flight[n + 1], flight[n + 2] = ends, group and fields[k + 1] .. group or fields[k + 1]
      end
      looked_at = looked_at + 1
      if g then
--@include receive_note_group
      else
        members[#members + 1] = member
      end
    end
    if cut then
      break
    end
  end
  if not from_order then
    first = first + (cut and cut - 1 or #page)
  end
  is_ready_over = is_ready_over or not from_order and not cut and #page < count
  if met and not from_order and (cut or is_ready_over) then
    round, met = met, nil
  elseif is_ready_over and not round then
    break
  end
end
if q.groups then
--@include receive_heads
end
if q.spend and reply[1] > 0 then
  q.spent = 0
  for k = 5, #reply do
    q.spent = q.spent + (reply[k][5] == i and 1 or 0)
  end
end
if reply[1] == 0 and not q.is_paused and not q.is_held and (looked_at >= 1000 or q.reached_bound) then
  reply[3] = 1
end
