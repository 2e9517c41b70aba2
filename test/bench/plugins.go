package main

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/mcp"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
	bundled "github.com/hearth-dmrv/hearth/plugins"
	"github.com/hearth-dmrv/hearth/test/bench/chatter"
	"github.com/hearth-dmrv/hearth/test/server"
)

// The bars of plugins, as ratios, and of an MCP call: so many bare round trips, and
// so many µs.
const (
	pluginCallsBar = 1.2
	pluginsBar     = 1.1
	mcpTimesBar    = 2.0
	mcpSpareBar    = 1000.0
)

// pluginCosts measures the cost of plugins and their tools.
func (b *bench) pluginCosts(ctx context.Context) error {
	fmt.Printf("%-26s %9s %9s %7s\n", "", "CPU µs", "without", "times")
	p, err := b.pair(ctx, func(ctx context.Context) (side, error) { return callsSide(ctx, true) }, func(ctx context.Context) (side, error) { return callsSide(ctx, false) })
	if err != nil {
		return err
	}
	times := p.ratio(sample.cost)
	fmt.Printf("%-26s %9.2f %9.2f %7.2f   bar %.1f times %s\n", "five calls of a plugin", medianOf(p.ours, sample.cost), medianOf(p.bound, sample.cost), times,
		pluginCallsBar, b.verdict("five calls of a plugin", times <= pluginCallsBar))
	if p, err = b.pair(ctx, mcpSide, bareSide); err != nil {
		return err
	}
	ours, bare := medianOf(p.ours, sample.cost), medianOf(p.bound, sample.cost)
	fmt.Printf("%-26s %9.2f %9.2f %7.2f   bar %.1f times and %.0f µs %s\n", "an MCP call, both ends", ours, bare, ours/bare,
		mcpTimesBar, mcpSpareBar, b.verdict("an MCP call", ours <= mcpTimesBar*bare+mcpSpareBar))
	return b.bundledCosts(ctx)
}

// own are the plugins that are part of the server.
var own = []string{"twins", "surveys", "tasks", "credits"}

// bundledCosts compares a turn with all plugins that come with the program, including
// those that are off by default, and with none of them, on servers that take turns.
func (b *bench) bundledCosts(ctx context.Context) error {
	skill := filepath.Join(b.dir, "skills", "visit")
	if err := os.MkdirAll(skill, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: visit\ndescription: How to visit a household.\n---\nKnock first."), 0o600); err != nil {
		return err
	}
	var on, off []string
	names := slices.Clone(own)
	for _, p := range bundled.Bundled() {
		names = append(names, p.Manifest().Name)
	}
	for _, name := range names {
		variable := "HEARTH_PLUGIN_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_"
		on, off = append(on, variable+"ENABLED=true"), append(off, variable+"ENABLED=false")
	}
	on = append(on, "HEARTH_PLUGIN_SLACK_SIGNING_SECRET=x", "HEARTH_PLUGIN_SLACK_BOT_TOKEN=x", "HEARTH_PLUGIN_SKILLS_DIRECTORY="+filepath.Dir(skill))
	say := "/echo " + strings.TrimSpace(strings.Repeat("word ", 100))
	var with, without, ratios []float64
	sides := []func() (float64, error){
		func() (float64, error) {
			return b.talkWith(ctx, say, func(s *server.Server) error { return fund(ctx, s) }, on...)
		},
		func() (float64, error) { return b.talk(ctx, say, off...) },
	}
	for round := range b.rounds {
		var ms [2]float64
		for i := range sides { // who is first takes turns: what others do on the machine counts for both
			side, err := (i+round)%2, error(nil)
			if ms[side], err = sides[side](); err != nil {
				return err
			}
		}
		with, without, ratios = append(with, 1000*ms[0]), append(without, 1000*ms[1]), append(ratios, ms[0]/ms[1])
	}
	slices.Sort(with)
	slices.Sort(without)
	slices.Sort(ratios)
	times := ratios[len(ratios)/2]
	fmt.Printf("%-26s %9.2f %9.2f %7.2f   bar %.1f times %s\n", strconv.Itoa(len(names))+" bundled plugins, a turn", with[len(with)/2], without[len(without)/2], times,
		pluginsBar, b.verdict("bundled plugins", times <= pluginsBar))
	return nil
}

// fund gives every talker an account with credits.
func fund(ctx context.Context, s *server.Server) error {
	c := s.Client(1)
	defer c.Close()
	for i := range talkers {
		path := "/v1/oracle/credits/" + chatter.DID(byte(i+1))
		for _, step := range [][3]string{{"PUT", path, `{"status":"active"}`}, {"POST", path + "/entries", `{"amount":1000000000}`}} {
			got, err := c.Do(ctx, step[0], step[1], []byte(step[2]))
			if err != nil {
				return err
			}
			if got.Status >= 300 {
				return fmt.Errorf("%s %s: %d %s", step[0], step[1], got.Status, got.Body)
			}
		}
	}
	return nil
}

const lookSchema = `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}`

// found is the answer of the tools in this row.
const found = `{"twins":[{"did":"did:ixo:entity:1","type":"Stove"}],"more":false}`

// deaf ignores everything in a turn.
type deaf struct{}

func (deaf) Reasoning(string) error                                  { return nil }
func (deaf) Text(string) error                                       { return nil }
func (deaf) ToolStart(tool.Call, tool.Spec) error                    { return nil }
func (deaf) ToolEnd(tool.Call, tool.Spec, tool.Output, string) error { return nil }
func (deaf) Router(string) error                                     { return nil }

// looks is a plugin with one tool.
type looks struct{}

func (looks) Manifest() plugin.Manifest {
	return plugin.Manifest{Name: "looks", Title: "Looks", Summary: "Looks.", Visibility: plugin.Always}
}

func (looks) Tools() []plugin.Tool {
	return []plugin.Tool{{Name: "look", Description: "Looks.", Schema: lookSchema, ReadOnly: true, Run: func(context.Context, plugin.Call) (any, error) {
		return stdjson.RawMessage(found), nil
	}}}
}

// callsSide is a turn with five calls of a tool, of a plugin or built in.
func callsSide(ctx context.Context, ofPlugin bool) (side, error) {
	tools := []tool.Tool{tool.Func{Describe: tool.Spec{Name: "look", ReadOnly: true, Schema: jsontext.Value(lookSchema)}, Do: func(context.Context, tool.Call) (tool.Output, error) {
		return tool.Output{Data: jsontext.Value(found)}, nil
	}}}
	if ofPlugin {
		s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{looks{}}})
		if err != nil {
			return nil, err
		}
		var r tool.Registry
		if err := s.Start(ctx, &r); err != nil {
			return nil, err
		}
		tools = r.Wrapped(r.ForRun(ctx))
	}
	var calls []tool.Call
	for i := range 5 {
		calls = append(calls, tool.Call{Name: "look", Args: jsontext.Value(`{"query":"stoves","limit":` + strconv.Itoa(i) + `}`)})
	}
	var f *modeltest.Fake
	a := agent.New(agent.Config{Model: llm.Func(func(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
		return f.Stream(ctx, r, each)
	})})
	return &looper{func(ctx context.Context, _ int) error {
		f = modeltest.NewFake(modeltest.Called(calls...), modeltest.Spoken("Found."))
		ctx = tool.With(ctx, tool.Context{User: "did:key:z6Mk", SessionID: "$1", RequestID: "r"})
		_, err := a.Turn(ctx, agent.Turn{User: llm.Message{Content: "x"}, Tools: tools}, deaf{})
		return err
	}}, nil
}

// ends is a side with two ends in this process and a socket between them.
type ends struct {
	looper
	server *http.Server
	end    func() error
}

func (e *ends) close() error { return errors.Join(e.end(), e.server.Close()) }

// serveEnd serves a handler on its own socket.
func serveEnd(ctx context.Context, h http.Handler) (address string, s *http.Server, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }() // ends with Close
	return "http://" + l.Addr().String(), s, nil
}

// openGate admits every request.
type openGate struct{}

func (openGate) Admit(http.Header, *http.Request, web.Scope) (web.Caller, error) {
	return web.Caller{Workspace: "ws", DID: "did:key:a", Key: "key_1"}, nil
}

// mcpSide calls a tool of our MCP server over streamable HTTP.
func mcpSide(ctx context.Context) (side, error) {
	look := tool.Func{Describe: tool.Spec{Name: "look", ReadOnly: true, Schema: jsontext.Value(lookSchema)}, Do: func(context.Context, tool.Call) (tool.Output, error) {
		return tool.Output{Data: jsontext.Value(found)}, nil
	}}
	api := web.NewAPI(web.APIConfig{Name: "mcp", Errors: web.Problem, Gate: openGate{}})
	mcp.NewEndpoint(mcp.EndpointConfig{Tools: func(context.Context) []tool.Tool { return []tool.Tool{look} }}).Routes(api)
	mux := http.NewServeMux()
	api.Mount(mux)
	address, s, err := serveEnd(ctx, mux)
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: address + "/mcp", DisableStandaloneSSE: true}, nil)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	args := stdjson.RawMessage(`{"query":"stoves","limit":3}`)
	return &ends{server: s, end: session.Close, looper: looper{func(ctx context.Context, _ int) error {
		_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "look", Arguments: args})
		return err
	}}}, nil
}

// bareSide sends the same JSON there and back with net/http and nothing else.
func bareSide(ctx context.Context) (side, error) {
	answer, err := stdjson.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{"content": []any{map[string]any{"type": "text", "text": found}}}})
	if err != nil {
		return nil, err
	}
	address, s, err := serveEnd(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		if body, err := io.ReadAll(r.Body); err != nil || stdjson.Unmarshal(body, &in) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{}}
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{"query":"stoves","limit":3}}}`)
	return &ends{server: s, end: func() error { client.CloseIdleConnections(); return nil }, looper: looper{func(ctx context.Context, _ int) error {
		return roundTrip(ctx, client, address, body)
	}}}, nil
}

func roundTrip(ctx context.Context, client *http.Client, address string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	var out map[string]any
	return stdjson.NewDecoder(res.Body).Decode(&out)
}
