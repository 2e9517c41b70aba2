package tool

// Refusal is why an answer may not begin, in the words of the plugin that has
// refused it.
type Refusal struct {
	Status  int
	Message string
	Body    []byte // JSON, for requests over HTTP
}

// Error returns the message.
func (r *Refusal) Error() string { return r.Message }
