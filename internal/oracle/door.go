package oracle

import (
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Door admits requests to routes that others add, with the same limits and checks
// of callers as the oracle's own routes.
type Door struct{ s *Service }

// NewDoor makes the door of a service.
func NewDoor(s *Service) Door { return Door{s} }

// visit answers a request whose body has been read. The context says who calls.
type visit = func(w http.ResponseWriter, r *http.Request, c tool.Context, body []byte) error

// Guarded admits authenticated callers.
func (d Door) Guarded(h visit) web.HandlerFunc {
	read := func(w http.ResponseWriter, r *http.Request) (members, []byte, error) {
		raw, err := readRaw(w, r, d.s.cfg.MaxBody)
		return nil, raw, err
	}
	return d.s.known(func(w http.ResponseWriter, r *http.Request, q *request) error {
		c := tool.Context{
			User: q.who.DID, Signer: q.who.Signer, Whole: q.whole(), Caller: q.who.Key, Talker: q.user(),
			RequestID: web.RequestID(r.Context()), Timezone: zone("", r.Header.Get("X-Timezone")), Ends: q.who.Ends(),
		}
		c.Delegation = d.s.delegated(q.who)
		return h(w, r, c, q.raw)
	}, read)
}

// Open admits everybody, within the rate limit of the address. Credentials are
// not read.
func (d Door) Open(h visit) web.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := d.s.admitAddr(w, r); err != nil {
			return err
		}
		body, err := readRaw(w, r, d.s.cfg.MaxBody)
		if err != nil {
			return err
		}
		return h(w, r, tool.Context{RequestID: web.RequestID(r.Context()), Timezone: zone("", r.Header.Get("X-Timezone"))}, body)
	}
}
