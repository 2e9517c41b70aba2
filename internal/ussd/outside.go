package ussd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
)

// MaxOutside limits how long a step works outside its transaction: for all
// requests to other servers together.
const MaxOutside = 2 * time.Second

// outside means that a step needs the result of an action that works outside the
// transaction. The transaction is undone, the action runs, and the step is taken
// again with its result.
type outside struct {
	do    machine.Action
	call  machine.ActionCall
	claim *row // of a call that begins: to be stored before anything is asked
}

func (o *outside) Error() string { return "the step needs the action " + o.call.Action + " first" }

// ask gives what an action outside the transaction gave for this input, or
// stops the step until it has.
func (a *attempt) ask(do machine.Action, c machine.ActionCall) (machine.Result, error) {
	if res, ok := a.given[c.Key]; ok {
		return res, nil
	}
	o := &outside{do: do, call: c}
	if a.first && a.began == 0 {
		// A copy of the request, here or on another instance, must ask with the
		// same key. Until the call is stored it has none.
		rec := record{mode: a.rec.mode, started: a.rec.started, updated: a.rec.started}
		o.claim = &row{id: a.q.key.id, expires: a.now.Add(a.s.cfg.TTL).UnixMilli(), state: rec.appendTo(nil, &a.q.key, a.s.box)}
		if a.row != nil {
			o.claim.step = a.row.step
		}
	}
	return machine.Result{}, o
}

// begins reports whether r is a call that was stored before its first screen,
// see ask.
func (r *record) begins() bool { return r.state.Node == "" && r.state.Pack == "" }

// meet runs the action a step waits for. It returns false when the step cannot
// go on.
func (st *steps) meet(ctx context.Context, o *outside) bool {
	if o.claim != nil {
		st.claiming = true
		st.call = st.s.db.Start(ctx, func(tx *db.Tx) error { return claim(ctx, tx, o.claim) })
		return true
	}
	res, err := st.outside(ctx, o)
	if err != nil {
		st.err = fmt.Errorf("action %s: %w", o.call.Action, err)
		return false
	}
	// A transaction that is stuck may still look at the map there was.
	st.given = maps.Clone(st.given)
	if st.given == nil {
		st.given = map[string]machine.Result{}
	}
	st.given[o.call.Key] = res
	st.next(ctx)
	return true
}

// outside runs an action for at most the remaining time.
func (st *steps) outside(ctx context.Context, o *outside) (machine.Result, error) {
	ctx, cancel := context.WithDeadline(ctx, st.began.Add(st.s.outside))
	defer cancel()
	return o.do.Outside(ctx, o.call)
}

// claim stores the beginning of a call. If another request was faster, its row
// counts.
func claim(ctx context.Context, tx *db.Tx, r *row) error {
	store := insert
	if r.step > 0 {
		store = update
	}
	_, err := store(ctx, tx, r)
	return err
}

// needs finds what a step waits for in its error; nil is nothing.
func needs(err error) *outside {
	if o, ok := errors.AsType[*outside](err); ok {
		return o
	}
	return nil
}
