package app_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
)

const simulations = "/v1/ussd/simulations"

// simulated is a handset that does not exist.
type simulated struct {
	p    *programme
	key  string
	last api.Simulation
}

// press types an answer; "" with no call dials.
func (s *simulated) press(t *testing.T, input string) api.Simulation {
	t.Helper()
	body := object{"phoneNumber": "+999000042"}
	if s.last.SessionID != "" {
		body = object{"sessionId": s.last.SessionID, "turn": s.last.Turn + 1, "input": input}
	}
	w := s.p.send(t, s.key, "POST", simulations, text(body))
	s.last = api.Simulation{}
	if err := json.Unmarshal(w.Body.Bytes(), &s.last); w.Code != http.StatusOK || err != nil {
		t.Fatalf("press %q = %d %s", input, w.Code, w.Body)
	}
	if !s.last.Simulated || s.last.Units == 0 || s.last.Units > s.last.Limit || !s.last.GSM7 || s.last.Language == "" {
		t.Errorf("press %q = %+v", input, s.last)
	}
	return s.last
}

// walk types answers and wants the last screen to have a text.
func (s *simulated) walk(t *testing.T, want string, inputs ...string) api.Simulation {
	t.Helper()
	for _, in := range inputs {
		s.press(t, in)
	}
	if !strings.Contains(s.last.Screen, want) {
		t.Fatalf("after %q the screen is %q, want %q on it", inputs, s.last.Screen, want)
	}
	return s.last
}

var customerForm = regexp.MustCompile(`C[A-Z0-9]{8}`)

// TestSimulatorMakesAnAccount walks the shipped menu to an account and a login on
// a line that takes nobody but gateways: its message is shown, its PIN is not, and
// the line itself knows nothing of it.
func TestSimulatorMakesAnAccount(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, func(c *config.Config) { c.USSD.GatewayOnly = true })
	s := &simulated{p: p, key: owner}
	s.walk(t, "1. ", "")
	s.walk(t, "PIN", "2", "2", "Asha Simulated", "00")
	if !s.last.Secret || s.last.Node == "" || s.last.State == "" {
		t.Errorf("at the PIN: %+v", s.last)
	}
	if s.press(t, "48213").Input != "•••••" {
		t.Errorf("the PIN is shown as %q", s.last.Input)
	}
	s.walk(t, "Customer ID", "48213")
	id := customerForm.FindString(s.last.Screen)
	if len(s.last.Messages) != 1 || !strings.Contains(s.last.Messages[0].Text, id) {
		t.Errorf("messages = %+v, want the one with %s", s.last.Messages, id)
	}
	again := p.send(t, owner, "POST", simulations, text(object{"sessionId": s.last.SessionID, "turn": s.last.Turn, "input": "48213"}))
	if got := read[api.Simulation](again); again.Code != 200 || got.Screen != s.last.Screen || len(got.Messages) != 1 {
		t.Errorf("the same press again = %d %s", again.Code, again.Body)
	}
	s.walk(t, "Hello", "1", "48213")
	if !s.last.Authenticated {
		t.Errorf("after the login: %+v", s.last)
	}
	saved := s.last.Dialog
	if _, err := dialog.Parse("saved", []byte(saved)); err != nil || strings.Contains(saved, "48213") || strings.Contains(saved, "+999") || !strings.Contains(saved, "> {pin}") {
		t.Errorf("saved as %q, %v", saved, err)
	}
	for _, table := range []string{"ussd_accounts", "ussd_sessions", "ussd_locks", "sms_messages"} {
		var n int
		if err := p.DB.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s has %d rows of the simulator, %v", table, n, err)
		}
	}
	if got := p.dial(t, "x", "+999000042", ""); !strings.HasPrefix(got, "END") {
		t.Errorf("the line itself answers %q", got)
	}
}

// TestSimulatorKnowsNoCustomer tries the account of a customer on a simulated
// handset: it is unknown there, and wrong PINs do not lock it.
func TestSimulatorKnowsNoCustomer(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, nil)
	screen := p.dial(t, "c", "+254711000001", "2*2*Asha*00*48213*48213")
	id := customerForm.FindString(screen)
	if id == "" {
		t.Fatalf("no account: %q", screen)
	}
	s := &simulated{p: p, key: owner}
	s.walk(t, "", "", "2", "1", id)
	for range 6 {
		if s.press(t, "48213"); s.last.Authenticated || s.last.End {
			break
		}
	}
	if s.last.Authenticated {
		t.Error("a simulated handset logs a customer in")
	}
	if got := p.dial(t, "d", "+254711000001", "2*1*"+id+"*48213"); !strings.Contains(got, "Hello") {
		t.Errorf("her own login = %q", got)
	}
}

// TestSimulatorRefuses tries what must not work.
func TestSimulatorRefuses(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, func(c *config.Config) { c.USSD.ServiceCodes = []string{"*2233#"} })
	ctx, err := p.Auth.AsOwner(t.Context(), auth.OperatorWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	key := func(d auth.Draft) string {
		d.Name = "key of a test"
		k, err := p.Auth.Create(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		return k.Text
	}
	reader, tester := key(auth.Draft{Scopes: []string{"ussd:read"}}), key(auth.Draft{Scopes: []string{"ussd:simulate"}, Principal: "did:ixo:person/tester"})
	limited := key(auth.Draft{Scopes: []string{"ussd:simulate"}, Projects: []string{"did:ixo:project/x"}})
	s := &simulated{p: p, key: tester}
	call := s.press(t, "").SessionID
	for name, tt := range map[string]struct {
		key  string
		body object
		code string
	}{
		"a real number":      {tester, object{"phoneNumber": "+254700000001"}, "NUMBER_NOT_SIMULATED"},
		"no number":          {tester, object{}, "NUMBER_NOT_SIMULATED"},
		"a number beside":    {tester, object{"phoneNumber": "+999001000"}, "NUMBER_NOT_SIMULATED"},
		"no code":            {tester, object{"phoneNumber": "+999000001", "serviceCode": "2233"}, "SIMULATION_INVALID"},
		"another code":       {tester, object{"phoneNumber": "+999000001", "serviceCode": "*9#"}, "CODE_NOT_ANSWERED"},
		"no turn":            {tester, object{"sessionId": call, "input": "1"}, "SIMULATION_INVALID"},
		"a turn to come":     {tester, object{"sessionId": call, "turn": 2, "input": "1"}, "SIMULATION_TURN"},
		"two lines":          {tester, object{"sessionId": call, "turn": 1, "input": "1\n2"}, "SIMULATION_INVALID"},
		"another's number":   {tester, object{"sessionId": call, "turn": 1, "phoneNumber": "+999000002"}, "SIMULATION_INVALID"},
		"another's call":     {owner, object{"sessionId": call, "turn": 1, "input": "1"}, "SIMULATION_NOT_FOUND"},
		"a call of nobody":   {tester, object{"sessionId": "x", "turn": 1, "input": "1"}, "SIMULATION_NOT_FOUND"},
		"who only reads":     {reader, object{"phoneNumber": "+999000001"}, "SCOPE_MISSING"},
		"a key of a project": {limited, object{"phoneNumber": "+999000001"}, "KEY_RESTRICTED"},
		"a member not known": {tester, object{"phoneNumber": "+999000001", "pin": "1"}, "UNKNOWN_MEMBER"},
	} {
		w := p.send(t, tt.key, "POST", simulations, text(tt.body))
		if got := read[struct {
			Code string `json:"code"`
		}](w); got.Code != tt.code {
			t.Errorf("%s = %d %s, want %s", name, w.Code, w.Body, tt.code)
		}
	}
	s.walk(t, "", "*")
	if w := p.send(t, tester, "POST", simulations, text(object{"sessionId": call, "turn": s.last.Turn + 1, "input": "1"})); !strings.Contains(w.Body.String(), "SIMULATION_OVER") {
		t.Errorf("after the end = %d %s", w.Code, w.Body)
	}
	if w := p.send(t, tester, "DELETE", simulations, ""); w.Code != http.StatusOK {
		t.Errorf("reset = %d %s", w.Code, w.Body)
	}
	if w := p.send(t, tester, "POST", simulations, text(object{"sessionId": call, "turn": 1, "input": "*"})); w.Code != http.StatusNotFound {
		t.Errorf("after the reset = %d %s", w.Code, w.Body)
	}
}

// TestSimulatorAsksTheOracle: a simulated customer asks with the rights of whoever
// presses the keys, and an answer that takes its time can be looked at again or sent.
func TestSimulatorAsksTheOracle(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, func(c *config.Config) { c.USSD.Menu = "../../examples/ussd/oracle.yaml" })
	s := &simulated{p: p, key: owner}
	s.walk(t, "Customer ID is", "", "4", "Asha", "48213", "48213")
	id := customerForm.FindString(s.last.Screen)
	s.walk(t, "Please log in first.", "0", "2", "/echo hello")
	s.walk(t, "Welcome.", id, "48213")
	s.walk(t, "hello", "2", "/echo hello")
	if s.last.Node != "question.show" {
		t.Errorf("node = %s, want question.show", s.last.Node)
	}
	s.walk(t, "We do not know it for Kisumu.", "0", "1", "Kisumu") // no source of weather is configured
	s.walk(t, "1. Look again", "2", "/slow 1s 50")
	s.walk(t, "2. Send it by SMS", "1")
	if s.last.End || s.last.Node != "question.later" {
		t.Errorf("waiting: %+v", s.last)
	}
	var n int
	if err := p.DB.QueryRow(t.Context(), `SELECT count(*) FROM chat_sessions WHERE title = 'USSD'`).Scan(&n); err != nil || n != 3 {
		t.Errorf("there are %d conversations, %v, want two questions and a tool", n, err)
	}
}
