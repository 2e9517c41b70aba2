package plugin

import (
	"log/slog"
	"net/http"
)

// Host is what the server gives a plugin to work with. Tests of a plugin make one
// with what they need.
type Host struct {
	Log      *slog.Logger // names the plugin in each line
	Settings Values
	// HTTP reaches other servers: those on the Internet, and those that settings of
	// the kind URL name. Private addresses are refused, answers are bounded.
	HTTP *http.Client
	// Store keeps what the plugin remembers of users.
	Store Store
	// Oracle is the DID of the oracle.
	Oracle string
}
