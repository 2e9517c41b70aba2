package client

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Option changes one call.
type Option func(*call)

// IdempotencyKey names the call: the server carries out one of all calls with
// the same key, and gives the others the same answer. It keeps keys for a day.
// Without this option calls that create something get a new key.
func IdempotencyKey(key string) Option {
	return func(c *call) { c.head.Set(headIdempotency, key) }
}

// IfMatch makes a change conditional: it is refused with STALE_REVISION unless
// the record still has this entity tag.
func IfMatch(etag string) Option {
	return func(c *call) { c.head.Set("If-Match", etag) }
}

// IfRevision is IfMatch for the Revision of a record that was read before.
func IfRevision(n int64) Option { return IfMatch(ETag(n)) }

// ETag is the entity tag of a revision.
func ETag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// Reason says why, for the history of a twin: one line of at most 1,000
// characters. It is for changes of entities whose body has no member for it.
func Reason(text string) Option { return query("reason", text) }

// Fields asks for only some members of surveys or responses, such as status and
// responses.home.size. The id of a record is always included; other members are
// empty. Code: UNKNOWN_FIELD.
func Fields(names ...string) Option { return query("fields", strings.Join(names, ",")) }

// query adds a parameter to a call.
func query(name, value string) Option {
	return func(c *call) {
		if c.query = maps.Clone(c.query); c.query == nil {
			c.query = url.Values{}
		}
		c.query.Set(name, value)
	}
}

// RequestID names the request in the server's logs and events: at most 128 of
// the characters A-Z, a-z, 0-9, dot, dash and underscore.
func RequestID(id string) Option {
	return func(c *call) { c.head.Set(headRequestID, id) }
}

// Meta is what an answer contains besides its body.
type Meta struct {
	Status    int
	RequestID string
	ETag      string
	Location  string
	Replayed  bool // the stored answer to an earlier call with the same Idempotency-Key
	Attempts  int
	Header    http.Header
}

// WithMeta fills m with what the answer contains besides its body, whatever the
// status. A list of several pages leaves the Meta of the last.
func WithMeta(m *Meta) Option {
	return func(c *call) { c.meta = m }
}

func (m *Meta) fill(attempts int, res *http.Response) {
	if m == nil {
		return
	}
	*m = Meta{
		Status: res.StatusCode, RequestID: res.Header.Get(headRequestID), ETag: res.Header.Get("ETag"), Location: res.Header.Get("Location"),
		Replayed: res.Header.Get("Idempotent-Replayed") == "true", Attempts: attempts, Header: res.Header,
	}
}
