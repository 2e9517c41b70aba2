package dialog

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
)

// Server is how an operator reaches a server.
type Server struct {
	Send Sender
	Base string // such as http://localhost:3000
	Key  string // API key of an operator; "" works from the server's own machine
}

// Place is where a session stands.
type Place struct {
	Node          string
	Authenticated bool // somebody is logged in
}

// Where asks the server where a session stands.
func Where(ctx context.Context, s Server, session string) (Place, error) {
	status, body, err := s.get(ctx, "/api/ussd/debug/"+url.PathEscape(session))
	if err != nil {
		return Place{}, fmt.Errorf("ask for the node: %w", err)
	}
	var record struct {
		DebugInfo struct {
			Path    string `json:"path"`
			Context struct {
				IsAuthenticated bool `json:"isAuthenticated"`
			} `json:"context"`
		} `json:"debugInfo"`
	}
	if err := json.Unmarshal(body, &record); err != nil || status != http.StatusOK {
		return Place{}, fmt.Errorf("the server does not say where the session is (status %d): give an operator's key", status)
	}
	return Place{Node: record.DebugInfo.Path, Authenticated: record.DebugInfo.Context.IsAuthenticated}, nil
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

// get asks the server for something.
func (s Server) get(ctx context.Context, path string) (status int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.Base, "/")+path, nil)
	if err != nil {
		return 0, nil, err
	}
	if s.Key != "" {
		r.Header.Set("Authorization", "Bearer "+s.Key)
	}
	resp, err := s.Send(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, body, err
}
