package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// keyMark is the suffix in the names of all keys of a load, which distinguishes
// them from others.
func keyMark(id string) string { return "(demo " + id[max(0, len(id)-8):] + ")" }

// stage is a part of the load. Stages that learn what later ones need, such as the
// DIDs of twins, run in every attempt; what they send again is answered as before.
type stage struct {
	name   string
	always bool
	run    func(l *loader, ctx context.Context) error
}

func stages() []stage {
	return slices.Concat(twinStages(), readingStages(), surveyStages(), claimStages(), lineStages(), oracleStages(), officeStages())
}

// loader is one attempt at a load.
type loader struct {
	*plan
	s     *Service
	row   *row
	run   *job.Run
	http  *http.Client
	owner *client.Client // acts for the caller who asked for the load
	homes []home

	dids   map[string]string // by external id
	names  map[string]string // of people, by external id
	drawn  []int             // places of the households that were drawn
	counts Counts
	keys   map[string]string // texts of keys, by the name of whom they speak for
}

// saved is what an attempt leaves for the next.
type saved struct {
	Stage  string `json:"stage"` // the last that is done
	Counts Counts `json:"counts"`
}

// load is the handler of the job.
func (s *Service) load(ctx context.Context, run *job.Run) error {
	begun := s.cfg.Now()
	l, err := s.newLoader(ctx, run)
	if err != nil || l == nil {
		return err
	}
	err = errors.Join(l.work(ctx), l.close(ctx))
	took := s.cfg.Now().Sub(begun)
	if noted := addTime(context.WithoutCancel(ctx), s.db, l.row, took.Milliseconds()); err == nil {
		err = noted
	}
	if err != nil {
		return explained(err)
	}
	run.SetResult(l.counts)
	s.cfg.Log.InfoContext(ctx, "demo loaded", "duration_ms", took.Milliseconds())
	return nil
}

// explained turns a refusal of the API into one of the job, whose text says what is
// in the way.
func explained(err error) error {
	var e *client.Error
	if !errors.As(err, &e) || e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests {
		return err
	}
	return job.Permanent(fault.New(fault.Conflict, "DEMO_REFUSED", "The server has refused a part of the demo: "+e.Error()))
}

// newLoader opens the loader of a demo; nil when there is nothing to load.
func (s *Service) newLoader(ctx context.Context, run *job.Run) (*loader, error) {
	var about payload
	if err := run.Decode(&about); err != nil {
		return nil, err
	}
	r, err := find(ctx, s.db, web.CallerFrom(ctx).Workspace)
	if err != nil || r == nil || r.id != about.ID || r.state != loading {
		return nil, err
	}
	l := &loader{
		plan: s.planOf(r), s: s, row: r, run: run, dids: map[string]string{}, names: map[string]string{}, keys: map[string]string{},
		http: &http.Client{Transport: inside{s.cfg.Handler(), requestPrefix(r.id)}},
	}
	l.homes = l.plan.homes()
	return l, nil
}

func (s *Service) planOf(r *row) *plan {
	return &plan{seed: r.seed, scale: s.cfg.Scale, id: r.id, begun: timeOf(r.startedAt)}
}

// requestPrefix begins the request ids of a load.
func requestPrefix(id string) string { return "demo-" + id + "-" }

// work does the stages that are left.
func (l *loader) work(ctx context.Context) error {
	var before saved
	if _, err := l.run.State(&before); err != nil {
		return err
	}
	all := stages()
	done := slices.IndexFunc(all, func(st stage) bool { return st.name == before.Stage })
	l.counts = before.Counts
	if err := l.open(ctx); err != nil {
		return err
	}
	for i, st := range all {
		l.run.Progress(int64(i), int64(len(all)), st.name)
		if i <= done && !st.always {
			continue
		}
		if err := st.run(l, ctx); err != nil {
			return fmt.Errorf("load %s: %w", st.name, err)
		}
		if i <= done {
			continue
		}
		if err := l.save(ctx, saved{st.name, l.counts}); err != nil {
			return err
		}
	}
	l.run.Progress(int64(len(all)), int64(len(all)), "")
	return l.finish(ctx)
}

// save notes that a stage is done.
func (l *loader) save(ctx context.Context, st saved) error {
	return l.s.db.InTx(ctx, func(tx *db.Tx) error {
		r, err := find(ctx, tx, l.row.ws)
		if err != nil {
			return err
		}
		if r == nil || r.id != l.row.id || r.state != loading {
			return job.Permanent(fault.New(fault.Conflict, codeRemoving, "The demo was removed while it was loaded."))
		}
		return l.run.Save(ctx, tx, st)
	})
}

// finish makes the demo ready.
func (l *loader) finish(ctx context.Context) error {
	text, err := web.Encode(l.counts)
	if err != nil {
		return err
	}
	if err := l.endKeys(ctx); err != nil {
		return err
	}
	return l.s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := l.run.Hold(ctx, tx); err != nil {
			return err
		}
		return setReady(ctx, tx, l.row, l.s.cfg.Now().UnixMilli(), string(text))
	})
}

// open makes the loader's own key: it speaks for the caller who asked for the
// load, with no more rights than theirs.
func (l *loader) open(ctx context.Context) error {
	if err := l.endKeys(ctx); err != nil { // of an attempt that was cut off
		return err
	}
	c := web.CallerFrom(ctx)
	k, err := l.s.cfg.Auth.Create(ctx, auth.Draft{
		Name: "Loader " + keyMark(l.id), Role: "owner", Principal: c.DID, ExpiresAt: l.s.cfg.Now().Add(keyLife),
	})
	if err != nil {
		return err
	}
	l.owner, err = l.client(k.Text)
	return err
}

// keyLife is how long the keys of an attempt work unless they are revoked.
const keyLife = 6 * time.Hour

// close revokes the keys of an attempt that has ended, however it has.
func (l *loader) close(ctx context.Context) error { return l.endKeys(context.WithoutCancel(ctx)) }

// endKeys revokes the keys of this load.
func (l *loader) endKeys(ctx context.Context) error {
	for after, more := "", true; more; {
		list, next, err := l.s.cfg.Auth.List(ctx, "", after, 100)
		if err != nil {
			return err
		}
		for _, k := range list {
			after = k.ID
			if !strings.HasSuffix(k.Name, keyMark(l.id)) || k.CreatedBy != web.CallerFrom(ctx).DID || k.Status == auth.Revoked {
				continue
			}
			if _, err := l.s.cfg.Auth.Revoke(ctx, k.ID, ""); err != nil {
				return err
			}
		}
		more = next != nil
	}
	return nil
}

// client makes a client of this server for a key.
func (l *loader) client(key string) (*client.Client, error) {
	return client.New(client.Config{BaseURL: address, Key: key, HTTP: l.http, UserAgent: "hearth-demo", Timeout: time.Minute})
}

// as is a client of a person in the demo, with their own key: it has what their
// groups give.
func (l *loader) as(ctx context.Context, external string) (*client.Client, error) {
	if text, ok := l.keys[external]; ok {
		return l.client(text)
	}
	k, err := l.owner.Keys.Create(ctx, client.KeyDraft{
		Name: l.names[external] + " " + keyMark(l.id), Role: "member", Principal: l.dids[external], // and it ends with that of the loader
	})
	if err != nil {
		return nil, err
	}
	l.keys[external] = k.Text
	return l.client(k.Text)
}

// once names a call, so that it has one effect in all attempts.
func (l *loader) once(format string, args ...any) client.Option {
	return client.IdempotencyKey(l.id + "/" + fmt.Sprintf(format, args...))
}

// known are the external ids of a twin.
func known(external string) map[string]string { return map[string]string{Scheme: external} }

// isCode reports whether the server has refused a call with a code.
func isCode(err error, code string) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Code == code
}

// twin makes a twin with an external id, or finds the one an earlier attempt has
// made: answers are kept for a day, twins for good.
func (l *loader) twin(ctx context.Context, external string, make func(client.Option) (string, error)) (string, error) {
	did, err := make(l.once("twin/%s", external))
	if isCode(err, "EXTERNAL_ID_EXISTS") || isCode(err, "DEVICE_DATA_CONFLICT") || isCode(err, "IDEMPOTENCY_ANSWER_LOST") {
		var page *client.Page[client.Entity]
		page, err = l.owner.Entities.Page(ctx, client.EntityQuery{ExternalID: external, Fields: []string{"did", "externalIds", "created"}})
		for _, e := range page.Items {
			if err == nil && e.ExternalIDs[Scheme] == external && !e.Created.Before(l.begun) {
				did = e.DID
			}
		}
		if err == nil && did == "" {
			err = fault.New(fault.Conflict, "DEMO_REFUSED", "Another twin has the external id "+external+" of the scheme demo. Change it, then load the demo again.")
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", external, err)
	}
	l.dids[external] = did
	return did, nil
}
