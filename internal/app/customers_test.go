package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
)

// TestCustomersDesk helps a customer over HTTP: unlock, hold, release, a new PIN,
// close. Each is in the audit under whoever did it, and needs its right.
func TestCustomersDesk(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, nil)
	const phone = "+254711000002"
	id := customerForm.FindString(p.dial(t, "c", phone, "2*2*Asha Desk*00*48213*48213"))
	ctx, err := p.Auth.AsOwner(t.Context(), auth.OperatorWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	key := func(scopes ...string) string {
		k, err := p.Auth.Create(ctx, auth.Draft{Name: "key of a test", Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return k.Text
	}
	reader, clerk := key("ussd:read"), key("ussd:read", "ussd:write")
	path := "/v1/ussd/accounts/" + id
	do := func(by, action, body, want string) api.AccountChange {
		t.Helper()
		w := p.send(t, by, "POST", path+"/"+action, body)
		if got := w.Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s = %d %s, want %s", action, w.Code, got, want)
		}
		return read[api.AccountChange](w)
	}
	for range 3 {
		p.dial(t, "wrong", phone, "2*1*"+id+"*11119")
	}
	if got := read[api.Customer](p.send(t, owner, "GET", path, "")); got.WrongPINs == 0 || got.Name != "Asha Desk" || got.PhoneNumber != phone {
		t.Errorf("the account = %+v", got)
	}
	do(reader, "unlock", "", "SCOPE_MISSING")
	if got := do(clerk, "unlock", "", `"changed":true`); got.Account == nil || got.Account.WrongPINs != 0 || got.Account.Name != "" || !got.Account.Withheld {
		t.Errorf("unlocked = %+v", got.Account)
	}
	do(clerk, "hold", `{"hours":72}`, `"held":true`)
	do(clerk, "hold", `{"hours":9000}`, "HOLD_INVALID")
	if got := p.dial(t, "held", phone, "2*1*"+id+"*48213"); strings.Contains(got, "Hello") {
		t.Errorf("a held number logs in: %q", got)
	}
	numbers := read[api.Page[api.LockedNumber]](p.send(t, reader, "GET", "/v1/ussd/numbers", ""))
	if len(numbers.Items) != 1 || !numbers.Items[0].Held || numbers.Items[0].PhoneNumber == phone {
		t.Errorf("numbers = %+v", numbers)
	}
	do(clerk, "release", "", `"changed":true`)
	do(clerk, "release", "", `"changed":false`)
	do(clerk, "reset", `{"show":true}`, "SCOPE_MISSING")
	pin := do(owner, "reset", `{"show":true}`, `"temporaryPin"`).TemporaryPIN
	if got := p.dial(t, "reset", phone, "2*1*"+id+"*"+pin); len(pin) != 5 || !strings.Contains(got, "new PIN") {
		t.Errorf("with the PIN %q the screen is %q", pin, got)
	}
	do(clerk, "close", "", `"status":"closed"`)
	do(owner, "reset", "{}", "ACCOUNT_CLOSED")
	for query, want := range map[string]string{
		"?locked=true": `"items":[]`, "?status=closed": id, "?customerId=" + id: id, "?status=x": "INVALID_PARAMETER", "?twins=x": "INVALID_PARAMETER",
		"?phone=0711": "INVALID_PARAMETER", "?phone=%2B254711000002": "SCOPE_MISSING", "?status=active&locked=true": "INVALID_PARAMETER",
	} {
		if w := p.send(t, reader, "GET", "/v1/ussd/accounts"+query, ""); !strings.Contains(w.Body.String(), want) || strings.Contains(w.Body.String(), phone) {
			t.Errorf("%s = %d %s, want %s", query, w.Code, w.Body, want)
		}
	}
	audit := p.send(t, owner, "GET", "/v1/audit?limit=100", "").Body.String()
	for _, typ := range []string{"ussd.account_unlocked", "ussd.number_held", "ussd.number_released", "ussd.pin_reset", "ussd.account_closed"} {
		if !strings.Contains(audit, typ) {
			t.Errorf("the audit has no %s", typ)
		}
	}
	if w := p.send(t, reader, "GET", "/v1/ussd/messages?status=sent", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"items":[]`) {
		t.Errorf("messages = %d %s", w.Code, w.Body)
	}
}
