package fetch_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
)

// oracle answers each key once.
type oracle struct {
	mu    sync.Mutex
	asked map[string]int
	late  bool
	err   error
	reply fetch.Reply
	after func(context.Context, fetch.Reply, error) // of a public call that takes long
}

func (o *oracle) Send(_ context.Context, q fetch.Question) (user, run string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[q.Key]++
	return q.DID, "run-" + q.Key, o.err
}

func (o *oracle) Await(context.Context, string, string) (fetch.Reply, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.late {
		return fetch.Reply{}, context.DeadlineExceeded
	}
	return o.reply, nil
}

func (o *oracle) Public(_ context.Context, _ string, _ []byte, after func(context.Context, fetch.Reply, error)) (fetch.Reply, error) {
	if o.late {
		o.after = after
		return fetch.Reply{}, context.DeadlineExceeded
	}
	return o.reply, o.err
}

// asking is an instance of a line whose menus ask the oracle.
func asking(t *testing.T, d *db.DB, o *oracle) func(action string, c machine.ActionCall) machine.Result {
	t.Helper()
	return askingFor(t, d, o, time.Minute)
}

// askingFor is asking, for so long at most.
func askingFor(t *testing.T, d *db.DB, o *oracle, wait time.Duration) func(action string, c machine.ActionCall) machine.Result {
	t.Helper()
	all := fetch.Actions(fetch.Config{
		DB: d, Oracle: o, PerHour: 3, Log: dbtest.Log(t),
		Customer: func(_ context.Context, account string) (string, error) {
			return map[string]string{"a1": "did:x:1", "a2": "did:x:2"}[account], nil
		},
	})
	return func(action string, c machine.ActionCall) machine.Result {
		t.Helper()
		c.Action = action
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		res, err := all[action].Outside(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func question(key, phone, account, text string) machine.ActionCall {
	return machine.ActionCall{Call: machine.Call{With: map[string]string{"question": text}, Account: account, Lang: "en"}, Phone: phone, Now: noon, Key: key}
}

// TestQuestionsAreCounted by number, over all instances, and a copy of a request does
// not count.
func TestQuestionsAreCounted(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o := &oracle{asked: map[string]int{}, reply: fetch.Reply{Text: "yes"}}
		one, two := asking(t, d, o), asking(t, d, o)
		for _, tt := range []struct {
			at                  func(string, machine.ActionCall) machine.Result
			key, phone, account string
			minutes             int
			want                string
		}{
			{one, "k1", "+254700000001", "a1", 0, "ok"},
			{two, "k1", "+254700000001", "a1", 0, "ok"},
			{two, "k2", "+254700000001", "a2", 1, "ok"}, // another customer, the same handset
			{one, "k3", "+254700000001", "a1", 2, "ok"},
			{two, "k4", "+254700000001", "a1", 3, "limit"},
			{one, "k3", "+254700000001", "a1", 3, "ok"},
			{one, "k5", "+254700000002", "a1", 3, "ok"},
			{two, "k6", "+254700000001", "a1", 61, "ok"},
		} {
			c := question(tt.key, tt.phone, tt.account, "why")
			c.Now = noon.Add(time.Duration(tt.minutes) * time.Minute)
			if res := tt.at("oracleAsk", c); res.Name != tt.want {
				t.Errorf("%s of %s: %+v, want %s", tt.key, tt.phone, res, tt.want)
			}
		}
		if o.asked["k4"] != 0 {
			t.Error("the question over the limit was asked")
		}
		n, err := fetch.Expire(t.Context(), d, noon.Add(time.Minute), 10)
		if err != nil || n != 2 {
			t.Errorf("Expire() = %d, %v, want 2", n, err)
		}
		err = d.InTx(t.Context(), func(tx *db.Tx) error {
			n, err := fetch.Forget(t.Context(), tx, "+254700000002")
			if err == nil && n != 1 {
				t.Errorf("Forget() = %d, want 1", n)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestLookElsewhere: an answer is found by any instance, and by nobody else than
// whoever asked.
func TestLookElsewhere(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	o := &oracle{asked: map[string]int{}, late: true, reply: fetch.Reply{Text: "**Seven**\n\nstoves"}}
	one, two := asking(t, d, o), asking(t, d, o)
	const phone = "+254700000001"
	if res := one("oracleAsk", question("k1", phone, "a1", "how many")); res.Name != "later" || res.Set["askId"] != "k1" {
		t.Fatalf("a slow answer: %+v", res)
	}
	look := func(phone, account string) machine.Result {
		c := question("look", phone, account, "")
		c.Vars = map[string]string{"askId": "k1"}
		return two("oracleLook", c)
	}
	if res := look(phone, "a1"); res.Name != "later" {
		t.Errorf("too early: %+v", res)
	} else if _, changed := res.Set["askId"]; changed {
		t.Errorf("the question is forgotten: %+v", res)
	}
	o.late = false
	for _, other := range [][2]string{{"+254700000002", "a1"}, {phone, "a2"}, {phone, ""}} {
		if res := look(other[0], other[1]); res.Name != "refused" || res.Set["reply"] != "" {
			t.Errorf("%v: %+v, want nothing", other, res)
		}
	}
	if res := look(phone, "a1"); res.Name != "ok" || res.Set["reply"] != "Seven stoves" || res.Set["askId"] != "" {
		t.Errorf("in time: %+v", res)
	}
	if o.asked["k1"] != 1 {
		t.Errorf("asked %d times", o.asked["k1"])
	}
}

// TestPublicToolTakesLong: what a tool says after the line has stopped waiting is found
// by any instance, from the same handset only, and a call that was cut off ends.
func TestPublicToolTakesLong(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const phone = "+254700000001"
		for _, tt := range []struct {
			key   string
			reply fetch.Reply
			err   error
			want  string
			says  string
		}{
			{"k1", fetch.Reply{Text: `{"temp_c":24.5,"sky":"clear"}`}, nil, "ok", "temp c: 24.5, sky: clear"},
			{"k2", fetch.Reply{Refused: true}, nil, "refused", ""},
			{"k3", fetch.Reply{}, errors.New("broken"), "failed", ""},
			{"k4", fetch.Reply{Text: strings.Repeat("x", fetch.MaxBytes+1)}, nil, "failed", ""},
		} {
			o := &oracle{asked: map[string]int{}, late: true}
			one, two := asking(t, d, o), asking(t, d, o)
			c := question(tt.key, phone+tt.key, "", "")
			c.With = map[string]string{"tool": "get_weather", "city": "Kisumu"}
			if res := one("oracleTool", c); res.Name != "later" || res.Set["askId"] != tt.key {
				t.Fatalf("%s: %+v, want later", tt.key, res)
			}
			lookAt := func(at func(string, machine.ActionCall) machine.Result, phone string, minutes int) machine.Result {
				c := question("look", phone, "", "")
				c.Vars, c.Now = map[string]string{"askId": tt.key}, noon.Add(time.Duration(minutes)*time.Minute)
				return at("oracleLook", c)
			}
			if res := lookAt(askingFor(t, d, o, time.Second), phone+tt.key, 0); res.Name != "later" {
				t.Errorf("%s, too early: %+v", tt.key, res)
			}
			look := func(phone string, minutes int) machine.Result { return lookAt(two, phone, minutes) }
			if res := look(phone+tt.key, 5); res.Name != "failed" {
				t.Errorf("%s, cut off: %+v, want failed", tt.key, res)
			}
			o.after(t.Context(), tt.reply, tt.err)
			if res := look("+254700000009", 0); res.Name != "refused" || res.Set["reply"] != "" {
				t.Errorf("%s, another handset: %+v, want nothing", tt.key, res)
			}
			if res := look(phone+tt.key, 0); res.Name != tt.want || res.Set["reply"] != tt.says {
				t.Errorf("%s: %+v, want %s %q", tt.key, res, tt.want, tt.says)
			}
		}
	})
}

// TestOracleSays: what goes wrong is a result.
func TestOracleSays(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 200)
	for _, tt := range []struct {
		name        string
		reply       fetch.Reply
		err         error
		want, says  string
		action      string
		nobodyThere bool
	}{
		{"a long answer", fetch.Reply{Text: long}, nil, "ok", strings.TrimSpace(strings.Repeat("word ", 79)) + "...", "oracleAsk", false},
		{"refused", fetch.Reply{Refused: true}, nil, "failed", "", "oracleAsk", false},
		{"a plugin lets no answer begin", fetch.Reply{}, fault.New(fault.Forbidden, "ANSWER_REFUSED", "pay"), "failed", "", "oracleAsk", false},
		{"a plugin lets no tool begin", fetch.Reply{}, fault.New(fault.Forbidden, "ANSWER_REFUSED", "pay"), "failed", "", "oracleTool", false},
		{"too many at once", fetch.Reply{}, fault.New(fault.TooMany, "TOO_MANY_RUNS", ""), "limit", "", "oracleAsk", false},
		{"out of order", fetch.Reply{}, errors.New("x"), "failed", "", "oracleAsk", false},
		{"a tool says no", fetch.Reply{Refused: true}, nil, "refused", "", "oracleTool", true},
		{"a tool that is not public", fetch.Reply{}, fault.New(fault.Forbidden, "TOOL_NOT_PUBLIC", ""), "missing", "", "oracleTool", true},
		{"a text of a tool", fetch.Reply{Text: `"8 to 5"`}, nil, "ok", "8 to 5", "oracleTool", true},
	} {
		o := &oracle{asked: map[string]int{}, reply: tt.reply, err: tt.err}
		c := question("k", "+254700000001", "a1", "why")
		if tt.nobodyThere {
			c.Account = ""
		}
		if res := asking(t, dbtest.SQLite(t), o)(tt.action, c); res.Name != tt.want || res.Set["reply"] != tt.says {
			t.Errorf("%s: %+v, want %s %q", tt.name, res, tt.want, tt.says)
		}
	}
	for _, a := range []string{"oracleAsk", "oracleTool", "oracleLook"} {
		res, err := fetch.Actions(fetch.Config{})[a].Outside(t.Context(), question("k", "+254700000001", "a1", "why"))
		if err != nil || res.Name != "failed" {
			t.Errorf("%s without an oracle: %+v, %v", a, res, err)
		}
	}
}

// TestToolIsConstant: what was typed cannot choose the tool.
func TestToolIsConstant(t *testing.T) {
	t.Parallel()
	valid := fetch.Actions(fetch.Config{})["oracleTool"].Valid
	for name, want := range map[string]string{"": "is missing", "{town}": "no variables", "get weather": "no name of a tool", "get_weather": ""} {
		err := valid(map[string]string{"tool": name})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("tool %q: %v, want %q", name, err, want)
		}
	}
}
