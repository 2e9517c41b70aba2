package db

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Node is how a server describes itself when it joins.
type Node struct {
	Name    string // of its host, for people
	Version string
}

// Instance is a server that works on the store, this one or another.
type Instance struct {
	ID        string
	Name      string
	Version   string
	Schema    int // newest migration its program knows
	StartedAt time.Time
	BeatAt    time.Time     // by the clock of the database
	Silent    time.Duration // since then
	Skew      time.Duration // how far its clock is ahead of the database's
	Draining  bool          // it is about to stop
}

// Live reports whether the instance counts as running: one that was silent for
// longer has dropped its caches.
func (i Instance) Live() bool { return i.Silent <= LiveFor }

const (
	// LiveFor is how long an instance counts as live after its last heartbeat.
	LiveFor = 3 * time.Second
	// goneAfter is how long an older program holds up a contract after its last
	// beat. One that only slept finds then that the store has outgrown it.
	goneAfter = 30 * time.Second

	beatEvery     = time.Second
	contractEvery = 5 // beats between two looks at contracts that wait
)

// member is this process among the instances.
type member struct {
	mu    sync.Mutex
	self  Instance
	heard time.Time // local: when the last beat that was stored began
	// servers is how many instances were live then, this one among them.
	servers int
	first   bool // there was no earlier instance that is not stopping
	crew    crew
	quit    context.CancelFunc
	done    sync.WaitGroup
}

const (
	beatPostgres = `INSERT INTO instances (id, name, version, schema, started, beat, skew, draining)
		VALUES ($1, $2, $3, $4, floor(extract(epoch FROM clock_timestamp()) * 1000), floor(extract(epoch FROM clock_timestamp()) * 1000), $5, $6)
		ON CONFLICT (id) DO UPDATE SET beat = excluded.beat, skew = excluded.skew, draining = excluded.draining
		RETURNING started, beat, 1 + (SELECT count(*) FROM (SELECT 1 FROM instances AS o
			WHERE o.id <> $1 AND o.beat >= extract(epoch FROM clock_timestamp()) * 1000 - 3000 ORDER BY o.id LIMIT 1000) AS others),
			NOT EXISTS (SELECT 1 FROM instances AS o
				WHERE o.id < $1 AND o.draining = 0 AND o.beat >= extract(epoch FROM clock_timestamp()) * 1000 - 3000 ORDER BY o.id LIMIT 1),
			(SELECT coalesce(string_agg(id, ' '), '') FROM (SELECT o.id FROM instances AS o
				WHERE o.id <> $1 AND o.draining = 0 AND o.beat >= extract(epoch FROM clock_timestamp()) * 1000 - 3000 ORDER BY o.id LIMIT 1000) AS others)`
	instancesPostgres = `SELECT id, name, version, schema, started, beat, skew, draining,
		floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - beat FROM instances ORDER BY id LIMIT 1000`
	forgetPostgres = `DELETE FROM instances WHERE beat < extract(epoch FROM clock_timestamp() - interval '1 day') * 1000`
	leavePostgres  = `DELETE FROM instances WHERE id = $1`
)

// Join makes this process one of the instances, until Leave or Close. On
// PostgreSQL it gets a row with a heartbeat every second, and fails if the
// schema is too new for this program. On SQLite there is one server and nothing
// is stored.
func (d *DB) Join(ctx context.Context, n Node) error {
	all, err := loadMigrations(d.cfg.Migrations, d.dialect)
	if err != nil {
		return err
	}
	now := d.Now()
	m := &member{self: Instance{ID: NewID(), Name: n.Name, Version: n.Version, Schema: newest(all), StartedAt: now, BeatAt: now}, heard: d.clock.local()}
	if e, ok := d.e.(*pg); ok {
		// Nobody contracts the schema between our look at it and our row.
		if err := e.alone(ctx, func(q pgQuerier) error { return d.enter(ctx, q, m, all) }); err != nil {
			return fmt.Errorf("join the instances: %w", err)
		}
		run, quit := context.WithCancel(context.WithoutCancel(ctx))
		m.quit = quit
		beatReplica(ctx, d)
		m.done.Go(func() { d.beats(run, m) })
	}
	d.member.Store(m)
	return nil
}

// enter stores the first beat, unless the schema has outgrown this program.
func (d *DB) enter(ctx context.Context, q pgQuerier, m *member, all []migration) error {
	have, err := pgApplied(ctx, q)
	if err != nil {
		return err
	}
	if _, err := pending(all, have); err != nil {
		return err
	}
	if _, err := q.Exec(ctx, forgetPostgres); err != nil {
		return mapPg(ctx, err)
	}
	return mapPg(ctx, d.beat(ctx, m, q.QueryRow))
}

// beat stores a heartbeat, and reads the clock of the database.
func (d *DB) beat(ctx context.Context, m *member, ask func(context.Context, string, ...any) pgxRow) error {
	m.mu.Lock()
	i := m.self
	m.mu.Unlock()
	var started, beat, draining, servers int64
	var first bool
	var others string
	if i.Draining {
		draining = 1
	}
	asked := d.clock.local()
	err := ask(ctx, beatPostgres, i.ID, i.Name, i.Version, i.Schema, d.Skew().Milliseconds(), draining).Scan(&started, &beat, &servers, &first, &others)
	if err != nil {
		return err
	}
	d.clock.heard(time.UnixMilli(beat), asked, d.clock.local())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crew.set(i, others)
	m.heard, m.servers, m.first = asked, int(servers), first && !i.Draining
	m.self.StartedAt, m.self.BeatAt, m.self.Skew = time.UnixMilli(started).UTC(), time.UnixMilli(beat).UTC(), d.Skew()
	return nil
}

// beats stores a beat every second until ctx ends, and contracts the schema once
// the instances that hold it up have gone.
func (d *DB) beats(ctx context.Context, m *member) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	lost := false
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := d.beatOnce(ctx, m)
		if ctx.Err() != nil {
			return
		}
		if (err != nil) != lost {
			if lost = err != nil; lost {
				d.cfg.Log.Warn("instance not heard", "err", err.Error())
			} else {
				d.cfg.Log.Info("instance heard again")
			}
		}
		if e, ok := d.e.(*pg); ok {
			e.lookForStandbys(d.Lane(ctx, Control))
		}
		beatReplica(ctx, d)
		if err == nil && n%contractEvery == 0 {
			d.contract(ctx)
		}
	}
}

func (d *DB) beatOnce(ctx context.Context, m *member) error {
	ctx = d.Lane(ctx, Control)
	ctx, cancel := context.WithTimeout(ctx, LiveFor)
	defer cancel()
	return d.beat(ctx, m, func(ctx context.Context, sql string, args ...any) pgxRow { return d.QueryRow(ctx, sql, args...) })
}

// contract applies contracts that have waited for older instances.
func (d *DB) contract(ctx context.Context) {
	s, err := d.Schema(ctx)
	if err == nil && len(s.Waiting) > 0 {
		err = d.Migrate(ctx)
	}
	if err != nil && ctx.Err() == nil {
		d.cfg.Log.Warn("schema not contracted", "err", err.Error())
	}
}

// Self is this process as an Instance; the zero Instance before Join.
func (d *DB) Self() Instance {
	m := d.member.Load()
	if m == nil {
		return Instance{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.self
	i.Silent = d.silent(m)
	return i
}

// Servers is the number of live instances at the last heartbeat, including this
// one; 0 before Join, and on SQLite.
func Servers(d *DB) int {
	m := d.member.Load()
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.servers
}

// Leads reports whether this instance does the work that needs only one: it is the
// oldest of those that are live and not stopping. Until all know that another has
// died or joined there may be none, or two.
func Leads(d *DB) bool {
	m := d.member.Load()
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first && d.silent(m) < LiveFor
}

// Silent is for how long other instances may not have heard from this one, 0 on
// SQLite and before Join. After LiveFor they no longer count on it.
func (d *DB) Silent() time.Duration { return d.Self().Silent }

// TakesWrites reports whether the store accepts writes, for probes. An instance
// with heartbeats knows from them, without a query; on SQLite a row is stored.
func TakesWrites(ctx context.Context, d *DB) error {
	if d.dialect == SQLite || d.member.Load() == nil {
		return Writable(ctx, d)
	}
	if quiet := d.Silent(); quiet >= LiveFor {
		return unavailable(fmt.Errorf("nothing was stored for %s", quiet.Round(time.Millisecond)))
	}
	return nil
}

func (d *DB) silent(m *member) time.Duration {
	if d.dialect == SQLite {
		return 0
	}
	return max(d.clock.local().Sub(m.heard), 0)
}

// Instances lists all that have a row, including those that have fallen silent
// during the last day, by age. On SQLite it is this process, once it has joined.
func (d *DB) Instances(ctx context.Context) ([]Instance, error) {
	if d.dialect == SQLite {
		i := d.Self()
		if i.ID == "" {
			return nil, nil
		}
		i.BeatAt = d.Now()
		return []Instance{i}, nil
	}
	return readInstances(d.Query(ctx, instancesPostgres))
}

func readInstances(rows Rows, err error) ([]Instance, error) {
	return Collect(rows, err, "list instances", func(i *Instance, r Row) error {
		var started, beat, skew, draining, silent int64
		if err := r.Scan(&i.ID, &i.Name, &i.Version, &i.Schema, &started, &beat, &skew, &draining, &silent); err != nil {
			return err
		}
		i.StartedAt, i.BeatAt, i.Draining = time.UnixMilli(started).UTC(), time.UnixMilli(beat).UTC(), draining != 0
		i.Skew, i.Silent = time.Duration(skew)*time.Millisecond, time.Duration(max(silent, 0))*time.Millisecond
		return nil
	})
}

// Live lists the live instances, including this one.
func (d *DB) Live(ctx context.Context) ([]Instance, error) {
	all, err := d.Instances(ctx)
	live := all[:0]
	for _, i := range all {
		if i.Live() {
			live = append(live, i)
		}
	}
	return live, err
}

// Drain tells the others with the next heartbeat that this instance is about to
// stop.
func (d *DB) Drain() {
	if m := d.member.Load(); m != nil {
		m.mu.Lock()
		m.self.Draining = true
		m.mu.Unlock()
	}
}

// Leave ends the heartbeats and removes the row.
func (d *DB) Leave(ctx context.Context) {
	m := d.member.Swap(nil)
	if m == nil || m.quit == nil {
		return
	}
	m.quit()
	m.done.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), LiveFor)
	defer cancel()
	if _, err := d.Exec(ctx, leavePostgres, m.self.ID); err != nil {
		d.cfg.Log.Warn("instance not withdrawn", "err", err.Error())
	}
}
