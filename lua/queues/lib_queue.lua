-- What every operation of queues shares: its keys, and how messages are stored.
--
-- KEYS, the same in every queue script:
--   1  p:queue:{name}  hash: layout, the version of this description (a script refuses any other);
--                      wide (below); the settings that were PUT (paused: 0, 1, or until when,
--                      ms); seq, the last sequence given;
--                      sent, how many messages were stored; expired, how many were dropped for
--                      their ttl; died, how many became dead letters; failures, failing and hanging
--                      (queues/deliveries); trim_at, before which nothing is trimmed; rules
--                      (queues/lib_queue_rules.lua); full, if `concurrency` refused a receive;
--                      held_until, for its policy; group_paused_until, the end of the longest
--                      pause; two fields per message, <sequence> and <sequence>s (below); the
--                      fields of queues/schedules/lib_queue_schedule.lua; created_at, when the
--                      queue was made, and changed_at, when its settings were written, ms;
--                      letters_from, whose dead letters came here last; and annotations
--                      (queues/lib_queue_annotations.lua)
--   2  ...:ready       sorted set: messages that can be received: member (below) by priority *
--                      10^13 + due_ms
--   3  ...:delayed     sorted set: messages that are due later: member by due_ms. The next receive
--                      moves those that came due to ready
--   4  ...:flight      sorted set: <sequence>s, followed by the group, by visible_until_ms; or,
--                      below 0, by the instant until which an acknowledgement is remembered
--   5  ...:dead        sorted set: dead letters: member by died_at_ms
--   6  ...:ids         hash: id given by a sender to its sequence, while the message exists
--   7  ...:done        sorted set: the id of an acknowledged message by the instant until which it
--                      is remembered
--   8  ...:schedules   sorted set: id of a schedule by next_at_ms
--                      (queues/schedules/lib_queue_schedule.lua)
--   9  ...:waiters     its wait queue (lib/waiters.lua)
--  10  ...:order, 11 ...:busy and 12 ...:groups: see queues/groups/lib_queue_groups.lua.
--                      groups also has t<sequence> of each message with a ttl, by -expires_at_ms,
--                      until that has passed, or later
--  13  ...:room        the wait queue of senders (queues/room/lib_queue_room.lua)
-- A sequence has 16 digits and is unique for ever: it starts at Redis's clock in microseconds and
-- never falls behind it, so it also rises after the queue was deleted and made again. It is the id
-- of a message whose sender gave none.
--
-- A member is the digit of its priority, its sequence, and 'b' when its content is longer than
-- SMALL bytes; with a group, 'b' or '-', and the group. So a message moves between sets without its
-- content, a hundred members without 'b' can be read at once, and members with one score are in the
-- order in which they were sent.
--
-- Field <sequence>: the content, which never changes. It has sent_at_ms (13 digits), priority (1
-- digit) and a newline. If the sender gave one of the following, each is there before the newline,
-- after a tab: expires_at_ms (0: never), max_receives (0: the queue's; 999999999999: never dead),
-- id ('': the sequence), group ('': none), backoff ('': the queue's; or base_ms, a colon and
-- max_ms, one of them empty if it is the queue's). The body follows, as
-- handlers/queues/queue_content.h describes it. Scripts do not parse it: the daemon does.
-- Field <sequence>s: the state, from the first delivery on; beside a content longer than SMALL,
-- from the start. It has the nonce of the current delivery (16 characters, NO_NONCE when not in
-- flight), visible_until_ms (13 digits; once that has passed, a mark of the nonce:
-- queues/deliveries/lib_queue_late.lua), priority (1 digit), 'b' or '-' as in a member, and
-- receives. If one of the following is not 0 or empty, all follow, each after a tab: expires_at_ms,
-- max_receives, id, group, backoff, marks (queues/lib_queue_change.lua), progress ('':
-- none; or percent, a blank and a note, percent-encoded), worker of the last delivery
-- (percent-encoded), reason why it failed. After an acknowledgement the state has its first 16
-- characters, the instant until which the acknowledgement is remembered, and 'd'; or 'dc', when the
-- message was cancelled and its worker knows. The state has precedence over the content.
-- Field ~<id>: the message that waits until the message in flight with that id has ended (mark
-- 'a').
local SMALL = 8192
local REMEMBERED_MS = 150000 -- for which an acknowledgement is remembered
-- It is raised when a daemon that knows the layout so far would misread what scripts write
-- (docs/adr/0031-stored-data.md).
local LAYOUT = '2'
-- The field `wide` of a new queue has more than 64 bytes. Redis keeps a hash of up to 512 smaller
-- values as a list, in which it searches each field of a message from the beginning: a message cost
-- up to 1.7 times as much.
local WIDE = string.rep('-', 65)
local QUEUE, READY, DELAYED, FLIGHT, DEAD, IDS, DONE = 1, 2, 3, 4, 5, 6, 7
local SCHEDULES, WAITERS, ORDER, BUSY, GROUPS, ROOM, QUEUE_KEYS = 8, 9, 10, 11, 12, 13, 13

-- The keys of the queue that the call is about now, of several; and what the call knows of it.
local keys = KEYS
local queue = { touched = {}, finished = {}, planned = {}, settings = {}, dropped = 0, died = 0,
  group_paused_until = 0 }
local instant = format('%d', now)

-- queue_use(i): from here on the call is about queue number i of KEYS, from 0.
local function queue_use(i)
  keys = i == 0 and KEYS or { unpack(KEYS, i * QUEUE_KEYS + 1, (i + 1) * QUEUE_KEYS) }
  queue = { touched = {}, finished = {}, planned = {}, settings = {}, dropped = 0, died = 0,
    group_paused_until = 0 }
end

-- check_layout(layout): refuses a queue that another version has written.
local function check_layout(layout)
  if layout and layout ~= LAYOUT then
    error(redis.error_reply('WRONGTYPE ' .. keys[QUEUE] .. ' has layout ' .. layout .. '; this daemon knows layout ' ..
      LAYOUT))
  end
end

-- foreign(what): refuses a key that has something else.
local function foreign(what)
  error(redis.error_reply('WRONGTYPE ' .. keys[QUEUE] .. ' holds ' .. what))
end

-- pause_end(paused): when a pause ends, by the field `paused`; 0: the queue is not paused.
local function pause_end(paused)
  return paused == '1' and math.huge or tonumber(paused and paused > instant and paused or 0)
end

-- append(list, a, b): appends two values to a list.
local function append(list, a, b)
  local n = #list
  list[n + 1], list[n + 2] = a, b
end
