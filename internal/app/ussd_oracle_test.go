package app

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

// shed is a plugin with a tool for everybody, one that changes something, and one
// that takes its time.
type shed struct {
	opened, marked atomic.Int64
	gate           chan struct{}
}

func (*shed) Manifest() plugin.Manifest {
	return plugin.Manifest{Name: "shed", Version: "1.0.0", Title: "Shed", Summary: "Knows the shed.", WhenToUse: []string{"about the shed"}}
}

func (s *shed) Tools() []plugin.Tool {
	const size = `{"type":"object","additionalProperties":false,"required":["size"],"properties":{"size":{"type":"integer"},"dry":{"type":"boolean"}}}`
	return []plugin.Tool{
		{
			Name: "shed_opening", Description: "Tell when the shed opens.", ReadOnly: true, Public: true, Schema: size,
			Run: func(_ context.Context, c plugin.Call) (any, error) {
				s.opened.Add(1)
				return map[string]any{"opens": "08:00", "user": c.User, "args": string(c.Args)}, nil
			},
		},
		{Name: "shed_deaf", Description: "Stop at nothing.", ReadOnly: true, Public: true, Run: func(context.Context, plugin.Call) (any, error) {
			<-s.gate
			return jsontext.Value(`{"opens_at":"09:00","keys":[3,4]}`), nil
		}},
		{Name: "shed_mark", Description: "Mark the shed.", Run: func(context.Context, plugin.Call) (any, error) { return s.marked.Add(1), nil }},
		{Name: "shed_count", Description: "Count the shed.", ReadOnly: true, Run: func(ctx context.Context, c plugin.Call) (any, error) {
			select {
			case <-s.gate:
				return "There are 7.", nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}},
	}
}

// customer opens an account and gives its id and DID.
func customer(t *testing.T, b *Built, phone string) (account, did string) {
	t.Helper()
	err := b.DB.InTx(t.Context(), func(tx *db.Tx) error {
		_, err := b.line.accounts.Actions()["createAccount"].Run(t.Context(), tx, machine.ActionCall{
			Call: machine.Call{Vars: map[string]string{"name": "Amina"}, Secrets: map[string]string{"pin": "48213", "confirm": "48213"}, Lang: "en", Default: "en"}, Phone: phone, Now: time.Now(),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.DB.QueryRow(t.Context(), `SELECT id, did FROM ussd_accounts WHERE phone = $1`, phone).Scan(&account, &did); err != nil {
		t.Fatal(err)
	}
	return account, did
}

// TestMenusAskTheOracle: with the rights of the customer and no others, once for
// each step.
func TestMenusAskTheOracle(t *testing.T) {
	t.Parallel()
	s := &shed{gate: make(chan struct{})}
	b := BuildTo(t, strings.Repeat("k", 40), io.Discard, nil, s)
	const phone = "+254700000001"
	account, did := customer(t, b, phone)
	all := MenuActions(b.line.accounts, b.line.fetch)
	do := func(wait time.Duration, action, key, account string, with, vars map[string]string, picks ...menu.Pick) machine.Result {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		res, err := all[action].Outside(ctx, machine.ActionCall{
			Call: machine.Call{Action: action, With: with, Vars: vars, Answer: picks, Account: account, Lang: "en", Default: "en"}, Phone: phone, Now: time.Now(), Key: key,
		})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	opening := map[string]string{"tool": "shed_opening", "size": "12", "dry": ""}
	picks := []menu.Pick{{Var: "opens", At: "/opens"}, {Var: "user", At: "/user"}, {Var: "args", At: "/args"}}
	const long, notHere = time.Minute, "I cannot answer that here. Please choose from the menu, or ask your agent."
	for _, tt := range []struct {
		name, action, key, account string
		with, want                 map[string]string
		result                     string
	}{
		{"a public tool without a login", "oracleTool", "k1", "", opening, map[string]string{"opens": "08:00", "user": "", "args": `{"size":12}`}, "ok"},
		{"with a login", "oracleTool", "k2", account, opening, map[string]string{"opens": "08:00", "user": did, "args": `{"size":12}`}, "ok"},
		{"the same step again", "oracleTool", "k2", account, opening, map[string]string{"opens": "08:00"}, "ok"},
		{"what does not fit", "oracleTool", "k3", "", map[string]string{"tool": "shed_opening", "size": "many"}, nil, "refused"},
		{"what does not fit, with a login", "oracleTool", "k4", account, map[string]string{"tool": "shed_opening", "size": "many"}, nil, "refused"},
		{"another tool without a login", "oracleTool", "k5", "", map[string]string{"tool": "count_twins"}, nil, "missing"},
		{"a tool nobody has", "oracleTool", "k6", account, map[string]string{"tool": "shed_burn"}, nil, "refused"},
		{"a tool that needs rights", "oracleTool", "k7", account, map[string]string{"tool": "count_twins"}, nil, "refused"},
		{"a tool that changes something", "oracleTool", "k8", account, map[string]string{"tool": "shed_mark"}, nil, "refused"},
		{"a closed account", "oracleTool", "k9", "gone", opening, nil, "missing"},
		{"a question without a login", "oracleAsk", "q1", "", map[string]string{"question": "/echo hello"}, nil, "missing"},
		{"a question", "oracleAsk", "q2", account, map[string]string{"question": "Who are you?"}, map[string]string{"reply": notHere}, "ok"},
		{"a command", "oracleAsk", "q3", account, map[string]string{"question": "/fail server"}, map[string]string{"reply": notHere}, "ok"},
	} {
		var from []menu.Pick
		if tt.want["opens"] != "" {
			from = picks
		}
		res := do(long, tt.action, tt.key, tt.account, tt.with, nil, from...)
		if res.Name != tt.result {
			t.Errorf("%s: %+v, want %s", tt.name, res, tt.result)
		}
		for name, want := range tt.want {
			if res.Set[name] != want {
				t.Errorf("%s: %s = %q, want %q", tt.name, name, res.Set[name], want)
			}
		}
	}
	if n := s.opened.Load(); n != 2 {
		t.Errorf("the tool ran %d times, want 2", n)
	}
	if n := s.marked.Load(); n != 0 {
		t.Errorf("the tool that changes something ran %d times without a grant", n)
	}
	grant(t, b, did, "shed_mark")
	if res := do(long, "oracleTool", "k10", account, map[string]string{"tool": "shed_mark"}, nil); res.Name != "ok" || s.marked.Load() != 1 {
		t.Errorf("with a grant: %+v, ran %d times", res, s.marked.Load())
	}
	if res := do(300*time.Millisecond, "oracleTool", "deaf", "", map[string]string{"tool": "shed_deaf"}, nil); res.Name != "later" || res.Set["askId"] != "deaf" {
		t.Errorf("a public tool that takes long: %+v, want later", res)
	}
	lookAgain(t, s, func(wait time.Duration, action, key, account string, with, vars map[string]string) machine.Result {
		return do(wait, action, key, account, with, vars)
	}, account)
	deaf := map[string]string{"askId": "deaf"}
	if res := do(time.Minute, "oracleLook", "l4", "", nil, deaf, menu.Pick{Var: "opens", At: "/opens_at"}); res.Name != "ok" || res.Set["opens"] != "09:00" ||
		res.Set["reply"] != "opens at: 09:00, keys: 3; 4" {
		t.Errorf("the public tool once it has ended: %+v", res)
	}
	erased(t, b, did)
}

// TestOpenToolsAreFree: where answers cost credits a customer without any still has the
// tools that people without a login have, and nothing else.
func TestOpenToolsAreFree(t *testing.T) {
	t.Parallel()
	s := &shed{gate: make(chan struct{})}
	close(s.gate)
	b := BuildTo(t, strings.Repeat("k", 40), io.Discard, func(c *config.Config) {
		set, err := config.Load(config.Input{Env: []string{"HEARTH_PLUGIN_CREDITS_ENABLED=true"}})
		if err != nil {
			t.Fatal(err)
		}
		set.Data, set.Auth, set.Server, set.Limits = c.Data, c.Auth, c.Server, c.Limits
		*c = *set
	}, s)
	account, _ := customer(t, b, "+254700000001")
	for name, want := range map[string]string{"shed_opening": "ok", "shed_count": "failed"} {
		res, err := MenuActions(b.line.accounts, b.line.fetch)["oracleTool"].Outside(t.Context(), machine.ActionCall{
			Call: machine.Call{Action: "oracleTool", With: map[string]string{"tool": name, "size": "12"}, Account: account, Lang: "en", Default: "en"}, Now: time.Now(), Key: name,
		})
		if err != nil || res.Name != want {
			t.Errorf("%s without credits: %+v, %v, want %s", name, res, err, want)
		}
	}
}

// grant lets a customer's tool run without a question.
func grant(t *testing.T, b *Built, did, name string) {
	t.Helper()
	if _, err := b.mind.permits.Grant(t.Context(), did, tool.Grant{Tool: name}); err != nil {
		t.Fatal(err)
	}
}

// lookAgain has an answer come late: looking finds it, for whoever asked.
func lookAgain(t *testing.T, s *shed, do func(wait time.Duration, action, key, account string, with, vars map[string]string) machine.Result, account string) {
	t.Helper()
	res := do(300*time.Millisecond, "oracleTool", "slow", account, map[string]string{"tool": "shed_count"}, nil)
	if res.Name != "later" || res.Set["askId"] != "slow" {
		t.Fatalf("a slow tool: %+v, want later", res)
	}
	vars := map[string]string{"askId": "slow"}
	if res := do(300*time.Millisecond, "oracleLook", "l1", account, nil, vars); res.Name != "later" {
		t.Errorf("too early: %+v, want later", res)
	}
	if res := do(time.Minute, "oracleLook", "l2", "", nil, vars); res.Name != "refused" {
		t.Errorf("somebody else: %+v, want refused", res)
	}
	close(s.gate)
	if res := do(time.Minute, "oracleLook", "l3", account, nil, vars); res.Name != "ok" || res.Set["reply"] != "There are 7." {
		t.Errorf("in time: %+v, want the answer", res)
	}
}

// erased has nothing left of what a customer asked.
func erased(t *testing.T, b *Built, did string) {
	t.Helper()
	left := func() (n int) {
		if err := b.DB.QueryRow(t.Context(), `SELECT count(*) FROM ussd_asks WHERE user_did = $1`, did).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if left() == 0 {
		t.Fatal("nothing was noted")
	}
	err := b.DB.InTx(t.Context(), func(tx *db.Tx) error {
		for _, e := range append(lineErasers(b.customers), mindErasers(b.App)...) {
			if _, err := e.Erase(t.Context(), tx, auth.OperatorWorkspace, did); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || left() != 0 {
		t.Errorf("%d questions are left, %v", left(), err)
	}
	if sessions, _, err := b.mind.chats.ListSessions(t.Context(), did, 10, 0); err != nil || len(sessions) != 0 {
		t.Errorf("conversations = %d, %v, want none", len(sessions), err)
	}
}

// TestMenusAskWithGroups: what a customer's groups give counts, and ends with them
// and with the account.
func TestMenusAskWithGroups(t *testing.T) {
	t.Parallel()
	b := Build(t, strings.Repeat("k", 40), nil)
	account, did := customer(t, b, "+254700000002")
	who := b.asCustomer(b.line.accounts)(t.Context(), fetch.Question{Account: account, DID: did})
	c, err := who.Again(t.Context())
	if err != nil || c.DID != did || len(c.Scopes) != 0 {
		t.Errorf("caller = %+v, %v, want one without rights", c, err)
	}
	if _, err := b.DB.Exec(t.Context(), `UPDATE ussd_accounts SET status = 'closed' WHERE id = $1`, account); err != nil {
		t.Fatal(err)
	}
	if _, err := who.Again(t.Context()); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("a closed account = %v, want ACCOUNT_CLOSED", err)
	}
	ctx := tool.With(t.Context(), tool.Context{User: did, Again: who.Again})
	if _, err := b.lookups(b.mind).asUser(ctx, "entities:read"); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("asUser() = %v, want a refusal", err)
	}
	op := web.Caller{DID: "did:x:op", Key: "k", Scopes: []string{"ussd:simulate"}}
	if who := asOperator(web.WithCaller(t.Context(), op), fetch.Question{}); who.DID != op.DID || who.Key.Key != "k" {
		t.Errorf("the simulator asks as %+v", who)
	}
}
