package app

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/ops"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// operations serves the server's operators: its health, failures, settings, and
// backups.
type operations struct {
	core    *Core
	cfg     *config.Config
	sys     *system
	trouble *ops.Trouble
}

// kindVerify is the job that checks whether a backup is whole.
const kindVerify = "backup.verify"

const backupsPath = "/v1/backups"

const codeRestricted = "KEY_RESTRICTED"

// ofServer refuses callers limited to projects: the state of the server, its
// settings and its backups belong to no project. The fault is KEY_RESTRICTED.
func ofServer(ctx context.Context) error {
	if len(web.CallerFrom(ctx).Projects) > 0 {
		return fault.New(fault.Forbidden, codeRestricted, "This key is limited to projects; the server works for all of them. Use a key without that limit.")
	}
	return nil
}

func (o *operations) routes(a *web.API) {
	const tag, read = "operations", "operations:read"
	limited := []string{codeRestricted}
	o.nodeRoutes(a)
	web.Get(a, "/v1/health/summary", o.serveSummary, web.Doc{
		Summary: "Read the state of the server", Scope: read, Tag: tag, Codes: limited,
		Description: "Checks, disk, store and the newest backup, and how the requests of the last hour ended. Counts are of this process, since it started.",
	})
	web.Get(a, "/v1/health/errors", o.serveErrors, web.Doc{
		Summary: "List the last requests that failed, newest first", Scope: read, Tag: tag, Codes: limited,
		Description: "The last 200 that this process answered with 5xx, until it stops. The log of the server has more under the id of the request.",
	})
	web.Get(a, "/v1/settings", o.serveSettings, web.Doc{
		Summary: "List the settings of the server", Scope: read, Tag: tag, Codes: limited,
		Description: "As they are now, with secrets hidden. They change only with a restart.",
	})
	web.Get(a, backupsPath, o.serveBackups, web.Doc{Summary: "List the backups, newest first", Scope: read, Tag: tag, Codes: limited, Description: "The files of the backup folder (`HEARTH_BACKUP_DIR`)."})
	web.Post(a, backupsPath, o.serveBackup, web.Doc{
		Summary: "Make a backup", Status: http.StatusAccepted, Scope: "operations:write", Tag: tag,
		Description: "A job copies the store while it is in use, checks the copy and removes the oldest beyond `HEARTH_BACKUP_KEEP`. Asking again within the same minute gives the same job. A restore is a command: `hearth backup restore`.",
		Codes:       limited,
	})
	web.Post(a, backupsPath+"/{id}/verify", o.serveVerify, web.Doc{
		Summary: "Check that a backup is whole", Status: http.StatusAccepted, Scope: "operations:write", Tag: tag,
		Description: "A job reads the whole file and compares it with its checksum. It fails when something is wrong.",
		Codes:       []string{"BACKUP_NOT_FOUND", codeRestricted},
	})
}

func (o *operations) serveSummary(ctx context.Context, _ *nothing) (api.HealthSummary, error) {
	if err := ofServer(ctx); err != nil {
		return api.HealthSummary{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	ready, store, now := o.sys.ready(ctx), o.core.DB.Stats(), time.Now().UTC().Truncate(time.Millisecond)
	out := api.HealthSummary{
		Status: ready.Status, Checks: ready.Checks, Durability: ready.Durability, Version: o.sys.version, Environment: o.sys.environment,
		StartedAt: o.sys.started.UTC().Truncate(time.Millisecond), Uptime: int64(now.Sub(o.sys.started).Seconds()), Disk: ops.DiskOf(o.cfg.Data.Dir),
		Store:    api.StoreHealth{Bytes: store.FileBytes + store.WALBytes, Queued: store.Queued, Failures: store.Failures},
		LastHour: o.trouble.Hour(now),
	}
	backups, err := o.backups()
	if err == nil && len(backups) > 0 {
		out.LastBackup = &backups[0]
	}
	return out, err
}

func (o *operations) serveErrors(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[api.Mishap]], error) {
	if err := ofServer(ctx); err != nil {
		return web.Reply[web.Page[api.Mishap]]{}, err
	}
	var below int64
	return web.List(ctx, o.core.cursors, in.Paging, &below, func(limit int) ([]api.Mishap, int64, error) {
		items, next := o.trouble.List(below, limit)
		return items, next, nil
	})
}

// pageOf is the part of a list that is all in memory which a page shows.
func pageOf[T any](ctx context.Context, o *operations, in web.Paging, all []T) (web.Reply[web.Page[T]], error) {
	var from int
	return web.List(ctx, o.core.cursors, in, &from, func(limit int) ([]T, int, error) {
		left := all[min(max(from, 0), len(all)):]
		if len(left) <= limit {
			return left, 0, nil
		}
		return left[:limit], len(all) - len(left) + limit, nil
	})
}

func (o *operations) serveSettings(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[api.Setting]], error) {
	if err := ofServer(ctx); err != nil {
		return web.Reply[web.Page[api.Setting]]{}, err
	}
	titles := map[string]string{}
	for _, g := range config.Groups() {
		titles[g.Key] = g.Title
	}
	var all []api.Setting
	for _, s := range config.Settings() {
		v := api.Setting{Name: s.Env, Group: titles[s.Group()], Value: o.cfg.Shown(s), Default: s.Default, About: s.Doc, Secret: s.Secret, Source: o.cfg.Source(s.Env)}
		if v.Value == "-" {
			v.Value = ""
		}
		all = append(all, v)
	}
	return pageOf(ctx, o, in.Paging, all)
}

// backups returns the backups in the backup folder, newest first.
func (o *operations) backups() ([]api.Backup, error) {
	files, err := db.ListBackups(o.cfg.BackupDir())
	out := make([]api.Backup, 0, len(files))
	for _, k := range slices.Backward(files) {
		b := api.Backup{ID: filepath.Base(k.Path), At: k.At.UTC().Truncate(time.Millisecond), Bytes: k.Bytes}
		if !k.VerifiedAt.IsZero() {
			b.VerifiedAt = k.VerifiedAt.UTC().Truncate(time.Millisecond)
		}
		out = append(out, b)
	}
	return out, err
}

func (o *operations) serveBackups(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[api.Backup]], error) {
	if err := ofServer(ctx); err != nil {
		return web.Reply[web.Page[api.Backup]]{}, err
	}
	all, err := o.backups()
	if err != nil {
		return web.Reply[web.Page[api.Backup]]{}, err
	}
	return pageOf(ctx, o, in.Paging, all)
}

func (o *operations) serveBackup(ctx context.Context, _ *nothing) (web.Reply[job.Job], error) {
	if err := ofServer(ctx); err != nil {
		return web.Reply[job.Job]{}, err
	}
	return o.begin(ctx, job.Draft{Kind: kindBackup, Key: minuteKey(), About: backupsPath})
}

// minuteKey is the same for all who ask within a minute: a flood makes one job.
func minuteKey() string { return strconv.FormatInt(time.Now().Unix()/60, 10) }

// verifyPayload names the backup to look at.
type verifyPayload struct {
	ID string `json:"id"`
}

func (o *operations) serveVerify(ctx context.Context, in *struct {
	ID string `path:"id" doc:"Id of the backup." example:"hearth-20261115T001836Z.db"`
},
) (web.Reply[job.Job], error) {
	if err := ofServer(ctx); err != nil {
		return web.Reply[job.Job]{}, err
	}
	if _, err := o.backup(in.ID); err != nil {
		return web.Reply[job.Job]{}, err
	}
	return o.begin(ctx, job.Draft{Kind: kindVerify, Payload: verifyPayload{in.ID}, Key: in.ID + " " + minuteKey(), About: backupsPath, MaxAttempts: 1})
}

// begin gives the server a job and answers with it.
func (o *operations) begin(ctx context.Context, d job.Draft) (out web.Reply[job.Job], err error) {
	err = o.core.DB.InTx(ctx, func(tx *db.Tx) error {
		id, err := o.core.Jobs.Enqueue(ctx, tx, d)
		if err == nil {
			out, err = o.core.Jobs.Accepted(ctx, tx, id)
		}
		return err
	})
	return out, err
}

// backup is the path of a backup. A name that is not in the list, such as one
// with a slash, names none.
func (o *operations) backup(id string) (string, error) {
	files, err := db.ListBackups(o.cfg.BackupDir())
	if err != nil {
		return "", err
	}
	for _, k := range files {
		if filepath.Base(k.Path) == id {
			return k.Path, nil
		}
	}
	return "", fault.New(fault.NotFound, "BACKUP_NOT_FOUND", "There is no such backup. It may have been removed for a newer one.")
}

// verify is the job that checks whether a backup is whole.
func (o *operations) verify(ctx context.Context, r *job.Run) error {
	var p verifyPayload
	if err := r.Decode(&p); err != nil {
		return err
	}
	file, err := o.backup(p.ID)
	if err != nil {
		return err
	}
	b, err := db.VerifyFile(ctx, file)
	noted := db.MarkVerified(file, err == nil)
	if err != nil {
		damaged := fault.New(fault.Conflict, "BACKUP_DAMAGED", "This backup is not whole. Do not restore it; make another one.")
		damaged.Err = err
		return job.Permanent(errors.Join(damaged, noted))
	}
	r.SetResult(backupResult{File: p.ID, Bytes: b.Bytes, SHA256: b.SHA256})
	return noted
}

// noting makes trouble remember the outcomes of requests, and then calls next.
func noting(t *ops.Trouble, next web.Observer) web.Observer {
	return func(r *http.Request, s web.Seen) {
		// A page that asks again cancels its earlier request: then nothing has failed.
		if gone := r.Context().Err() != nil; !gone && !web.HealthRoute(r) {
			t.Note(api.Mishap{
				At: time.Now().UTC().Truncate(time.Millisecond), RequestID: web.RequestID(r.Context()), Method: s.Method, Route: s.Route, Status: s.Status, DurationMS: s.Duration.Milliseconds(),
			})
		}
		if next != nil {
			next(r, s)
		}
	}
}
