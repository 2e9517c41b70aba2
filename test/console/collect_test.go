package console

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
)

// TestPhone makes an address for ODK Collect on the page: its QR code is shown,
// and its key is in the list and in the API.
func TestPhone(t *testing.T) {
	eachHost(t, func(t *testing.T, d *desk) {
		d.signIn(d.keyOf("manager"))
		d.visit("/console/keys")
		d.click("Phone with ODK Collect")
		d.fill("Name of the phone", "Kitui <b>phone</b>")
		d.click("Make the QR code")
		d.see("This is shown once")
		d.Shot(t, "phone")
		if path := script[string](d, `document.querySelector("svg.qr path").getAttribute("d")`); !strings.HasPrefix(path, "M4 4h7v1h-7z") {
			t.Errorf("the QR code is drawn as %.60s", path)
		}
		collector := script[string](d, `document.querySelector("dialog code.did").innerText`)
		d.click("Close")
		d.see("Kitui <b>phone</b>")
		found := false
		for k, err := range d.owner().Keys.List(t.Context(), client.PageQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			found = found || k.Principal == collector && len(k.Scopes) == 1 && k.Scopes[0] == "collect:send"
		}
		if !found {
			t.Errorf("no key of %s with the scope collect:send", collector)
		}
	})
}
