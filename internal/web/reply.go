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
	Value    T
	Raw      []byte // sent as it is: the rendered record as stored
	Status   int    // 0: the route's usual one
	ETag     string // with its quotes
	Location string
	Link     string
	Media    string // type of the body; application/json by default
	Cache    string // Cache-Control; no-store by default
	Policy   string // Content-Security-Policy, of what browsers show; nothing is allowed by default
	Replayed bool   // the stored answer to an Idempotency-Key
}

func (p Reply[T]) parts() parts {
	return parts{
		value: p.Value, raw: p.Raw, status: p.Status, media: p.Media, replayed: p.Replayed,
		etag: p.ETag, location: p.Location, link: p.Link, cache: p.Cache, policy: p.Policy,
	}
}

func (Reply[T]) valueType() reflect.Type { return reflect.TypeFor[T]() }

// replier is what every Reply is, whatever its type parameter.
type replier interface {
	parts() parts
	valueType() reflect.Type
}

type parts struct {
	value    any
	raw      []byte
	status   int
	media    string
	replayed bool

	etag, location, link, cache, policy string
}

// reply writes a handler's answer. status is that of the route.
func reply[O any](w http.ResponseWriter, r *http.Request, status int, answer *O, pack *packers) error {
	var p parts
	if a, ok := any(answer).(replier); ok {
		p = a.parts()
	} else {
		p.value = *answer
	}
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

// setHeaders names are canonical: they go into h as they are.
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

// Encode renders v as every answer is rendered: members in a fixed order, times
// in UTC with milliseconds, so that they also sort as text.
func Encode(v any) ([]byte, error) {
	b, err := json.Marshal(v, answerOptions)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return b, nil
}

var answerOptions = json.JoinOptions(json.Deterministic(true), json.WithMarshalers(json.MarshalToFunc(encodeTime)))

// TimeFormat is how times are written in answers.
const TimeFormat = "2006-01-02T15:04:05.000Z"

func encodeTime(e *jsontext.Encoder, t time.Time) error {
	return e.WriteToken(jsontext.String(t.UTC().Format(TimeFormat)))
}

// Nouns of package api, by their names here.
type (
	Page[T any] = api.Page[T]
	PageInfo    = api.PageInfo
)
