package client

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// headPosition is where in the log of the server's database something was written. A
// server with replicas may answer a read by one that has got so far.
const headPosition = "Hearth-Position"

// position is the latest position that this client has written at, so that it reads its
// own writes, whichever server answers. It is empty, so that the primary answers, until
// the client has written.
type position struct{ atomic.Pointer[string] }

// note keeps the position of a write, unless it is behind one that is kept.
func (p *position) note(method string, res *http.Response) {
	at := res.Header.Get(headPosition)
	if method == http.MethodGet || at == "" {
		return
	}
	for {
		old := p.Load()
		if old != nil && place(*old) >= place(at) || p.CompareAndSwap(old, &at) {
			return
		}
	}
}

// place parses a position as a number, 0 if it is not one.
func place(at string) uint64 {
	high, low, _ := strings.Cut(at, "/")
	h, err := strconv.ParseUint(high, 16, 32)
	l, bad := strconv.ParseUint(low, 16, 32)
	if err != nil || bad != nil {
		return 0
	}
	return h<<32 | l
}
