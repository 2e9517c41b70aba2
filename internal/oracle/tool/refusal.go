package tool

// Refusal is why an answer may not begin, in the words of whoever has refused it.
type Refusal struct {
	Status  int
	Message string
	Body    []byte // JSON, for those who asked over HTTP
}

// Error is the message.
func (r *Refusal) Error() string { return r.Message }
