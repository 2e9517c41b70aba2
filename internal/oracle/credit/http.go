package credit

import (
	"context"
	"errors"
	"math"
	"strings"
	"unicode"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	scopeRead  = "oracle:read"
	scopeWrite = "oracle:write"

	accountsPath = "/v1/oracle/credits"
	accountPath  = accountsPath + "/{did}"
	entriesPath  = accountPath + "/entries"
	maxNote      = 200
	maxAmount    = 1_000_000_000
	maxBalance   = 1 << 53 // what every reader of JSON takes for itself
)

// Ledger adds the accounts of a workspace to a, for its operators.
func (p *Plugin) Ledger(a *web.API) {
	const tag = "oracle"
	web.Get(a, accountsPath, p.serveAccounts, web.Doc{
		Summary: "List the credit accounts of users of the oracle, by DID", Tag: tag, Scope: scopeRead, Codes: []string{"KEY_RESTRICTED"},
		Description: "With the plugin `credits` the oracle answers only users who have an active account with enough credits (402), and charges what answers use.",
	})
	web.Get(a, accountPath, p.serveAccount, web.Doc{
		Summary: "Read the credit account of a user", Tag: tag, Scope: scopeRead, Codes: []string{"CREDIT_ACCOUNT_NOT_FOUND", "KEY_RESTRICTED"},
	})
	web.Put(a, accountPath, p.servePut, web.Doc{
		Summary: "Open a credit account, or set whether its user is answered", Tag: tag, Scope: scopeWrite, Example: api.CreditStatus{Status: active},
		Codes: []string{"CREDIT_ACCOUNT_INVALID", "KEY_RESTRICTED"},
	})
	web.Get(a, entriesPath, p.serveEntries, web.Doc{
		Summary: "List the entries of a credit account, newest first", Tag: tag, Scope: scopeRead, Codes: []string{"CREDIT_ACCOUNT_NOT_FOUND", "KEY_RESTRICTED"},
	})
	web.Post(a, entriesPath, p.serveTopUp, web.Doc{
		Summary: "Add credits to an account, or take some back", Tag: tag, Scope: scopeWrite, Status: 201, Example: api.CreditTopUp{Amount: 500, Note: "January"},
		Description: "Send an Idempotency-Key: a repeated request with the same key adds nothing.",
		Codes:       []string{"CREDIT_ACCOUNT_NOT_FOUND", "CREDIT_TOP_UP_INVALID", "CREDITS_OUT_OF_RANGE", "KEY_RESTRICTED"},
	})
}

type oneAccount struct {
	DID string `path:"did" doc:"DID of the user." example:"did:ixo:entity:amina"`
}

// operator is the holder that a caller asks about. Accounts are of the whole
// workspace.
func operator(ctx context.Context, id string) (holder, error) {
	c := web.CallerFrom(ctx)
	if len(c.Projects) > 0 {
		return holder{}, fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; credits belong to the whole workspace.")
	}
	return holder{c.Workspace, id}, nil
}

func notFound() error {
	return fault.New(fault.NotFound, "CREDIT_ACCOUNT_NOT_FOUND", "This user has no credit account.")
}

func (p *Plugin) serveAccounts(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[api.CreditAccount]], error) {
	var none web.Reply[web.Page[api.CreditAccount]]
	who, err := operator(ctx, "")
	if err != nil {
		return none, err
	}
	var after string
	limit, err := in.Begin(ctx, p.cfg.Cursors, &after)
	if err != nil {
		return none, err
	}
	found, err := listAccounts(ctx, p.cfg.DB, holder{who.workspace, after}, limit+1, p.now())
	if err != nil {
		return none, err
	}
	if len(found) > limit {
		found = found[:limit]
		return web.PageOf(ctx, p.cfg.Cursors, limit, found, found[limit-1].DID)
	}
	return web.PageOf(ctx, p.cfg.Cursors, limit, append([]api.CreditAccount{}, found...), nil)
}

func (p *Plugin) serveAccount(ctx context.Context, in *oneAccount) (api.CreditAccount, error) {
	who, err := operator(ctx, in.DID)
	if err != nil {
		return api.CreditAccount{}, err
	}
	a, err := findAccount(ctx, p.cfg.DB, who, p.now())
	if errors.Is(err, errNone) {
		return a.CreditAccount, notFound()
	}
	return a.CreditAccount, err
}

func (p *Plugin) servePut(ctx context.Context, in *struct {
	oneAccount
	Body api.CreditStatus
},
) (a api.CreditAccount, err error) {
	who, err := operator(ctx, in.DID)
	if err != nil {
		return a, err
	}
	var bad fault.Checks
	if _, err := did.Parse(in.DID); err != nil {
		bad.Add("path/did", "format", "The value must be a DID.")
	}
	if in.Body.Status != active && in.Body.Status != inactive {
		bad.Add("/status", "enum", "The value must be active or inactive.")
	}
	if err := bad.Err("CREDIT_ACCOUNT_INVALID", "The account is not valid."); err != nil {
		return a, err
	}
	err = p.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := putAccount(ctx, tx, who, in.Body.Status, p.now()); err != nil {
			return err
		}
		now, err := findAccount(ctx, tx, who, p.now())
		a = now.CreditAccount
		return err
	})
	return a, err
}

func (p *Plugin) serveEntries(ctx context.Context, in *struct {
	oneAccount
	web.Paging
},
) (web.Reply[web.Page[api.CreditEntry]], error) {
	var none web.Reply[web.Page[api.CreditEntry]]
	if _, err := p.serveAccount(ctx, &in.oneAccount); err != nil {
		return none, err
	}
	before := int64(math.MaxInt64)
	limit, err := in.Begin(ctx, p.cfg.Cursors, &before)
	if err != nil {
		return none, err
	}
	found, err := listEntries(ctx, p.cfg.DB, holder{web.CallerFrom(ctx).Workspace, in.DID}, before, limit+1)
	if err != nil {
		return none, err
	}
	out := []api.CreditEntry{}
	for _, e := range found[:min(limit, len(found))] {
		out = append(out, e.CreditEntry)
	}
	if len(found) > limit {
		return web.PageOf(ctx, p.cfg.Cursors, limit, out, found[limit-1].nid)
	}
	return web.PageOf(ctx, p.cfg.Cursors, limit, out, nil)
}

func (p *Plugin) serveTopUp(ctx context.Context, in *struct {
	oneAccount
	Body api.CreditTopUp
},
) (web.Reply[api.CreditEntry], error) {
	out := web.Reply[api.CreditEntry]{Status: 201}
	who, err := operator(ctx, in.DID)
	if err != nil {
		return out, err
	}
	var bad fault.Checks
	if n := in.Body.Amount; n == 0 || n > maxAmount || n < -maxAmount {
		bad.Add("/amount", "range", "The value must be a number of credits other than 0, at most 1,000,000,000.")
	}
	if note := in.Body.Note; len([]rune(note)) > maxNote || strings.ContainsFunc(note, unicode.IsControl) {
		bad.Add("/note", "format", "The value must be one line of at most 200 characters.")
	}
	if err := bad.Err("CREDIT_TOP_UP_INVALID", "The entry is not valid."); err != nil {
		return out, err
	}
	return once.Do(ctx, p.cfg.Idem, func(tx *db.Tx) (web.Reply[api.CreditEntry], error) {
		a, err := p.alter(ctx, tx, who, func(a *account) error {
			if in.Body.Amount < 0 && a.Balance-a.Held+in.Body.Amount < 0 || a.Balance > maxBalance {
				return fault.New(fault.Conflict, "CREDITS_OUT_OF_RANGE", "The balance of the account would be out of range.")
			}
			a.Balance += in.Body.Amount
			return nil
		})
		if errors.Is(err, errNone) {
			return out, notFound()
		} else if err != nil {
			return out, err
		}
		out.Value, err = p.enter(ctx, tx, who, a.Balance, entry{kind: topUp, amount: in.Body.Amount, ref: "top up " + db.NewID(), note: in.Body.Note, by: web.CallerFrom(ctx).DID})
		return out, err
	})
}
