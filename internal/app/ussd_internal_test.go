package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestTwinsOfACustomer: asking again changes the twins that are there, and
// makes no others.
func TestTwinsOfACustomer(t *testing.T) {
	t.Parallel()
	b := Build(t, strings.Repeat("k", 40), nil)
	makes := registrar{b.twins.entities, b.line.server}
	ctx := web.WithCaller(t.Context(), web.Caller{Workspace: auth.OperatorWorkspace, DID: "did:x:op", Scopes: []string{"*"}})
	c := account.Customer{
		CustomerID: "C2345678A", DID: did.NewEntity().String(), Household: did.NewEntity().String(), Name: "Amina", Phone: "+254700000001", Language: "sw",
	}
	person := func(want int64) (*entity.Entity, string) {
		t.Helper()
		if home, err := makes.makeTwins(t.Context(), c); err != nil || home != c.Household {
			t.Fatalf("makeTwins = %q, %v", home, err)
		}
		row, err := b.twins.entities.Find(ctx, b.DB, c.DID)
		if err != nil {
			t.Fatal(err)
		}
		e, err := row.Entity()
		if err != nil {
			t.Fatal(err)
		}
		if e.Revision != want {
			t.Errorf("the person has revision %d, want %d", e.Revision, want)
		}
		home := ""
		for _, r := range e.Relationships {
			if r.Role == "household" {
				home += r.Target
			}
		}
		return e, home
	}
	language := func(e *entity.Entity) string { return e.Properties.String() }

	if e, home := person(1); !strings.Contains(language(e), `"language":"sw"`) || home != c.Household {
		t.Errorf("first: language %s, household %s", language(e), home)
	}
	person(1) // nothing is new
	c.Language = "en"
	if e, home := person(2); !strings.Contains(language(e), `"language":"en"`) || home != c.Household {
		t.Errorf("another language: %s, household %s", language(e), home)
	}
	old := c.Household
	if _, _, err := b.twins.erase.Erase(ctx, erase.Draft{Subject: old, Reason: "It was asked for."}); err != nil {
		t.Fatal(err)
	}
	c.Household, c.Language = "", "sw"
	// The erasure has taken the household from the record: one revision more.
	if e, home := person(4); !strings.Contains(language(e), `"language":"sw"`) || home != "" {
		t.Errorf("without a household: language %s, household %s", language(e), home)
	}
	c.Household = did.NewEntity().String()
	if _, home := person(5); home != c.Household {
		t.Errorf("another household: %s, want %s", home, c.Household)
	}
	person(5)
}

// TestMenuTwins: a menu reads twins of the types that the operator grants and of
// whoever is logged in, without what is personal, whatever was typed.
func TestMenuTwins(t *testing.T) {
	t.Parallel()
	b := Build(t, strings.Repeat("k", 40), func(c *config.Config) { c.USSD.MenuTwins = []string{"Stove", "Person"} })
	me := account.Customer{CustomerID: "C2345678A", DID: did.NewEntity().String(), Household: did.NewEntity().String(), Name: "Amina Secret", Phone: "+254700000001", Language: "sw"}
	if _, err := (registrar{b.twins.entities, b.line.server}).makeTwins(t.Context(), me); err != nil {
		t.Fatal(err)
	}
	ctx := web.WithCaller(t.Context(), web.Caller{Workspace: auth.OperatorWorkspace, DID: "did:x:op", Scopes: []string{"*"}})
	for n := range 3 {
		d := entity.Draft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking"}
		if n == 0 {
			d.Controllers = []string{me.DID, "did:x:op"}
		}
		if err := json.Unmarshal(fmt.Appendf(nil, `{"serial": "S%d"}`, n), &d.Properties); err != nil {
			t.Fatal(err)
		}
		if _, err := b.twins.entities.Create(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	page, err := b.twins.search.List(ctx, b.DB, entity.Query{Type: "Stove"})
	if err != nil || len(page.Rows) != 3 {
		t.Fatalf("stoves = %d, %v, want 3", len(page.Rows), err)
	}
	status := string(page.Rows[0].Status)
	cfg := b.fetching(nil, b.line.accounts, nil)
	cfg.Customer = func(_ context.Context, id string) (string, error) { return map[string]string{"amina": me.DID}[id], nil }
	run := func(action, account string, with map[string]string) machine.Result {
		t.Helper()
		if with["status"] == "" {
			with["status"] = status
		}
		r, err := fetch.Actions(cfg)[action].Outside(t.Context(), machine.ActionCall{Call: machine.Call{Action: action, With: with, Account: account, Answer: []menu.Pick{
			{Var: "rows", At: "/twins", Columns: []menu.Column{
				{Name: "serial", At: "/properties/serial"}, {Name: "name", At: "/properties/name"}, {Name: "title", At: "/metadata/name"}, {Name: "phone", At: "/properties/phone"}, {Name: "ids", At: "/externalIds/ussd-person"},
			}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, tt := range []struct {
		name, action, account string
		with                  map[string]string
		want                  string
		serials               string
	}{
		{"all of a type", "twins", "", map[string]string{"type": "Stove"}, "ok", "S2 S1 S0"},
		{"one", "twins", "", map[string]string{"type": "Stove", "property": "serial", "is": "S1"}, "ok", "S1"},
		{"a filter", "twins", "", map[string]string{"type": "Stove", "filter": "in(properties.serial,S1,S2)"}, "ok", "S2 S1"},
		{"what was typed is a value", "twins", "", map[string]string{"type": "Stove", "property": "serial", "is": `x"),exists(did` + "\\"}, "empty", ""},
		{"nothing typed", "twins", "", map[string]string{"type": "Stove", "property": "serial", "is": ""}, "empty", ""},
		{"another status", "twins", "", map[string]string{"type": "Stove", "status": "suspended"}, "empty", ""},
		{"a type that is not granted", "twins", "", map[string]string{"type": "Household"}, "failed", ""},
		{"by what is personal", "twins", "", map[string]string{"type": "Person", "property": "phone", "is": me.Phone}, "failed", ""},
		{"own ones", "myTwins", "amina", map[string]string{"type": "Stove"}, "ok", "S0"},
		{"own ones without a login", "myTwins", "", map[string]string{"type": "Stove"}, "missing", ""},
		{"own ones of a closed account", "myTwins", "gone", map[string]string{"type": "Stove"}, "missing", ""},
	} {
		r := run(tt.action, tt.account, tt.with)
		got := ""
		for _, part := range strings.Split(r.Set["rows"], `"serial":"`)[1:] {
			serial, _, _ := strings.Cut(part, `"`)
			got = strings.TrimSpace(got + " " + serial)
		}
		if r.Name != tt.want || got != tt.serials {
			t.Errorf("%s: %+v, want %s with %q", tt.name, r, tt.want, tt.serials)
		}
	}
	for action, account := range map[string]string{"twins": "", "myTwins": "amina"} {
		for _, status := range []string{"active", "draft"} {
			r := run(action, account, map[string]string{"type": "Person", "status": status})
			if text := r.Set["rows"]; strings.Contains(text, "Secret") || strings.Contains(text, "+254") || strings.Contains(text, me.CustomerID) {
				t.Errorf("%s shows what is personal: %s", action, text)
			}
		}
	}
}

// TestCheckFiles: what the line needs is missed before the start, by name.
func TestCheckFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	signed := write("gateways.yaml", "gateway: mine\nrequest: {format: json, session: s, phone: p, text: t, default: {code: \"*2233#\"}}\nreply: {format: text}\nsignature: {header: X-Signature}\n")
	for _, tt := range []struct {
		name   string
		change func(*config.USSD)
		want   string
	}{
		{"nothing", func(*config.USSD) {}, ""},
		{"a gateway that signs", func(u *config.USSD) { u.GatewaysFile, u.GatewaySecret = signed, "0123456789abcdef" }, ""},
		{"a gateway that signs, without a secret", func(u *config.USSD) { u.GatewaysFile = signed }, "USSD_GATEWAY_SECRET: is missing: the signatures of the gateway mine"},
		{"no file", func(u *config.USSD) { u.GatewaysFile = signed + "x" }, "USSD_GATEWAYS_FILE: "},
		{"no menu", func(u *config.USSD) { u.Menu = signed + "x" }, "USSD_MENU: open menu pack: "},
		{"a menu that is none", func(u *config.USSD) { u.Menu = signed }, "USSD_MENU: "},
		{"no authority", func(u *config.USSD) { u.GatewayCA = signed + "x" }, "USSD_GATEWAY_CA: "},
	} {
		cfg := config.Default()
		tt.change(&cfg.USSD)
		if err := CheckFiles(cfg); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	for text, want := range map[string]string{"no certificate": "holds no certificate", "": "holds no certificate"} {
		cfg := config.Default()
		cfg.USSD.GatewayCA = write("ca.pem", text)
		if _, err := gatewayCA(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
