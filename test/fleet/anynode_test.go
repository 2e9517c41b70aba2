package fleet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestAnyNode: what a person begins at one node goes on at the next, over PostgreSQL and
// over NATS: no proxy has to remember who was where. Each part is a test by name.
func TestAnyNode(t *testing.T) {
	t.Parallel()
	for bus, common := range map[string][]string{"postgres": nil, "nats": {"NATS_URL=" + natsAt(t, -1).ClientURL()}} {
		t.Run(bus, func(t *testing.T) {
			t.Parallel()
			if bus == "nats" {
				whole(t)
			}
			f := &fleet{all: nodesWith(t, 3, append(common, "THROTTLE_LIMIT=0"))}
			f.owners = clients(t, f.all)
			f.token = tokenFor(t, f.all[0].Oracle())
			for name, part := range map[string]func(*testing.T, *fleet){
				"console": signedIn, "mcp": mcpCalls, "page": pageAnswers, "confirmation": confirmed, "task": scheduled,
			} {
				t.Run(name, func(t *testing.T) { part(t, f) })
			}
		})
	}
}

// fleet is three nodes and a user of their oracle.
type fleet struct {
	all    []*server.Server
	owners []*server.Client // of each node
	token  string
}

// ask sends a request of the user to a node.
func (f *fleet) ask(t *testing.T, node, want int, request string, body any) *server.Answer {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	got, err := as(f.owners[node], f.token).Do(t.Context(), method, path, body, "X-Auth-Type", "ucan")
	if err != nil || got.Status != want {
		t.Fatalf("%s at node %d = %+v %v, want %d", request, node, got, err, want)
	}
	return got
}

// session begins a conversation at a node.
func (f *fleet) session(t *testing.T, node int) string {
	t.Helper()
	return decode[struct {
		ID string `json:"sessionId"`
	}](t, f.ask(t, node, 201, "POST /sessions", object{})).ID
}

// page opens a conversation as a page does, at a node.
func (f *fleet) page(t *testing.T, node int, session string) *clienttest.Client {
	t.Helper()
	c, err := clienttest.Join(t.Context(), f.all[node].URL+"/socket.io/?sessionId="+session, object{"invocation": f.token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Cut() })
	return c
}

// say has a message answered at a node; the channel gets the lines of the stream.
func (f *fleet) say(t *testing.T, node int, session string, message object) <-chan string {
	t.Helper()
	message["stream"] = true
	body, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.all[node].URL+"/messages/"+session, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + f.token}, "X-Auth-Type": {"ucan"}}
	res, err := http.DefaultClient.Do(r)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("a message to node %d: %+v, %v", node, res, err)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer res.Body.Close()
		for all := bufio.NewScanner(res.Body); all.Scan(); {
			lines <- all.Text()
		}
	}()
	return lines
}

// line waits for a line of a stream that has a text in it.
func line(t *testing.T, stream <-chan string, text string) string {
	t.Helper()
	var all []string
	for l := range stream {
		if all = append(all, l); strings.Contains(l, text) {
			return l
		}
	}
	t.Fatalf("the stream is %q, want %s in it", all, text)
	return ""
}

// pageCall is what a page hears of a call.
type pageCall struct {
	CallID string `json:"toolCallId"`
	Tool   string `json:"toolName"`
	Status string `json:"status"`
	Args   struct {
		RunID string `json:"runId"`
	} `json:"args"`
}

// hear waits for a call at a page.
func hear(t *testing.T, c *clienttest.Client, event string) pageCall {
	t.Helper()
	args, err := c.Event(event)
	var out pageCall
	if err != nil || len(args) == 0 || json.Unmarshal(args[0], &out) != nil {
		t.Fatalf("the page hears %s of %s, %v", args, event, err)
	}
	return out
}

// signedIn: an invitation of one node is used at the second, and the session counts at the
// third; it ends everywhere.
func signedIn(t *testing.T, f *fleet) {
	code := decode[struct {
		Code string `json:"code"`
	}](t, call(t, f.owners[0], 201, "POST /v1/invites", object{"name": "Amina", "role": "collector"})).Code
	cookie := ""
	browser := func(node, want int, request string, body any) *server.Answer {
		t.Helper()
		method, path, _ := strings.Cut(request, " ")
		c := &server.Client{URL: f.all[node].URL, HTTP: f.owners[node].HTTP}
		got, err := c.Do(t.Context(), method, path, body, "Origin", c.URL, "X-Hearth-Console", "1", "Cookie", fmt.Sprintf("hearth_%d=%s", f.all[node].Port, cookie))
		if err != nil || got.Status != want {
			t.Fatalf("%s at node %d = %+v %v, want %d", request, node, got, err, want)
		}
		return got
	}
	_, link, _ := strings.Cut(f.all[0].Output(), "/console/#enter=")
	link, _, _ = strings.Cut(link, "\n")
	browser(2, 200, "POST /console/session", object{"code": link}) // printed by the first node
	browser(1, 401, "POST /console/session", object{"code": link})
	entered := browser(1, 200, "POST /console/session", object{"invite": code})
	_, cookie, _ = strings.Cut(entered.Header.Get("Set-Cookie"), "=")
	cookie, _, _ = strings.Cut(cookie, ";")
	if got := browser(2, 200, "GET /console/session", nil); !strings.Contains(string(got.Body), `"signedIn":true`) {
		t.Errorf("the third node knows nobody: %s", got.Body)
	}
	browser(2, 200, "GET /v1/surveys", nil)
	browser(0, 409, "POST /console/session", object{"invite": code})
	browser(0, 200, "DELETE /console/session", nil)
	for node := range f.all {
		if got := browser(node, 200, "GET /console/session", nil); !strings.Contains(string(got.Body), `"signedIn":false`) {
			t.Errorf("node %d after the end of the session: %s", node, got.Body)
		}
		browser(node, 401, "GET /v1/surveys", nil)
	}
}

// mcpCalls: a client of /mcp greets one node, and calls a tool at each.
func mcpCalls(t *testing.T, f *fleet) {
	twin := decode[struct {
		DID string `json:"did"`
	}](t, call(t, f.owners[0], 201, "POST /v1/entities", object{"type": "Stove", "protocol": "did:ixo:protocol/clean-cooking", "metadata": object{"name": "Jiko"}})).DID
	rpc := func(node int, id int, method string, params object) string {
		t.Helper()
		got, err := f.owners[node].Do(t.Context(), "POST", "/mcp", object{"jsonrpc": "2.0", "id": id, "method": method, "params": params}, "Accept", "application/json, text/event-stream")
		if err != nil || got.Status != http.StatusOK {
			t.Fatalf("%s at node %d = %+v %v", method, node, got, err)
		}
		return string(got.Body)
	}
	rpc(0, 1, "initialize", object{"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "fleet", "version": "1"}})
	for node := range f.all {
		if got := rpc(node, 2+node, "tools/call", object{"name": "search_twins", "arguments": object{"type": "Stove"}}); !strings.Contains(got, twin) {
			t.Errorf("node %d finds %s, want %s", node, got, twin)
		}
	}
}

// pageAnswers: a tool of a page that is open at one node runs for a message to another.
func pageAnswers(t *testing.T, f *fleet) {
	session := f.session(t, 0)
	c := f.page(t, 1, session)
	stream := f.say(t, 2, session, object{"message": `/tool look {"n":21}`, "tools": []object{{"name": "look", "description": "Looks.", "schema": object{"type": "object"}}}})
	one := hear(t, c, "browser_tool_call")
	if one.Tool != "look" {
		t.Fatalf("the page is to run %+v", one)
	}
	if err := c.Emit("tool_result", object{"toolCallId": one.CallID, "sessionId": session, "result": object{"seen": "a stove"}}); err != nil {
		t.Fatal(err)
	}
	line(t, stream, "a stove")
	line(t, stream, "event: done")
	if got := f.ask(t, 0, 200, "GET /messages/"+session, nil); !strings.Contains(string(got.Body), "a stove") {
		t.Errorf("the conversation at another node: %s", got.Body)
	}
}

// confirmed: the question of a run at one node is shown at the second, and answered at the
// third.
func confirmed(t *testing.T, f *fleet) {
	session := f.session(t, 0)
	stream := f.say(t, 0, session, object{"message": `/tool remember {"text":"Amina cooks with wood."}`})
	line(t, stream, "event: action_call")
	var one pageCall
	if err := json.Unmarshal([]byte(strings.TrimPrefix(line(t, stream, "data: "), "data: ")), &one); err != nil {
		t.Fatal(err)
	}
	path := "/runs/" + one.Args.RunID + "/confirmations"
	if got := f.ask(t, 1, 200, "GET "+path, nil); !strings.Contains(string(got.Body), one.CallID) {
		t.Errorf("the questions at the second node are %s, want %s", got.Body, one.CallID)
	}
	f.ask(t, 2, 200, "POST "+path+"/"+one.CallID, object{"confirmed": true})
	line(t, stream, "event: done")
	f.ask(t, 1, 409, "POST "+path+"/"+one.CallID, object{"confirmed": false}) // it was decided
	for node := range f.all {
		if got := f.ask(t, node, 200, "GET /memory", nil); !strings.Contains(string(got.Body), "wood") {
			t.Errorf("node %d remembers %s", node, got.Body)
		}
	}
}

// scheduled: a task of one node is there at the others, runs once, and its answer can be
// read everywhere.
func scheduled(t *testing.T, f *fleet) {
	task := decode[struct {
		ID string `json:"id"`
	}](t, f.ask(t, 0, 200, "POST /tasks", object{"title": "Soon", "prompt": "/echo the time has come", "at": time.Now().Add(2 * time.Second).Format(time.RFC3339Nano)})).ID
	f.ask(t, 1, 200, "PATCH /tasks/"+task, object{"title": "Very soon"})
	var now struct {
		Title   string `json:"title"`
		Status  string `json:"status"`
		Session string `json:"sessionId"`
	}
	until(t, "the task has run", func() bool {
		now = decode[struct {
			Title   string `json:"title"`
			Status  string `json:"status"`
			Session string `json:"sessionId"`
		}](t, f.ask(t, 2, 200, "GET /tasks/"+task, nil))
		return now.Status == "done" && now.Session != ""
	})
	for node := range f.all {
		until(t, "its answer is there", func() bool {
			said := string(f.ask(t, node, 200, "GET /messages/"+now.Session, nil).Body)
			return strings.Contains(said, `"the time has come"`) // without quotes the prompt is enough
		})
	}
	said := string(f.ask(t, 1, 200, "GET /messages/"+now.Session, nil).Body)
	if now.Title != "Very soon" || strings.Count(said, `"the time has come"`) != 1 {
		t.Errorf("the task %+v has said %s", now, said)
	}
}
