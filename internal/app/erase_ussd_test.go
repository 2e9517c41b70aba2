package app_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
)

// programme is a server with a USSD line on a folder of its own.
type programme struct{ *app.Built }

func newProgramme(t *testing.T, change func(*config.Config)) *programme {
	t.Helper()
	return startProgramme(t, app.Build(t, owner, change))
}

// startProgramme runs the jobs of a server.
func startProgramme(t *testing.T, b *app.Built) *programme {
	t.Helper()
	p := &programme{b}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); p.RunJobs(ctx) }()
	t.Cleanup(func() { cancel(); <-over })
	return p
}

// dial sends what a handset has typed so far, and returns the screen.
func (p *programme) dial(t *testing.T, session, phone, text string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"sessionId": session, "serviceCode": "*2233#", "phoneNumber": phone, "text": text})
	if err != nil {
		t.Fatal(err)
	}
	return p.send(t, "", "POST", "/api/ussd", string(body)).Body.String()
}

func (p *programme) send(t *testing.T, key, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("If-Match", "*")
	}
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	p.Handler.ServeHTTP(w, r)
	return w
}

// want sends as the owner and decodes the answer.
func (p *programme) want(t *testing.T, method, path, body string, into any) {
	t.Helper()
	w := p.send(t, owner, method, path, body)
	if w.Code >= 300 {
		t.Fatalf("%s %s = %d %s", method, path, w.Code, w.Body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		t.Fatalf("%s %s = %s: %v", method, path, w.Body, err)
	}
}

// customer is somebody who has registered over USSD.
type customer struct {
	did, household, id      string
	phone, name, email, pin string
}

// register makes an account from a handset, and waits for its twins.
func (p *programme) register(t *testing.T, c customer) customer {
	t.Helper()
	screen := p.dial(t, "reg"+c.phone, c.phone, strings.Join([]string{"2", "2", c.name, c.email, c.pin, c.pin}, "*"))
	if !strings.HasPrefix(screen, "CON ") && !strings.HasPrefix(screen, "END ") {
		t.Fatalf("registering = %q", screen)
	}
	p.until(t, "the twins of "+c.name+" are there", func() bool {
		var twins string
		err := p.DB.QueryRow(t.Context(), `SELECT did, household_did, customer_id, twins FROM ussd_accounts WHERE phone = $1 AND name = $2`, c.phone, c.name).
			Scan(&c.did, &c.household, &c.id, &twins)
		return err == nil && twins == "ready"
	})
	return c
}

// settleIn has her register her household, and waits for its twin.
func (p *programme) settleIn(t *testing.T, c customer, district string) {
	t.Helper()
	walk := strings.Join([]string{"2", "2", c.name, c.email, c.pin, c.pin, "1", c.pin, "3"}, "*")
	p.dial(t, "reg"+c.phone, c.phone, walk)
	for _, more := range []string{"1", district, "5"} {
		walk += "*" + more
		if screen := p.dial(t, "reg"+c.phone, c.phone, walk); !strings.HasPrefix(screen, "CON ") {
			t.Fatalf("%s = %q", walk, screen)
		}
	}
	p.until(t, "the household has its district", func() bool {
		var n int
		err := p.DB.QueryRow(t.Context(), `SELECT count(*) FROM entities e JOIN ussd_accounts a ON a.household_did = e.did
			WHERE a.phone = $1 AND a.twins = 'ready' AND e.body LIKE '%' || $2 || '%'`, c.phone, district).Scan(&n)
		return err == nil && n > 0
	})
}

// until waits for work that jobs do.
func (p *programme) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited too long: %s", what)
		}
	}
}

func (p *programme) erase(t *testing.T, subject string) erase.Certificate {
	t.Helper()
	var c erase.Certificate
	p.want(t, "POST", "/v1/erasures", `{"subject":"`+subject+`","reason":"asked to"}`, &c)
	return c
}

func (p *programme) twin(t *testing.T, did string) string {
	t.Helper()
	w := p.send(t, owner, "GET", "/v1/entities/"+url.PathEscape(did), "")
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s = %d %s", did, w.Code, w.Body)
	}
	return w.Body.String()
}

// TestHouseholdGoesWithTheCustomer: the household twin that a registration made
// is erased with her, also by a server that does not run the line.
func TestHouseholdGoesWithTheCustomer(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, nil)
	const phone = "+254711223344"
	c := p.register(t, customer{phone: phone, name: "Wanjiru Kimani", email: "wanjiru@example.org", pin: "48213"})
	if got := p.twin(t, c.household); !strings.Contains(got, phone) || !strings.Contains(got, c.id) {
		t.Fatalf("household = %s, want phone and customer id", got)
	}
	cert := p.erase(t, c.did)
	if len(cert.With) != 1 || cert.With[0] != c.household {
		t.Errorf("with = %q, want %s", cert.With, c.household)
	}
	for _, did := range []string{c.did, c.household} {
		if got := p.twin(t, did); strings.Contains(got, phone) || strings.Contains(got, c.id) || !strings.Contains(got, `"deactivated"`) {
			t.Errorf("twin = %s", got)
		}
	}
	var list struct {
		Items []erase.Certificate `json:"items"`
	}
	p.want(t, "GET", "/v1/erasures", "", &list)
	if len(list.Items) != 2 {
		t.Errorf("certificates = %+v, want one each", list.Items)
	}
}

// TestSharedHouseholdStays: a household others are linked to loses what it has
// of her, in its history too, and stays for them.
func TestSharedHouseholdStays(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, nil)
	const phone = "+254711223355"
	c := p.register(t, customer{phone: phone, name: "Achieng Otieno", email: "00", pin: "48213"})
	p.settleIn(t, c, "Kisumu")
	var other struct {
		DID string `json:"did"`
	}
	p.want(t, "POST", "/v1/entities", `{"type":"Person","protocol":"did:ixo:protocol/person","properties":{"name":"Otieno"},"relationships":[{"role":"household","target":"`+c.household+`"}]}`, &other)
	cert := p.erase(t, c.did)
	if len(cert.With) != 0 || cert.Counts["shared household"] != 1 || !strings.Contains(strings.Join(cert.Stays, " "), "household that was registered with it stays") {
		t.Errorf("certificate = %+v", cert)
	}
	got := p.twin(t, c.household)
	if strings.Contains(got, phone) || strings.Contains(got, c.id) || !strings.Contains(got, "Kisumu") || strings.Contains(got, `"status":"deactivated"`) {
		t.Errorf("household = %s", got)
	}
	history := p.send(t, owner, "GET", "/v1/entities/"+url.PathEscape(c.household)+"/history", "").Body.String()
	if strings.Contains(history, phone) || strings.Contains(history, c.id) {
		t.Errorf("history = %s", history)
	}
	for _, table := range []string{`SELECT count(*) FROM entity_history WHERE body LIKE '%' || $1 || '%'`, `SELECT count(*) FROM entity_externals WHERE value = $1`} {
		for _, value := range []string{phone, c.id} {
			var n int
			if err := p.DB.QueryRow(t.Context(), table, value).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s with %s = %d, %v", table, value, n, err)
			}
		}
	}
}

// TestErasureReachesAreasThatAreOff: the store is shared; a server without the
// line and the oracle erases what they keep.
func TestErasureReachesAreasThatAreOff(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, nil)
	c := p.register(t, customer{phone: "+254711223366", name: "Njeri", email: "00", pin: "48213"})
	p.Shut()
	q := &programme{app.Build(t, owner, func(cfg *config.Config) {
		cfg.Data.Dir, cfg.Server.Areas = p.Dir(), []string{"a", "b"}
	})}
	q.erase(t, c.did)
	var n int
	if err := q.DB.QueryRow(t.Context(), `SELECT count(*) FROM ussd_accounts`).Scan(&n); err != nil || n != 0 {
		t.Errorf("accounts = %d, %v, want none", n, err)
	}
}
