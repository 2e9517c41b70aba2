package plugin

import (
	"context"
	"log/slog"
	"net/http"
)

// Server is the address of this server for Host.API. Nothing else knows it.
const Server = "http://hearth.internal"

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
	// Attachments are the files of the conversation of ctx, newest first, with what was
	// read out of them. Nil: none are known.
	Attachments func(ctx context.Context) ([]Attachment, error)
	// Emit sends an event of the plugin to the pages that have the conversation of ctx
	// open; where there are none, nobody hears it. payload is a JSON object, which gets
	// sessionId and requestId. It never waits for a page.
	Emit func(ctx context.Context, event string, payload any) error
	// API calls this server itself, in process, as the caller of ctx, which is that of a
	// call, a request or a prompt: with exactly the rights that the caller has when a
	// request is made. Requests go to Server; with package client:
	//
	//	c, err := client.New(client.Config{BaseURL: plugin.Server, HTTP: host.API(ctx)})
	//
	// A public route has no caller and so no rights: routes that need a caller are 401. The client
	// lasts as long as ctx. Answers have at most 16 MiB and come whole.
	API func(ctx context.Context) *http.Client
	// Mint makes an invocation of another service out of what the user of ctx has
	// delegated to the oracle: with the message, or stored by POST /delegation. What they
	// have not given, have taken back or have given for a time that is over is an *Error,
	// in words for them. Nobody gets the key of the oracle.
	Mint func(ctx context.Context, want Want) (Invocation, error)
	// Links ties names at other services to users.
	Links Links
	// Ask has the oracle answer a message of the user of ctx, with their rights, and waits
	// for the end. Nobody is there to confirm anything: a tool that changes something
	// runs only by a grant of the user. An *Error says in words for the user why there is
	// no answer.
	Ask func(ctx context.Context, m Message) (Answer, error)
	// Oracle is the DID of the oracle.
	Oracle string
}

// Attachment is a file that a user has attached to a message.
type Attachment struct {
	Name string
	Type string // media type, as the user's page says
	Size int64  // bytes, as the user's page says; 0: it does not
	Text string // what was read out of it, 50,000 characters of a message at most; tables as CSV
	Note string // why there is no text, or not all of it
}
