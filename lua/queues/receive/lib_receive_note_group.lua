-- Notes what becomes of a message of group `g` that was looked at: it was taken, it is gone, or its
-- group has no room for it (`is_refused`). This part writes nothing: lib_receive_write_groups.lua
-- does. Needs the variables of lib_receive_choose.lua.
local place = member:sub(1, 18)
local order_member = g.name .. '\0' .. place
g.is_met = true
if not from_order then
  members[#members + 1] = member
  if not q.is_strict or acknowledges or not taken then
    q.loses[#q.loses + 1] = g.name .. (q.is_strict and '\2' or '\1') .. place
  end
  if is_refused then
    q.joins[#q.joins + 1], q.joins[#q.joins + 2] = '0', order_member
  end
elseif not is_refused then
  q.leaves[#q.leaves + 1] = order_member
  q.leaves[order_member] = true
end
if taken then
  g.room, g.taken = g.room - 1, g.taken + 1
  if not acknowledges and (from_order or not q.is_strict) then -- a strict head has that mark already
    q.gains[#q.gains + 1], q.gains[#q.gains + 2] = '0', g.name .. '\2' .. place
  end
end
if g.room >= 1 and not from_order then
  met = met or { priority = member:byte() }
  met[#met + 1] = g
end
