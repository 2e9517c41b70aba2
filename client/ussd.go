package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

const (
	linePath        = "/v1/ussd"
	simulationsPath = linePath + "/simulations"
)

// Line is the USSD line: its menu, its calls and its customers. It belongs to the
// operator's workspace.
type Line struct{ c *Client }

// Types of package api.
type (
	Simulation       = api.Simulation
	SimulatedMessage = api.SimulatedMessage
	Simulator        = api.Simulator

	Menu          = api.Menu
	MenuNode      = api.MenuNode
	MenuCheck     = api.MenuCheck
	Call          = api.Call
	CallStep      = api.CallStep
	Customer      = api.Customer
	AccountChange = api.AccountChange
	LockedNumber  = api.LockedNumber
	ShortMessage  = api.ShortMessage
)

// Press is the type of package api.
type Press = api.Press

// Simulator reads which handsets can be simulated.
func (l Line) Simulator(ctx context.Context, opts ...Option) (*Simulator, error) {
	return do[Simulator](ctx, l.c, get(simulationsPath, nil), opts)
}

// Simulate presses a key of a simulated handset. Codes: NUMBER_NOT_SIMULATED,
// SIMULATION_INVALID, CODE_NOT_ANSWERED, SIMULATION_NOT_FOUND, SIMULATION_TURN,
// SIMULATION_OVER.
func (l Line) Simulate(ctx context.Context, p Press, opts ...Option) (*Simulation, error) {
	return do[Simulation](ctx, l.c, call{method: http.MethodPost, path: simulationsPath, body: p, safe: p.Turn > 0}, opts)
}

// ResetSimulator forgets all simulated calls and accounts.
func (l Line) ResetSimulator(ctx context.Context, opts ...Option) (*Simulator, error) {
	return do[Simulator](ctx, l.c, remove(simulationsPath), opts)
}

// Menu is the menu of the line in a language, "" for its usual one.
func (l Line) Menu(ctx context.Context, lang string, opts ...Option) (*Menu, error) {
	v := url.Values{}
	set(v, "lang", lang)
	return do[Menu](ctx, l.c, get(linePath+"/menu", v), opts)
}

// CheckMenu checks the YAML of a menu that is not in use.
func (l Line) CheckMenu(ctx context.Context, source string, opts ...Option) (*MenuCheck, error) {
	return do[MenuCheck](ctx, l.c, call{method: http.MethodPost, path: linePath + "/menu:check", body: map[string]string{"source": source}, safe: true}, opts)
}

// CallQuery selects calls that are over.
type CallQuery struct {
	Phone     string    // all by default; needs entities:pii
	Since     time.Time // all that are kept by default
	Simulated bool      // those of simulated handsets
	Limit     int       // items in one page, 1 to 1000; 50 by default
	Cursor    string    // NextCursor of the page before
}

func (q CallQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "phone", q.Phone)
	if !q.Since.IsZero() {
		v.Set("since", q.Since.UTC().Format(time.RFC3339))
	}
	if q.Simulated {
		v.Set("simulated", "true")
	}
	return v
}

// CallPage reads one page of calls, newest first.
func (l Line) CallPage(ctx context.Context, q CallQuery, opts ...Option) (*Page[Call], error) {
	return page[Call](ctx, l.c, linePath+"/calls", q.values(), opts)
}

// Calls walks over calls, newest first. An error ends it.
func (l Line) Calls(ctx context.Context, q CallQuery, opts ...Option) iter.Seq2[Call, error] {
	return pages[Call](ctx, l.c, linePath+"/calls", q.values(), opts)
}

// Call reads a call with its steps. Code: CALL_NOT_FOUND.
func (l Line) Call(ctx context.Context, id string, opts ...Option) (*Call, error) {
	return do[Call](ctx, l.c, get(linePath+"/calls/"+url.PathEscape(id), nil), opts)
}

// AccountQuery selects customers, by at most one of its members.
type AccountQuery struct {
	CustomerID, Phone, Status, Twins string
	Locked                           bool
	Limit                            int // items in one page, 1 to 500; 50 by default
	Cursor                           string
}

func (q AccountQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "customerId", q.CustomerID)
	set(v, "phone", q.Phone)
	set(v, "status", q.Status)
	set(v, "twins", q.Twins)
	if q.Locked {
		v.Set("locked", "true")
	}
	return v
}

// AccountPage reads one page of customers.
func (l Line) AccountPage(ctx context.Context, q AccountQuery, opts ...Option) (*Page[Customer], error) {
	return page[Customer](ctx, l.c, linePath+"/accounts", q.values(), opts)
}

// Accounts walks over customers. An error ends it.
func (l Line) Accounts(ctx context.Context, q AccountQuery, opts ...Option) iter.Seq2[Customer, error] {
	return pages[Customer](ctx, l.c, linePath+"/accounts", q.values(), opts)
}

// Account reads a customer. Code: ACCOUNT_NOT_FOUND.
func (l Line) Account(ctx context.Context, customerID string, opts ...Option) (*Customer, error) {
	return do[Customer](ctx, l.c, get(accountPath(customerID), nil), opts)
}

func accountPath(ref string) string { return linePath + "/accounts/" + url.PathEscape(ref) }

func (l Line) change(ctx context.Context, ref, action string, body any, opts []Option) (*AccountChange, error) {
	return do[AccountChange](ctx, l.c, call{method: http.MethodPost, path: accountPath(ref) + "/" + action, body: body}, opts)
}

// Unlock unlocks an account, or a number with +, after wrong PINs. Code:
// ACCOUNT_NOT_FOUND.
func (l Line) Unlock(ctx context.Context, ref string, opts ...Option) (*AccountChange, error) {
	return l.change(ctx, ref, "unlock", nil, opts)
}

// Hold blocks a number for some hours, or with 0 until it is released. Codes:
// ACCOUNT_NOT_FOUND, PHONE_INVALID, HOLD_INVALID.
func (l Line) Hold(ctx context.Context, ref string, hours int, opts ...Option) (*AccountChange, error) {
	return l.change(ctx, ref, "hold", map[string]int{"hours": hours}, opts)
}

// Release ends the hold of a number. Codes: ACCOUNT_NOT_FOUND, PHONE_INVALID.
func (l Line) Release(ctx context.Context, ref string, opts ...Option) (*AccountChange, error) {
	return l.change(ctx, ref, "release", nil, opts)
}

// Reset gives an account a PIN for one use, sent to the customer's phone or, with
// show, in the answer. Codes: ACCOUNT_NOT_FOUND, ACCOUNT_CLOSED, SCOPE_MISSING.
func (l Line) Reset(ctx context.Context, customerID string, show bool, opts ...Option) (*AccountChange, error) {
	return l.change(ctx, customerID, "reset", map[string]bool{"show": show}, opts)
}

// Close ends an account for good. Code: ACCOUNT_NOT_FOUND.
func (l Line) Close(ctx context.Context, customerID string, opts ...Option) (*AccountChange, error) {
	return l.change(ctx, customerID, "close", nil, opts)
}

// Numbers walks over numbers that are locked or held.
func (l Line) Numbers(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[LockedNumber, error] {
	return pages[LockedNumber](ctx, l.c, linePath+"/numbers", q.values(), opts)
}

// Messages walks over short messages of a status, "" for all, newest first.
func (l Line) Messages(ctx context.Context, status string, q PageQuery, opts ...Option) iter.Seq2[ShortMessage, error] {
	v := q.values()
	set(v, "status", status)
	return pages[ShortMessage](ctx, l.c, linePath+"/messages", v, opts)
}
