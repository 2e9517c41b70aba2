package fleet

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/server"
)

const (
	fewRows = 100_000
	// The large store, unless HEARTH_FLEET_READINGS and HEARTH_FLEET_STORED_EVENTS say
	// otherwise.
	manyReadings = 20_000_000
	manyEvents   = 10_000_000
	// ownReadings is how many a device has, of so many devices.
	ownReadings = 5_000
	// span is the time that the readings are of: a part ahead, and what is behind it.
	span = 100 * 24 * time.Hour
	// measuredRequests are sent one after the other.
	measuredRequests = 1_000
	// timesMost is what a request to the large store may cost, in those to the small one.
	timesMost = 2.0
	// statsSettle is after what time an idle connection of PostgreSQL has told what it did.
	statsSettle = 11 * time.Second
)

// TestScale: a page, a window and the newest of readings and events cost with many times
// 10^5 rows, in parts, what they cost with 10^5, and so does their retention.
func TestScale(t *testing.T) {
	t.Parallel()
	whole(t)
	own := dbtest.Own(t, "shared_buffers = 512MB", "max_wal_size = 8GB")
	s, err := server.Start(server.Options{
		Binary: server.Binary(t), Dir: t.TempDir(), DatabaseURL: own.URL("postgres"), Env: sharedKeys(), Ready: patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Kill() })
	l := &large{t: t, s: s, c: s.Client(1), from: time.Now().UTC().Truncate(time.Hour)}
	t.Cleanup(l.c.Close)
	if l.conn, err = pgx.Connect(t.Context(), own.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.conn.Close(t.Context()) })
	until(t, "readings and events are in parts", func() bool {
		return l.number(`SELECT count(*) FROM pg_class WHERE relkind = 'p' AND relname IN ('device_readings', 'events')`) == 2
	})
	l.device()
	l.grow(fewRows, fewRows)
	small := l.measure()
	l.grow(sized(t, "HEARTH_FLEET_READINGS", manyReadings), sized(t, "HEARTH_FLEET_STORED_EVENTS", manyEvents))
	for name, got := range l.measure() {
		was := small[name]
		t.Logf("%-22s %6.1f pages, %4.0f µs of PostgreSQL, %4.0f µs of the node; with 10^5 rows %6.1f, %4.0f and %4.0f",
			name, got.pages, got.database, got.node, was.pages, was.database, was.node)
		if got.pages > timesMost*was.pages || got.database+got.node > timesMost*(was.database+was.node) {
			t.Errorf("%s costs more than %.0f times what it did with few rows", name, timesMost)
		}
	}
	l.retention(own.URL("postgres"))
}

// retention drops the parts that are before what is to come, first with many readings in
// them and then with few: it looks at no more pages for the many.
func (l *large) retention(url string) {
	l.t.Helper()
	d, err := db.Open(l.t.Context(), db.Config{URL: url})
	if err != nil {
		l.t.Fatal(err)
	}
	defer d.Close()
	months := db.Parts{DB: d, Table: "device_readings", By: "at", Key: "device, at"}
	end, _, err := months.Until(l.t.Context(), l.from.Add(span).UnixMilli())
	if err != nil {
		l.t.Fatal(err)
	}
	const before = `SELECT count(*) FROM device_readings WHERE at < $1`
	all := l.number(before, end)
	many := l.dropped(months, end)
	l.exec(`INSERT INTO device_readings (device, at, temperature, data)
		SELECT -i, $1::bigint, 20, r.data FROM generate_series(1, $2::bigint) AS i, (SELECT data FROM device_readings LIMIT 1) AS r`, end-1, fewRows)
	few := l.dropped(months, end)
	l.t.Logf("retention: %d pages for %d readings, %d for %d", many, all, few, fewRows)
	if float64(many) > timesMost*float64(few) {
		l.t.Errorf("retention looks at more than %.0f times the pages for many readings", timesMost)
	}
	if n := l.number(before, end); n != 0 || all <= fewRows {
		l.t.Errorf("%d of %d readings are left", n, all)
	}
}

// dropped drops the parts up to an end, and is how many pages were looked at meanwhile.
func (l *large) dropped(p db.Parts, end int64) int64 {
	l.t.Helper()
	pages := l.settled()
	gone, err := p.Drop(l.t.Context(), end, func(db.Querier) (bool, error) { return false, nil })
	if err != nil || !gone {
		l.t.Fatalf("dropped: %t, %v", gone, err)
	}
	return l.settled() - pages
}

// sized is a number of rows.
func sized(t *testing.T, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// large is a store that grows, and a device in it that stays as it is.
type large struct {
	t    *testing.T
	s    *server.Server
	c    *server.Client
	conn *pgx.Conn
	from time.Time // of the first reading

	did     string
	key     int64 // of the device
	subject int64 // what its events are found by
	devices int64 // stored so far, made up ones too
	events  int64
}

func (l *large) number(sql string, args ...any) (n int64) {
	l.t.Helper()
	if err := l.conn.QueryRow(l.t.Context(), sql, args...).Scan(&n); err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (l *large) exec(sql string, args ...any) {
	l.t.Helper()
	if _, err := l.conn.Exec(l.t.Context(), sql, args...); err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
}

// device makes the one that is asked for, with one reading; all others are alike.
func (l *large) device() {
	l.t.Helper()
	type made struct {
		DID string `json:"did"`
	}
	home := decode[made](l.t, call(l.t, l.c, 201, "POST /v1/households", object{"location": object{"district": "XYZ"}})).DID
	l.did = decode[made](l.t, call(l.t, l.c, 201, "POST /v1/devices", object{"type": "StoveUseMonitor", "householdId": home})).DID
	call(l.t, l.c, 200, "POST /v1/devices/"+l.did+"/readings", object{"readings": []object{{"timestamp": l.from.Add(-time.Hour), "temperature": 85.4}}})
	l.key = l.number(`SELECT nid FROM entities WHERE did = $1`, l.did)
	until(l.t, "the first events have numbers", func() bool {
		call(l.t, l.c, 200, "GET /v1/changes", nil)
		return l.number(`SELECT count(*) FROM event_counters WHERE ws = 'default'`) == 1
	})
	l.subject = l.number(`SELECT subject_key FROM events WHERE subject = $1 LIMIT 1`, l.did)
}

// grow fills the store up to so many readings and events: those of every device over the
// whole span, and events of the first workspace, of which a hundred are of one subject.
func (l *large) grow(readings, events int) {
	l.t.Helper()
	step := span.Milliseconds() / ownReadings
	const insert = `INSERT INTO device_readings (device, at, temperature, data)
		SELECT CASE d WHEN 0 THEN $1::bigint ELSE -d END, $2::bigint + i * $3::bigint + d % $3::bigint, r.temperature, r.data
		FROM generate_series($4::bigint, $5::bigint) AS i, generate_series($6::bigint, $7::bigint) AS d,
			(SELECT temperature, data FROM device_readings WHERE device = $1 ORDER BY at LIMIT 1) AS r`
	last := int64(readings) / ownReadings
	for begin := int64(0); begin < ownReadings; begin += 500 { // by time, as readings come
		l.exec(insert, l.key, l.from.UnixMilli(), step, begin, begin+499, l.devices, last-1)
	}
	l.devices = last
	more := int64(events) - l.events
	l.exec(`BEGIN`)
	end := l.number(`SELECT last FROM event_counters WHERE ws = 'default' FOR UPDATE`)
	l.exec(`INSERT INTO events (ws, seq, type, subject, revision, actor, request_id, at, data, subject_key, actor_key)
		SELECT 'default', $5::bigint + i, 'entity.updated', CASE i % 1000 WHEN 7 THEN $3 ELSE 'did:ixo:entity:' || i END, 1, 'did:ixo:agent:1', 'r', $2::bigint + i, '{}',
			CASE i % 1000 WHEN 7 THEN $4::bigint ELSE i END, i % 50 FROM generate_series(1, $1::bigint) AS i`, more, l.from.UnixMilli(), l.did, l.subject, end)
	l.exec(`UPDATE event_counters SET last = last + $1 WHERE ws = 'default'`, more)
	l.exec(`COMMIT`)
	l.events = int64(events)
	l.exec(`VACUUM (ANALYZE) device_readings`)
	l.exec(`VACUUM (ANALYZE) events`)
}

// cost is what one request takes: pages looked at, and µs of CPU.
type cost struct{ pages, database, node float64 }

// measure sends each kind of request again and again.
func (l *large) measure() map[string]cost {
	l.t.Helper()
	middle := l.from.Add(span / 2)
	window := "from=" + middle.Format(time.RFC3339) + "&to=" + middle.Add(24*time.Hour).Format(time.RFC3339)
	readings := "/v1/devices/" + l.did + "/readings?limit=50&"
	page := "from=" + middle.Format(time.RFC3339) + "&to=" + middle.Add(80*24*time.Hour/2).Format(time.RFC3339)
	last := l.number(`SELECT last FROM event_counters WHERE ws = 'default'`)
	out := map[string]cost{}
	for name, path := range map[string]string{
		"page of readings": readings + page, "window of readings": readings + window, "newest reading": "/v1/devices/" + l.did + "/status",
		"page of events": fmt.Sprintf("/v1/changes?limit=100&after=%d", last/2), "newest events": fmt.Sprintf("/v1/changes?limit=100&after=%d", last-10),
		"events of a subject": "/v1/audit?limit=50&subject=" + l.did,
	} {
		out[name] = l.cost("GET " + path)
	}
	return out
}

// cost measures one kind of request.
func (l *large) cost(request string) cost {
	l.t.Helper()
	for range 20 {
		call(l.t, l.c, 200, request, nil)
	}
	pages, database, node := l.settled(), l.cpu(), l.nodeCPU()
	for range measuredRequests {
		call(l.t, l.c, 200, request, nil)
	}
	took, ours := l.cpu()-database, l.nodeCPU()-node
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / measuredRequests }
	return cost{float64(l.settled()-pages) / measuredRequests, per(took), per(ours)}
}

// settled is how many pages PostgreSQL has looked at, once all connections have told.
func (l *large) settled() (pages int64) {
	l.t.Helper()
	const looked = `SELECT blks_hit + blks_read FROM pg_stat_database WHERE datname = current_database()`
	since := time.Now()
	until(l.t, "PostgreSQL has told what it did", func() bool {
		l.exec(`SELECT pg_stat_clear_snapshot()`)
		return time.Since(since) > statsSettle
	})
	return l.number(looked)
}

// cpu is what the connections of PostgreSQL have used.
func (l *large) cpu() (sum time.Duration) {
	l.t.Helper()
	rows, err := l.conn.Query(l.t.Context(), `SELECT pid FROM pg_stat_activity WHERE backend_type IN ('client backend', 'parallel worker')`)
	if err != nil {
		l.t.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		l.t.Fatal(err)
	}
	for _, pid := range pids {
		if d, err := server.CPU(pid); err == nil { // one may have gone
			sum += d
		}
	}
	return sum
}

func (l *large) nodeCPU() time.Duration {
	l.t.Helper()
	d, err := l.s.CPU()
	if err != nil {
		l.t.Fatal(err)
	}
	return d
}
