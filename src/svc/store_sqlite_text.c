/* Schema and statements of the SQLite store. States and priorities are numbers of their enums:
 * 0 waiting, 1 running, 2 done, 3 cancelled, 4 dead. */
#include "svc/store_sqlite.h"

/* Triggers keep the counts of lanes and states, so no statement can forget them. A lane vanishes in
 * the statement that empties it. Tasks, which are large, have a table of their own. */
static const char first[] =
    "CREATE TABLE jobs("
    " id TEXT PRIMARY KEY, key TEXT NOT NULL, body_hash TEXT NOT NULL, lane INTEGER NOT NULL,"
    " device TEXT NOT NULL, configuration TEXT NOT NULL, problem TEXT NOT NULL,"
    " priority INTEGER NOT NULL, deadline INTEGER NOT NULL, batch TEXT NOT NULL,"
    " batch_at INTEGER NOT NULL, state INTEGER NOT NULL, attempts INTEGER NOT NULL,"
    " fence INTEGER NOT NULL, claim TEXT NOT NULL, worker TEXT NOT NULL,"
    " claim_until INTEGER NOT NULL, created INTEGER NOT NULL, started INTEGER NOT NULL,"
    " finished INTEGER NOT NULL, segment TEXT NOT NULL, offset INTEGER NOT NULL,"
    " len INTEGER NOT NULL, sum TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL,"
    " error TEXT NOT NULL, blame TEXT NOT NULL, message TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE UNIQUE INDEX jobs_key ON jobs(key) WHERE key<>'';"
    "CREATE INDEX jobs_waiting ON jobs(lane,id) WHERE state=0;"
    "CREATE INDEX jobs_oldest ON jobs(created) WHERE state=0;"
    "CREATE INDEX jobs_deadline ON jobs(deadline) WHERE state=0 AND deadline>0;"
    "CREATE INDEX jobs_claims ON jobs(claim_until) WHERE state=1;"
    "CREATE INDEX jobs_state ON jobs(state,id);"
    "CREATE INDEX jobs_problem ON jobs(problem,id);"
    "CREATE INDEX jobs_batch ON jobs(batch,batch_at) WHERE batch<>'';"
    "CREATE TABLE tasks(id TEXT PRIMARY KEY, task TEXT NOT NULL);"
    "CREATE TABLE lanes("
    " id INTEGER PRIMARY KEY, name TEXT NOT NULL, device TEXT NOT NULL, priority INTEGER NOT NULL,"
    " waiting INTEGER NOT NULL, running INTEGER NOT NULL, served INTEGER NOT NULL,"
    " UNIQUE(name,priority));"
    "CREATE TABLE events("
    " seq INTEGER PRIMARY KEY AUTOINCREMENT, ms INTEGER NOT NULL, id TEXT NOT NULL,"
    " type TEXT NOT NULL, detail TEXT NOT NULL);"
    "CREATE INDEX events_of ON events(id,seq);"
    "CREATE TABLE states(state INTEGER PRIMARY KEY, n INTEGER NOT NULL);"
    "INSERT INTO states VALUES(0,0),(1,0),(2,0),(3,0),(4,0);"
    "CREATE TABLE counters(name TEXT PRIMARY KEY, n INTEGER NOT NULL);"
    "INSERT INTO counters VALUES('expired',0),('refused',0);"
    "CREATE TRIGGER job_new AFTER INSERT ON jobs BEGIN"
    " UPDATE states SET n=n+1 WHERE state=new.state;"
    " UPDATE lanes SET waiting=waiting+1 WHERE id=new.lane; END;"
    "CREATE TRIGGER job_moved AFTER UPDATE OF state ON jobs WHEN old.state<>new.state BEGIN"
    " UPDATE states SET n=n-1 WHERE state=old.state;"
    " UPDATE states SET n=n+1 WHERE state=new.state;"
    " UPDATE lanes SET waiting=waiting+(new.state=0)-(old.state=0),"
    "  running=running+(new.state=1)-(old.state=1) WHERE id=new.lane;"
    " DELETE FROM lanes WHERE id=new.lane AND waiting=0 AND running=0; END;";

/* seq counts the ends of trajectories; 0: it is open. */
static const char trajectories[] =
    "CREATE TABLE trajectories("
    " id TEXT PRIMARY KEY, key TEXT NOT NULL, body_hash TEXT NOT NULL, problem TEXT NOT NULL,"
    " grp TEXT NOT NULL, most INTEGER NOT NULL, idle INTEGER NOT NULL, created INTEGER NOT NULL,"
    " due INTEGER NOT NULL, segment TEXT NOT NULL, offset INTEGER NOT NULL, len INTEGER NOT NULL,"
    " sum TEXT NOT NULL, turns INTEGER NOT NULL, seq INTEGER NOT NULL, ended INTEGER NOT NULL,"
    " how TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE UNIQUE INDEX trajectories_key ON trajectories(key) WHERE key<>'';"
    "CREATE INDEX trajectories_problem ON trajectories(problem,id);"
    "CREATE INDEX trajectories_due ON trajectories(due) WHERE seq=0;"
    "CREATE UNIQUE INDEX trajectories_ended ON trajectories(seq) WHERE seq>0;"
    "CREATE TABLE turns("
    " trajectory TEXT NOT NULL, n INTEGER NOT NULL, hash TEXT NOT NULL, job TEXT NOT NULL,"
    " jobs INTEGER NOT NULL, taken INTEGER NOT NULL, segment TEXT NOT NULL,"
    " offset INTEGER NOT NULL, len INTEGER NOT NULL, sum TEXT NOT NULL,"
    " PRIMARY KEY(trajectory,n)) WITHOUT ROWID;";

/* Counts for the dashboard, and an index for each filter of the lists. Jobs that were there before
 * are counted without their stage and speed, which are in their records only. */
static const char tallies[] =
    "CREATE INDEX jobs_verdict ON jobs(verdict,id) WHERE verdict<>'';"
    "CREATE INDEX jobs_problem_verdict ON jobs(problem,verdict,id) WHERE verdict<>'';"
    "CREATE INDEX jobs_problem_state ON jobs(problem,state,id);"
    "CREATE INDEX jobs_of_batch ON jobs(batch,id) WHERE batch<>'';"
    "CREATE TABLE tallies("
    " verdict TEXT, reason TEXT, stage TEXT, n INTEGER NOT NULL,"
    " PRIMARY KEY(verdict,reason,stage)) WITHOUT ROWID;"
    "CREATE TABLE bests("
    " problem TEXT PRIMARY KEY, done INTEGER NOT NULL, ok INTEGER NOT NULL,"
    " speedup REAL NOT NULL, id TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE minutes(slot INTEGER PRIMARY KEY, minute INTEGER NOT NULL, n INTEGER NOT NULL);"
    "INSERT INTO tallies SELECT verdict,CASE verdict WHEN '' THEN error ELSE reason END r,'',"
    " count(*) FROM jobs WHERE state=2 GROUP BY verdict,r LIMIT 500;"
    "INSERT INTO bests SELECT problem,count(*),sum(verdict='ok'),0,'' FROM jobs"
    " WHERE state=2 AND problem NOT LIKE 'sha256:%' GROUP BY problem;";

static const char notices[] =
    "CREATE TABLE notices("
    " kind TEXT NOT NULL, name TEXT NOT NULL, until INTEGER NOT NULL, text TEXT NOT NULL,"
    " PRIMARY KEY(kind,name)) WITHOUT ROWID;";

/* What an event is counted as. The trigger counts each, so no statement can forget it. */
#define COUNTED(of)                                                                                \
    "'event:'||" of "type||CASE " of "type WHEN 'finished' THEN ':'||" of "detail ELSE '' END"

static const char counters[] = "INSERT INTO counters SELECT " COUNTED(
    "") ",count(*) FROM events GROUP BY 1;"
        "CREATE TRIGGER event_new AFTER INSERT ON events BEGIN"
        " INSERT INTO counters VALUES(" COUNTED(
            "new.") ",1)"
                    " ON CONFLICT(name) DO UPDATE SET n=n+1; END;";

/* How many jobs of each owner wait; and an index for the last filter of the lists. */
static const char owners[] =
    "ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT '';"
    "CREATE TABLE owners(name TEXT PRIMARY KEY, waiting INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TRIGGER owner_new AFTER INSERT ON jobs WHEN new.owner<>'' BEGIN"
    " INSERT INTO owners VALUES(new.owner,1) ON CONFLICT(name) DO UPDATE SET waiting=waiting+1;"
    " END;"
    "CREATE TRIGGER owner_moved AFTER UPDATE OF state ON jobs"
    " WHEN new.owner<>'' AND (old.state=0)<>(new.state=0) BEGIN"
    " INSERT INTO owners VALUES(new.owner,new.state=0) ON CONFLICT(name) DO UPDATE SET"
    "  waiting=waiting+(new.state=0)-(old.state=0);"
    " DELETE FROM owners WHERE name=new.owner AND waiting=0; END;"
    "CREATE INDEX trajectories_group ON trajectories(grp,id) WHERE grp<>'';";

/* What a claim looks for in lanes, so that it need not look at all of them: the oldest job of each,
 * and how many jobs of its name run, whatever their priority. */
static const char sought[] =
    "ALTER TABLE lanes ADD COLUMN first TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE lanes ADD COLUMN holders INTEGER NOT NULL DEFAULT 0;"
    "UPDATE lanes SET"
    " first=coalesce((SELECT min(id) FROM jobs INDEXED BY jobs_waiting"
    "  WHERE lane=lanes.id AND state=0),''),"
    " holders=(SELECT sum(running) FROM lanes b WHERE b.name=lanes.name);"
    "CREATE INDEX lanes_due ON lanes(device,priority,served) WHERE waiting>0;"
    "CREATE INDEX lanes_free ON lanes(device,priority,first) WHERE waiting>0 AND holders=0;"
    "CREATE INDEX lanes_held ON lanes(device,priority) WHERE waiting>0 AND holders>0;"
    "DROP TRIGGER job_new;"
    "DROP TRIGGER job_moved;"
    "CREATE TRIGGER job_new AFTER INSERT ON jobs BEGIN"
    " UPDATE states SET n=n+1 WHERE state=new.state;"
    " UPDATE lanes SET waiting=waiting+1,"
    "  first=CASE WHEN waiting=0 OR new.id<first THEN new.id ELSE first END"
    "  WHERE id=new.lane; END;"
    "CREATE TRIGGER job_moved AFTER UPDATE OF state ON jobs WHEN old.state<>new.state BEGIN"
    " UPDATE states SET n=n-1 WHERE state=old.state;"
    " UPDATE states SET n=n+1 WHERE state=new.state;"
    " UPDATE lanes SET waiting=waiting+(new.state=0)-(old.state=0),"
    "  running=running+(new.state=1)-(old.state=1),"
    "  first=coalesce((SELECT min(id) FROM jobs INDEXED BY jobs_waiting"
    "   WHERE lane=new.lane AND state=0),'')"
    "  WHERE id=new.lane;"
    " UPDATE lanes SET holders=holders+(new.state=1)-(old.state=1)"
    "  WHERE name=(SELECT name FROM lanes WHERE id=new.lane);"
    " DELETE FROM lanes WHERE id=new.lane AND waiting=0 AND running=0; END;";

const char *const kg_svc_sql_steps[KG_SVC_SCHEMA] = {first,    trajectories, tallies, notices,
                                                     counters, owners,       sought};

const char *kg_svc_sql_places(int schema)
{
#define OF_JOBS "SELECT id,segment,offset,len,sum,1 job FROM jobs"
    return schema < 2 ? OF_JOBS
                      : OF_JOBS " UNION ALL SELECT id,segment,offset,len,sum,0 FROM trajectories"
                                " UNION ALL SELECT trajectory,segment,offset,len,sum,0 FROM turns";
#undef OF_JOBS
}

#define COLUMNS                                                                                    \
    "id,key,body_hash,device,configuration,problem,priority,deadline,batch,batch_at,state,"        \
    "attempts,fence,claim,worker,claim_until,created,started,finished,segment,offset,len,sum,"     \
    "verdict,reason,error,blame,message"

/* Ids below the last page's; "": all, since every id is below `~`. A choice between two conditions
 * instead would look at all earlier pages again. */
#define BELOW(last) " AND id<CASE " last " WHEN '' THEN '~' ELSE " last " END"
/* by: the condition that an index serves; the others filter what it finds. */
#define LISTED(by)                                                                                 \
    "SELECT " COLUMNS " FROM jobs WHERE " by " AND (?1<0 OR state=?1)"                             \
    " AND (?2='' OR problem=?2) AND (?3='' OR verdict=?3) AND (?4='' OR batch=?4)" BELOW(          \
        "?5") " ORDER BY id DESC LIMIT ?6"

#define LANES   "SELECT id,name,priority,waiting,served,device,holders,first FROM lanes "
#define OF_KIND "WHERE device=?1 AND priority=?2 AND waiting>0"

#define TRAJ                                                                                       \
    "SELECT id,key,body_hash,problem,grp,most,idle,created,due,segment,offset,len,sum,turns,seq,"  \
    "ended,how FROM trajectories WHERE "
#define TURN "SELECT trajectory,n,hash,job,jobs,taken,segment,offset,len,sum FROM turns WHERE "
#define TRAJ_LIST(by)                                                                              \
    TRAJ by " AND (?1='' OR problem=?1) AND (?2='' OR grp=?2)" BELOW(                              \
        "?3") " ORDER BY id DESC LIMIT ?4"

const char *const kg_svc_sql[SQL_N] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_BY_KEY] = "SELECT id,body_hash FROM jobs WHERE key=?1 AND key<>''",
    [SQL_KEY_DROP] = "UPDATE jobs SET key='' WHERE id=?1",
    [SQL_WAITING] = "SELECT n FROM states WHERE state=0",
    [SQL_WAITING_OF] = "SELECT waiting FROM owners WHERE name=?1",
    [SQL_LANE] = "INSERT INTO lanes(name,device,priority,waiting,running,served,holders)"
                 " VALUES(?1,?2,?3,0,0,?4,"
                 "(SELECT coalesce(sum(running),0) FROM lanes b WHERE b.name=?1)) ON "
                 "CONFLICT(name,priority) DO UPDATE SET"
                 " served=CASE WHEN waiting=0 THEN excluded.served ELSE served END RETURNING id",
    [SQL_SUBMIT] = "INSERT INTO jobs VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,0,0,0,'','',0,?12,"
                   "0,0,'',0,0,'','','','','','',?13)",
    [SQL_TASK_ADD] = "INSERT INTO tasks VALUES(?1,?2)",
    [SQL_TASK_DROP] = "DELETE FROM tasks WHERE id=?1",
    [SQL_EVENT] = "INSERT INTO events(ms,id,type,detail) VALUES(?1,?2,?3,?4)",
    [SQL_LANES_NEXT] = "SELECT * FROM (SELECT device,priority FROM lanes INDEXED BY lanes_due"
                       " WHERE waiting>0 AND device=?1 AND priority>?2 ORDER BY priority LIMIT 1)"
                       " UNION ALL"
                       " SELECT * FROM (SELECT device,priority FROM lanes INDEXED BY lanes_due"
                       " WHERE waiting>0 AND device>?1 ORDER BY device,priority LIMIT 1) LIMIT 1",
    [SQL_LANES_DUE] = LANES "INDEXED BY lanes_due " OF_KIND " AND served<=?3"
                            " ORDER BY served LIMIT ?4",
    [SQL_LANES_FREE] = LANES "INDEXED BY lanes_free " OF_KIND " AND holders=0"
                             " ORDER BY first LIMIT ?3",
    [SQL_LANES_HELD] = LANES "INDEXED BY lanes_held " OF_KIND " AND holders>0",
    [SQL_LANES_NAMED] = LANES "WHERE name=?1 AND waiting>0",
    [SQL_FIRST] = "SELECT first FROM lanes WHERE id=?1",
    [SQL_CLAIM] = "UPDATE jobs SET state=1,attempts=attempts+1,fence=fence+1,claim=?2,worker=?3,"
                  "claim_until=?4,started=?5 WHERE id=?1 AND state=0",
    [SQL_SERVED] = "UPDATE lanes SET served=?2 WHERE id=?1",
    [SQL_JOB] = "SELECT " COLUMNS " FROM jobs WHERE id=?1",
    [SQL_TASK] = "SELECT task FROM tasks WHERE id=?1",
    [SQL_RENEW] =
        "UPDATE jobs SET claim_until=?4 WHERE id=?1 AND state=1 AND claim=?2 AND fence=?3",
    [SQL_END] = "UPDATE jobs SET state=?2,finished=?3,claim='',segment=?4,offset=?5,len=?6,sum=?7,"
                "verdict=?8,reason=?9,error=?10,blame=?11,message=?12 WHERE id=?1",
    [SQL_AGAIN] = "UPDATE jobs SET state=0,claim='',attempts=?2 WHERE id=?1",
    [SQL_REQUEUE] = "UPDATE jobs SET state=0,attempts=0,lane=?2,finished=0,segment='',offset=0,"
                    "len=0,sum='',error='',blame='',message='' WHERE id=?1",
    [SQL_EXPIRED] = "SELECT id FROM jobs INDEXED BY jobs_claims"
                    " WHERE state=1 AND claim_until<=?1 LIMIT 1",
    [SQL_LATE] = "SELECT id FROM jobs INDEXED BY jobs_deadline"
                 " WHERE state=0 AND deadline>0 AND deadline<=?1 LIMIT 1",
    [SQL_OLD_EVENTS] = "SELECT e.seq,e.ms,j.state>1 AND j.finished<=?2"
                       " FROM events e JOIN jobs j ON j.id=e.id"
                       " WHERE e.seq>?1 ORDER BY e.seq LIMIT ?3",
    [SQL_EVENT_DROP] = "DELETE FROM events WHERE seq=?1",
    [SQL_EXTEND] = "UPDATE jobs INDEXED BY jobs_claims SET claim_until=?1"
                   " WHERE state=1",
    [SQL_COUNT_UP] = "UPDATE counters SET n=n+1 WHERE name=?1",
    [SQL_TALLY_UP] = "UPDATE tallies SET n=n+1 WHERE verdict=?1 AND reason=?2 AND stage=?3",
    [SQL_TALLY_NEW] = "INSERT INTO tallies SELECT ?1,?2,?3,1"
                      " WHERE (SELECT count(*) FROM tallies)<?4",
    [SQL_BEST] = "INSERT INTO bests VALUES(?1,1,?2,CAST(?3 AS REAL),?4) ON CONFLICT(problem)"
                 " DO UPDATE SET done=done+1,ok=ok+excluded.ok,"
                 "id=CASE WHEN excluded.speedup>speedup THEN excluded.id ELSE id END,"
                 "speedup=max(speedup,excluded.speedup)",
    [SQL_MINUTE] = "INSERT INTO minutes VALUES(?1,?2,1) ON CONFLICT(slot) DO UPDATE SET"
                   " n=CASE WHEN minute=excluded.minute THEN n+1 ELSE 1 END,"
                   "minute=excluded.minute",
    [SQL_NOTICE] = "INSERT OR REPLACE INTO notices VALUES(?1,?2,?3,?4)",
    [SQL_NOTICE_DROP] = "DELETE FROM notices WHERE kind=?1 AND name=?2",
    [SQL_NOTICES_OLD] = "DELETE FROM notices WHERE until<=?1",
    [SQL_COUNTER_ADD] = "INSERT INTO counters VALUES(?1,?2)"
                        " ON CONFLICT(name) DO UPDATE SET n=n+excluded.n",
    [SQL_GET] = "SELECT " COLUMNS " FROM jobs WHERE id=?1",
    [SQL_GET_TASK] = "SELECT task FROM tasks WHERE id=?1",
    [SQL_LIST] = LISTED("1"),
    [SQL_LIST_STATE] = LISTED("state=?1"),
    [SQL_LIST_PROBLEM] = LISTED("problem=?2"),
    [SQL_LIST_PROBLEM_STATE] = LISTED("problem=?2 AND state=?1"),
    [SQL_LIST_VERDICT] = LISTED("verdict=?3 AND verdict<>''"),
    [SQL_LIST_PROBLEM_VERDICT] = LISTED("problem=?2 AND verdict=?3 AND verdict<>''"),
    [SQL_LIST_OF_BATCH] = LISTED("batch=?4 AND batch<>''"),
    [SQL_LIST_BATCH] = "SELECT " COLUMNS " FROM jobs WHERE batch=?1 AND batch<>''"
                       " AND batch_at>=?2 ORDER BY batch_at LIMIT ?3",
    [SQL_EVENTS] = "SELECT seq,ms,id,type,detail FROM events WHERE seq>?1 ORDER BY seq LIMIT ?2",
    [SQL_EVENTS_OF] = "SELECT seq,ms,id,type,detail FROM events WHERE id=?3 AND seq>?1"
                      " ORDER BY seq LIMIT ?2",
    [SQL_COUNTS] = "SELECT state,n FROM states",
    [SQL_COUNTERS] = "SELECT (SELECT n FROM counters WHERE name='expired'),"
                     "(SELECT n FROM counters WHERE name='refused'),"
                     "(SELECT count(*) FROM lanes WHERE waiting>0),"
                     "(SELECT seq FROM sqlite_sequence WHERE name='events')",
    [SQL_TRAJ_KEY] = "SELECT id,body_hash FROM trajectories WHERE key=?1 AND key<>''",
    [SQL_TRAJ_OPEN] = "INSERT INTO trajectories VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,"
                      "0,0,0,'')",
    [SQL_TRAJ] = TRAJ "id=?1",
    [SQL_TURN] = TURN "trajectory=?1 AND n=?2",
    [SQL_TURN_ADD] = "INSERT INTO turns VALUES(?1,?2,?3,?4,1,?5,?6,?7,?8,?9)",
    [SQL_TURN_AGAIN] = "UPDATE turns SET job=?3,jobs=jobs+1 WHERE trajectory=?1 AND n=?2",
    [SQL_TRAJ_TAKEN] = "UPDATE trajectories SET turns=max(turns,?2),due=?3 WHERE id=?1",
    [SQL_TRAJ_PUT_OFF] = "UPDATE trajectories SET due=?3 WHERE id=?1 AND turns=?2 AND seq=0",
    [SQL_TRAJ_END] = "UPDATE trajectories SET ended=?4,how=?3,"
                     "seq=(SELECT coalesce(max(seq),0)+1 FROM trajectories WHERE seq>0)"
                     " WHERE id=?1 AND seq=0 AND (?2<0 OR turns=?2)"
                     " AND NOT EXISTS(SELECT 1 FROM turns JOIN jobs j ON j.id=job"
                     " WHERE trajectory=?1 AND j.state IN (0,1))", /* waiting, running */
    [SQL_TRAJ_GET] = TRAJ "id=?1",
    [SQL_TURNS] = TURN "trajectory=?1 AND n>=?2 ORDER BY n LIMIT ?3",
    [SQL_TRAJ_LIST] = TRAJ_LIST("1"),
    [SQL_TRAJ_LIST_PROBLEM] = TRAJ_LIST("problem=?1"),
    [SQL_TRAJ_LIST_GROUP] = TRAJ_LIST("grp=?2 AND grp<>''"),
    [SQL_TRAJ_ENDED] = TRAJ "seq>0 AND seq>?1 ORDER BY seq LIMIT ?2",
    [SQL_TRAJ_DUE] = TRAJ "seq=0 AND due<=?1 ORDER BY due LIMIT ?2",
    [SQL_NOTICES] = "SELECT name,text,until FROM notices WHERE kind=?1 AND until>?2 ORDER BY name",
    [SQL_OLDEST] = "SELECT created FROM jobs INDEXED BY jobs_oldest WHERE state=0"
                   " ORDER BY created LIMIT 1",
    [SQL_TALLIES] = "SELECT verdict,reason,stage,n FROM tallies ORDER BY n DESC",
    [SQL_BESTS] = "SELECT problem,done,ok,speedup,id FROM bests ORDER BY problem",
    [SQL_MINUTES] = "SELECT minute,n FROM minutes",
    [SQL_COUNTER_LIST] = "SELECT name,n FROM counters WHERE instr(name,':')>0 ORDER BY name",
};
