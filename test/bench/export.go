package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/export"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The bars of an export: the share of the bound's rate it must reach, and how
// much memory it may have in use above what the idle process has.
const (
	exportBar     = 0.30
	exportHeapBar = 32.0 // MB
)

// exports compares a job that writes all responses to a stored CSV file with
// the shortest way to read and write the same rows. Both run in this process, so
// that it can measure the memory in use exactly.
func (b *bench) exports(ctx context.Context) error {
	_, n := b.sizes()
	dir, err := b.seedResponses(ctx, n)
	if err != nil {
		return err
	}
	x, err := openExports(ctx, dir)
	if err != nil {
		return err
	}
	defer x.close()
	if ctx, err = auth.New(auth.Config{DB: x.db}).AsOwner(ctx, auth.OperatorWorkspace); err != nil {
		return err
	}
	var ratios, above, ours, bound []float64
	for range min(b.rounds, 3) {
		bare, err := bareCSV(ctx, x.db)
		if err != nil {
			return err
		}
		runtime.GC()
		idle, stop := live(), watch()
		start := time.Now()
		err = x.export(ctx, n)
		took, most := time.Since(start), stop()
		if err != nil {
			return err
		}
		ratios, above = append(ratios, bare.Seconds()/took.Seconds()), append(above, megabytes(int64(most)-int64(idle)))
		ours, bound = append(ours, float64(n)/took.Seconds()), append(bound, float64(n)/bare.Seconds())
	}
	ratio, heap := median(ratios), median(above)
	fmt.Printf("%d responses: %.0f per s, bound %.0f, ratio %.2f   bar %.2f %s\n", n, median(ours), median(bound), ratio, exportBar, b.verdict("export", ratio >= exportBar))
	fmt.Printf("live heap %.1f MB above idle   bar %.0f MB %s\n", heap, exportHeapBar, b.verdict("memory of an export", heap < exportHeapBar))
	return nil
}

// exporter is all that exports need, on a seeded folder.
type exporter struct {
	db    *db.DB
	s     *export.Service
	jobs  *job.Service
	close func()
}

func openExports(ctx context.Context, dir string) (*exporter, error) {
	key, err := secret.Parse(strings.Repeat("0123456789abcdef", 2))
	if err != nil {
		return nil, err
	}
	d, err := db.Open(ctx, db.Config{Path: filepath.Join(dir, "hearth.db")})
	if err != nil {
		return nil, err
	}
	x := &exporter{db: d}
	cursors := web.Cursors{Key: make([]byte, 32)}
	log := event.New(event.Config{DB: d, Cursors: cursors})
	v := vault.New(vault.Config{Key: key})
	templates := template.New(template.Config{DB: d, Events: log, Cursors: cursors})
	surveys := survey.New(survey.Config{DB: d, Templates: templates, Events: log, Cursors: cursors, Vault: v})
	responses := response.New(response.Config{DB: d, Surveys: surveys, Vault: v, Events: log, Cursors: cursors, Key: key})
	x.jobs = job.New(job.Config{DB: d, Cursors: cursors})
	x.s = export.New(export.Config{DB: d, Surveys: surveys, Responses: responses, Vault: v, Exchange: exchange.New(exchange.Config{DB: d, Jobs: x.jobs})})
	runner, err := x.jobs.NewRunner(job.RunnerConfig{Handlers: x.s.Handlers(), Alone: true})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Run(running)
	}()
	x.close = func() {
		stop()
		<-ended
		log.Close()
		_ = d.Close() // the folder goes with the run
	}
	return x, nil
}

// export writes all responses to a file and waits until it is stored.
func (x *exporter) export(ctx context.Context, n int) error {
	r, err := x.s.Create(ctx, "bench", export.Draft{Format: export.CSV})
	if err != nil {
		return err
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		j, err := x.jobs.Get(ctx, r.Value.ID)
		if err != nil {
			return err
		}
		if !j.Status.Final() {
			continue
		}
		text, err := web.Encode(j.Result)
		if want := fmt.Sprintf(`"responses":%d,`, n); err != nil || !strings.Contains(string(text), want) {
			return fmt.Errorf("export ended as %s with %s %v, want %s", j.Status, text, j.Errors, want)
		}
		return nil
	}
}

const selectBare = `SELECT nid, response_id, round, household, stratum, grp, status, vstatus, verifier, verified_at, flags, collector, submitted_at, received_at,
	updated_at, revision, body, answers FROM responses WHERE survey = (SELECT nid FROM surveys WHERE survey_id = 'bench') ORDER BY nid`

// bareCSV reads and writes the same rows in the shortest way there is.
func bareCSV(ctx context.Context, d *db.DB) (time.Duration, error) {
	start := time.Now()
	rows, err := d.Query(ctx, selectBare)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	w := csv.NewWriter(io.Discard)
	n, s, cells := make([]int64, 8), make([]string, 10), make([]string, 18)
	for rows.Next() {
		err := rows.Scan(&n[0], &s[0], &n[1], &s[1], &s[2], &s[3], &s[4], &s[5], &s[6], &n[2], &n[3], &s[7], &n[4], &n[5], &n[6], &n[7], &s[8], &s[9])
		if err != nil {
			return 0, err
		}
		for i, v := range n {
			cells[i] = strconv.FormatInt(v, 10)
		}
		copy(cells[8:], s)
		if err := w.Write(cells); err != nil {
			return 0, err
		}
	}
	w.Flush()
	return time.Since(start), errors.Join(rows.Err(), w.Error())
}

// live returns how much memory was in use after the last garbage collection.
func live() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// watch returns a function that stops it and returns the most memory in use.
func watch() (stop func() uint64) {
	end, out := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, live())
			case <-end:
				out <- most
				return
			}
		}
	}()
	return func() uint64 {
		close(end)
		return <-out
	}
}
