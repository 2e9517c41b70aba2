package response_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestDoorSaysTheMode: how a household was asked is what the door knows, and not
// what its sender claims.
func TestDoorSaysTheMode(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, strings.Replace(homeSurvey, `"collectors"`, `"modes":["visit","browser","collect"],"strictCollectors":true,"collectors"`, 1))
		for i, tt := range []struct {
			door, session, claim string
			mode, code           string
			flagged              bool
		}{
			{mode: "visit"},
			{claim: "visit", mode: "visit"},
			{claim: "phone", mode: "phone", flagged: true},
			{claim: "ussd", mode: "ussd", flagged: true},
			{claim: "collect", code: "/mode not_claimed"},
			{claim: "browser", code: "/mode not_claimed"},
			{session: "s1", mode: "browser"},
			{session: "s1", claim: "visit", mode: "visit"},
			{session: "s1", claim: "browser", mode: "browser"},
			{session: "s1", claim: "collect", code: "/mode not_claimed"},
			{door: "collect", mode: "collect"},
			{door: "ussd", mode: "ussd", flagged: true},
			{door: "chat", claim: "visit", mode: "chat", flagged: true},
		} {
			caller := callerOf("ws", "ann")
			caller.Door, caller.Session = tt.door, tt.session
			if tt.door == "ussd" {
				caller.DID = "did:key:customer" // no collector, and nobody asks for one
			}
			one := draft("", i)
			one.Mode = tt.claim
			r, err := v.s.Submit(web.WithCaller(t.Context(), caller), "s", one)
			if got := codes(err); got != tt.code {
				t.Errorf("%+v: %v %s", tt, err, got)
			}
			if err != nil {
				continue
			}
			got := record(t, r.Raw)
			flagged := slices.ContainsFunc(got.Flags, func(f flag.Flag) bool { return f.Rule == flag.ModeUnplanned })
			if got.Mode != tt.mode || flagged != tt.flagged {
				t.Errorf("%+v: mode %s, flagged %v", tt, got.Mode, flagged)
			}
			if slices.ContainsFunc(got.Flags, func(f flag.Flag) bool { return f.Rule == flag.Stranger }) {
				t.Errorf("%+v is flagged as a stranger", tt)
			}
		}
	})
}

// TestCorrectionKeepsTheMode: a correction says nothing new about how the
// household was asked, and cannot turn it into what only a door says.
func TestCorrectionKeepsTheMode(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		caller := callerOf("ws", "ann")
		caller.Door = "ussd"
		if _, err := v.s.Submit(web.WithCaller(t.Context(), caller), "s", draft("r1", 1)); err != nil {
			t.Fatal(err)
		}
		session := callerOf("ws", "ann")
		session.Session = "s1"
		for i, tt := range []struct{ claim, want, code string }{{"", "ussd", ""}, {"ussd", "ussd", ""}, {"collect", "", "/mode not_claimed"}, {"phone", "phone", ""}} {
			next := draft("r1", 1, "home.size="+string(rune('5'+i)))
			next.Mode = tt.claim
			r, err := v.s.Correct(web.WithCaller(t.Context(), session), "r1", response.Correction{IfMatch: "*", Draft: next})
			if codes(err) != tt.code {
				t.Fatalf("%+v: %v %s", tt, err, codes(err))
			}
			if err == nil && record(t, r.Raw).Mode != tt.want {
				t.Errorf("%+v: mode %s", tt, record(t, r.Raw).Mode)
			}
		}
	})
}
