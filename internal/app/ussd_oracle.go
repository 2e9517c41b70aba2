package app

import (
	"cmp"
	"context"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// briefHandset tells the model how to answer a user with a simple phone.
const briefHandset = "The user reads your answer on a simple phone, alone and without a way to confirm anything. Answer in at most 300 characters of plain text in one paragraph, without lists, links or markup, in the language with the code "

var errNoOracle = errors.New("the oracle is switched off")

// menuOracle lets menus ask the oracle.
type menuOracle struct {
	mind     func() *mind // nil: this server has no oracle
	who      func(ctx context.Context, q fetch.Question) *oracle.Identity
	readOnly bool // nobody but an operator who tries a menu asks
}

var _ fetch.Oracle = (*menuOracle)(nil)

// Send begins to answer a question.
func (o *menuOracle) Send(ctx context.Context, q fetch.Question) (user, run string, err error) {
	m := o.mind()
	if m == nil {
		return "", "", errNoOracle
	}
	e := oracle.Errand{
		Who: o.who(ctx, q), Thread: "ussd " + q.Key, Key: q.Key, Title: "USSD", Text: q.Text, Brief: briefHandset + q.Lang + ".", ReadOnly: o.readOnly,
	}
	if !o.readOnly {
		e.Customer = cmp.Or(q.Lang, "en")
	}
	if q.Tool != "" {
		e.Call = &tool.Call{Name: q.Tool, Args: q.Args}
	}
	return m.errands.Send(ctx, e)
}

// Await gives the answer.
func (o *menuOracle) Await(ctx context.Context, user, run string) (fetch.Reply, error) {
	m := o.mind()
	if m == nil {
		return fetch.Reply{}, errNoOracle
	}
	r, err := m.errands.Await(ctx, user, run)
	return fetch.Reply(r), err
}

// Public calls a tool for an unknown caller.
func (o *menuOracle) Public(ctx context.Context, name string, args []byte, after func(context.Context, fetch.Reply, error)) (fetch.Reply, error) {
	m := o.mind()
	if m == nil {
		return fetch.Reply{}, errNoOracle
	}
	r, err := m.errands.Public(ctx, tool.Call{ID: "ussd", Name: name, Args: args}, func(ctx context.Context, r oracle.Reply, err error) { after(ctx, fetch.Reply(r), err) })
	return fetch.Reply(r), err
}

// asCustomer knows a customer by the login at the handset, for as long as the
// account is open.
func (c *Core) asCustomer(accounts *account.Service) func(context.Context, fetch.Question) *oracle.Identity {
	return func(_ context.Context, q fetch.Question) *oracle.Identity {
		return &oracle.Identity{DID: q.DID, Again: func(ctx context.Context) (web.Caller, error) {
			did, err := accounts.DIDOf(ctx, q.Account)
			if err != nil {
				return web.Caller{}, err
			}
			if did != q.DID {
				return web.Caller{}, fault.New(fault.Unauthenticated, "ACCOUNT_CLOSED", "The account is closed.")
			}
			return c.callerOf(ctx, q.DID, "")
		}}
	}
}

// asOperator lets the operator who presses the keys of a simulated handset ask,
// because its customers do not exist.
func asOperator(ctx context.Context, _ fetch.Question) *oracle.Identity {
	c := web.CallerFrom(ctx)
	if c.Key == "" {
		return &oracle.Identity{DID: c.DID, Signer: c.Signer}
	}
	return &oracle.Identity{DID: c.DID, Key: c}
}

// forgetNumber removes what area C keeps about a number.
func forgetNumber(ctx context.Context, tx *db.Tx, phone string) (int64, error) {
	n, err := ussd.Forget(ctx, tx, phone)
	if err != nil {
		return 0, err
	}
	asked, err := fetch.Forget(ctx, tx, phone)
	return n + asked, err
}
