package plugin

// TypedEvents is a plugin whose events have payloads of a form that others can rely
// on. They are sent with Host.Emit like those of Events, and the reference of
// streams and sockets lists them with their members.
type TypedEvents interface {
	TypedEvents() []Event
}

// Event describes an event.
type Event struct {
	Name        string // 1 to 64 letters, digits and _ . : -
	Description string // one sentence
	// Schema is the JSON Schema of the payload, an object. Host.Emit refuses a payload
	// that does not fit. The members sessionId and requestId are added to every
	// payload.
	Schema string
}
