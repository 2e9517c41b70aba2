package account

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	accountsPath = "/v1/ussd/accounts"
	tag          = "line"
	scopePII     = "entities:pii"
	maxHold      = 366 * 24 * time.Hour
)

// Desk is what customer support sees and does, over HTTP. The rules are those of
// the Service; the event names the person who acted.
type Desk struct {
	Accounts *Service
	Cursors  web.Cursors
}

// Routes adds the desk to a.
func (d Desk) Routes(a *web.API) {
	const read, write = "ussd:read", "ussd:write"
	codes := []string{"LINE_NOT_FOUND", "KEY_RESTRICTED", "ACCOUNT_NOT_FOUND"}
	web.Get(a, accountsPath, d.serveList, web.Doc{
		Summary: "List customers of the line", Tag: tag, Scope: read, Codes: []string{"INVALID_PARAMETER", "SCOPE_MISSING", "LINE_NOT_FOUND", "KEY_RESTRICTED"},
		Description: "One filter at a time. Names, email addresses and numbers are withheld without `entities:pii`, which the filter by number needs too.",
	})
	web.Get(a, accountsPath+"/{id}", d.serveGet, web.Doc{Summary: "Read a customer of the line", Tag: tag, Scope: read, Codes: codes})
	web.Get(a, "/v1/ussd/numbers", d.serveNumbers, web.Doc{
		Summary: "List numbers that are locked or held", Tag: tag, Scope: read, Codes: []string{"LINE_NOT_FOUND", "KEY_RESTRICTED"},
		Description: "Locked after wrong PINs for accounts of others, or held by an operator. Masked without `entities:pii`.",
	})
	web.Post(a, accountsPath+"/{id}/unlock", d.serveUnlock, web.Doc{
		Summary: "Unlock an account, or a number, after wrong PINs", Tag: tag, Scope: write, Codes: codes,
		Description: "The id is a Customer ID, or a number with +. A number that is held stays held until it is released.",
	})
	web.Post(a, accountsPath+"/{id}/hold", d.serveHold, web.Doc{
		Summary: "Hold a number whose SIM card was changed", Tag: tag, Scope: write, Codes: append([]string{"PHONE_INVALID", "HOLD_INVALID"}, codes...),
		Description: "Nobody can log in or open an account from it, it gets no codes, and a customer who is logged in is logged out. The id is a Customer ID, or a number with +.",
		Example:     HoldDraft{Hours: 72},
	})
	web.Post(a, accountsPath+"/{id}/release", d.serveRelease, web.Doc{
		Summary: "End the hold of a number", Tag: tag, Scope: write, Codes: append([]string{"PHONE_INVALID"}, codes...),
		Description: "Locks after wrong PINs stay. The id is a Customer ID, or a number with +.",
	})
	web.Post(a, accountsPath+"/{id}/reset", d.serveReset, web.Doc{
		Summary: "Give an account a temporary PIN", Tag: tag, Scope: write, Codes: append([]string{"ACCOUNT_CLOSED", "SCOPE_MISSING"}, codes...),
		Description: "It is valid for a day, and must be changed at the next login. It is sent to the phone of the customer; if messages are off, or with `show`, it is in the answer, once. " +
			"Anybody who knows it can act as the customer, so this needs `entities:pii` and `entities:write` too.",
		Example: ResetDraft{Show: true},
	})
	web.Post(a, accountsPath+"/{id}/close", d.serveClose, web.Doc{
		Summary: "Close an account for good", Tag: tag, Scope: write, Codes: codes,
		Description: "Nobody can log in to it any more. Its data stays until the customer is erased.",
	})
}

// view is an account as the caller may see it.
func view(ctx context.Context, a *Account) api.Customer {
	out := api.Customer{
		CustomerID: a.CustomerID, Name: a.Name, Email: a.Email, PhoneNumber: a.Phone, Language: a.Language, DID: a.DID, HouseholdDID: a.Household,
		District: a.District, Size: a.Size, Status: string(a.Status), Twins: string(a.Twins), TemporaryPIN: a.Temporary, WrongPINs: a.Wrong,
		Blocked: a.Blocked, LockedUntil: a.LockedTo, Held: a.Held, HeldUntil: a.HeldTo, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
	if !web.CallerFrom(ctx).May(scopePII) {
		out.Name, out.Email, out.District, out.PhoneNumber, out.Withheld = "", "", "", maskPhone(a.Phone), true
	}
	return out
}

// maskPhone leaves of a number how it begins and ends.
func maskPhone(phone string) string {
	const dots = "•••••"
	if len(phone) < 8 {
		return dots
	}
	return phone[:4] + dots + phone[len(phone)-2:]
}

type listIn struct {
	CustomerID string `query:"customerId" doc:"Only the account with this Customer ID."`
	Locked     bool   `query:"locked" doc:"Only accounts that are locked, or whose number is held."`
	Phone      string `query:"phone" doc:"Only accounts of this number. It needs entities:pii." example:"+254700000001"`
	Status     Status `query:"status" enum:"active,closed" doc:"Only accounts in this status."`
	Twins      Twins  `query:"twins" enum:"none,pending,ready,failed" doc:"Only accounts whose twins are in this state."`
	web.Paging
}

// filter reads the parameters.
func (in *listIn) filter(ctx context.Context) (Filter, error) {
	var c fault.Checks
	in.Size(&c)
	set := 0
	for _, given := range []bool{in.CustomerID != "", in.Locked, in.Phone != "", in.Status != "", in.Twins != ""} {
		if given {
			set++
		}
	}
	if set > 1 {
		c.Add("query", "too_many", "Give one filter at a time.")
	}
	if in.Phone != "" && !phoneForm.MatchString(in.Phone) {
		c.Add("query/phone", "invalid", "The number must be in international form, as +254700000000.")
	}
	if in.Status != "" && in.Status != Active && in.Status != Closed {
		c.Add("query/status", "unknown", "The status must be active or closed.")
	}
	switch in.Twins {
	case "", TwinsNone, TwinsPending, TwinsReady, TwinsFailed:
	default:
		c.Add("query/twins", "unknown", "The twins are none, pending, ready or failed.")
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return Filter{}, err
	}
	if in.Phone != "" {
		if err := need(ctx, scopePII); err != nil {
			return Filter{}, err
		}
	}
	return Filter{CustomerID: in.CustomerID, Locked: in.Locked, Phone: in.Phone, Status: in.Status, Twins: in.Twins}, nil
}

// need requires scopes besides that of the route.
func need(ctx context.Context, scopes ...string) error {
	c := web.CallerFrom(ctx)
	for _, s := range scopes {
		if !c.May(s) {
			return fault.New(fault.Forbidden, "SCOPE_MISSING", "This needs the scope "+s+", which you do not have.")
		}
	}
	return nil
}

func (d Desk) serveList(ctx context.Context, in *listIn) (web.Reply[web.Page[api.Customer]], error) {
	var none web.Reply[web.Page[api.Customer]]
	if err := auth.OperatorsLine(ctx); err != nil {
		return none, err
	}
	f, err := in.filter(ctx)
	if err != nil {
		return none, err
	}
	after := ""
	limit, err := in.Begin(ctx, d.Cursors, &after)
	if err != nil {
		return none, err
	}
	limit = min(limit, maxPage)
	list, next, err := d.Accounts.List(ctx, f, after, limit)
	if err != nil {
		return none, err
	}
	out := make([]api.Customer, len(list))
	for i := range list {
		out[i] = view(ctx, &list[i])
	}
	if next == "" {
		return web.PageOf(ctx, d.Cursors, limit, out, nil)
	}
	return web.PageOf(ctx, d.Cursors, limit, out, next)
}

func (d Desk) serveNumbers(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[api.LockedNumber]], error) {
	var none web.Reply[web.Page[api.LockedNumber]]
	if err := auth.OperatorsLine(ctx); err != nil {
		return none, err
	}
	after := ""
	limit, err := in.Begin(ctx, d.Cursors, &after)
	if err != nil {
		return none, err
	}
	limit = min(limit, maxPage-1)
	list, err := d.Accounts.LockedNumbers(ctx, after, limit+1)
	if err != nil {
		return none, err
	}
	var next any
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].Phone
	}
	out, open := make([]api.LockedNumber, len(list)), web.CallerFrom(ctx).May(scopePII)
	for i, n := range list {
		out[i] = api.LockedNumber{PhoneNumber: n.Phone, WrongPINs: n.Wrong, Until: n.LockedTo, Held: n.Held}
		if !open {
			out[i].PhoneNumber = maskPhone(n.Phone)
		}
	}
	return web.PageOf(ctx, d.Cursors, limit, out, next)
}

type oneIn struct {
	ID string `path:"id" doc:"Customer ID." example:"C7K2M9QXA"`
}

func (d Desk) serveGet(ctx context.Context, in *oneIn) (*api.Customer, error) {
	if err := auth.OperatorsLine(ctx); err != nil {
		return nil, err
	}
	return d.read(ctx, in.ID)
}

// read reads an account. The fault is ACCOUNT_NOT_FOUND.
func (d Desk) read(ctx context.Context, id string) (*api.Customer, error) {
	list, _, err := d.Accounts.List(ctx, Filter{CustomerID: id}, "", 1)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errMissing()
	}
	out := view(ctx, &list[0])
	return &out, nil
}

// changed answers with the action and the account in its new state.
func (d Desk) changed(ctx context.Context, action, ref string) (*api.AccountChange, error) {
	out := &api.AccountChange{Action: action, Changed: true}
	if phoneForm.MatchString(ref) {
		return out, nil
	}
	var err error
	out.Account, err = d.read(ctx, ref)
	return out, err
}

func (d Desk) serveUnlock(ctx context.Context, in *oneIn) (*api.AccountChange, error) {
	if err := auth.OperatorsLine(ctx); err != nil {
		return nil, err
	}
	if err := d.Accounts.Unlock(ctx, in.ID); err != nil {
		return nil, err
	}
	return d.changed(ctx, "unlock", in.ID)
}

// HoldDraft says how long a number is held.
type HoldDraft struct {
	Hours int `json:"hours,omitzero" doc:"Hours, 1 to 8784; when absent, until it is released." minimum:"0"`
}

func (d Desk) serveHold(ctx context.Context, in *struct {
	oneIn
	Body *HoldDraft
},
) (*api.AccountChange, error) {
	if err := auth.OperatorsLine(ctx); err != nil {
		return nil, err
	}
	var until time.Time
	if in.Body != nil && in.Body.Hours != 0 {
		length := time.Duration(in.Body.Hours) * time.Hour
		if in.Body.Hours < 0 || in.Body.Hours > int(maxHold/time.Hour) {
			return nil, fault.New(fault.Invalid, "HOLD_INVALID", "A hold lasts 1 to 8784 hours, or until it is released.").
				With(fault.Field{Pointer: "/hours", Code: "out_of_range", Detail: "The value must be 1 to 8784."})
		}
		until = d.Accounts.cfg.Now().Add(length)
	}
	if err := d.Accounts.Hold(ctx, in.ID, until); err != nil {
		return nil, err
	}
	return d.changed(ctx, "hold", in.ID)
}

func (d Desk) serveRelease(ctx context.Context, in *oneIn) (*api.AccountChange, error) {
	if err := auth.OperatorsLine(ctx); err != nil {
		return nil, err
	}
	released, err := d.Accounts.Release(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out, err := d.changed(ctx, "release", in.ID)
	if err == nil {
		out.Changed = released
	}
	return out, err
}

// ResetDraft says where a temporary PIN goes.
type ResetDraft struct {
	Show bool `json:"show,omitzero" doc:"Show the PIN in the answer in place of sending it to the customer's phone."`
}

func (d Desk) serveReset(ctx context.Context, in *struct {
	oneIn
	Body *ResetDraft
},
) (*api.AccountChange, error) {
	if err := auth.OperatorsLine(ctx); err != nil {
		return nil, err
	}
	if err := need(ctx, staff...); err != nil {
		return nil, err
	}
	pin, sent, err := d.Accounts.Reset(ctx, in.ID, in.Body == nil || !in.Body.Show)
	if err != nil {
		return nil, err
	}
	out, err := d.changed(ctx, "reset", in.ID)
	if err == nil {
		out.TemporaryPIN, out.Sent = pin, sent
	}
	return out, err
}

func (d Desk) serveClose(ctx context.Context, in *oneIn) (*api.AccountChange, error) {
	if err := auth.OperatorsLine(ctx); err != nil {
		return nil, err
	}
	if err := d.Accounts.Close(ctx, in.ID); err != nil {
		return nil, err
	}
	return d.changed(ctx, "close", in.ID)
}
