package mcp

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/hearth-dmrv/hearth/internal/order"
)

// maxFile is how many bytes the file of the operator may have.
const maxFile = 1 << 20

// fileSpec is the file of the operator. It begins as the settings of other MCP
// clients do, so that a block of theirs can be copied.
type fileSpec struct {
	Servers map[string]serverSpec `yaml:"mcpServers"`
}

type serverSpec struct {
	Type    string            `yaml:"type"`
	Command string            `yaml:"command"`
	Args    []string          `yaml:"args"`
	Env     map[string]string `yaml:"env"`
	Dir     string            `yaml:"cwd"`
	URL     string            `yaml:"url"`
	Headers map[string]string `yaml:"headers"`

	ReadOnly   []string `yaml:"readOnly"`
	Only       []string `yaml:"tools"`
	Protected  bool     `yaml:"protected"`
	Timeout    string   `yaml:"timeout"`
	Workspaces []string `yaml:"workspaces"`
}

// Open reads the operator's servers from a file in YAML or JSON; "" means none.
// protected names servers whose tools need an invocation, in addition to those
// marked in the file; home is the workspace that may use a server for which the
// file names none. The error names everything that is wrong.
func Open(path string, protected []string, home string) ([]Server, error) {
	var spec fileSpec
	if path != "" {
		raw, err := read(path)
		if err != nil {
			return nil, err
		}
		if err := yaml.UnmarshalWithOptions(raw, &spec, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s: %s", path, plainError(err))
		}
	}
	var out []Server
	var wrong []error
	for name, one := range spec.Servers {
		s, bad := one.server(name)
		for _, text := range bad {
			wrong = append(wrong, fmt.Errorf("%s: mcpServers.%s%s", path, name, text))
		}
		if len(s.Workspaces) == 0 {
			s.Workspaces = []string{home}
		}
		s.Protected = s.Protected || slices.Contains(protected, name)
		out = append(out, s)
	}
	for _, name := range protected {
		if _, ok := spec.Servers[name]; !ok {
			wrong = append(wrong, fmt.Errorf("UCAN_PROTECTED_MCP_SERVERS: there is no server %q in the file of MCP_SERVERS_FILE", name))
		}
	}
	order.Sort(out, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return out, errors.Join(wrong...)
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = fmt.Errorf("%s: want a regular file of at most %d bytes", path, maxFile)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// plainError is what is wrong with a file, and where, without the surrounding
// lines, which may hold a secret.
func plainError(err error) string {
	if e, ok := err.(yaml.Error); ok { //nolint:errorlint // the library returns it unwrapped
		if tk := e.GetToken(); tk != nil && tk.Position != nil {
			return fmt.Sprintf("line %d: %s", tk.Position.Line, e.GetMessage())
		}
		return e.GetMessage()
	}
	return "is not valid"
}

// server makes the server of an entry, and says what is wrong with the entry.
func (e *serverSpec) server(name string) (Server, []string) {
	s := Server{
		Name: name, Origin: Operator, Env: e.Env, Dir: e.Dir, URL: e.URL, Headers: e.Headers,
		ReadOnly: e.ReadOnly, Only: e.Only, Protected: e.Protected, Workspaces: e.Workspaces,
	}
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if !ValidName(name) {
		say(": is no name of a server: %s", nameRule)
	}
	switch {
	case (e.Command == "") == (e.URL == ""):
		say(": want either command or url")
	case e.Command != "":
		s.Command = append([]string{e.Command}, e.Args...)
	case checkAddress(e.URL) != "":
		say(".url: %s", checkAddress(e.URL))
	}
	if e.Type != "" && !slices.Contains(typesOf(s.transport()), e.Type) {
		say(".type: %q does not fit: want %s", e.Type, strings.Join(typesOf(s.transport()), " or "))
	}
	if e.Command == "" && (len(e.Args) > 0 || len(e.Env) > 0 || e.Dir != "") {
		say(": args, env and cwd are for a command")
	}
	if e.URL == "" && len(e.Headers) > 0 {
		say(": headers are for a url")
	}
	for key, value := range e.Headers {
		if bad := checkHeader(key, value); bad != "" {
			say(".headers.%s: %s", key, bad)
		}
	}
	for key := range e.Env {
		if key == "" || strings.ContainsAny(key, "=\x00") {
			say(".env: %q is not the name of a variable", key)
		}
	}
	if e.Timeout != "" {
		d, err := time.ParseDuration(e.Timeout)
		if s.Timeout = d; err != nil || d < time.Second || d > MaxTimeout {
			say(".timeout: want a time from 1s to %s", MaxTimeout)
		}
	}
	return s, wrong
}

// typesOf are the words that settings of other clients have for a transport.
func typesOf(transport string) []string {
	if transport == remote {
		return []string{"http", "streamable-http", "streamableHttp"}
	}
	return []string{stdio}
}
