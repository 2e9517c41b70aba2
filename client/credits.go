package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	Credits       = api.Credits
	CreditAccount = api.CreditAccount
	CreditEntry   = api.CreditEntry
	CreditStatus  = api.CreditStatus
	CreditTopUp   = api.CreditTopUp
)

const creditsPath = "/v1/oracle/credits"

func creditPath(did string) string { return creditsPath + "/" + url.PathEscape(did) }

// Credits reads what this client's principal may spend. The route exists when the
// plugin credits is enabled.
func (o Oracle) Credits(ctx context.Context, opts ...Option) (*Credits, error) {
	return keyed[Credits](ctx, o, get("/credits", nil), opts)
}

// CreditAccounts walks over the credit accounts of the workspace, by DID. An error
// ends it. Code: KEY_RESTRICTED.
func (o Oracle) CreditAccounts(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[CreditAccount, error] {
	return pages[CreditAccount](ctx, o.c, creditsPath, q.values(), opts)
}

// CreditAccount reads the credit account of a user. Code: CREDIT_ACCOUNT_NOT_FOUND.
func (o Oracle) CreditAccount(ctx context.Context, did string, opts ...Option) (*CreditAccount, error) {
	return do[CreditAccount](ctx, o.c, get(creditPath(did), nil), opts)
}

// PutCreditAccount opens the credit account of a user, or sets whether the user
// gets answers: active or inactive. Code: CREDIT_ACCOUNT_INVALID.
func (o Oracle) PutCreditAccount(ctx context.Context, did, status string, opts ...Option) (*CreditAccount, error) {
	return do[CreditAccount](ctx, o.c, put(creditPath(did), CreditStatus{Status: status}), opts)
}

// CreditEntries walks over the entries of a credit account, newest first. An error
// ends it. Code: CREDIT_ACCOUNT_NOT_FOUND.
func (o Oracle) CreditEntries(ctx context.Context, did string, q PageQuery, opts ...Option) iter.Seq2[CreditEntry, error] {
	return pages[CreditEntry](ctx, o.c, creditPath(did)+"/entries", q.values(), opts)
}

// TopUpCredits adds credits to an account, once per Idempotency-Key. Codes:
// CREDIT_ACCOUNT_NOT_FOUND, CREDIT_TOP_UP_INVALID, CREDITS_OUT_OF_RANGE.
func (o Oracle) TopUpCredits(ctx context.Context, did string, t CreditTopUp, opts ...Option) (*CreditEntry, error) {
	return do[CreditEntry](ctx, o.c, post(creditPath(did)+"/entries", t), opts)
}
