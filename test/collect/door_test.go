package collect

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/test/server"
)

// say asks at the door of the phones, and wants an answer that they understand.
func (f *field) say(method, path string, body io.Reader) (status int, text string) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.now.Load().URL+"/v1/openrosa/"+path, body)
	if err != nil {
		f.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	if res.StatusCode >= 400 && !strings.Contains(string(raw), "<OpenRosaResponse") {
		f.t.Errorf("%s %s = %d %s, want an envelope", method, path, res.StatusCode, raw)
	}
	return res.StatusCode, string(raw)
}

// A phone that asks without end is told to wait, whatever it asks, and one whose
// address was revoked hears of it with its next request.
func TestDoor(t *testing.T) {
	t.Parallel()
	const most = 40 // requests of a key in a minute
	f := &field{t: t, options: server.Options{Binary: server.Binary(t), Dir: t.TempDir(), Env: []string{"HEARTH_RATE_LIMIT=40"}}}
	f.start()
	t.Cleanup(func() { _ = f.now.Load().Kill() })
	f.prepare()
	if status, text := f.say("GET", f.now.Load().Key+"/formList", nil); status != http.StatusForbidden || !strings.Contains(text, "NOT_AN_ADDRESS") {
		t.Errorf("the owner's key = %d %s", status, text)
	}
	refused := 0
	for i := range 4 * most {
		path := []string{"/formList", "/forms/field", "/forms/field/manifest", "/forms/field/files/hearth_households.csv"}[i%4]
		if status, text := f.say("GET", f.secret+path, nil); status == http.StatusTooManyRequests {
			refused++
		} else if status != http.StatusOK {
			t.Fatalf("%s = %d %s", path, status, text)
		}
	}
	if refused < most {
		t.Errorf("%d of %d requests were told to wait", refused, 4*most)
	}
	var keys struct {
		Items []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"items"`
	}
	f.must("GET", "/v1/api-keys", nil, &keys)
	for _, k := range keys.Items {
		if k.Name == "Phones" {
			f.must("DELETE", "/v1/api-keys/"+k.ID, nil, nil)
		}
	}
	for _, path := range []string{"/formList", "/forms/field", "/forms/field/manifest"} {
		if status, text := f.say("GET", f.secret+path, nil); status != http.StatusUnauthorized || strings.Contains(text, "field") {
			t.Errorf("%s after the address was revoked = %d %s", path, status, text)
		}
	}
	if status, _ := f.say("POST", f.secret+"/submission", strings.NewReader("x")); status != http.StatusUnauthorized {
		t.Errorf("a submission after the address was revoked = %d", status)
	}
}
