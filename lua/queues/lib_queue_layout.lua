-- Refuses a queue of another layout: `layout` is that field of its hash, nil without a queue. Needs
-- queues/lib_queue.lua. It is an expression, because it is pasted into functions, and the build
-- takes a line `end` for the end of one.
layout = (layout or LAYOUT) == LAYOUT
  or error(redis.error_reply('WRONGTYPE ' .. queue_key .. ' has layout ' .. layout ..
    '; this daemon knows layout ' .. LAYOUT))
