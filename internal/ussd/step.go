package ussd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

const (
	maxMissed = 5 // times that a step runs again because another instance was first
	// maxEffects limits how many actions with an effect one request may lead
	// to, so that dialling a long text cannot send a hundred messages.
	maxEffects = 8
)

// errMissed says that another instance has changed the session meanwhile.
var errMissed = errors.New("another step of the session was stored first")

// outcome is what a step gave.
type outcome struct {
	reply  wire.Reply
	pack   string
	node   string
	result string
	units  int
	first  bool
	effect bool // an action with an effect ran
}

// steps are the tries of one step: each in one transaction, and again when
// another instance was faster, for then the same request is most likely its
// copy.
type steps struct {
	s    *Service
	f    *flight
	a    attempt
	try  int
	call *db.Call
	out  outcome
	err  error

	began    time.Time                 // by the clock of the machine
	given    map[string]machine.Result // what actions outside the transaction gave, by key
	claiming bool                      // the beginning of the call is being stored
}

// begin starts the first try.
func (s *Service) begin(ctx context.Context, f *flight) *steps {
	st := &steps{s: s, f: f, began: time.Now()}
	st.next(ctx)
	return st
}

// next starts a try. ctx does not end with the request: what has begun is
// finished.
func (st *steps) next(ctx context.Context) {
	st.f.q.copied = st.f.q.copied || st.try > 0
	given := st.given
	st.call = st.s.db.Start(ctx, func(tx *db.Tx) (err error) {
		st.a = attempt{s: st.s, tx: tx, q: &st.f.q, now: st.s.now(), load: st.try > 0, given: given}
		if st.a.out, err = st.a.step(ctx); err == nil && st.s.trip != nil {
			err = st.s.trip()
		}
		return err
	})
}

// wait is false when stop came before the step was over. A panic of an action
// is an error: it may happen where nothing else catches it.
func (st *steps) wait(ctx context.Context, stop <-chan time.Time) (over bool) {
	defer func() {
		if v := recover(); v != nil {
			st.s.log.ErrorContext(ctx, "a step panicked", "gateway", st.f.q.key.gateway, "panic", fmt.Sprint(v))
			over, st.err = true, fault.New(fault.Internal, "INTERNAL", "Internal error.")
		}
	}()
	for {
		if over, st.err = st.call.Wait(stop); !over {
			return false
		}
		if o := needs(st.err); o != nil {
			if !st.meet(ctx, o) {
				return true
			}
			continue
		}
		switch {
		case st.err == nil && st.claiming:
			st.claiming = false
			st.next(ctx)
			continue
		case st.err == nil:
			st.out = st.a.out // after an error a stuck function may still be at it
			return true
		case !errors.Is(st.err, errMissed):
			return true
		}
		if st.try++; st.try == maxMissed {
			st.err = fmt.Errorf("step of a session: %w %d times", errMissed, maxMissed)
			return true
		}
		st.next(ctx)
	}
}

// attempt is one run of a step inside its transaction.
type attempt struct {
	s    *Service
	tx   *db.Tx
	q    *request
	now  time.Time
	load bool // look for the session before anything else
	bold bool // store the first screen unless there is a session or a draft

	given map[string]machine.Result // what actions outside the transaction gave
	began int64                     // µs: the call was stored before its first screen

	row     *row // nil: it does not exist yet
	expired bool // the stored session is over its time
	rec     *record
	pack    *menu.Pack

	at      place // of the input at work
	nth     int   // of its actions
	acted   bool  // an action wrote
	effects int   // actions with an effect that ran
	success bool  // an action had its first result
	halt    bool  // the walk took another turn than before: the rest is for other screens
	first   bool  // a call begins
	screen  machine.Screen
	out     outcome
}

// step finds the session and takes the request to it. A first dial is stored
// right away, for it nearly always is one.
func (a *attempt) step(ctx context.Context) (outcome, error) {
	if a.q.Text == "" && !a.load {
		a.bold = a.tx.Dialect() == db.SQLite
		out, err := a.start(ctx, first(a.q))
		a.bold = false
		if !errors.Is(err, errMissed) || a.acted {
			return out, err
		}
	}
	a.first = false
	row, err := find(ctx, a.tx, a.q.key.id)
	if err != nil {
		return outcome{}, err
	}
	if row == nil {
		return a.start(ctx, first(a.q))
	}
	rec, err := readRecord(row.state, &a.q.key, a.s.box)
	if err != nil {
		// Another key sealed it, or a later version wrote it: dial again.
		a.s.log.WarnContext(ctx, "stored session cannot be read", "gateway", a.q.key.gateway)
		rec = &record{mode: latest}
	}
	a.row, a.rec = row, rec
	if err == nil && rec.begins() {
		a.began = rec.started
		return a.start(ctx, first(a.q))
	}
	if a.expired = row.expires <= a.now.UnixMilli(); err != nil || a.expired {
		return a.take(ctx, rec.again(a.q))
	}
	q := *a.q
	q.copied = q.copied || q.Arrived.UnixMicro() < rec.updated
	return a.take(ctx, rec.read(&q, a.s.marks, a.now.UnixMicro()))
}

// take does what a request of a known session means.
func (a *attempt) take(ctx context.Context, rd reading) (outcome, error) {
	switch rd.meaning {
	case repeat:
		return a.repeat(), nil
	case fresh:
		return a.start(ctx, rd)
	}
	rec := a.rec
	if a.pack = a.s.cfg.Packs.Version(rec.state.Version); a.pack == nil {
		return a.adopt(ctx, rd)
	}
	if rd.meaning == rebuild {
		return a.restart(ctx, rd)
	}
	return a.proceed(ctx, rd)
}

// repeat answers as before. Nothing is written.
func (a *attempt) repeat() outcome {
	r := a.rec
	return outcome{reply: wire.Reply{Text: r.answer, End: r.state.Done}, node: r.state.Node, result: ResultRepeated}
}

// adopt takes a step of a session whose pack is gone, with the current one: by
// walking again what the text says, or on the same node if it is still there.
func (a *attempt) adopt(ctx context.Context, rd reading) (outcome, error) {
	p := a.s.cfg.Packs.Current()
	a.pack = p
	switch {
	case rd.meaning == rebuild:
		return a.restart(ctx, rd)
	case !rd.stepped && !a.rec.resumed:
		rd.parts = split(a.q.Text, 0)
		return a.restart(ctx, rd)
	case a.rec.state.Pack == p.Name && p.Node(a.rec.state.Node) != nil:
		a.rec.state.Version = p.Version
		return a.proceed(ctx, rd)
	}
	rd.parts = nil
	return a.start(ctx, rd)
}

// start begins a call, from a kept walk if there is one and nothing else was
// dialled.
func (a *attempt) start(ctx context.Context, rd reading) (outcome, error) {
	a.pack, a.first = a.s.cfg.Packs.Current(), true
	a.rec = &record{started: cmp.Or(a.began, a.now.UnixMicro())}
	if !a.bold {
		if err := a.pickUp(ctx, rd); err != nil {
			return outcome{}, err
		}
	}
	return a.walk(ctx, rd)
}

// restart walks a call again from its beginning. What actions gave the first
// time counts, so nothing happens twice; but a login has to be one still.
func (a *attempt) restart(ctx context.Context, rd reading) (outcome, error) {
	old := a.rec
	a.rec = &record{started: old.started, effects: old.effects, draft: old.draft}
	return a.walk(ctx, rd)
}

// walk shows the first screen and takes the parts from there.
func (a *attempt) walk(ctx context.Context, rd reading) (outcome, error) {
	a.at, a.nth, a.rec.state.Caller = place{}, 0, a.q.key.phone
	st, scr, err := a.machine().Start(a.pack, a.rec.state, a.runner(ctx))
	if err != nil {
		return outcome{}, err
	}
	a.rec.state, a.screen, a.rec.code = st, scr, a.q.ServiceCode
	a.rec.resumed = st.Kept != ""
	a.stopAt("", st.Node)
	return a.goOn(ctx, rd)
}

// goOn takes the parts of a request one after the other.
func (a *attempt) goOn(ctx context.Context, rd reading) (outcome, error) {
	rec := a.rec
	if rec.mode == accumulated && rd.mode == latest {
		a.tx.AfterCommit(a.newestOnly(ctx))
	}
	rec.mode, rec.state.Caller = rd.mode, a.q.key.phone
	for _, p := range rd.parts {
		if rec.state.Done || a.halt {
			break // the rest of a walk that has ended says nothing
		}
		a.nth = 0
		if a.at = (place{text: a.q.Text[:p.end]}); rd.stepped {
			a.at = place{step: rec.state.Step + 1}
		}
		from := a.pack.Node(rec.state.Node)
		st, scr, err := a.machine().Input(a.pack, rec.state, p.text, a.runner(ctx))
		if err != nil {
			return outcome{}, err
		}
		rec.state, a.screen = st, scr
		a.stopAt(typedAt(from, p.text, &scr), st.Node)
	}
	return a.finish(ctx, rd)
}

// finish stores the session with its last screen.
func (a *attempt) finish(ctx context.Context, rd reading) (outcome, error) {
	rec := a.rec
	rec.note(a.q, a.s.marks, &rd)
	rec.answer, rec.updated = a.screen.Text, a.now.UnixMicro()
	if err := a.keep(ctx); err != nil {
		return outcome{}, err
	}
	if err := a.store(ctx); err != nil || !rec.state.Done {
		return a.result(), err
	}
	return a.result(), walkOf(a.s.marks, &a.q.key, rec, endingEnded, a.now.UnixMilli()).put(ctx, a.tx)
}

func (a *attempt) machine() *machine.Machine {
	if m := a.s.machines[a.q.key.gateway]; m != nil {
		return m
	}
	return a.s.machines[""]
}

func (a *attempt) runner(ctx context.Context) machine.Runner {
	return func(c machine.Call) (machine.Result, error) { return a.act(ctx, c) }
}

// act runs an action for the machine, once for each input that leads to it.
func (a *attempt) act(ctx context.Context, c machine.Call) (machine.Result, error) {
	do, ok := a.s.cfg.Actions[c.Action]
	if !ok {
		return machine.Result{}, fmt.Errorf("nobody offers the action %s", strconv.Quote(c.Action))
	}
	a.nth++
	again := false // it returned a login that no longer counts
	call := machine.ActionCall{Call: c, Phone: a.q.key.phone, Gateway: a.q.key.gateway, ServiceCode: a.q.ServiceCode, Now: a.now}
	if do.Effect {
		call.Key = a.s.marks.effect(&a.q.key, a.rec.started, a.at, a.nth)
		res, done := a.rec.effect(call.Key)
		counts, err := a.counts(ctx, &res)
		if done && counts || err != nil {
			return res, err
		}
		a.acted, again = true, done
		if a.effects++; a.effects > maxEffects {
			return machine.Result{}, fault.New(fault.Invalid, "USSD_INVALID_INPUT", "The text asks for too much at once.")
		}
	}
	var res machine.Result
	var err error
	if do.Outside != nil {
		res, err = a.ask(do, call)
	} else {
		res, err = do.Run(ctx, a.tx, call)
	}
	if needs(err) != nil {
		return res, err
	} else if err != nil {
		return res, fmt.Errorf("action %s: %w", c.Action, err)
	}
	if do.Effect {
		a.success = a.success || len(do.Results) > 0 && res.Name == do.Results[0]
		a.halt = a.halt || again && gives(&res) == ""
		if a.rec.mode != latest { // only texts that accumulate are ever walked again
			a.rec.keepEffect(call.Key, res, do.Outside != nil)
		}
	}
	return res, nil
}

// result describes the step.
func (a *attempt) result() outcome {
	out := outcome{
		reply: wire.Reply{Text: a.screen.Text, End: a.screen.End}, node: a.screen.Node, units: a.screen.Units,
		pack: a.rec.state.Pack, result: ResultShown, first: a.first, effect: a.acted,
	}
	switch {
	case a.screen.End:
		out.result = ResultEnded
	case a.screen.Refused:
		out.result = ResultRefused
	}
	return out
}

// store writes the session. The fault errMissed means that another request was
// faster.
func (a *attempt) store(ctx context.Context) error {
	buf := a.s.buffers.Get().(*[]byte)
	defer a.s.buffers.Put(buf)
	*buf = a.rec.appendTo((*buf)[:0], &a.q.key, a.s.box)
	next := row{id: a.q.key.id, expires: a.now.Add(a.s.cfg.TTL).UnixMilli(), state: *buf}
	stored, err := a.write(ctx, &next)
	if err == nil && !stored {
		err = errMissed
	}
	return err
}

// write returns false when the session exists already or has changed, or when a
// draft must be read first.
func (a *attempt) write(ctx context.Context, next *row) (bool, error) {
	switch {
	case a.row != nil:
		next.step = a.row.step
		return update(ctx, a.tx, next)
	case a.bold && a.pack.Resume != "":
		return insertPlain(ctx, a.tx, next, a.q.key.phone, a.now.UnixMilli())
	}
	return insert(ctx, a.tx, next)
}

// newestOnly says in the log that a session does not accumulate its texts, and
// where to declare it: until then the first key pressed twice looks like one
// that the network sent twice.
func (a *attempt) newestOnly(ctx context.Context) func() {
	gateway, setting := a.q.key.gateway, "USSD_TEXT_MODE=latest"
	if gateway != "" {
		setting = "mode: latest in the file of the gateway"
	}
	return func() {
		a.s.log.WarnContext(ctx, "a gateway sends the newest answer alone: declare it, or a first key pressed twice is taken as a redelivery",
			"gateway", gateway, "setting", setting)
	}
}
