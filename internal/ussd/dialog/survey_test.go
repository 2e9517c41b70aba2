package dialog_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
)

// asker is a server with one survey of two questions, asked over one's own household
// and by whoever is its agent. Package app plays surveys on a whole server.
type asker struct {
	mu     sync.Mutex
	given  map[string][]string // answers by who asks whom
	sent   map[string]bool
	closed bool
	broken bool
	agents bool // whoever is logged in collects for it
}

func newAsker() *asker { return &asker{given: map[string][]string{}, sent: map[string]bool{}} }

// set changes what the server does.
func (a *asker) set(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.agents, a.closed, a.broken = a.agents || what == "agents", a.closed || what == "closed", a.broken || what == "broken"
}

var _ fetch.Surveys = (*asker)(nil)

// Open lists the survey.
func (a *asker) Open(_ context.Context, did, _ string, agent bool) ([]map[string]string, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.broken:
		return nil, false, errors.New("out of order")
	case a.closed, agent && !a.agents:
		return nil, false, nil
	case !agent && a.sent[did+"/"]:
		return nil, true, nil
	}
	return []map[string]string{{"surveyId": "use", "name": "Stove use"}}, false, nil
}

// Begin goes on where the interview was left.
func (a *asker) Begin(_ context.Context, in fetch.Interview) (fetch.Asked, error) {
	return a.step(in, func(given []string) []string { return given })
}

// Answer takes the answer of the question on the screen.
func (a *asker) Answer(_ context.Context, in fetch.Interview) (fetch.Asked, error) {
	if (in.At == "fuel" && in.Reply != "1" && in.Reply != "2") || (in.At == "people" && in.Reply == "many") {
		out, err := a.step(in, func(given []string) []string { return given })
		out.Problem = "That is no answer."
		return out, err
	}
	return a.step(in, func(given []string) []string { return append(given, in.Reply) })
}

// Back takes the last answer back.
func (a *asker) Back(_ context.Context, in fetch.Interview) (fetch.Asked, error) {
	return a.step(in, func(given []string) []string { return given[:max(0, len(given)-1)] })
}

// Send stores the answers.
func (a *asker) Send(_ context.Context, in fetch.Interview) (fetch.Asked, error) {
	out, err := a.step(in, func(given []string) []string { return given })
	if err == nil && out.Result == "review" {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.sent[in.DID+"/"+in.Customer] = true
		out.Result, out.Code = "sent", "K7M2P9"
	}
	return out, err
}

// step changes the answers and gives the question that comes next.
func (a *asker) step(in fetch.Interview, change func([]string) []string) (fetch.Asked, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	who := in.DID + "/" + in.Customer
	switch {
	case a.broken:
		return fetch.Asked{}, errors.New("out of order")
	case a.closed:
		return fetch.Asked{Result: "closed"}, nil
	case a.sent[who]:
		return fetch.Asked{Result: "already"}, nil
	}
	a.given[who] = change(slices.Clone(a.given[who]))
	switch len(a.given[who]) {
	case 0:
		return fetch.Asked{Result: "choose", At: "fuel", Text: "Which fuel?", Choices: []string{"1. Wood", "2. Gas"}}, nil
	case 1:
		return fetch.Asked{Result: "type", At: "people", Text: "How many people cook?\nFrom 0 to 20."}, nil
	}
	return fetch.Asked{Result: "review"}, nil
}
