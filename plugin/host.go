package plugin

import (
	"context"
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
	// Emit sends an event of the plugin to the pages that have the conversation of ctx
	// open; where there are none, nobody hears it. payload is a JSON object, which gets
	// sessionId and requestId. It never waits for a page.
	Emit func(ctx context.Context, event string, payload any) error
	// Oracle is the DID of the oracle.
	Oracle string
}
