package plugin

import "net/http"

// Route is a route of a plugin.
type Route struct {
	Method string // GET, POST, PUT, PATCH or DELETE
	// Path begins with a segment that no route of the server has:
	// "/weather/now". A segment in braces matches any text: "/notes/{id}".
	Path string
	// Public routes are open to everybody and have no caller. All others need
	// one.
	Public bool
	// Personal routes are about their caller, so no setting can make them public.
	Personal    bool
	Summary     string
	Description string
	Query       []Param
	Body        any // a value of the type of the JSON body, for the reference; nil: no body
	Answer      any // a value of the type of the answer, for the reference; a pointer where it may be null
	// Serve answers a request. Its result is sent as JSON with status 200, nil as
	// null; a Reply as it says. An *Error is sent with its status in the form that
	// clients of the oracle read, any other error as 500 without its text.
	Serve func(r *Request) (any, error)
}

// Param is a query parameter, for the reference.
type Param struct{ Name, Doc, Example string }

// Request is a request to a route. Its body has been read and is in Content.
type Request struct {
	*http.Request
	User    string // DID of the caller; "" on a public route
	Content []byte // the body, at most 100 KiB
}

// Read decodes a JSON body into what v points to.
func (r *Request) Read(v any) error { return decode(r.Content, v, "The body") }

// Reply is an answer that is not JSON with status 200.
type Reply struct {
	Status int    // 200
	Type   string // media type of Content; application/json
	// Content is sent unchanged. It may be empty only where Type says that it is
	// not JSON: clients of the oracle read every answer as JSON.
	Content []byte
	// Filename makes browsers save the answer as a file of this name, and never show
	// it as one of our pages.
	Filename string
}
