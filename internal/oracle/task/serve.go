package task

import (
	"context"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	// look is how often an instance looks for what has come due.
	look = 2 * time.Second
	// lease is how long an instance has to begin an answer; then another one tries.
	lease = time.Minute
	// later is when to try again what cannot begin now.
	later = 15 * time.Second
)

// Serve asks due tasks until ctx ends.
func (p *Plugin) Serve(ctx context.Context) error {
	var answers sync.WaitGroup
	defer answers.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-p.wake:
		}
		if err := p.pass(ctx, &answers); err != nil && ctx.Err() == nil {
			p.log.WarnContext(ctx, "tasks wait for the store", "err", err.Error())
		}
		timer.Reset(look)
	}
}

// pass asks all that is due, as long as there is room. An answer that ends wakes the
// loop.
func (p *Plugin) pass(ctx context.Context, answers *sync.WaitGroup) error {
	for ctx.Err() == nil {
		now := p.from.Now()
		at, ok, err := soonest(ctx, p.from.DB)
		if err != nil || !ok || at > now.UnixMilli() {
			return err
		}
		one, ok, err := p.choose(ctx, now)
		if err != nil || !ok {
			return err
		}
		t, err := claim(ctx, p.from.DB, one, now.Add(lease).UnixMilli())
		if err != nil {
			return err
		}
		if t == nil { // another instance was faster
			continue
		}
		over := p.turns.take(t.owner.User)
		answers.Go(func() {
			defer func() {
				over()
				p.poke()
			}()
			if err := p.ask(ctx, t); err != nil && ctx.Err() == nil {
				p.log.WarnContext(ctx, "task not asked", "job", t.id, "err", err.Error())
			}
		})
	}
	return nil
}

// choose finds the task whose turn it is; ok is false when nothing is due for which
// there is room.
func (p *Plugin) choose(ctx context.Context, now time.Time) (one dueTask, ok bool, err error) {
	kinds, full := p.turns.open()
	for _, k := range kinds {
		due, err := due(ctx, p.from.DB, k, now.UnixMilli(), full)
		if err != nil {
			return dueTask{}, false, err
		}
		if len(due) > 0 {
			return p.turns.pick(due), true, nil
		}
	}
	return dueTask{}, false, nil
}

// ask asks a claimed task, and waits for the answer. If the outcome is unknown,
// the lease will expire.
func (p *Plugin) ask(ctx context.Context, t *task) error {
	if t.planned == nil { // cannot be: it is due
		return conclude(ctx, p.from.DB, t, outcome{status: paused, at: p.from.Now().UnixMilli()})
	}
	switch reason, err := p.ended(ctx, t); {
	case err != nil:
		return err
	case reason != "":
		return p.pause(ctx, t, reason)
	}
	if busy, err := p.from.Busy(ctx, t.owner.User, t.thread()); err != nil {
		return err
	} else if busy {
		return p.wait(ctx, t, "The answer to the previous time was not finished yet.")
	}
	sent, err := p.from.Send(ctx, t.message())
	f := fault.As(err)
	switch {
	case fault.CodeOf(err) == "IDEMPOTENCY_KEY_REUSED": // it was asked, and its words were changed since
		return p.over(ctx, t, Sent{Run: t.lastRun, Session: t.session}, "")
	case f != nil && (f.Kind == fault.TooMany || f.Kind == fault.Unavailable):
		return p.wait(ctx, t, f.Message)
	case f != nil && f.Kind != fault.Internal:
		return p.over(ctx, t, Sent{Session: t.session}, f.Message)
	case err != nil:
		return err
	}
	if err := p.over(ctx, t, sent, ""); err != nil {
		return err
	}
	failure, err := p.from.Await(ctx, t.owner.User, sent.Run)
	if err != nil || failure == "" {
		return err
	}
	return fail(ctx, p.from.DB, t.nid, sent.Run, failure)
}

// ended says why a task may not continue, "" when it may.
func (p *Plugin) ended(ctx context.Context, t *task) (string, error) {
	if o := t.owner; !o.Ends.IsZero() && !p.from.Now().Before(o.Ends) {
		return "The delegation it was made with has ended.", nil
	}
	err := p.from.Stands(ctx, t.owner)
	switch kind := fault.KindOf(err); {
	case err == nil:
		return "", nil
	case kind == fault.Unauthenticated || kind == fault.Forbidden:
		return "The credential it was made with is no longer valid: " + fault.As(err).Message, nil
	}
	return "", err
}

// pause stops a task whose owner has lost the right to it, and says so where they
// look for its answers.
func (p *Plugin) pause(ctx context.Context, t *task, reason string) error {
	p.log.InfoContext(ctx, "task paused", "job", t.id, "reason", reason)
	told := "This task is paused. " + reason + " To resume it, set it to active with a valid credential (PATCH /tasks/" + t.id + ")."
	if err := p.from.Tell(ctx, t.message(), told); err != nil {
		p.log.WarnContext(ctx, "task paused silently", "job", t.id, "err", err.Error())
	}
	return conclude(ctx, p.from.DB, t, outcome{status: paused, reason: reason, at: p.from.Now().UnixMilli(), failure: reason, session: t.session})
}

// wait tries a time again soon; when it has waited too long it is left out.
func (p *Plugin) wait(ctx context.Context, t *task, why string) error {
	now := p.from.Now()
	if t.waits != nil && now.Sub(time.UnixMilli(*t.waits)) >= p.lock {
		return p.over(ctx, t, Sent{Session: t.session}, "It was skipped: "+why)
	}
	return postpone(ctx, p.from.DB, t, now.Add(later).UnixMilli(), now.UnixMilli())
}

// over ends a time of a task and plans the next one: the first that is still to
// come, so that all that passed count as this one.
func (p *Plugin) over(ctx context.Context, t *task, sent Sent, failure string) error {
	now := p.from.Now()
	o := outcome{status: done, at: now.UnixMilli(), run: sent.Run, session: sent.Session, failure: failure}
	if t.cron != "" {
		at, err := next(t.cron, now, t.place())
		if err != nil {
			o.status, o.reason = paused, "The schedule has no future time."
		} else {
			ms := at.UnixMilli()
			o.status, o.next = active, &ms
		}
	}
	return conclude(ctx, p.from.DB, t, o)
}
