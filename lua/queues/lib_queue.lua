-- What every queue script shares: the names of its keys, the clock, and how messages are stored.
-- This part must not know what a script does with the queue: it reads no key. Needs lib/time.lua.
--
-- KEYS, the same in every queue script:
--   1  p:queue:{name}  hash: layout, the version of this description (a script refuses any other);
--                      the settings that were PUT; seq, the last sequence given; sent, how many
--                      messages were stored; expired, how many were dropped for their ttl; died,
--                      how many became dead letters; trim_at, before which nothing is trimmed;
--                      rules (queues/lib_queue_rules.lua); full, if `concurrency` refused a
--                      receive; held_until, for its policy; group_paused_until, the end of the
--                      longest pause; two fields per message, <sequence> and <sequence>s (below);
--                      and the fields of queues/schedules/lib_queue_schedule.lua
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
--  10  ...:order       sorted set, all scores 0: messages that wait for others of their group
--  11  ...:busy        sorted set, all scores 0: marks of groups
--  12  ...:groups      sorted set: until when groups are held; and t<sequence> of a message with a
--                      ttl, by -expires_at_ms, until it has ended, or later
--  13  ...:room        the wait queue of senders that wait for room (queues/lib_queue_room.lua)
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
-- after a tab: expires_at_ms (0: never), max_receives (0: the queue's), id ('': the sequence),
-- group ('': none), backoff ('': the queue's; or base_ms, a colon and max_ms, one of them empty if
-- it is the queue's). The body follows, as handlers/queues/queue_content.h describes it. Scripts do
-- not parse it: the daemon does.
-- Field <sequence>s: the state, from the first delivery on; beside a content longer than SMALL,
-- from the start. It has the nonce of the current delivery (16 characters, NO_NONCE when not in
-- flight), visible_until_ms (13 digits), priority (1 digit), 'b' or '-' as in a member, and
-- receives. If one of the following is not 0 or empty, all follow, each after a tab: expires_at_ms,
-- max_receives, id, group, backoff, marks (letters; queues/lib_queue_change.lua), progress ('':
-- none; or percent, a blank and a note, percent-encoded), worker of the last delivery
-- (percent-encoded), reason why it failed. After an acknowledgement the state has its first 16
-- characters, the instant until which the acknowledgement is remembered, and 'd'; or 'dc', when the
-- message was cancelled and its worker knows. The state has precedence over the content.
-- Field ~<id>: the message that waits until the message in flight with that id has ended (mark
-- 'a').
local SMALL = 8192
-- It is raised when a daemon that knows the layout so far would misread what scripts write
-- (docs/adr/0031-stored-data.md).
local LAYOUT = '2'
local queue_key, ready_key, delayed_key, flight_key, dead_key, ids_key, done_key, schedules_key, waiters_key,
  order_key, busy_key, groups_key, room_key = unpack(KEYS, 1, 13)

-- The clock is read once: everything in a script happens at this instant.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local instant = digits(now)
