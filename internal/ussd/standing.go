package ussd

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
)

// standing reports whether a login still counts, see action.Action.
type standing func(ctx context.Context, tx *db.Tx, l machine.Login) (bool, error)

// loggedOutWords is the notice to a caller whose login no longer counts.
// Languages without an entry get English.
var loggedOutWords = map[string]string{
	"en": "You were logged out. Please log in again.",
	"sw": "Umetolewa kwenye akaunti. Tafadhali ingia tena.",
}

// proceed takes a step of a stored session. A caller stays logged in only while the
// login counts: a new PIN, a lock, a hold and a closed account end the logins of
// other sessions at their next step.
func (a *attempt) proceed(ctx context.Context, rd reading) (outcome, error) {
	st := &a.rec.state
	if st.Account == "" || st.Done || a.s.stands == nil {
		return a.goOn(ctx, rd)
	}
	ok, err := a.s.stands(ctx, a.tx, a.login(st.Account, st.Proof))
	if err != nil {
		return outcome{}, err
	}
	if ok {
		return a.goOn(ctx, rd)
	}
	return a.logOut(ctx, rd)
}

// login is one of the call at work.
func (a *attempt) login(account, proof string) machine.Login {
	return machine.Login{Account: account, Proof: proof, Phone: a.q.key.phone, Now: a.now}
}

// logOut shows the first screen instead of taking the parts of a request.
func (a *attempt) logOut(ctx context.Context, rd reading) (outcome, error) {
	rec := a.rec
	rec.mode, rec.state.Caller = rd.mode, a.q.key.phone
	if a.at, a.nth = (place{text: a.q.Text}), 0; rd.stepped {
		a.at = place{step: rec.state.Step + 1}
	}
	words, ok := loggedOutWords[rec.state.Lang]
	if !ok {
		words = loggedOutWords["en"]
	}
	st, scr, err := a.machine().LogOut(a.pack, rec.state, words, a.runner(ctx))
	if err != nil {
		return outcome{}, err
	}
	rec.state, a.screen = st, scr
	a.stopAt(mask+"refused", st.Node)
	return a.finish(ctx, rd)
}

// counts reports whether the earlier result of an action counts when the call
// is walked again. A login does while it is valid, but never after the session
// has expired: then the sender of the text could be anybody, and the PIN in it
// is tried like any other.
func (a *attempt) counts(ctx context.Context, res *machine.Result) (bool, error) {
	login := gives(res)
	switch {
	case login == "":
		return true, nil
	case a.expired:
		return false, nil
	case a.s.stands == nil:
		return true, nil
	}
	return a.s.stands(ctx, a.tx, a.login(login, res.Proof))
}
