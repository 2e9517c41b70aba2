package ussd

import "strings"

// key names a session. The same id from another number, or with another service
// code, is another session.
type key struct {
	id                            string // in its stored form
	session, phone, gateway, code string
}

// between separates the parts of a key. None of them can have it: session ids
// are printable.
const between = "\x1f"

func newKey(session, phone, gateway, code string) key {
	return key{session + between + phone + between + gateway + between + code, session, phone, gateway, code}
}

// readKey takes a stored key apart. Those of earlier versions have no code.
func readKey(id string) key {
	session, rest, _ := strings.Cut(id, between)
	phone, rest, _ := strings.Cut(rest, between)
	gateway, code, _ := strings.Cut(rest, between)
	return key{id, session, phone, gateway, code}
}

// keysOf is the range of the keys that begin with these parts, a session id
// first: from the first to before the second.
func keysOf(parts ...string) (from, to string) {
	begin := strings.Join(parts, between)
	return begin + between, begin + "\x20"
}
