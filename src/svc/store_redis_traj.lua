-- Trajectories of the Redis store: operations of a group, as in store_redis.lua, which follows this
-- text. traj.h says what each promises.
--
-- A hash per trajectory (traj:ID) and one of its turns by number (turns:ID), whose values are words
-- apart: hash, job, jobs, taken, segment, offset, len, sum. Sorted sets: all by id (trajs), of a
-- problem (trajs:problem:), open ones by when they are due (trajs:due), ended ones by number
-- (trajs:ended).
local function add_trajectories(op, args)
  local P, TURN_JOBS = 'kgym:', 8 -- of traj.h
  local call = redis.call

  local OPENED = {'id', 'key', 'body_hash', 'problem', 'group', 'most', 'idle', 'created', 'due',
                  'segment', 'offset', 'len', 'sum'}

  local function set_due(id, due)
    call('HSET', P .. 'traj:' .. id, 'due', due)
    call('ZADD', P .. 'trajs:due', due, id)
  end

  function op.traj_open()
    local t = args(OPENED)
    return function()
      local other = t.key ~= '' and call('GET', P .. 'trajkey:' .. t.key)
      if other then
        local same = call('HGET', P .. 'traj:' .. other, 'body_hash') == t.body_hash
        return {same and 'known' or 'taken', other}
      end
      local key = P .. 'traj:' .. t.id
      if call('EXISTS', key) == 1 then return {'ok', t.id} end
      for _, name in ipairs(OPENED) do call('HSET', key, name, t[name]) end
      call('HSET', key, 'turns', '0')
      if t.key ~= '' then call('SET', P .. 'trajkey:' .. t.key, t.id) end
      call('ZADD', P .. 'trajs', 0, t.id)
      call('ZADD', P .. 'trajs:problem:' .. t.problem, 0, t.id)
      set_due(t.id, t.due)
      return {'ok', t.id}
    end
  end

  local function parts(turn)
    return string.match(turn, '^(%S+) (%S+) (%d+) (%d+) (.*)$')
  end

  function op.traj_take()
    local t = args({'id', 'n', 'hash', 'lost', 'taken', 'due', 'segment', 'offset', 'len', 'sum',
                    'job_id'})
    local submit = op.submit() -- the job's arguments follow
    return function()
      local key, turns = P .. 'traj:' .. t.id, P .. 'turns:' .. t.id
      local v = call('HMGET', key, 'turns', 'most', 'seq')
      if not v[1] then return {'none'} end
      local old = call('HGET', turns, t.n)
      local hash, job, jobs, taken, place = nil, nil, 0, t.taken, nil
      if old then
        hash, job, jobs, taken, place = parts(old)
        if hash ~= t.hash then return {'other'} end
        if job ~= t.lost then return {'known', job} end
      end
      if v[3] then return {'over'} end
      if old and tonumber(jobs) >= TURN_JOBS then return {'lost'} end
      local n = tonumber(t.n)
      if not old and (n ~= tonumber(v[1]) + 1 or n > tonumber(v[2])) then
        return {'gap', v[1], v[2]}
      end
      local answer = submit()
      if answer[1] ~= 'ok' then return answer end
      place = place or table.concat({t.segment, t.offset, t.len, t.sum}, ' ')
      call('HSET', turns, t.n, table.concat({t.hash, t.job_id, tonumber(jobs) + 1, taken, place},
                                            ' '))
      if not old then call('HSET', key, 'turns', t.n) end
      set_due(t.id, t.due)
      return {'ok', t.job_id}
    end
  end

  function op.traj_put_off()
    local t = args({'id', 'turns', 'due'})
    return function()
      local v = call('HMGET', P .. 'traj:' .. t.id, 'turns', 'seq')
      if v[1] == t.turns and not v[2] then set_due(t.id, t.due) end
      return {'ok'}
    end
  end

  function op.traj_end()
    local t = args({'id', 'turns', 'how', 'now'})
    return function()
      local key = P .. 'traj:' .. t.id
      local v = call('HMGET', key, 'turns', 'seq')
      if not v[1] then return {'none'} end
      if v[2] or (t.turns ~= '-1' and t.turns ~= v[1]) then return {'ok', '0'} end
      local last = call('HGET', P .. 'turns:' .. t.id, v[1]) -- those before it have been judged
      local _, job = parts(last or '')
      local state = job and call('HGET', P .. 'job:' .. job, 'state')
      if state == '0' or state == '1' then return {'ok', '0'} end -- waiting, running
      local seq = call('HINCRBY', P .. 'counts', 'trajectories_ended', 1)
      call('HSET', key, 'seq', seq, 'ended', t.now, 'how', t.how)
      call('ZREM', P .. 'trajs:due', t.id)
      call('ZADD', P .. 'trajs:ended', seq, t.id)
      return {'ok', '1'}
    end
  end
end

