package client

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/api"
)

const (
	linePath        = "/v1/ussd"
	simulationsPath = linePath + "/simulations"
)

// Line is the USSD line: its menu, its calls and its customers. It belongs to the
// operator's workspace.
type Line struct{ c *Client }

// Nouns of package api.
type (
	Simulation       = api.Simulation
	SimulatedMessage = api.SimulatedMessage
	Simulator        = api.Simulator
)

// Press is a key press of a simulated handset: PhoneNumber and ServiceCode dial,
// SessionID, Turn and Input type an answer.
type Press struct {
	SessionID   string `json:"sessionId,omitzero"`
	PhoneNumber string `json:"phoneNumber,omitzero"` // +999000000 to +999000999
	ServiceCode string `json:"serviceCode,omitzero"` // the first of the line by default
	Turn        int    `json:"turn,omitzero"`        // one more than that of the screen before
	Input       string `json:"input,omitzero"`
}

// Simulator tells which handsets can be simulated.
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
