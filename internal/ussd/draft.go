package ussd

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
)

// draftForm is the format version of a stored draft.
const draftForm = 1

// A draft is an interrupted walk: pack, node, language and variables, and its
// owner if somebody was logged in. It holds no secret and logs nobody in: the
// next caller from this number must prove again who they are.

func appendDraft(dst []byte, s *machine.State) []byte {
	dst = append(dst, draftForm)
	for _, text := range [...]string{s.Pack, s.Node, s.Lang} {
		dst = appendText(dst, text)
	}
	dst = appendMap(dst, s.Vars)
	if s.Account != "" {
		dst = appendText(dst, s.Account)
	}
	return dst
}

// readDraft returns the state to start with: at the question whether to
// continue. Its account is the owner of the draft.
func readDraft(data []byte) (machine.State, bool) {
	d := decoder{s: string(data)}
	if d.byte() != draftForm {
		return machine.State{}, false
	}
	s := machine.State{Pack: d.text(), Kept: d.text(), Lang: d.text(), Vars: d.textMap()}
	if d.s != "" {
		s.Account = d.text()
	}
	return s, !d.bad && d.s == ""
}

// pickUp looks for an interrupted walk, when a caller dials without further
// input.
func (a *attempt) pickUp(ctx context.Context, rd reading) error {
	if a.pack.Resume == "" || len(rd.parts) > 0 {
		return nil
	}
	data, err := findDraft(ctx, a.tx, a.q.key.phone, a.now.UnixMilli())
	if err != nil || data == nil {
		return err
	}
	s, ok := readDraft(data)
	if kept := a.pack.Node(s.Kept); !ok || s.Pack != a.pack.Name || kept == nil || !kept.Draft || kept.Login != (s.Account != "") {
		return nil
	}
	if s.Account != "" {
		s.Account, s.Vars = "", nil // until the login, see takeUp
	}
	a.rec.state, a.rec.draft = s, s.Kept
	return nil
}

// takeUp is the action menu.Draft: it returns the stored walk to its owner, who
// has just logged in.
func (s *Service) takeUp(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	data, err := findDraft(ctx, tx, c.Phone, c.Now.UnixMilli())
	if err != nil {
		return machine.Result{}, err
	}
	kept, ok := readDraft(data)
	if !ok || kept.Account == "" || kept.Account != c.Account || kept.Kept != c.With["node"] {
		return machine.Result{}, nil
	}
	return machine.Result{Name: machine.Taken, Set: kept.Vars}, nil
}

// keep stores the walk if it can be continued later, and forgets it when it is
// over: finished, abandoned, or left for another part of the menu.
func (a *attempt) keep(ctx context.Context) error {
	rec := a.rec
	switch {
	case a.pack.Resume == "":
	case machine.Draftable(a.pack, &rec.state):
		rec.draft, a.acted = rec.state.Node, true
		return putDraft(ctx, a.tx, a.q.key.phone, a.now.Add(draftAge).UnixMilli(), appendDraft(nil, &rec.state))
	case rec.draft != "" && a.over():
		foreign, err := a.foreign(ctx)
		if rec.draft = ""; foreign || err != nil {
			return err // it waits for its owner
		}
		a.acted = true
		_, err = removeDraft(ctx, a.tx, a.q.key.phone)
		return err
	}
	return nil
}

// foreign reports whether the stored draft belongs to a customer other than the
// one who is logged in: phones are shared.
func (a *attempt) foreign(ctx context.Context) (bool, error) {
	me := a.rec.state.Account
	if me == "" {
		return false, nil
	}
	data, err := findDraft(ctx, a.tx, a.q.key.phone, a.now.UnixMilli())
	if err != nil || data == nil {
		return false, err
	}
	kept, ok := readDraft(data)
	return ok && kept.Account != "" && kept.Account != me, nil
}

// over reports whether the walk of the stored draft has come to an end.
func (a *attempt) over() bool {
	s := &a.rec.state
	switch {
	case s.Kept != "": // the question is still open
		return false
	case s.Done, s.Account != "", a.success:
		return true
	}
	draft, here := a.pack.Node(a.rec.draft), a.pack.Node(s.Node)
	return draft == nil || here == nil || draft.State != here.State
}
