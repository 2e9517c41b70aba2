package wire

// quick reads the documented JSON body when it holds exactly the four members
// as strings without escapes, which is what gateways send. It runs once per key
// press, so it allocates one copy of the body and nothing else. It leaves
// everything else to the strict reader, including mistakes.
func quick(body []byte) (Request, bool) {
	c := cursor{s: string(body)}
	var req Request
	var seen uint8
	if !c.next('{') {
		return req, false
	}
	for {
		name, ok := c.plain()
		if !ok || !c.next(':') {
			return req, false
		}
		v, ok := c.plain()
		if !ok {
			return req, false
		}
		var bit uint8
		switch name {
		case "sessionId":
			bit, req.SessionID = 1, v
		case "serviceCode":
			bit, req.ServiceCode = 2, v
		case "phoneNumber":
			bit, req.Phone = 4, v
		case "text":
			bit, req.Text = 8, v
		}
		if bit == 0 || seen&bit != 0 {
			return req, false
		}
		seen |= bit
		if c.next(',') {
			continue
		}
		return req.quickEnd(&c, seen)
	}
}

// quickEnd requires the end of the body, all four members, and clean text.
func (r *Request) quickEnd(c *cursor, seen uint8) (Request, bool) {
	if !c.next('}') || !c.end() || seen != 15 {
		return *r, false
	}
	var ok, fine bool
	r.SessionID, ok = clean(r.SessionID, MaxSessionID)
	r.Text, fine = clean(r.Text, MaxText)
	return *r, ok && fine
}

// cursor walks over JSON text.
type cursor struct {
	s string
	i int
}

func (c *cursor) space() {
	for c.i < len(c.s) && (c.s[c.i] == ' ' || c.s[c.i] == '\n' || c.s[c.i] == '\r' || c.s[c.i] == '\t') {
		c.i++
	}
}

// next steps over b when it comes next after white space.
func (c *cursor) next(b byte) bool {
	c.space()
	if c.i < len(c.s) && c.s[c.i] == b {
		c.i++
		return true
	}
	return false
}

// end reports whether only white space is left.
func (c *cursor) end() bool {
	c.space()
	return c.i == len(c.s)
}

// plain reads a string without escapes and control characters. What is not
// ASCII is looked at later.
func (c *cursor) plain() (string, bool) {
	if !c.next('"') {
		return "", false
	}
	for start := c.i; c.i < len(c.s); c.i++ {
		switch b := c.s[c.i]; {
		case b == '"':
			c.i++
			return c.s[start : c.i-1], true
		case b < 0x20 || b == 0x7f || b == '\\':
			return "", false
		}
	}
	return "", false
}
