package ussd

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// scopePII is the scope of callers who may know whose numbers and words these
// are.
const scopePII = "entities:pii"

// tag is the group of the routes in the reference.
const tag = "line"

const simulationsPath = "/v1/ussd/simulations"

// Routes adds the simulator to a.
func (s *Simulator) Routes(a *web.API) {
	const either = "ussd:read or ussd:simulate"
	codes := []string{"LINE_NOT_FOUND", "KEY_RESTRICTED"}
	web.Get(a, simulationsPath, s.serveAbout, web.Doc{
		Summary: "What the handset simulator can do", Tag: tag, Scope: either, Codes: codes,
	})
	web.Post(a, simulationsPath, s.servePress, web.Doc{
		Summary: "One key press of a simulated handset", Tag: tag, Scope: "ussd:simulate",
		Description: "Walks the menu of the line without a gateway, even if USSD_GATEWAY_ONLY keeps everybody else out. Without sessionId it dials the code; with sessionId and the turn it types an answer. " +
			"It uses a line of its own: no network has its numbers, only simulated handsets know its accounts, short messages are shown and not sent, no twin is made and no other server is asked. " +
			"All of this is forgotten after an hour without a key press, and when the server stops. Each instance of a server has its own simulator.",
		Example: PressDraft{PhoneNumber: "+999000001", ServiceCode: "*2233#"},
		Codes:   append([]string{"NUMBER_NOT_SIMULATED", "SIMULATION_INVALID", "CODE_NOT_ANSWERED", "SIMULATION_NOT_FOUND", "SIMULATION_TURN", "SIMULATION_OVER", "SIMULATOR_UNAVAILABLE"}, codes...),
	})
	web.Delete(a, simulationsPath, s.serveReset, web.Doc{
		Summary: "Forget all simulated calls and accounts", Tag: tag, Scope: "ussd:simulate", Codes: codes,
	})
}

// PressDraft is the type of package api.
type PressDraft = api.Press

type nothing struct{}

func (s *Simulator) serveAbout(ctx context.Context, _ *nothing) (api.Simulator, error) {
	return s.about(), auth.OperatorsLine(ctx)
}

func (s *Simulator) servePress(ctx context.Context, in *struct{ Body PressDraft }) (*api.Simulation, error) {
	if err := auth.OperatorsLine(ctx); err != nil {
		return nil, err
	}
	b := in.Body
	return s.Press(ctx, Press{
		Owner: web.CallerFrom(ctx).DID, Session: b.SessionID, Phone: b.PhoneNumber, Code: b.ServiceCode, Turn: b.Turn, Input: b.Input,
	})
}

func (s *Simulator) serveReset(ctx context.Context, _ *nothing) (api.Simulator, error) {
	if err := auth.OperatorsLine(ctx); err != nil {
		return api.Simulator{}, err
	}
	s.Reset()
	return s.about(), nil
}

// phoneForm is E.164.
var phoneForm = regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)

// maxPack is how many bytes a menu pack to check may have.
const maxPack = 512 << 10

// Routes adds the desk to a.
func (d *Desk) Routes(a *web.API) {
	const read = "ussd:read"
	codes := []string{"LINE_NOT_FOUND", "KEY_RESTRICTED"}
	web.Get(a, "/v1/ussd/menu", d.serveMenu, web.Doc{
		Summary: "The menu of the line as a graph", Tag: tag, Scope: read, Codes: append([]string{"INVALID_PARAMETER"}, codes...),
		Description: "The pack in use: nodes, ways between them, what lint says, and how often each screen was shown, refused an answer and lost its caller in the last 30 days. " +
			"Counts are kept in memory and stored every 15 seconds; calls of simulated handsets are not counted.",
	})
	web.Post(a, "/v1/ussd/menu:check", d.serveCheck, web.Doc{
		Summary: "Check a menu pack", Tag: tag, Scope: read, Codes: append([]string{"MENU_CHECK_INVALID"}, codes...),
		Description: "Returns what `hearth ussd lint` reports about a pack of your own, and its graph. Nothing is stored, and the line continues with its own pack.",
		Example:     PackDraft{Source: "pack: mine\nlanguages: [en]\ntitle: Mine\nstart: home\nnodes:\n  home:\n    end: true\n    text: Hello.\n"},
	})
	web.Get(a, "/v1/ussd/calls", d.serveCalls, web.Doc{
		Summary: "List calls that are over, newest first", Tag: tag, Scope: read, Codes: append([]string{"INVALID_PARAMETER", "SCOPE_MISSING"}, codes...),
		Description: "A call is listed as soon as it has ended: by a closing screen, by the caller, or some seconds after it expired. Calls are kept for 30 days, and erased with the person. " +
			"Numbers are masked without `entities:pii`, which the filter by number needs too.",
	})
	web.Get(a, "/v1/ussd/calls/{id}", d.serveCall, web.Doc{
		Summary: "Read a call step by step", Tag: tag, Scope: read, Codes: append([]string{"CALL_NOT_FOUND"}, codes...),
		Description: "What was typed, where it led and how long it took, without PINs and codes, and the same as a dialog file. Without `entities:pii` only keys of the menu are shown.",
	})
}

// PackDraft is a menu pack to check.
type PackDraft struct {
	Source string `json:"source" doc:"The YAML of the pack." minLength:"1"`
}

func (d *Desk) serveMenu(ctx context.Context, in *struct {
	Lang string `query:"lang" doc:"Language of the texts; by default that of the pack." example:"en"`
},
) (*api.Menu, error) {
	if err := auth.OperatorsLine(ctx); err != nil {
		return nil, err
	}
	return d.Menu(ctx, in.Lang)
}

func (d *Desk) serveCheck(ctx context.Context, in *struct{ Body PackDraft }) (*api.MenuCheck, error) {
	if err := auth.OperatorsLine(ctx); err != nil {
		return nil, err
	}
	var c fault.Checks
	c.Require(in.Body.Source != "", "/source")
	if len(in.Body.Source) > maxPack {
		c.Add("/source", "too_large", fmt.Sprintf("A pack to check has at most %d bytes.", maxPack))
	}
	if err := c.Err("MENU_CHECK_INVALID", "The body cannot be checked. Send the YAML of a menu pack."); err != nil {
		return nil, err
	}
	return d.Check(in.Body.Source), nil
}

type callsIn struct {
	Phone     string `query:"phone" doc:"Only calls from this number. It needs entities:pii." example:"+254700000001"`
	Since     string `query:"since" doc:"Only calls that ended at this time or later." example:"2026-01-01T00:00:00Z"`
	Simulated bool   `query:"simulated" doc:"Calls of simulated handsets in place of those of customers."`
	web.Paging
}

// filter reads the parameters. The place of the first page is after all calls.
func (in *callsIn) filter(ctx context.Context) (walkFilter, error) {
	var c fault.Checks
	in.Size(&c)
	f := walkFilter{phone: in.Phone}
	if in.Phone != "" && !phoneForm.MatchString(in.Phone) {
		c.Add("query/phone", "invalid", "The number must be in international form, as +254700000000.")
	}
	if in.Since != "" {
		at, err := time.Parse(time.RFC3339, in.Since)
		if err != nil {
			c.Add("query/since", "invalid", "The time must be of the form 2026-01-01T00:00:00Z.")
		}
		f.since = at.UnixMilli()
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return f, err
	}
	if in.Phone != "" && !in.Simulated && !web.CallerFrom(ctx).May(scopePII) {
		return f, fault.New(fault.Forbidden, "SCOPE_MISSING", "Looking for a number needs the scope "+scopePII+", which you do not have.")
	}
	return f, nil
}

func (d *Desk) serveCalls(ctx context.Context, in *callsIn) (web.Reply[web.Page[api.Call]], error) {
	var none web.Reply[web.Page[api.Call]]
	if err := auth.OperatorsLine(ctx); err != nil {
		return none, err
	}
	f, err := in.filter(ctx)
	if err != nil {
		return none, err
	}
	after := walkPlace{Ended: math.MaxInt64}
	return web.List(ctx, d.cfg.Cursors, in.Paging, &after, func(limit int) ([]api.Call, *walkPlace, error) {
		return d.calls(ctx, f, in.Simulated, after, limit)
	})
}

func (d *Desk) serveCall(ctx context.Context, in *struct {
	ID string `path:"id" doc:"Name of the call."`
},
) (*api.Call, error) {
	if err := auth.OperatorsLine(ctx); err != nil {
		return nil, err
	}
	return d.call(ctx, in.ID)
}
