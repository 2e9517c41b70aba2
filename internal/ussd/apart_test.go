package ussd_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// The same session id and number with another service code is another session:
// neither goes on where the other is, and the end of one leaves the other.
func TestAnotherCodeIsAnotherSession(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLine(t, d, newClock())
		dial := func(code, text string) string {
			w := l.post("/api/ussd/africastalking", "application/x-www-form-urlencoded",
				"sessionId=s1&phoneNumber=%2B254700000001&serviceCode="+strings.NewReplacer("#", "%23").Replace(code)+"&text="+text)
			return w.Body.String()
		}
		first := dial("*2233#", "")
		second := dial("*2233#", "1")
		if first == second || !strings.HasPrefix(second, "CON") {
			t.Fatalf("the menu has no second screen: %q, %q", first, second)
		}
		if got := dial("*4455#", ""); got != first {
			t.Errorf("another code begins with %q, want %q", got, first)
		}
		count := func() (n int) {
			if err := d.QueryRow(t.Context(), `SELECT count(*) FROM ussd_sessions WHERE expires_at > $1`, l.clock.now().UnixMilli()).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := count(); n != 2 {
			t.Errorf("%d sessions are alive, want one for each code", n)
		}
		if got := dial("*2233#", "1"); got != second {
			t.Errorf("the first code answers a repeated key with %q, want %q", got, second)
		}
		w := l.post("/api/ussd/africastalking/events", "application/x-www-form-urlencoded", "sessionId=s1&phoneNumber=%2B254700000001&serviceCode=*4455%23&status=Success")
		if n := count(); w.Code != http.StatusOK || n != 1 {
			t.Errorf("after the end of one (%d %s) %d sessions are alive, want the other", w.Code, w.Body, n)
		}
		if got := dial("*2233#", "1"); got != second {
			t.Errorf("the other then answers %q, want %q", got, second)
		}
	})
}
