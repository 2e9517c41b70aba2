package web

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
)

// Reply is an answer with more than a body. A handler that needs a header or
// sends stored bytes returns one; Raw wins over Value.
type Reply[T any] struct {
	_        isReply
	Value    T
	Raw      []byte // sent unchanged: the rendered record as stored
	Status   int    // 0: the route's usual one
	ETag     string // with its quotes
	Location string
	Link     string
	Media    string // type of the body; application/json by default
	Cache    string // Cache-Control; no-store by default
	Policy   string // Content-Security-Policy, for content that browsers show; nothing is allowed by default
	Replayed bool   // the stored answer to an Idempotency-Key
}

// isReply marks every Reply, whatever its type parameter.
type isReply struct{}

// replied is the type of the Value of a Reply; nil of any other type.
func replied(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Struct && t.NumField() > 1 && t.Field(0).Type == reflect.TypeFor[isReply]() {
		return t.Field(1).Type
	}
	return nil
}

// parts holds the parts of a Reply. The value is a pointer.
type parts struct {
	value    any
	raw      []byte
	status   int
	media    string
	replayed bool

	etag, location, link, cache, policy string
}

// partsOf reads an answer, which is a pointer, by reflection: a method of Reply would
// be in the program once for each of its types.
func partsOf(answer any) parts {
	v := reflect.ValueOf(answer).Elem()
	if replied(v.Type()) == nil {
		return parts{value: answer}
	}
	return parts{ // in the order of the fields of Reply
		value: v.Field(1).Addr().Interface(), raw: v.Field(2).Bytes(), status: int(v.Field(3).Int()), etag: v.Field(4).String(), location: v.Field(5).String(),
		link: v.Field(6).String(), media: v.Field(7).String(), cache: v.Field(8).String(), policy: v.Field(9).String(), replayed: v.Field(10).Bool(),
	}
}

// reply writes a handler's answer. status is the route's.
func reply(w http.ResponseWriter, r *http.Request, status int, p parts, pack *packers) error {
	p.setHeaders(w.Header())
	if p.etag != "" && NotModified(r, p.etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	body := p.raw
	if body == nil {
		var err error
		if body, err = Encode(p.value); err != nil {
			return err
		}
	}
	writeBody(w, cmp.Or(p.media, mediaJSON), cmp.Or(p.status, status, http.StatusOK), pack.body(w.Header(), r, body))
	return nil
}

// setHeaders sets canonical names directly in h.
func (p *parts) setHeaders(h http.Header) {
	all := &[...]string{p.etag, p.location, p.link, p.cache}
	for i, name := range [...]string{"Etag", "Location", "Link", "Cache-Control"} {
		if all[i] != "" {
			h[name] = all[i : i+1 : i+1]
		}
	}
	if p.policy != "" {
		h.Set("Content-Security-Policy", p.policy)
	}
	if p.replayed {
		h.Set("Idempotent-Replayed", "true")
	}
}

// Encode renders v like every answer: members in a fixed order, times in UTC
// with milliseconds, so that they also sort as text.
func Encode(v any) ([]byte, error) {
	b, err := json.Marshal(v, answerOptions)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return b, nil
}

var answerOptions = json.JoinOptions(json.Deterministic(true), json.WithMarshalers(json.MarshalToFunc(encodeTime)))

// TimeFormat is the format of times in answers.
const TimeFormat = "2006-01-02T15:04:05.000Z"

func encodeTime(e *jsontext.Encoder, t time.Time) error {
	return e.WriteToken(jsontext.String(t.UTC().Format(TimeFormat)))
}

// Nouns of package api, by their names here.
type (
	Page[T any] = api.Page[T]
	PageInfo    = api.PageInfo
)
