-- The place of a group's head in `ready`. Wants queues/lib_queue.lua.

-- The score of a place: behind everything of its priority that is ready now, and before what comes
-- later: in turn, not by due time, or a group with an old backlog would always be first.
local function turn_of(place)
  return place:sub(1, 1) .. instant .. string.format('.%03d', math.max(16, clock[2] % 1000))
end
