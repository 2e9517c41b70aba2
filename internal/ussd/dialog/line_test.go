package dialog_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
)

// line is a USSD server without a store: enough to play dialogs against.
type line struct {
	pack *menu.Pack
	set  *wire.Set

	mu       sync.Mutex
	sessions map[string]*call
	wrong    int
	spoil    func(reply *wire.Reply) // makes answers worse
}

type call struct {
	state  machine.State
	answer wire.Reply
	text   string
}

func newLine(t *testing.T) *line {
	t.Helper()
	data, err := os.ReadFile("testdata/pack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := machine.Known(nil)
	known.Actions, known.Vars = map[string][]string{"login": {"ok", "wrong", "locked"}, "greet": {"ok"}}, []string{"customerName", "minutes"}
	pack, err := menu.Parse("pack.yaml", data, known)
	if err != nil {
		t.Fatal(err)
	}
	set, err := wire.Open("")
	if err != nil {
		t.Fatal(err)
	}
	return &line{pack: pack, set: set, sessions: map[string]*call{}}
}

func (l *line) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, ok := strings.CutPrefix(r.URL.Path, "/api/ussd/debug/"); ok {
		if c := l.sessions[id]; c != nil && !c.state.Done && strings.HasPrefix(r.RemoteAddr, "127.0.0.1:") {
			fmt.Fprintf(w, `{"sessionId":%q,"debugInfo":{"state":"x","path":%q}}`, id, c.state.Node)
			return
		}
		http.NotFound(w, r)
		return
	}
	g := l.set.Get(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/ussd"), "/"))
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	q, err := wire.Read(r, body, g)
	if err != nil {
		g.Write(w, q, wire.Reply{Text: "Invalid input. Please try again.", End: true})
		return
	}
	reply := l.answer(q, g)
	if l.spoil != nil {
		l.spoil(&reply)
	}
	g.Write(w, q, reply)
}

func (l *line) answer(q wire.Request, g *wire.Gateway) wire.Reply {
	c := l.sessions[q.SessionID]
	if c != nil && c.text == q.Text && g.Mode != wire.Latest {
		return c.answer
	}
	m := &machine.Machine{Limits: g.Limits}
	var scr machine.Screen
	var err error
	if c == nil {
		c = &call{}
		l.sessions[q.SessionID] = c
		c.state, scr, err = m.Start(l.pack, machine.State{}, l.run)
		for _, part := range strings.Split(q.Text, "*") {
			if part != "" && err == nil {
				c.state, scr, err = m.Input(l.pack, c.state, part, l.run)
			}
		}
	} else {
		input := q.Text
		if g.Mode != wire.Latest && c.text != "" {
			input = strings.TrimPrefix(q.Text, c.text+"*")
		}
		c.state, scr, err = m.Input(l.pack, c.state, input, l.run)
	}
	if err != nil {
		panic(err)
	}
	c.text, c.answer = q.Text, wire.Reply{Text: scr.Text, End: scr.End}
	return c.answer
}

// run knows one customer.
func (l *line) run(c machine.Call) (machine.Result, error) {
	switch {
	case c.Action == "greet":
		return machine.Result{Name: "ok", Set: map[string]string{"customerName": "Amina"}}, nil
	case c.Secrets["pin"] == "48213":
		return machine.Result{Name: "ok"}, nil
	}
	if l.wrong++; l.wrong%3 == 0 {
		return machine.Result{Name: "locked", Set: map[string]string{"minutes": "15"}}, nil
	}
	return machine.Result{Name: "wrong"}, nil
}

func (l *line) runner() *dialog.Runner {
	return &dialog.Runner{Send: dialog.Direct(l), Gateways: l.set, Pack: l.pack}
}
