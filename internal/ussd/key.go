package ussd

import "strings"

// key names a session. The same id from another number is another session.
type key struct {
	id                      string // as it is stored
	session, phone, gateway string
}

// between separates the parts of a key. None of them can have it: session ids
// are printable.
const between = "\x1f"

func newKey(session, phone, gateway string) key {
	return key{session + between + phone + between + gateway, session, phone, gateway}
}

// readKey takes a stored key apart.
func readKey(id string) key {
	session, rest, _ := strings.Cut(id, between)
	phone, gateway, _ := strings.Cut(rest, between)
	return key{id, session, phone, gateway}
}

// keysOf is the range of the keys of a session id: from the first to before
// the second.
func keysOf(session string) (from, to string) {
	return session + between, session + "\x20"
}
