package task

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

const (
	maxTitle  = 80
	maxPrompt = 4000
)

func notFound() error {
	return &plugin.Error{Status: http.StatusNotFound, Message: "Task not found"}
}

func isMissing(err error) bool {
	var e *plugin.Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}

// ownerOf is who ctx acts for, as they came.
func ownerOf(ctx context.Context) (Owner, error) {
	c := tool.From(ctx)
	if c.Talker == "" {
		return Owner{}, &plugin.Error{Status: http.StatusForbidden, Message: "Nothing can be scheduled here: the request has no user."}
	}
	if c.Caller.Key == "" && !c.Whole {
		return Owner{}, &plugin.Error{Status: http.StatusForbidden, Message: "Tasks need a delegation of all capabilities."}
	}
	o := Owner{User: c.Talker, DID: c.User, Signer: c.Signer, Key: c.Caller, Ends: c.Ends}
	o.Key.Again = nil
	return o, nil
}

// create makes a task. Two requests with the same key make one.
func (p *Plugin) create(ctx context.Context, in api.TaskChange, key string) (api.Task, error) {
	owner, err := ownerOf(ctx)
	if err != nil {
		return api.Task{}, err
	}
	now := p.from.Now().UnixMilli()
	t := &task{nid: p.from.DB.NewNID(), id: newID(owner.User, key), owner: owner, zone: tool.From(ctx).Timezone, status: active, created: now}
	if _, err := zoneOf(t.zone); err != nil {
		t.zone = "UTC"
	}
	if err := p.fill(t, in, true); err != nil {
		return api.Task{}, err
	}
	err = p.from.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		t, err = insert(ctx, tx, t, p.limit)
		return err
	})
	if err != nil {
		return api.Task{}, err
	}
	p.poke()
	return t.show(), nil
}

// newID makes the id of a task: the same one for the same key of a user.
func newID(user, key string) string {
	if key == "" {
		return "task_" + strings.ReplaceAll(db.NewID(), "-", "")
	}
	sum := sha256.Sum256([]byte(user + "\n" + key))
	return "task_" + hex.EncodeToString(sum[:16])
}

// update changes a task. The caller who changes it becomes its owner: it continues
// with that caller's present credential.
func (p *Plugin) update(ctx context.Context, id string, in api.TaskChange) (api.Task, error) {
	owner, err := ownerOf(ctx)
	if err != nil {
		return api.Task{}, err
	}
	var t *task
	err = p.from.DB.InTx(ctx, func(tx *db.Tx) error {
		if t, err = find(ctx, tx, owner.User, id); err != nil {
			return err
		}
		t.owner = owner
		if err := p.fill(t, in, false); err != nil {
			return err
		}
		return change(ctx, tx, t)
	})
	if err != nil {
		return api.Task{}, err
	}
	p.poke()
	return t.show(), nil
}

// fill applies the request to a task and plans it. The error names all
// mistakes, in the form of the oracle's other routes.
func (p *Plugin) fill(t *task, in api.TaskChange, fresh bool) error {
	var wrong []string
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	text := func(name string, from *string, to *string, limit int, breaks bool) {
		if from == nil {
			if fresh {
				bad("%s should not be empty", name)
			}
			return
		}
		control := func(r rune) bool { return unicode.IsControl(r) && (!breaks || r != '\n') }
		switch *to = strings.TrimSpace(*from); {
		case *to == "":
			bad("%s should not be empty", name)
		case utf8.RuneCountInString(*to) > limit:
			bad("%s must be shorter than or equal to %d characters", name, limit)
		case strings.ContainsFunc(*to, control):
			bad("%s must not hold control characters", name)
		}
	}
	text("title", in.Title, &t.title, maxTitle, false)
	text("prompt", in.Prompt, &t.prompt, maxPrompt, true)
	was := t.status
	if in.Status != nil {
		if t.status = *in.Status; t.status != active && t.status != paused {
			bad("status must be one of the following values: active, paused")
		}
	}
	wrong = append(wrong, p.plan(t, in, fresh, was)...)
	t.updated = p.from.Now().UnixMilli()
	if len(wrong) == 0 {
		return nil
	}
	return &plugin.Error{Status: http.StatusBadRequest, Message: "The task is not valid", Details: wrong}
}

// plan computes when a task runs next. It returns what is wrong with the times.
func (p *Plugin) plan(t *task, in api.TaskChange, fresh bool, was string) (wrong []string) {
	if in.Timezone != nil {
		if _, err := zoneOf(*in.Timezone); err != nil {
			return []string{"timezone must be an IANA name, such as Africa/Nairobi"}
		}
		t.zone = *in.Timezone
	}
	switch {
	case in.Cron != nil && in.At != nil:
		return []string{"cron and at exclude each other"}
	case in.Cron != nil:
		t.cron, t.once = strings.Join(strings.Fields(*in.Cron), " "), nil
		if why := p.badCron(t.cron); why != "" {
			return []string{why}
		}
	case in.At != nil:
		at, err := moment(*in.At, t.place())
		if now := p.from.Now(); err != nil || !at.After(now) || at.Sub(now) > farthest {
			return []string{"at must be a time in the future, such as 2027-01-31T07:00 or 2027-01-31T07:00:00+03:00, at most five years away"}
		}
		once := at.UnixMilli()
		t.cron, t.once = "", &once
	case fresh:
		return []string{"either cron or at must be provided"}
	}
	changed := in.Cron != nil || in.At != nil
	switch {
	case t.status == paused:
		t.planned = nil
	case t.status == done && !changed:
		return nil
	case t.status == active && was == active && !changed && in.Timezone == nil:
		return nil // the plan stays
	default:
		t.status, t.reason = active, ""
		return p.replan(t)
	}
	return nil
}

// replan plans the next time of a task that is active.
func (p *Plugin) replan(t *task) []string {
	now := p.from.Now()
	if t.cron == "" {
		if *t.once <= now.UnixMilli() {
			return []string{"at has passed: give a new one"}
		}
		t.planned = t.once
	} else if at, err := next(t.cron, now, t.place()); err != nil {
		return []string{"cron must have a time in the next five years"}
	} else {
		ms := at.UnixMilli()
		t.planned = &ms
	}
	t.due = t.planned
	return nil
}

// badCron says what is wrong with a schedule.
func (p *Plugin) badCron(cron string) string {
	if len(cron) > maxCron || !cronPattern.MatchString(cron) {
		return "cron must have five fields, such as 0 7 * * MON"
	}
	often, err := tooOften(cron, p.least)
	switch {
	case err != nil:
		return "cron must have five fields, such as 0 7 * * MON, and a time that comes"
	case often:
		return fmt.Sprintf("cron must leave at least %s between two times", p.least)
	}
	return ""
}

// show is a task as its user sees it.
func (t *task) show() api.Task {
	at := func(ms *int64) time.Time {
		if ms == nil {
			return time.Time{}
		}
		return time.UnixMilli(*ms).UTC()
	}
	return api.Task{
		ID: t.id, Title: t.title, Prompt: t.prompt, Cron: t.cron, At: at(t.once), Timezone: t.zone, Status: t.status, Reason: t.reason, NextRunAt: at(t.planned),
		LastRunAt: at(t.last), LastRunID: t.lastRun, LastError: t.lastError, SessionID: t.session, CreatedAt: at(&t.created), UpdatedAt: at(&t.updated),
	}
}

// poke makes the loop look for due tasks.
func (p *Plugin) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
