-- One group of the Redis store: all that lies between begin() and commit(), in one call, so that
-- Redis does and logs all of it or nothing. store.h says what each operation promises.
--
-- KEYS[1] is what the store's process did last. A group that is sent again, because its answer was
-- lost, gets that answer and changes nothing; an older one that arrives late is refused.
-- ARGV: the group's number, then for each operation its chain, its name, its arguments. Once an
-- operation of a chain has failed, the rest of the chain is left out. No operation writes before
-- it knows that it succeeds.
--
-- States are numbers of enum kg_svc_state: 0 waiting, 1 running, 2 done, 3 cancelled, 4 dead.
local P, ATTEMPTS = 'kgym:', 3
local LANE_WAIT_MS, TURN_MS = 60000, 15000 -- of lanes.h
local TALLIES, MINUTES, CLAIM_BYTES = 500, 60, 32 * 1048576 -- of store.h
local EXPIRE_MOST, NOTICES_MOST, EVENTS_KEEP_MS, LAST_KEEP_MS = 1000, 100, 3600000, 86400000
local TRIM_MOST = 2000 -- ended jobs of one call, each second: more than end in a second for long
local call = redis.call
local at = 0

local function arg()
  at = at + 1
  return ARGV[at]
end

local function args(names)
  local out = {}
  for i = 1, #names do out[names[i]] = arg() end
  return out
end

local function int(n) return string.format('%.0f', n) end

-- --- what all operations share ---

local FIELDS = {'state', 'attempts', 'fence', 'claim', 'worker', 'name', 'device', 'priority',
                'created', 'deadline', 'problem', 'owner'}

local function load(id)
  local v = call('HMGET', P .. 'job:' .. id, unpack(FIELDS))
  if not v[1] then return nil end
  local j = {id = id}
  for i = 1, #FIELDS do j[FIELDS[i]] = v[i] end
  return j
end

local function event(j, ms, type, detail)
  local seq = int(call('HINCRBY', P .. 'counts', 'events', 1))
  call('XADD', P .. 'events', seq .. '-0', 'ms', ms, 'id', j.id, 'type', type, 'detail', detail)
  call('RPUSH', P .. 'life:' .. j.id, seq .. ' ' .. ms .. ' ' .. type .. ' ' .. detail)
  call('HINCRBY', P .. 'counts', 'event:' .. type .. (type == 'finished' and ':' .. detail or ''), 1)
end

local function count(j, state)
  if j.state then
    call('HINCRBY', P .. 'counts', 'state' .. j.state, -1)
    call('ZREM', P .. 'state:' .. j.state, j.id)
  end
  call('HINCRBY', P .. 'counts', 'state' .. state, 1)
  call('ZADD', P .. 'state:' .. state, 0, j.id)
  call('HSET', P .. 'job:' .. j.id, 'state', state)
  j.state = state
end

local function lane_of(j) return j.priority .. '/' .. j.name .. '/' .. j.device end

-- How many of its owner's jobs wait. One that an older kgym has accepted has no owner.
local function count_of_owner(j, n)
  if not j.owner or j.owner == '' then return end
  if call('HINCRBY', P .. 'owners', j.owner, n) == 0 then call('HDEL', P .. 'owners', j.owner) end
end

-- Lanes are found by their kind, a priority and a class of device: by when they were served
-- (`served:`), those whose problem nobody holds by their oldest job (`free:`), the others by name
-- (`held:`). Of each lane `served` tells that time, and `found` under which job it lies in `free:`,
-- or "held". `named:` has the lanes of a problem.
local function kind_of(lane)
  local priority, name, device = string.match(lane, '^(%d)/(%x+)/(.*)$')
  return priority .. '/' .. device, name, device, tonumber(priority)
end

-- After a change of its first job, or of who holds its problem.
local function place(lane)
  local kind, name = kind_of(lane)
  local first, was = call('ZRANGE', P .. 'lane:' .. lane, 0, 0)[1], call('HGET', P .. 'found', lane)
  local is = first and call('HGET', P .. 'holders', name) and 'held' or first or false
  if is == was then return end
  if was == 'held' then
    call('ZREM', P .. 'held:' .. kind, lane)
  elseif was then
    call('ZREM', P .. 'free:' .. kind, was .. ' ' .. lane)
  end
  if is == 'held' then
    call('ZADD', P .. 'held:' .. kind, 0, lane)
  elseif is then
    call('ZADD', P .. 'free:' .. kind, 0, is .. ' ' .. lane)
  end
  if is then return call('HSET', P .. 'found', lane, is) end
  for _, index in ipairs({'served:' .. kind, 'named:' .. name, 'lanes'}) do
    call('ZREM', P .. index, lane)
  end
  call('HDEL', P .. 'served', lane)
  call('HDEL', P .. 'found', lane)
  if call('ZCARD', P .. 'served:' .. kind) == 0 then call('ZREM', P .. 'kinds', kind) end
end

local function serve_lane(lane, now)
  call('ZADD', P .. 'lanes', now, lane)
  call('ZADD', P .. 'served:' .. kind_of(lane), now, lane)
  call('HSET', P .. 'served', lane, now)
end

-- Its job, one more, has entered it.
local function fill_lane(lane, now)
  local kind, name = kind_of(lane)
  if not call('HGET', P .. 'served', lane) then
    serve_lane(lane, now)
    call('ZADD', P .. 'kinds', 0, kind)
    call('ZADD', P .. 'named:' .. name, 0, lane)
  end
  place(lane)
end

local function enter_lane(j, now)
  local lane = lane_of(j)
  call('ZADD', P .. 'lane:' .. lane, 0, j.id)
  fill_lane(lane, now)
  call('ZADD', P .. 'waiting', j.created, j.id)
  if j.deadline ~= '0' then call('ZADD', P .. 'late', j.deadline, j.id) end
  count_of_owner(j, 1)
end

local function leave_lane(j)
  local lane = lane_of(j)
  call('ZREM', P .. 'lane:' .. lane, j.id)
  place(lane)
  call('ZREM', P .. 'waiting', j.id)
  call('ZREM', P .. 'late', j.id)
  count_of_owner(j, -1)
end

local function hold(j, n)
  local holders = call('HINCRBY', P .. 'holders', j.name, n)
  if holders == 0 then call('HDEL', P .. 'holders', j.name) end
  if holders > 0 and holders ~= n then return end -- held before, and still
  for _, lane in ipairs(call('ZRANGE', P .. 'named:' .. j.name, 0, -1)) do place(lane) end
end

-- Takes the job out of where its state has it: its lane, or the claims.
local function leave(j)
  if j.state == '0' then leave_lane(j) end
  if j.state == '1' then
    call('ZREM', P .. 'claims', j.id)
    hold(j, -1)
  end
end

local ENDING = {'segment', 'offset', 'len', 'sum', 'verdict', 'reason', 'error', 'blame', 'message'}

local function end_job(j, state, e)
  local key = P .. 'job:' .. j.id
  leave(j)
  count(j, state)
  call('HSET', key, 'finished', e.now, 'claim', '')
  for i = 1, #ENDING do
    local v = e[ENDING[i]]
    if v and v ~= '' then call('HSET', key, ENDING[i], v) end
  end
  if e.verdict and e.verdict ~= '' then call('ZADD', P .. 'verdict:' .. e.verdict, 0, j.id) end
  if state ~= '4' then call('HDEL', key, 'task') end -- a dead one may be asked for again
  call('ZADD', P .. 'ended', e.now, j.id)
end

local function wait_again(j, attempts, now)
  leave(j)
  count(j, '0')
  call('HSET', P .. 'job:' .. j.id, 'claim', '', 'attempts', int(attempts))
  enter_lane(j, now)
end

-- The job waits again; after its last attempt, or where no other one would help, it is dead.
local function again(j, e, type)
  event(j, e.now, type, j.worker)
  if tonumber(j.attempts) < ATTEMPTS and e.last ~= '1' then return wait_again(j, j.attempts, e.now) end
  end_job(j, '4', e)
  event(j, e.now, 'dead', '')
end

-- --- claims ---

-- As kg_svc_offer_serves() of offer.h.
local function serves(offer, needs)
  for word in string.gmatch(needs, '%S+') do
    local kind, n = string.match(word, '^(%a+):(%d+)$')
    if kind == 'memory' or kind == 'isolation' then
      if offer[kind] < tonumber(n) then return false end
    elseif not offer.words[word] then
      return false
    end
  end
  return next(offer.words) ~= nil
end

local function read_lane(lane)
  local queue, _, name, _, priority = P .. 'lane:' .. lane, kind_of(lane)
  return {lane = lane, name = name, priority = priority, waiting = call('ZCARD', queue),
          served = tonumber(call('HGET', P .. 'served', lane)),
          first = call('ZRANGE', queue, 0, 0)[1],
          holders = tonumber(call('HGET', P .. 'holders', name) or '0')}
end

-- Lanes among which the choice is as among all. The rules compare lanes of one kind by when they
-- were served, by their oldest job where nobody holds them, and else by what waits there. Each slot
-- takes one lane out of an order at most: of each, one more than there are slots is enough.
local function lanes_for(offer, slots, now)
  local out, there, most = {}, {}, #slots
  local function add(lanes)
    for _, lane in ipairs(lanes) do
      lane = string.match(lane, '^%w+ (.*)$') or lane -- `free:` has a job before it
      local _, _, device = kind_of(lane)
      if not there[lane] and serves(offer, device) then out[#out + 1] = read_lane(lane) end
      there[lane] = true
    end
  end
  for _, slot in ipairs(slots) do
    if slot.lane ~= '' then add(call('ZRANGE', P .. 'named:' .. slot.lane, 0, -1)) end
  end
  for _, kind in ipairs(call('ZRANGE', P .. 'kinds', 0, -1)) do
    if serves(offer, string.sub(kind, 3)) then
      add(call('ZRANGE', P .. 'served:' .. kind, '-inf', int(now - LANE_WAIT_MS), 'BYSCORE',
               'LIMIT', 0, most + 1))
      local free = call('ZRANGE', P .. 'free:' .. kind, 0, most)
      add(free)
      if #free <= most then add(call('ZRANGE', P .. 'held:' .. kind, 0, -1)) end
    end
  end
  return out
end

local function better(a, b)
  if (a.holders == 0) ~= (b.holders == 0) then return a.holders == 0 end
  if a.holders > 0 then
    local mine, other = a.waiting / (a.holders + 1), b.waiting / (b.holders + 1)
    if mine ~= other then return mine > other end
  end
  return a.first < b.first
end

-- The rules of lanes.h. nil: none.
local function choose(lanes, slot, now, others_too)
  local best, priority = nil, nil
  if slot.lane == '' or tonumber(slot.held) >= TURN_MS then
    for _, l in ipairs(lanes) do
      if now - l.served >= LANE_WAIT_MS and (not best or l.served < best.served) then best = l end
    end
    if best then return best end
  end
  for _, l in ipairs(lanes) do
    if not priority or l.priority < priority then priority = l.priority end
  end
  for _, l in ipairs(lanes) do
    if l.priority == priority then
      if l.name == slot.lane then return l end
      if others_too and (not best or better(l, best)) then best = l end
    end
  end
  return best
end

local function take(l, slot, ask)
  local j = load(l.first)
  leave_lane(j)
  count(j, '1')
  call('HSET', P .. 'job:' .. j.id, 'attempts', int(j.attempts + 1), 'fence', int(j.fence + 1),
       'claim', slot.secret, 'worker', ask.worker, 'claim_until', ask.till, 'started', ask.now)
  call('ZADD', P .. 'claims', ask.till, j.id)
  if l.waiting > 1 then serve_lane(l.lane, ask.now) end
  hold(j, 1)
  event(j, ask.now, 'claimed', ask.worker)
  return j.id
end

-- What a taken job has changed in lanes that were read before: its lane waits for less, and its
-- problem has a holder more.
local function taken(known, name, lane, now)
  for _, lanes in pairs(known) do
    for i = #lanes, 1, -1 do
      local l = lanes[i]
      if l.name == name then l.holders = l.holders + 1 end
      if l.lane == lane then
        l.waiting, l.served = l.waiting - 1, now
        if l.waiting == 0 then
          table.remove(lanes, i)
        else
          l.first = call('ZRANGE', P .. 'lane:' .. lane, 0, 0)[1]
        end
      end
    end
  end
end

-- --- operations: each reads its arguments, then answers {word, ...} ---

local op = {}

-- As kg_svc_job_was_lost: the gym or the host kept it from a verdict.
local function was_lost(id)
  local v = call('HMGET', P .. 'job:' .. id, 'state', 'error', 'blame')
  local failed = v[1] == '2' and (v[2] or '') ~= '' and v[3] ~= 'candidate'
  return (failed or v[1] == '3' or v[1] == '4') and v[3] ~= 'problem'
end

function op.submit()
  local j = args({'id', 'key', 'body_hash', 'device', 'configuration', 'problem', 'priority',
                  'deadline', 'batch', 'batch_at', 'created', 'task', 'name', 'most', 'most_of_owner',
                  'more', 'owner', 'renews'})
  local key = P .. 'job:' .. j.id
  return function()
    local other = j.key ~= '' and call('GET', P .. 'key:' .. j.key)
    if other then
      local same = call('HGET', P .. 'job:' .. other, 'body_hash') == j.body_hash
      local renewed = same and j.renews == '1' and other ~= j.id and was_lost(other)
      if not renewed then return {same and 'known' or 'taken', other} end
    end
    if call('EXISTS', key) == 1 then return {'ok'} end -- sent again by a process in doubt
    local n = tonumber(call('HGET', P .. 'counts', 'state0') or '0')
    local own = tonumber(j.owner ~= '' and call('HGET', P .. 'owners', j.owner) or '0')
    if j.most ~= '0' and n + j.more >= tonumber(j.most) then return {'full', int(n)} end
    if j.owner ~= '' and j.most_of_owner ~= '0' and own + j.more >= tonumber(j.most_of_owner) then
      return {'full', int(own), 'owner'}
    end
    if other then call('HSET', P .. 'job:' .. other, 'key', '') end -- the new one has it now
    call('HSET', key, 'id', j.id, 'key', j.key, 'body_hash', j.body_hash, 'device', j.device,
         'configuration', j.configuration, 'problem', j.problem, 'priority', j.priority,
         'deadline', j.deadline, 'batch', j.batch, 'batch_at', j.batch_at, 'created', j.created,
         'task', j.task, 'name', j.name, 'owner', j.owner, 'attempts', '0', 'fence', '0')
    if j.key ~= '' then call('SET', P .. 'key:' .. j.key, j.id) end
    call('ZADD', P .. 'all', 0, j.id)
    call('ZADD', P .. 'problem:' .. j.problem, 0, j.id)
    if j.batch ~= '' then call('ZADD', P .. 'batch:' .. j.batch, j.batch_at, j.id) end
    count(j, '0')
    enter_lane(j, j.created)
    event(j, j.created, 'submitted', j.problem)
    return {'ok'}
  end
end

function op.claim()
  local ask, slots = args({'worker', 'till', 'now'}), {}
  for i = 1, tonumber(arg()) do
    slots[i] = args({'lane', 'held', 'secret'})
    local words = tonumber(arg())
    if words < 0 then
      slots[i].offer = slots[i - 1].offer
    else
      local o = {words = {}}
      for _ = 1, words do o.words[arg()] = true end
      o.memory, o.isolation = tonumber(arg()), tonumber(arg())
      slots[i].offer = o
    end
  end
  return function()
    local out, busy, bytes, known, now = {'claimed'}, {}, 0, {}, tonumber(ask.now)
    for pass = 1, 2 do
      for i, slot in ipairs(slots) do
        known[slot.offer] = known[slot.offer] or lanes_for(slot.offer, slots, now)
        local l = not busy[i] and bytes < CLAIM_BYTES and
                  choose(known[slot.offer], slot, now, pass == 2)
        if l then
          busy[i] = true
          out[#out + 1] = int(i - 1)
          local id = take(l, slot, ask)
          taken(known, l.name, l.lane, now)
          out[#out + 1] = id .. ' ' .. slot.secret
          bytes = bytes + #(call('HGET', P .. 'job:' .. id, 'task') or '')
        end
      end
    end
    return out
  end
end

-- The job, if claim and fence are those of its running attempt; else nil and the answer.
local function held(e, counts)
  local j = load(e.id)
  if not j then return nil, {'none'} end
  if j.state == '1' and j.fence == e.fence and j.claim == e.claim then return j end
  if counts then call('HINCRBY', P .. 'counts', 'refused', 1) end
  return nil, {'gone'}
end

function op.renew()
  local e = args({'id', 'claim', 'fence', 'till'})
  return function()
    local j, no = held(e, false)
    if not j then return no end
    call('HSET', P .. 'job:' .. e.id, 'claim_until', e.till)
    call('ZADD', P .. 'claims', e.till, e.id)
    return {'ok'}
  end
end

-- An operation that ends the running attempt.
local function ending(act)
  return function()
    local e = args({'id', 'claim', 'fence', 'now', unpack(ENDING)})
    e.stage, e.speedup, e.replay, e.last = arg(), arg(), arg(), arg()
    return function()
      local j, no = held(e, true)
      if not j then return no end
      act(j, e)
      return {'ok'}
    end
  end
end

-- How many have ended how, in which minute, and which one of a problem is the fastest.
local function tally(j, e)
  local minute = math.floor(e.now / 60000)
  local slot = int(minute % MINUTES)
  local last, n = string.match(call('HGET', P .. 'minutes', slot) or '', '^(%d+) (%d+)$')
  call('HSET', P .. 'minutes', slot, int(minute) .. ' ' .. int(last == int(minute) and n + 1 or 1))
  if e.replay == '1' then return end -- it judges nothing anew
  local kind = table.concat({e.verdict, e.verdict ~= '' and e.reason or e.error, e.stage}, '\t')
  if call('HGET', P .. 'tallies', kind) then
    call('HINCRBY', P .. 'tallies', kind, 1)
  elseif call('HINCRBY', P .. 'counts', 'tallies', 1) <= TALLIES then
    call('HSET', P .. 'tallies', kind, 1)
  end
  if string.sub(j.problem, 1, 7) == 'sha256:' then return end -- a text of a client's
  local done, ok, speedup, id =
    string.match(call('HGET', P .. 'bests', j.problem) or '0 0 0 ', '^(%d+) (%d+) (%S+) (.*)$')
  if tonumber(e.speedup) > tonumber(speedup) then speedup, id = e.speedup, j.id end
  call('HSET', P .. 'bests', j.problem, int(done + 1) .. ' ' ..
       int(ok + (e.verdict == 'ok' and 1 or 0)) .. ' ' .. speedup .. ' ' .. id)
end

op.finish = ending(function(j, e)
  end_job(j, '2', e)
  tally(j, e)
  event(j, e.now, 'finished', e.verdict ~= '' and e.verdict or e.error)
end)

op.fail = ending(function(j, e) again(j, e, 'failed') end)

op.give_back = ending(function(j, e)
  wait_again(j, j.attempts - 1, e.now)
  event(j, e.now, 'handed_back', j.worker)
end)

local function cancel(j, now, message, detail)
  end_job(j, '3', {now = now, error = 'cancelled', blame = 'host', message = message})
  event(j, now, 'cancelled', detail)
end

function op.cancel()
  local e = args({'id', 'now'})
  return function()
    local j = load(e.id)
    if not j then return {'none'} end
    if j.state ~= '0' and j.state ~= '1' then return {'ok', '0'} end
    cancel(j, e.now, 'the job was cancelled', '')
    return {'ok', '1'}
  end
end

function op.requeue()
  local e = args({'id', 'now'})
  return function()
    local j = load(e.id)
    if not j then return {'none'} end
    if j.state ~= '4' then return {'alive', j.state} end
    call('ZREM', P .. 'ended', e.id)
    call('HDEL', P .. 'job:' .. e.id, 'finished', unpack(ENDING))
    wait_again(j, 0, e.now)
    event(j, e.now, 'requeued', '')
    return {'ok'}
  end
end

-- Entries of the stream go by id, an hour after their job has ended: its record is durable then.
-- The job keeps its own list of them.
local function trim(now)
  local ids = call('ZRANGE', P .. 'ended', '-inf', int(now - EVENTS_KEEP_MS), 'BYSCORE', 'LIMIT', 0,
                   TRIM_MOST)
  for _, id in ipairs(ids) do
    for _, line in ipairs(call('LRANGE', P .. 'life:' .. id, 0, -1)) do
      call('XDEL', P .. 'events', string.match(line, '^%d+') .. '-0')
    end
    call('ZREM', P .. 'ended', id)
  end
end

function op.expire()
  local now = arg()
  return function()
    local range = {'-inf', now, 'BYSCORE', 'LIMIT', 0, EXPIRE_MOST}
    local run_out, late = call('ZRANGE', P .. 'claims', unpack(range)), nil
    for _, id in ipairs(run_out) do
      call('HINCRBY', P .. 'counts', 'expired', 1)
      again(load(id), {now = now, error = 'gym', blame = 'gym',
                       message = 'each attempt ended without an answer: its worker was gone'},
            'expired')
    end
    late = call('ZRANGE', P .. 'late', unpack(range))
    for _, id in ipairs(late) do
      cancel(load(id), now, 'the deadline passed while the job waited', 'deadline')
    end
    trim(now)
    return {'ok', int(#run_out + #late)}
  end
end

function op.extend()
  local till = arg()
  return function()
    for _, id in ipairs(call('ZRANGE', P .. 'claims', '-inf', '(' .. till, 'BYSCORE')) do
      call('HSET', P .. 'job:' .. id, 'claim_until', till)
      call('ZADD', P .. 'claims', till, id)
    end
    return {'ok'}
  end
end

-- Lanes of a store that an older kgym wrote.
function op.index()
  return function()
    local all = call('ZRANGE', P .. 'lanes', 0, -1, 'WITHSCORES')
    for i = 1, #all, 2 do fill_lane(all[i], all[i + 1]) end
    return {'ok'}
  end
end

function op.add_counts()
  local names, by = {}, {}
  for i = 1, tonumber(arg()) do names[i], by[i] = arg(), arg() end
  return function()
    for i = 1, #names do call('HINCRBY', P .. 'counts', names[i], by[i]) end
    return {'ok'}
  end
end

function op.notice()
  local n = args({'kind', 'name', 'text', 'till', 'now'})
  return function()
    local notices, till = P .. 'notices:' .. n.kind, P .. 'until:' .. n.kind
    for _, old in ipairs(call('ZRANGE', till, '-inf', n.now, 'BYSCORE', 'LIMIT', 0, NOTICES_MOST)) do
      call('ZREM', till, old)
      call('HDEL', notices, old)
    end
    if n.text == '' then
      call('ZREM', till, n.name)
      return {call('HDEL', notices, n.name) == 1 and 'ok' or 'unknown'}
    end
    call('ZADD', till, n.till, n.name)
    call('HSET', notices, n.name, n.till .. ' ' .. n.text)
    return {'ok'}
  end
end
add_trajectories(op, args) -- store_redis_traj.lua

-- --- the group ---

-- Claims are kept as ids with their secrets, and answered with the jobs. One that has ended since,
-- which only a group that is sent again can find, is answered with nothing: the job may be another
-- worker's by now, and so would its secret be.
local function with_jobs(answers)
  for _, a in ipairs(answers) do
    if a[1] == 'claimed' then
      for i = 3, #a, 2 do
        local id, secret = string.match(a[i], '^(%S+) (%S+)$')
        local key = P .. 'job:' .. id
        a[i] = call('HGET', key, 'claim') == secret and call('HGETALL', key) or {}
      end
    end
  end
  return answers
end

local group = tonumber(arg())
local seen = tonumber(call('HGET', KEYS[1], 'group') or '0')
if seen == group then return with_jobs(cmsgpack.unpack(call('HGET', KEYS[1], 'answer'))) end
if seen > group then return redis.error_reply('STALE this group came late') end

local answers, failed = {}, {}
local fine = {ok = true, known = true, claimed = true}
while at < #ARGV do
  local chain = arg()
  local act = op[arg()]() -- takes its arguments in any case
  local answer = failed[chain] and {'skipped'} or act()
  failed[chain] = failed[chain] or not fine[answer[1]]
  answers[#answers + 1] = answer
end
call('HSET', KEYS[1], 'group', int(group), 'answer', cmsgpack.pack(answers))
call('PEXPIRE', KEYS[1], LAST_KEEP_MS)
return with_jobs(answers)
