package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/claim"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/ussd"
)

// Kinds of work the server gives itself.
const (
	kindSweep  = "store.sweep"
	kindBackup = "backup.create"
)

// sweepChunk is how many rows one transaction of a sweep removes: what every
// other writer waits for.
const sweepChunk = 100

// jobs makes the runner with everything that runs by time.
func (a *App) jobs() (*job.Runner, error) {
	c := job.RunnerConfig{
		Handlers: map[string]job.Handler{kindSweep: a.sweep, kindBackup: a.backup, kindVerify: (&operations{cfg: a.cfg}).verify},
		Every:    []job.Every{{Kind: kindSweep, Interval: 10 * time.Minute}},
		Grace:    a.cfg.Server.ShutdownTimeout * 2 / 3,
		Alone:    !a.cfg.Postgres(), // the lock of the data folder
	}
	if every := a.cfg.Backup.Every; every > 0 {
		c.Every = append(c.Every, job.Every{Kind: kindBackup, Interval: every, Payload: backupPayload{Scheduled: true}, Workspace: auth.OperatorWorkspace})
	}
	a.twins.jobs(&c)
	a.surveys.jobs(&c)
	a.line.jobs(&c)
	a.mind.jobs(&c)
	a.asked(c.Handlers, a.twins.bulk.Handlers())
	a.asked(c.Handlers, claim.NewSimulations(a.twins.claims).Handlers())
	a.asked(c.Handlers, a.surveys.exports.Handlers())
	a.asked(c.Handlers, a.surveys.imports.Handlers())
	a.asked(c.Handlers, a.surveys.figures.Handlers())
	a.asked(c.Handlers, a.surveys.reports.Handlers())
	a.asked(c.Handlers, a.reports.Handlers())
	a.asked(c.Handlers, a.demo.Loads())
	return a.Jobs.NewRunner(c)
}

// retention is one thing that grows and how long it is kept.
type retention struct {
	name   string
	keep   time.Duration // 0 keeps it for ever
	expire func(ctx context.Context, before time.Time, limit int) (int, error)
}

func (a *App) retentions() []retention {
	e := a.cfg.Events
	return slices.Concat([]retention{
		{"idempotency answers", e.IdempotencyRetention, a.Idem.Expire},
		{"events", e.Retention, a.Events.Expire},
		{"jobs", e.JobRetention, a.Jobs.Expire},
		{"imports, exports and their reports", e.JobRetention, a.exchange.Expire},
		{"files of imports and exports", exchange.FileLife, a.exchange.ExpireFiles},
		{"webhook deliveries", e.DeliveryRetention, a.Webhooks.Expire},
		{"sessions of browsers", auth.SessionIdle, a.Auth.Sessions().Expire},
	}, a.twins.retentions(e), a.surveys.retentions(e), a.line.retentions(e), a.mind.retentions(e))
}

// sweep removes what has outlived its retention, a chunk and a transaction at a
// time, until nothing is left.
func (a *App) sweep(ctx context.Context, r *job.Run) error {
	removed := 0
	for name, make := range map[string]func(context.Context) error{
		"readings": a.twins.devices.MakeMonths, "events": event.Parts(a.DB).Make, "calls": ussd.Parts(a.DB).Make, "webhook deliveries": webhook.Parts(a.DB).Make,
	} {
		if err := make(ctx); err != nil {
			a.log.WarnContext(ctx, name+" not in parts", "err", err.Error())
		}
	}
	for _, s := range a.retentions() {
		for s.keep > 0 {
			n, err := s.expire(ctx, a.DB.Now().Add(-s.keep), sweepChunk)
			if err != nil {
				return fmt.Errorf("expire %s: %w", s.name, err)
			}
			removed += n
			r.Progress(int64(removed), 0, s.name)
			if n == 0 {
				break
			}
		}
	}
	return nil
}

// backupPayload is the payload of a backup job.
type backupPayload struct {
	Scheduled bool `json:"scheduled"` // by schedule, not by request
}

// backup takes a backup and removes the oldest ones. Where there may be several servers
// that of the schedule, which any of them takes, needs a folder that all have; else none is made.
func (a *App) backup(ctx context.Context, r *job.Run) error {
	var p backupPayload
	if err := r.Decode(&p); err != nil {
		return err
	}
	if p.Scheduled && a.cfg.Postgres() {
		if ok, err := sharesBackups(ctx, a, markWait); err != nil || !ok {
			return err
		}
	}
	b, err := CreateBackup(ctx, a.DB, a.cfg.BackupDir(), "")
	if err != nil {
		return err
	}
	removed, err := db.PruneBackups(a.cfg.BackupDir(), a.cfg.Backup.Keep)
	if err != nil {
		return err
	}
	a.log.InfoContext(ctx, "backup", "file", filepath.Base(b.File), "bytes", b.Bytes, "removed", len(removed))
	r.SetResult(backupResult{File: filepath.Base(b.File), Bytes: b.Bytes, SHA256: b.SHA256, Removed: len(removed)})
	return nil
}

// backupResult is what the job of a backup shows the operators.
type backupResult struct {
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Removed int    `json:"removed"` // older backups that were removed
}

// CreateBackup writes a backup into dir, or to file when it is given.
func CreateBackup(ctx context.Context, d *db.DB, dir, file string) (*db.Backup, error) {
	if file == "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make backup folder: %w", err)
		}
		file = filepath.Join(dir, d.BackupName(time.Now()))
	}
	return d.Backup(ctx, file)
}
