package plugin

import (
	"context"
	"log/slog"
	"net/http"
)

// Server is the address of this server for Host.API. It means nothing anywhere
// else.
const Server = "http://hearth.internal"

// Host is what the server gives a plugin to work with. Tests of a plugin make one
// with the parts they need.
type Host struct {
	Log      *slog.Logger // names the plugin in each line
	Settings Values
	// HTTP reaches other servers: those on the Internet, and those that settings of
	// the kind URL name. Private addresses are refused, answers are bounded.
	HTTP *http.Client
	// Store keeps what the plugin remembers of users.
	Store Store
	// Attachments returns the files of the conversation of ctx, newest first, with the
	// text that was read from them. Nil: none are known.
	Attachments func(ctx context.Context) ([]Attachment, error)
	// Emit sends an event of the plugin to the pages that have the conversation of ctx
	// open, if there are any. payload is a JSON object, which gets sessionId and
	// requestId. It never waits for a page.
	Emit func(ctx context.Context, event string, payload any) error
	// API calls this server itself, in process, as the caller of ctx, which is that of a
	// call, a request or a prompt, with exactly the rights that the caller has at the
	// time of each request. Requests go to Server; with package client:
	//
	//	c, err := client.New(client.Config{BaseURL: plugin.Server, HTTP: host.API(ctx)})
	//
	// A public route has no caller and so no rights: routes that need a caller answer
	// 401. The client lasts as long as ctx. Answers have at most 16 MiB and are read
	// whole.
	API func(ctx context.Context) *http.Client
	// Mint makes an invocation of another service from what the user of ctx has delegated
	// to the oracle, with the message or stored by POST /delegation. When the delegation
	// is missing, withdrawn or expired, the error is an *Error in words for the user. The
	// key of the oracle is never given out.
	Mint func(ctx context.Context, want Want) (Invocation, error)
	// Links ties names at other services to users.
	Links Links
	// Ask lets the oracle answer a message of the user of ctx, with their rights, and
	// waits for the end. Nobody is there to confirm anything: a tool that changes
	// something runs only by a grant of the user. An *Error says in words for the user
	// why there is no answer.
	Ask func(ctx context.Context, m Message) (Answer, error)
	// Oracle is the DID of the oracle.
	Oracle string
}

// Attachment is a file that a user has attached to a message.
type Attachment struct {
	Name string
	Type string // media type, as the user's page says
	Size int64  // bytes, as the user's page says; 0: it does not
	Text string // text read from it, at most 50,000 characters per message; tables as CSV
	Note string // why there is no text, or not all of it
}
