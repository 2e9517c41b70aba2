package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// handset is the session of the house that is alive. It has no PIN and no account.
const handset = "ATUid_1"

// furnishLine dials, has a customer open an account, and somebody end a call.
func (h *house) furnishLine(t *testing.T) {
	t.Helper()
	h.dial(t, handset, "", "CON ")
	h.ids["accounts"] = customerForm.FindString(h.dial(t, "ATUid_2", "2*2*Asha Zawadi*00*48213*48213", "CON "))
	h.dial(t, "ATUid_3", "*", "END ")
	var calls struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	w := h.as(owner, "GET", "/v1/ussd/calls", "")
	if err := json.Unmarshal(w.Body.Bytes(), &calls); err != nil || len(calls.Items) != 1 {
		t.Fatalf("calls = %d %s, %v", w.Code, w.Body, err)
	}
	h.ids["calls"] = calls.Items[0].ID
}

// dial sends what a handset has typed so far, and wants how the answer begins.
func (h *house) dial(t *testing.T, session, text, begins string) string {
	t.Helper()
	body := `{"sessionId":"` + session + `","serviceCode":"*2233#","phoneNumber":"+254700000001","text":"` + text + `"}`
	r := httptest.NewRequest(http.MethodPost, "/api/ussd", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.Handler.ServeHTTP(w, r)
	if !strings.HasPrefix(w.Body.String(), begins) {
		t.Fatalf("%q is answered with %d %s", text, w.Code, w.Body)
	}
	return w.Body.String()
}

// linePart fills the values of area C into a pattern.
func linePart(r web.Route, name string) string {
	switch {
	case name == "{gateway}" && r.Method == http.MethodGet:
		return "get"
	case name == "{gateway}":
		return "africastalking"
	case name == "{sessionId}" && strings.Contains(r.Path, "/ussd/"):
		return handset
	}
	return ""
}
