package oracle_test

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

func toolCall(aud did.DID, expires time.Time) ucan.Draft {
	return ucan.Draft{
		Audience: aud, Expires: expires, Nonce: strconv.FormatInt(time.Now().UnixNano(), 36),
		Capabilities: []ucan.Capability{{Can: "mcp/call", With: "ixo:oracle:" + string(oracleDID) + ":mcp/server/search"}},
	}
}

func TestInvocations(t *testing.T) {
	t.Parallel()
	now := time.Now()
	user, other := signer(t, "", 1), signer(t, "", 2)
	forged := toolCall(oracleDID, now.Add(time.Minute))
	early := toolCall(oracleDID, now.Add(2*time.Minute))
	early.NotBefore = now.Add(time.Minute)
	for _, tt := range []struct{ name, token, want string }{
		{"good", mint(t, user, toolCall(oracleDID, now.Add(time.Minute))), ""},
		{"base64url without padding", strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(mint(t, user, toolCall(oracleDID, now.Add(time.Minute)))), "="), ""},
		{"no token", "not-a-ucan", "must be a base64 encoded CAR of a UCAN invocation"},
		{"empty", "", "must be a base64 encoded CAR of a UCAN invocation"},
		{"for somebody else", mint(t, user, toolCall("did:ixo:ixo1other", now.Add(time.Minute))), "must be addressed to this oracle"},
		{"expired", mint(t, user, toolCall(oracleDID, now.Add(-time.Minute))), "has expired"},
		{"not yet", mint(t, user, early), "is not valid yet"},
		{"never ends", mint(t, user, toolCall(oracleDID, time.Time{})), "must expire within 3600 seconds"},
		{"too far away", mint(t, user, toolCall(oracleDID, now.Add(2*time.Hour))), "must expire within 3600 seconds"},
		{"somebody else's", mint(t, other, toolCall(oracleDID, now.Add(time.Minute))), "must be issued by the caller"},
		{"signed by somebody else", mint(t, signer(t, userDID, 9), forged), "must be signed by its issuer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, Static: ucan.Static{userDID: {public(1)}}})
			who := string(user.DID())
			if strings.Contains(tt.want, "signed") {
				who = string(userDID)
			}
			tickets, err := s.Invocations(t.Context(), who, map[string]string{"search": tt.token})
			if tt.want == "" {
				if err != nil || tickets.Grants()["search"] == nil {
					t.Errorf("got %v, %v", tickets, err)
				}
				return
			}
			f := fault.As(err)
			if f == nil || f.Code != "INVOCATION_INVALID" || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Detail != "mcpInvocations.search "+tt.want {
				t.Errorf("got %+v, want %q", f, tt.want)
			}
		})
	}
}

func TestInvocationsNameAllThatFail(t *testing.T) {
	t.Parallel()
	s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID})
	long := strings.Repeat("n", 1000)
	_, err := s.Invocations(t.Context(), "did:key:x", map[string]string{"b": "x", "a": "y", long: "z"})
	f := fault.As(err)
	if f == nil || len(f.Fields) != 3 || !strings.HasPrefix(f.Fields[0].Detail, "mcpInvocations.a ") || len(f.Fields[2].Detail) > 250 {
		t.Errorf("got %+v", f)
	}
}

// TestSpendOnce: hole 5. A token is taken once, by whoever comes first, in
// whatever spelling, and the same request may come again.
func TestSpendOnce(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		user := signer(t, "", 1)
		who := string(user.DID())
		s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, DB: d})
		token := mint(t, user, toolCall(oracleDID, time.Now().Add(time.Minute)))
		tickets := func(token string) *oracle.Tickets {
			got, err := s.Invocations(t.Context(), who, map[string]string{"search": token})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		use := oracle.TicketUse{Caller: who, Session: "$s", Key: "k", Hash: [32]byte{1}}
		if err := s.Spend(t.Context(), tickets(token), use); err != nil {
			t.Fatal(err)
		}
		if err := s.Spend(t.Context(), tickets(token), use); err != nil {
			t.Errorf("the same request again: got %v", err)
		}
		for name, other := range map[string]oracle.TicketUse{
			"no key":  {Caller: who, Session: "$s", Hash: [32]byte{1}},
			"key":     {Caller: who, Session: "$s", Key: "l", Hash: [32]byte{1}},
			"body":    {Caller: who, Session: "$s", Key: "k", Hash: [32]byte{2}},
			"session": {Caller: who, Session: "$t", Key: "k", Hash: [32]byte{1}},
			"caller":  {Caller: "did:key:y", Session: "$s", Key: "k", Hash: [32]byte{1}},
		} {
			// Another spelling is the same token.
			respelled := strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(token)
			err := s.Spend(t.Context(), tickets(respelled), other)
			if f := fault.As(err); f == nil || f.Code != "INVOCATION_USED" || f.Fields[0].Detail != "mcpInvocations.search was used before" {
				t.Errorf("another %s: got %v", name, err)
			}
		}
		again := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, DB: d}) // a restart
		if err := again.Spend(t.Context(), tickets(token), oracle.TicketUse{Caller: who}); fault.CodeOf(err) != "INVOCATION_USED" {
			t.Errorf("after a restart: got %v", err)
		}
	})
}

// TestSpendRace: of many at once one gets it; a message with one used token
// spends none of the others.
func TestSpendRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		user := signer(t, "", 1)
		s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, DB: d})
		used := mint(t, user, toolCall(oracleDID, time.Now().Add(time.Minute)))
		fresh := mint(t, user, toolCall(oracleDID, time.Now().Add(2*time.Minute)))
		check := func(tokens map[string]string) *oracle.Tickets {
			got, err := s.Invocations(t.Context(), string(user.DID()), tokens)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		one := check(map[string]string{"a": used})
		var won atomic.Int32
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if err := s.Spend(t.Context(), one, oracle.TicketUse{}); err == nil {
					won.Add(1)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("%d took the token, want 1", won.Load())
		}
		if err := s.Spend(t.Context(), check(map[string]string{"a": fresh, "b": used}), oracle.TicketUse{}); fault.CodeOf(err) != "INVOCATION_USED" {
			t.Errorf("got %v", err)
		}
		if err := s.Spend(t.Context(), check(map[string]string{"a": fresh}), oracle.TicketUse{}); err != nil {
			t.Errorf("the other token of a refused message: got %v", err)
		}
		if n, err := s.Expire(t.Context(), time.Now(), 10); n != 0 || err != nil {
			t.Errorf("%d forgotten too early, %v", n, err)
		}
		if n, err := s.Expire(t.Context(), time.Now().Add(90*time.Second), 10); n != 1 || err != nil {
			t.Errorf("%d forgotten, %v, want 1", n, err)
		}
	})
}
