package dialog

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// Server is the connection of an operator to a server.
type Server struct {
	Send Sender
	Base string // such as http://localhost:3000
	Key  string // API key of an operator; "" works from the server's own machine
}

// Place is the position of a session.
type Place struct {
	Node          string
	Authenticated bool        // somebody is logged in
	Limits        menu.Limits // of its screens; zero of a server that does not tell
}

// Where asks the server for the position of a session.
func Where(ctx context.Context, s Server, session string) (Place, error) {
	status, body, err := s.get(ctx, "/api/ussd/debug/"+url.PathEscape(session))
	if err != nil {
		return Place{}, fmt.Errorf("ask for the node: %w", err)
	}
	var record struct {
		DebugInfo struct {
			Path    string `json:"path"`
			Context struct {
				IsAuthenticated bool        `json:"isAuthenticated"`
				Limits          menu.Limits `json:"limits"`
			} `json:"context"`
		} `json:"debugInfo"`
	}
	if err := json.Unmarshal(body, &record); err != nil || status != http.StatusOK {
		return Place{}, fmt.Errorf("the server does not say where the session is (status %d): give an operator's key", status)
	}
	at := record.DebugInfo
	return Place{Node: at.Path, Authenticated: at.Context.IsAuthenticated, Limits: at.Context.Limits}, nil
}

// Fetch gets a live session from the server as a dialog file.
func Fetch(ctx context.Context, s Server, session string) ([]byte, error) {
	status, body, err := s.get(ctx, "/api/ussd/debug/"+url.PathEscape(session)+"/dialog")
	switch {
	case err != nil:
		return nil, fmt.Errorf("fetch the session: %w", err)
	case status == http.StatusNotFound:
		return nil, fmt.Errorf("there is no live session %q, or you are no operator of the server: give an operator's key", session)
	case status != http.StatusOK:
		return nil, fmt.Errorf("fetch the session: the server answered with status %d", status)
	}
	if _, err := Parse(session, body); err != nil {
		return nil, fmt.Errorf("the server sent no dialog: %w", err)
	}
	return body, nil
}

// patience is how long get waits for a place under a rate limit, which counts
// by the minute.
const patience = 65 * time.Second

// get asks the server for something. Over the rate limit it waits: operators
// have no other allowance than everybody.
func (s Server) get(ctx context.Context, path string) (status int, body []byte, err error) {
	for waited := time.Duration(0); ; {
		resp, err := s.once(ctx, path)
		if err != nil {
			return 0, nil, err
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		_ = resp.Body.Close() // it was read
		seconds, bad := strconv.Atoi(resp.Header.Get("Retry-After"))
		pause := max(time.Duration(seconds)*time.Second, time.Second)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests || bad != nil || waited+pause > patience {
			return resp.StatusCode, body, err
		}
		waited += pause
		select {
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// once sends one request.
func (s Server) once(ctx context.Context, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.Base, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	if s.Key != "" {
		r.Header.Set("Authorization", "Bearer "+s.Key)
	}
	return s.Send(r)
}
