package e2e

import (
	"bufio"
	"crypto/ed25519"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/test/server"
)

// What a crash may take of an answer: the text of its last 250 ms, and what a
// commit needs longer on a machine that is busy with other tests.
const (
	mayLose  = 250 * time.Millisecond
	busyDisk = 400 * time.Millisecond
)

// wordPause is how slowly the model of these tests speaks.
const wordPause = 10 * time.Millisecond

// TestKillEndsAnswers kills the server in the middle of an answer (SIGKILL) and
// starts it again on the same folder. What the user said is there once, so is
// what there was of the answer, marked; whoever joins the run hears its end; and
// the conversation goes on.
func TestKillEndsAnswers(t *testing.T) {
	t.Parallel()
	slow := modeltest.Script{modeltest.Text("Begin ")}
	for i := range 2000 {
		slow = append(slow, modeltest.Pause(wordPause), modeltest.Text("w"+strconv.Itoa(i)+" "))
	}
	uses := modeltest.Script{modeltest.Text("Pick "), modeltest.Calls(0, modeltest.Call{ID: "c", Name: "pick", Args: `{"of":"three"}`}), modeltest.Finish("tool_calls")}
	for _, c := range []struct {
		name   string
		script modeltest.Script
		until  func(sse) bool // the frame after which the server dies
		check  func(t *testing.T, heard, all []sse, answer chatMessage)
	}{
		{"at the first word", slow, func(f sse) bool { return f.event == "message" }, checkLoss},
		{"in mid-stream", slow, func(f sse) bool { return strings.Contains(f.data, `"w60 "`) }, checkLoss},
		{"in a tool call", uses, func(f sse) bool { return f.event == "tool_call" }, checkTool},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			model := modeltest.Start(c.script, modeltest.Say("And on we go."))
			t.Cleanup(model.Close)
			o := server.Options{Dir: t.TempDir(), Env: []string{"LLM_BASE_URL=" + model.URL}}
			s := server.Run(t, o)
			k := &talker{t: t, s: s}
			k.begin()
			heard, runID := k.hear(c.until)
			k.killed(o)

			all := k.join(runID, 0)
			after := k.join(runID, heard[len(heard)-1].id)
			checkEnd(t, all)
			checkEnd(t, after)
			if after[0].id <= heard[len(heard)-1].id {
				t.Errorf("a join after frame %d gets frame %d", heard[len(heard)-1].id, after[0].id)
			}
			said := k.history()
			if len(said) != 2 || said[0].Type != "human" || said[0].Content != "Tell me." || said[1].Type != "ai" || !said[1].Interrupted {
				t.Fatalf("the history is %+v, want the message once and one answer, interrupted", said)
			}
			if partial := all[len(all)-1].text("partialText"); partial != said[1].Content || partial != spokenIn(all) {
				t.Errorf("done says %q, the frames %q, the history %q", partial, spokenIn(all), said[1].Content)
			}
			c.check(t, heard, all, said[1])
			k.goOn(model, said[1].Content)
		})
	}
}

// checkLoss wants all text in the answer but for that of the last 250 ms.
func checkLoss(t *testing.T, heard, _ []sse, answer chatMessage) {
	t.Helper()
	last := heard[len(heard)-1].at(t)
	whole := spokenIn(heard)
	if !strings.HasPrefix(whole, answer.Content) && !strings.HasPrefix(answer.Content, whole) {
		t.Errorf("the answer is %q, the client heard %q", answer.Content, whole)
	}
	rest := answer.Content
	for _, f := range heard {
		if f.event != "message" {
			continue
		}
		var kept bool
		if rest, kept = strings.CutPrefix(rest, f.text("content")); kept {
			continue
		}
		if lost := last.Sub(f.at(t)); lost > mayLose+busyDisk {
			t.Errorf("%s of text are lost, want at most %s", lost, mayLose)
		}
		return
	}
}

// checkTool wants a call that was going on to be ended, in the run and in the
// history, and the text before it kept: it was stored with the call.
func checkTool(t *testing.T, heard, all []sse, answer chatMessage) {
	t.Helper()
	if answer.Content != "Pick " || len(answer.ToolCalls) != 1 || answer.ToolCalls[0].Name != "pick" || answer.ToolCalls[0].Status != "done" ||
		!strings.Contains(answer.ToolCalls[0].Output, "did not complete") {
		t.Errorf("the answer is %+v, want the call in it, ended", answer)
	}
	begun := heard[len(heard)-1]
	var states []string
	for _, f := range all {
		if f.event == "tool_call" && f.text("eventId") == begun.text("eventId") {
			states = append(states, f.text("status"))
		}
	}
	if fmt.Sprint(states) != "[isRunning done]" {
		t.Errorf("the states of the call are %v, want its start and its end", states)
	}
}

// checkEnd wants frames in order that end as those of an interrupted run do.
func checkEnd(t *testing.T, frames []sse) {
	t.Helper()
	for i := 1; i < len(frames); i++ {
		if frames[i].id <= frames[i-1].id {
			t.Errorf("frame %d follows %d", frames[i].id, frames[i-1].id)
		}
	}
	if f := frames[len(frames)-1]; f.event != "done" || f.text("status") != "interrupted" || !strings.Contains(f.data, `"interrupted":true`) {
		t.Errorf("the run ends with %s %s, want done and interrupted", f.event, f.data)
	}
}

// sse is a frame of a stream.
type sse struct {
	id          int64
	event, data string
}

// text is a member of the payload.
func (f sse) text(name string) string {
	var members map[string]any
	if json.Unmarshal([]byte(f.data), &members) != nil {
		return ""
	}
	s, _ := members[name].(string)
	return s
}

// at is when the server made the frame.
func (f sse) at(t *testing.T) time.Time {
	t.Helper()
	return must(time.Parse(time.RFC3339, f.text("timestamp")))(t)
}

func spokenIn(frames []sse) string {
	var b strings.Builder
	for _, f := range frames {
		if f.event == "message" {
			b.WriteString(f.text("content"))
		}
	}
	return b.String()
}

// frames gives the frames of a stream as they come, until it ends.
func frames(in io.Reader, each func(sse) bool) {
	lines := bufio.NewScanner(in)
	var f sse
	for lines.Scan() {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "id":
			f.id, _ = strconv.ParseInt(value, 10, 64)
		case "event":
			f.event = value
		case "data":
			f.data = value
		case "":
			if f.event != "" && !each(f) {
				return
			}
			f = sse{}
		}
	}
}

// chatMessage is a message of the history, as far as it is looked at.
type chatMessage struct {
	Type, Content string
	Interrupted   bool
	ToolCalls     []struct{ Name, Status, Output string }
}

// talker is a user of the oracle, with a session and a page.
type talker struct {
	t       *testing.T
	s       *server.Server
	token   string
	session string
	page    *clienttest.Client
}

// begin makes a session, and a page on it that hears of calls and answers none.
func (k *talker) begin() {
	k.t.Helper()
	signer := must(ucan.NewSigner("", ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))))(k.t)
	k.token = must(signer.Mint(ucan.Draft{
		Audience: did.DID(k.s.Oracle()), Expires: time.Now().Add(10 * time.Minute), Capabilities: []ucan.Capability{{Can: "*", With: ucan.DefaultResource}},
	}))(k.t).Text()
	var made struct {
		SessionID string `json:"sessionId"`
	}
	k.read("POST", "/sessions", "", &made)
	k.session = made.SessionID
	address := k.s.URL + "/socket.io/?sessionId=" + url.QueryEscape(k.session)
	k.page = must(clienttest.Join(k.t.Context(), address, map[string]string{"invocation": k.token}))(k.t)
	k.t.Cleanup(func() { _ = k.page.Cut() })
	if _, err := k.page.Event("connected"); err != nil {
		k.t.Fatal(err)
	}
}

// hear asks something and reads the answer until a frame, with which the
// server dies.
func (k *talker) hear(until func(sse) bool) (heard []sse, runID string) {
	k.t.Helper()
	res := k.ask("POST", "/messages/"+k.session,
		`{"message":"Tell me.","stream":true,"tools":[{"name":"pick","description":"Picks one.","schema":{"type":"object"}}]}`)
	frames(res.Body, func(f sse) bool {
		heard = append(heard, f)
		if !until(f) {
			return true
		}
		if err := k.s.Kill(); err != nil {
			k.t.Error(err)
		}
		return false
	})
	if n := len(heard); n == 0 || !until(heard[n-1]) {
		k.t.Fatalf("the stream ends early: %+v", heard)
	}
	return heard, res.Header.Get("X-Run-Id")
}

// killed starts the server again.
func (k *talker) killed(o server.Options) {
	k.t.Helper()
	k.s = server.Run(k.t, o)
}

// join reads a run to its end.
func (k *talker) join(runID string, after int64) (all []sse) {
	k.t.Helper()
	res := k.ask("GET", "/runs/"+runID+"?after="+strconv.FormatInt(after, 10), "")
	frames(res.Body, func(f sse) bool {
		all = append(all, f)
		return true
	})
	if len(all) == 0 {
		k.t.Fatalf("a join after %d gets nothing", after)
	}
	return all
}

// history reads the session, both ways that there are.
func (k *talker) history() []chatMessage {
	k.t.Helper()
	var page, whole struct{ Messages []chatMessage }
	k.read("GET", "/sessions/"+k.session+"/messages", "", &page)
	k.read("GET", "/messages/"+k.session, "", &whole)
	if fmt.Sprint(page) != fmt.Sprint(whole) {
		k.t.Errorf("a page of the history is %+v, all of it %+v", page, whole)
	}
	return page.Messages
}

// goOn wants the session to be as good as any other.
func (k *talker) goOn(model *modeltest.Server, partial string) {
	k.t.Helper()
	var current struct{ Run *struct{ RunID string } }
	if k.read("GET", "/sessions/"+k.session+"/run", "", &current); current.Run != nil {
		k.t.Errorf("run %s of the session can be joined, want none", current.Run.RunID)
	}
	asked := len(model.Requests())
	var last sse
	frames(k.ask("POST", "/messages/"+k.session, `{"message":"Go on.","stream":true}`).Body, func(f sse) bool {
		last = f
		return true
	})
	if last.event != "done" || last.text("status") != "finished" {
		k.t.Errorf("the next answer ends with %s %s", last.event, last.data)
	}
	if said := k.history(); len(said) != 4 || said[3].Content != "And on we go." || said[3].Interrupted {
		k.t.Errorf("the history is %+v, want two turns", said)
	}
	var got strings.Builder
	for _, m := range model.Requests()[asked].Messages {
		if m.Role == "user" || m.Role == "assistant" {
			fmt.Fprintf(&got, "%s %s|", m.Role, m.Content)
		}
	}
	want := `user "Tell me."|`
	if partial != "" {
		want += fmt.Sprintf("assistant %q|", partial)
	}
	if want += `user "Go on."|`; got.String() != want {
		k.t.Errorf("the model is told %s, want %s", got.String(), want)
	}
}

// read asks for a JSON answer.
func (k *talker) read(method, path, body string, into any) {
	k.t.Helper()
	if err := json.UnmarshalRead(k.ask(method, path, body).Body, into, json.MatchCaseInsensitiveNames(true)); err != nil {
		k.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// ask sends a request that must work.
func (k *talker) ask(method, path, body string) *http.Response {
	k.t.Helper()
	r := must(http.NewRequestWithContext(k.t.Context(), method, k.s.URL+path, strings.NewReader(body)))(k.t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Auth-Type", "ucan")
	r.Header.Set("Authorization", "Bearer "+k.token)
	res := must(http.DefaultClient.Do(r))(k.t)
	k.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode >= 300 {
		k.t.Fatalf("%s %s: %d", method, path, res.StatusCode)
	}
	return res
}
