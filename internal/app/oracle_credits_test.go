package app_test

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
)

// With credits a user is answered who has some, and pays once for what is sent
// twice; operators open accounts and fill them.
func TestCredits(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		s := &notesServer{app.BuildTo(t, owner, io.Discard, func(c *config.Config) {
			c.Data.DatabaseURL = config.Secret(dsn)
			set, err := config.Load(config.Input{Env: []string{"HEARTH_PLUGIN_CREDITS_ENABLED=true", "HEARTH_PLUGIN_CREDITS_PER_THOUSAND_TOKENS=1000"}})
			if err != nil {
				t.Fatal(err)
			}
			set.Data, set.Auth, set.Server, set.Limits = c.Data, c.Auth, c.Server, c.Limits
			*c = *set
		})}
		server := httptest.NewServer(s.Handler)
		t.Cleanup(server.Close)
		boss, err := client.New(client.Config{BaseURL: server.URL, Key: owner})
		if err != nil {
			t.Fatal(err)
		}
		w := s.do(t, "POST", "/sessions", "", 'a')
		_, rest, _ := strings.Cut(w.Body.String(), `"sessionId":"`)
		session, _, _ := strings.Cut(rest, `"`)
		ask := func(key string) *httptest.ResponseRecorder {
			r := httptest.NewRequest("POST", "/messages/"+session, strings.NewReader(`{"message":"help"}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Auth-Type", "ucan")
			r.Header.Set("Authorization", "Bearer "+token(t, s.Built, 'a'))
			r.Header.Set("Idempotency-Key", key)
			w := httptest.NewRecorder()
			s.Handler.ServeHTTP(w, r)
			return w
		}
		if w := ask("1"); w.Code != 402 || w.Body.String() != `{"claims":[],"message":"No subscription found, please subscribe to continue","outstandingClaims":[],"statusCode":402}` {
			t.Errorf("without an account = %d %s", w.Code, w.Body)
		}
		agui := s.do(t, "POST", "/ag-ui", `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"hi"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`, 'a')
		if agui.Code != 402 {
			t.Errorf("AG-UI without an account = %d %s", agui.Code, agui.Body)
		}
		var user string
		if err := s.DB.QueryRow(t.Context(), `SELECT did FROM chat_users WHERE user_did LIKE 'did:key:%' LIMIT 1`).Scan(&user); err != nil {
			t.Fatal(err)
		}
		if _, err := boss.Oracle.PutCreditAccount(t.Context(), user, "active"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := boss.Oracle.TopUpCredits(t.Context(), user, client.CreditTopUp{Amount: 100000, Note: "January"}, client.IdempotencyKey("top-up")); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if w := ask("2"); w.Code != 200 {
				t.Errorf("with credits = %d %s", w.Code, w.Body)
			}
		}
		// A charge as programs before 0110 have entered it, after everything else.
		if _, err := s.DB.Exec(t.Context(), `INSERT INTO credit_entries(nid, workspace, did, kind, amount, balance, ref, note, by_did, created_at)
			VALUES ($1, 'default', $2, 'charge', -5, 1, 'run before', '', '', 1)`, s.DB.NewNID(), user); err != nil {
			t.Fatal(err)
		}
		var entries []client.CreditEntry
		for e, err := range boss.Oracle.CreditEntries(t.Context(), user, client.PageQuery{Limit: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, e)
		}
		if len(entries) != 3 || entries[0].RunID != "before" || entries[0].Amount != -5 || entries[2].ID >= entries[1].ID {
			t.Fatalf("the entries are %+v", entries)
		}
		entries = entries[1:]
		if entries[1].Amount != 100000 || entries[0].Kind != "charge" || entries[0].Amount >= 0 || entries[0].Balance != 100000+entries[0].Amount {
			t.Fatalf("the entries are %+v", entries)
		}
		one, err := boss.Oracle.Run(t.Context(), entries[0].RunID)
		if err != nil || one.Credits != -entries[0].Amount || one.Tokens == nil {
			t.Errorf("the run is %+v, %v", one, err)
		}
		// Nobody takes back what is held for an answer, and all the rest.
		if _, err := s.DB.Exec(t.Context(), `UPDATE credit_accounts SET balance = 30, holds = '{"run_x":{"amount":10,"until":9000000000000}}' WHERE did = $1`, user); err != nil {
			t.Fatal(err)
		}
		var refused *client.Error
		if _, err := boss.Oracle.TopUpCredits(t.Context(), user, client.CreditTopUp{Amount: -21}); !errors.As(err, &refused) || refused.Code != "CREDITS_OUT_OF_RANGE" {
			t.Errorf("taking back what is held = %v", err)
		}
		if e, err := boss.Oracle.TopUpCredits(t.Context(), user, client.CreditTopUp{Amount: -20}); err != nil || e.Balance != 10 {
			t.Errorf("taking back the rest = %+v, %v", e, err)
		}
		if _, err := s.DB.Exec(t.Context(), `UPDATE credit_accounts SET holds = '' WHERE did = $1`, user); err != nil {
			t.Fatal(err)
		}
		if w := s.do(t, "GET", "/credits", "", 'a'); !strings.Contains(w.Body.String(), `"status":"active"`) || !strings.Contains(w.Body.String(), `"held":0`) {
			t.Errorf("the user sees %s", w.Body)
		}
	})
}
