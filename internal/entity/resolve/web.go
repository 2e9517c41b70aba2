package resolve

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits of documents of other hosts.
const (
	webTimeout  = 10 * time.Second
	webMaxBytes = 64 << 10
	webAtOnce   = 16          // hosts asked at the same time
	webKeep     = time.Minute // how long an answer is kept, even a missing one
	webKept     = 256         // answers kept
)

// entitiesFolder is the folder of the twins' did:webs below that of the server.
const entitiesFolder = "entities"

// ownWeb is the DID whose twin a did:web of this server shows; "" when the
// did:web is not ours.
func (s *Service) ownWeb(id did.DID) string {
	if s.self == "" {
		return ""
	}
	if id == s.self {
		return s.cfg.Oracle
	}
	hex, ok := strings.CutPrefix(id.String(), s.self.String()+":"+entitiesFolder+":")
	twin := did.DID("did:ixo:entity:" + hex)
	if _, minted := twin.EntityID(); !ok || !minted {
		return ""
	}
	return twin.String()
}

// asWritten is a did:web of this server as its documents spell it. A path is
// decoded once, so the port of a DID that was copied into one arrives with a
// bare colon.
func (s *Service) asWritten(id did.DID) did.DID {
	rest, ours := strings.CutPrefix(id.String(), strings.ReplaceAll(s.self.String(), "%3A", ":"))
	if own := did.DID(s.self.String() + rest); s.self != "" && ours && s.ownWeb(own) != "" {
		return own
	}
	return id
}

// resolveOwnWeb finds the twin behind a did:web of this server.
func (s *Service) resolveOwnWeb(ctx context.Context, id did.DID, v Version) (*Result, error) {
	if s.self == "" {
		return nil, noName(fault.Invalid, codeMethod)
	}
	twin := s.ownWeb(id)
	if twin == "" {
		return nil, noMethod("web")
	}
	row, err := s.findPublic(ctx, did.DID(twin))
	if err != nil {
		return nil, err
	}
	if row == nil {
		return nil, notFound()
	}
	return s.show(ctx, row, v, view{id: id.String(), public: true, key: s.cfg.Keys(twin)})
}

// resolveWeb asks the host of a did:web, unless that is us.
func (s *Service) resolveWeb(ctx context.Context, id did.DID, v Version) (*Result, error) {
	if s.ownWeb(id) != "" {
		return s.resolveOwnWeb(ctx, id, v)
	}
	address, err := id.WebURL()
	switch {
	case err != nil:
		return nil, invalidDID("This did:web names no host, or a path it must not have.")
	case s.cfg.Web == nil && s.self == "":
		return nil, noName(fault.Invalid, codeMethod)
	case s.cfg.Web == nil:
		return nil, noMethod("web")
	case v != (Version{}):
		return nil, fault.New(fault.Invalid, codeOptions, "A did:web has no versions.")
	}
	text, known := s.web.get(id)
	if !known {
		if text, err = s.fetch(ctx, id, address); err != nil {
			return nil, err
		}
		s.web.put(id, text)
	}
	if text == nil {
		return nil, notFound()
	}
	return textResult(text, DocumentMetadata{}), nil
}

// fetch reads and checks a document; nil when there is none. The reason goes
// only to the log, because it could reveal our network.
func (s *Service) fetch(ctx context.Context, id did.DID, address string) ([]byte, error) {
	if !s.web.enter() {
		return nil, fault.New(fault.Unavailable, "DID_RESOLVER_BUSY", "Too many documents are being fetched. Try again in a moment.").After(time.Second)
	}
	defer s.web.leave()
	web.LeavePlace(ctx) // we only wait from here on
	ctx, cancel := context.WithTimeout(ctx, webTimeout)
	defer cancel()
	body, err := s.cfg.Web(ctx, address)
	if err == nil {
		body, err = checkDocument(id, body)
	}
	if err != nil {
		s.cfg.Log.InfoContext(ctx, "did:web not resolved", "err", err.Error())
		return nil, nil
	}
	return body, nil
}

// checkDocument requires that a foreign document is small, strict JSON and
// about the DID that was asked for.
func checkDocument(id did.DID, body []byte) ([]byte, error) {
	if len(body) > webMaxBytes {
		return nil, fault.New(fault.TooLarge, "DID_DOCUMENT_TOO_LARGE", "The document is too large.")
	}
	var d struct {
		ID string `json:"id"`
	}
	if err := web.DecodeStrict(body, &d, true); err != nil {
		return nil, err
	}
	if d.ID != id.String() {
		return nil, fault.New(fault.Invalid, codeInvalid, "The document is about another DID.")
	}
	text := jsontext.Value(bytes.Clone(body))
	if err := text.Compact(); err != nil {
		return nil, err
	}
	return text, nil
}

// webCache keeps answers of other hosts for a while, so that a client in a loop
// does not make us loop too, and bounds how many hosts are asked at once.
type webCache struct {
	now    func() time.Time
	places chan struct{}

	mu    sync.Mutex
	items map[did.DID]webItem
}

type webItem struct {
	text  []byte // nil: there is none
	until time.Time
}

func newWebCache(now func() time.Time) *webCache {
	return &webCache{now: now, places: make(chan struct{}, webAtOnce), items: map[did.DID]webItem{}}
}

func (c *webCache) enter() bool {
	select {
	case c.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (c *webCache) leave() { <-c.places }

func (c *webCache) get(id did.DID) (text []byte, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	item, ok := c.items[id]
	return item.text, ok && c.now().Before(item.until)
}

// put keeps an answer. When there is no room, it removes expired answers, else
// any: all of them can be fetched again.
func (c *webCache) put(id did.DID, text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if len(c.items) >= webKept {
		for other, item := range c.items {
			if !now.Before(item.until) {
				delete(c.items, other)
			}
		}
	}
	for other := range c.items {
		if len(c.items) < webKept {
			break
		}
		delete(c.items, other)
	}
	c.items[id] = webItem{text: text, until: now.Add(webKeep)}
}
