package agui_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
)

// TestRealClient plays the published client of the protocol, which checks every
// event, against the route.
func TestRealClient(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	h := small(t)
	headers := func(user string) string {
		return `{"Authorization":"Bearer ` + user + `","X-Auth-Type":"ucan"}`
	}
	clienttest.Run(
		t, "agui.mjs", "URL="+h.url, "CREDENTIALS=["+headers(newUser(t, 1))+","+headers(newUser(t, 2))+"]",
		`TOOL={"say":"/tool clock","name":"clock"}`, `CONFIRM=/tool burn {"stove":"7"}`,
	)
}
