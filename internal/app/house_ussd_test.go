package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// handset is the session of the house. It has no PIN and no account.
const handset = "ATUid_1"

// furnishLine dials.
func (h *house) furnishLine(t *testing.T) {
	t.Helper()
	const dial = `{"sessionId":"` + handset + `","serviceCode":"*2233#","phoneNumber":"+254700000001","text":""}`
	r := httptest.NewRequest(http.MethodPost, "/api/ussd", strings.NewReader(dial))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.Handler.ServeHTTP(w, r)
	if !strings.HasPrefix(w.Body.String(), "CON ") {
		t.Fatalf("a first dial is answered with %d %s", w.Code, w.Body)
	}
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
