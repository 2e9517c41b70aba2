package ussd_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/ussd"
)

// A page of another site cannot dial, whatever way it makes a browser ask, and
// from wherever the browser does: also in the network of a gateway. Gateways
// and pages of our own can.
func TestPagesOfOtherSitesCannotDial(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		l := newLine(t, d, newClock(), func(c *ussd.Config) {
			c.GatewayOnly, c.GatewayNetworks = true, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		})
		sessions := func() (n int) {
			if err := d.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM ussd_sessions) + (SELECT count(*) FROM ussd_calls)`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		const form = "sessionId=s1&serviceCode=*2233%23&phoneNumber=%2B254700000001&text="
		for _, way := range []struct{ name, method, path, media, body string }{
			{"form", "POST", "/api/ussd", "application/x-www-form-urlencoded", form},
			{"text", "POST", "/api/ussd", "text/plain", body("s1", phone1, "")},
			{"JSON", "POST", "/api/ussd", "application/json", body("s1", phone1, "")},
			{"adapter", "POST", "/api/ussd/africastalking", "application/x-www-form-urlencoded", form},
			{"image", "GET", "/api/ussd/get?" + form, "", ""},
			{"event", "POST", "/api/ussd/africastalking/events", "application/x-www-form-urlencoded", form + "&status=Success"},
		} {
			ask := func(header map[string]string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(t.Context(), way.method, way.path, strings.NewReader(way.body))
				r.Header.Set("Content-Type", way.media)
				r.RemoteAddr = "192.0.2.1:1234"
				for name, value := range header {
					r.Header.Set(name, value)
				}
				w := httptest.NewRecorder()
				l.http.ServeHTTP(w, r)
				return w
			}
			for _, header := range []map[string]string{
				{"Sec-Fetch-Site": "cross-site"},
				{"Sec-Fetch-Site": "same-site"},
				{"Origin": "https://evil.example"},
				{"Origin": "null"},
				{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "X-Gateway-Secret": "x"},
			} {
				w := ask(header)
				if w.Code != http.StatusOK || w.Body.String() != "END Invalid input. Please try again." || sessions() != 0 {
					t.Errorf("%s with %v = %d %q and %d rows, want 200, END and none", way.name, header, w.Code, w.Body, sessions())
				}
			}
			if w := ask(map[string]string{"Origin": "http://example.com", "Sec-Fetch-Site": "same-origin"}); strings.Contains(w.Body.String(), "Invalid input") != (way.name == "text") {
				t.Errorf("%s from a page of ours = %q", way.name, w.Body)
			}
			for _, table := range []string{"ussd_sessions", "ussd_calls"} {
				if _, err := d.Exec(t.Context(), "DELETE FROM "+table); err != nil { //nolint:gosec // one of two names
					t.Fatal(err)
				}
			}
		}
	})
}
