package mcp

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Limits of servers and their answers.
const (
	maxServerName = 32
	maxHeaders    = 10
	maxHeader     = 4096 // bytes of the value of a header

	maxTools       = 64      // of one server; more are not offered
	maxToolName    = 128     // bytes of the name a server has for a tool
	maxDescription = 4096    // bytes of the description of a tool
	maxAnswer      = 4 << 20 // bytes of one message of a server

	defaultTimeout = 30 * time.Second
	// MaxTimeout is the longest a call may take.
	MaxTimeout = 2 * time.Minute
)

// Where a server is known from.
const (
	Operator  = "operator"  // the file of the operator
	Workspace = "workspace" // the API
)

// How a server is spoken to.
const (
	stdio  = "stdio"
	remote = "http"
)

// allWorkspaces in Server.Workspaces means every one.
const allWorkspaces = "*"

// Server is a configured MCP server: a program, or an address.
type Server struct {
	Name   string
	Origin string // Operator or Workspace

	Command []string          // the program and its arguments
	Env     map[string]string // of the program, besides a few harmless variables of ours
	Dir     string            // in which it starts; the folder of temporary files by default

	URL     string
	Headers map[string]string // sent with every request

	ReadOnly   []string // tools that change nothing, as the operator says
	Only       []string // when not empty, the tools that are offered
	Protected  bool     // each call needs an invocation of the caller
	Timeout    time.Duration
	Workspaces []string // who may use a server of the operator

	revision int64 // of a server of a workspace
}

func (s *Server) transport() string {
	if s.URL != "" {
		return remote
	}
	return stdio
}

// identity is what makes a server another one: a grant is for one of them.
func (s *Server) identity() string {
	if s.URL != "" {
		return s.URL
	}
	return strings.Join(s.Command, "\x00")
}

// serves reports whether callers of a workspace may use the server.
func (s *Server) serves(workspace string) bool {
	return s.Origin == Workspace || slices.Contains(s.Workspaces, workspace) || slices.Contains(s.Workspaces, allWorkspaces)
}

// wait is how long a call of the server may take.
func (s *Server) wait() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return defaultTimeout
}

// namePattern leaves out two underscores in a row: they end the name of a server in
// the name of its tools.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$`)

// ValidName reports whether a server may have a name.
func ValidName(name string) bool { return len(name) <= maxServerName && namePattern.MatchString(name) }

const nameRule = "want 1 to 32 letters, digits, - and _, which begin and end with a letter or digit and have no two of - and _ in a row"

// ownHeaders lists the headers that the protocol or the connection sets.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive",
	"Last-Event-Id", "Origin", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
}

// checkHeader says what is wrong with a header for a server, "" for nothing. It
// never repeats the value.
func checkHeader(name, value string) string {
	known := http.CanonicalHeaderKey(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return "is not the name of a header"
	case slices.Contains(ownHeaders, known) || strings.HasPrefix(known, "Mcp-") || strings.HasPrefix(known, "Proxy-"):
		return "is set by the server itself"
	case value == "" || len(value) > maxHeader || !httpguts.ValidHeaderFieldValue(value):
		return fmt.Sprintf("must have a value of 1 to %d printable characters", maxHeader)
	}
	return ""
}

// checkAddress says what is wrong with the form of an address, "" for nothing.
func checkAddress(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return "must be an address that begins with https:// or http://"
	case u.User != nil:
		return "must not hold a user name or password: give a header instead"
	case u.Fragment != "":
		return "must not have a part after #"
	}
	return ""
}
