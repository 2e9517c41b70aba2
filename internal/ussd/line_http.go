package ussd

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// tag is the group of the routes in the reference.
const tag = "line"

const simulationsPath = "/v1/ussd/simulations"

// Ours lets those work with the line whose it is: it belongs to the operator's
// workspace as a whole, so to no key that is limited to projects. To other
// workspaces there is none. Faults: LINE_NOT_FOUND, KEY_RESTRICTED.
func Ours(ctx context.Context) error {
	switch c := web.CallerFrom(ctx); {
	case c.Workspace != auth.OperatorWorkspace:
		return fault.New(fault.NotFound, "LINE_NOT_FOUND", "Your workspace has no USSD line.")
	case len(c.Projects) > 0:
		return fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; the USSD line belongs to none.")
	}
	return nil
}

// Routes adds the simulator to a.
func (s *Simulator) Routes(a *web.API) {
	const either = "ussd:read or ussd:simulate"
	codes := []string{"LINE_NOT_FOUND", "KEY_RESTRICTED"}
	web.Get(a, simulationsPath, s.serveAbout, web.Doc{
		Summary: "What the handset simulator can do", Tag: tag, Scope: either, Codes: codes,
	})
	web.Post(a, simulationsPath, s.servePress, web.Doc{
		Summary: "One key press of a simulated handset", Tag: tag, Scope: "ussd:simulate",
		Description: "Walks the menu of the line without a gateway, also where USSD_GATEWAY_ONLY keeps everybody else out. Without a sessionId the code is dialled; with one, and the turn, an answer is typed. " +
			"It happens on a line of its own: numbers are those that no network has, accounts are known to simulated handsets alone, short messages are shown and not sent, no twin is made and no other server is asked. " +
			"All of it is forgotten after an hour without a key press, and when the server stops. Several instances of a server have a simulator each.",
		Example: PressDraft{PhoneNumber: "+999000001", ServiceCode: "*2233#"},
		Codes:   append([]string{"NUMBER_NOT_SIMULATED", "SIMULATION_INVALID", "CODE_NOT_ANSWERED", "SIMULATION_NOT_FOUND", "SIMULATION_TURN", "SIMULATION_OVER", "SIMULATOR_UNAVAILABLE"}, codes...),
	})
	web.Delete(a, simulationsPath, s.serveReset, web.Doc{
		Summary: "Forget all simulated calls and accounts", Tag: tag, Scope: "ussd:simulate", Codes: codes,
	})
}

// PressDraft is a key press as it is asked for.
type PressDraft struct {
	SessionID   string `json:"sessionId,omitzero" doc:"The call to type an answer in; without one a call begins." maxLength:"64"`
	PhoneNumber string `json:"phoneNumber,omitzero" doc:"Number of the handset when a call begins: +999000000 to +999000999." example:"+999000001"`
	ServiceCode string `json:"serviceCode,omitzero" doc:"What is dialled when a call begins; the first code of the line by default." example:"*2233#"`
	Turn        int    `json:"turn,omitzero" doc:"Number of the answer, from 1. Sent twice, it counts once." minimum:"0"`
	Input       string `json:"input,omitzero" doc:"The answer. It is never logged."`
}

type nothing struct{}

func (s *Simulator) serveAbout(ctx context.Context, _ *nothing) (api.Simulator, error) {
	return s.about(), Ours(ctx)
}

func (s *Simulator) servePress(ctx context.Context, in *struct{ Body PressDraft }) (*api.Simulation, error) {
	if err := Ours(ctx); err != nil {
		return nil, err
	}
	b := in.Body
	return s.Press(ctx, Press{
		Owner: web.CallerFrom(ctx).DID, Session: b.SessionID, Phone: b.PhoneNumber, Code: b.ServiceCode, Turn: b.Turn, Input: b.Input,
	})
}

func (s *Simulator) serveReset(ctx context.Context, _ *nothing) (api.Simulator, error) {
	if err := Ours(ctx); err != nil {
		return api.Simulator{}, err
	}
	s.Reset()
	return s.about(), nil
}
