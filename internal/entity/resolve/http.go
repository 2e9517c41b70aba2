package resolve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// publicCache lets caches keep a public document for a minute: long enough to
// absorb a crowd, short enough for a withdrawn key.
const publicCache = "public, max-age=60"

// Routes adds DID documents to a. There are did:web documents only when this
// server knows its public name; without it their routes say so.
func (s *Service) Routes(a *web.API) {
	web.Get(a, "/v1/entities/{did}/did-document", s.serveDocument, web.Doc{
		Summary: "Read the DID document of an entity", Tag: "dids", Scope: "entities:read",
		Description: "W3C DID Core 1.0. Service ids are absolute. A deactivated entity shows its controllers only.",
		Produces:    mediaDIDJSON + ", " + mediaLD + ", " + mediaDID + ", " + mediaJSON, Codes: []string{"ENTITY_NOT_FOUND", codeOptions},
	})
	web.Get(a, "/v1/dids/{did}", s.serveResolve, web.Doc{
		Summary: "Resolve a DID", Tag: "dids", Scope: "entities:read",
		Description: "did:key by itself, did:web from its host (kept for a minute), any other among the entities of the workspace. " +
			"Percent-encode DIDs that hold a percent sign; a did:web of this server is found without that too.",
		Codes: []string{codeInvalid, codeNotFound, codeMethod, codeOptions, "DID_RESOLVER_BUSY"},
	})
	a.Handle("GET", "/1.0/identifiers/{did}", s.servePublic, web.Doc{
		Summary: "Resolve a DID that is public", Tag: "dids", Scope: web.Public,
		Description: "The interface of universal resolvers, without a key: did:key, entities of the operator's workspace, entities whose DID this server made " +
			"(did:ixo:entity: and 32 digits; one that its maker chose is not public) and did:web of this server. It shows controllers, keys, other names and services, never properties; " +
			"of households and persons neither names nor services. A deactivated DID answers 410 with its result, as DID Resolution asks: " +
			"clients that look at the status alone must not take it for a living one. A refusal is a result too, with didResolutionMetadata.error. " +
			"Accept application/did+json or application/did+ld+json for the document alone.",
		Produces: mediaJSON + ", " + mediaResolution + ", " + mediaResultLD + ", " + mediaDIDJSON + ", " + mediaLD + ", " + mediaDID,
		Answer:   Result{}, Also: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusNotAcceptable, http.StatusGone},
		Query: []web.Param{
			{Name: "versionId", Doc: "Number of a revision, for the document as it was."},
			{Name: "versionTime", Doc: "A time, for the document as it was then.", Example: "2026-11-15T06:00:00Z"},
		},
	})
	own := web.Doc{
		Summary: "Read the DID document of this server", Tag: "dids", Scope: web.Public, Produces: mediaDIDJSON, Also: []int{http.StatusGone},
		Description: "The oracle under the did:web of HEARTH_PUBLIC_URL. " + aboutName, Codes: []string{codeNotFound},
	}
	if s.base == nil || s.base.EscapedPath() == "" || s.base.EscapedPath() == "/" {
		web.Get(a, "/.well-known/did.json", s.serveOwn, own)
	} else {
		// The did:web of an address with a path has its document there.
		web.Get(a, "/did.json", s.serveOwn, own)
	}
	web.Get(a, "/entities/{id}/did.json", s.serveWeb, web.Doc{
		Summary: "Read the did:web document of an entity", Tag: "dids", Scope: web.Public, Produces: mediaDIDJSON, Also: []int{http.StatusGone},
		Description: "For did:web:<host>:entities:<id>, where id is the last part of a minted DID. It shows what /1.0/identifiers shows. " + aboutName,
		Codes:       []string{codeNotFound},
	})
}

const aboutName = "Without that setting there is none, and the answer is 404."

type (
	nothing struct{}
	version struct {
		VersionID   string `query:"versionId" doc:"Number of a revision, for the document as it was." example:"1"`
		VersionTime string `query:"versionTime" doc:"A time, for the document as it was then." example:"2026-11-15T06:00:00Z"`
	}
	documentIn struct {
		DID    string `path:"did" doc:"DID of the entity."`
		Accept string `header:"Accept" doc:"application/did+json or application/did+ld+json."`
		version
	}
	resolveIn struct {
		DID string `path:"did" doc:"Any DID." example:"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"`
		version
	}
	webIn struct {
		ID string `path:"id" doc:"Last part of a minted DID: 32 hexadecimal digits."`
	}
)

func (v version) wanted() Version { return Version{ID: v.VersionID, Time: v.VersionTime} }

func (s *Service) serveDocument(ctx context.Context, in *documentIn) (web.Reply[*Document], error) {
	row, err := s.cfg.Entities.Find(ctx, s.db, in.DID)
	if err != nil {
		return web.Reply[*Document]{}, err
	}
	res, err := s.show(ctx, row, in.wanted(), view{id: row.DID, key: s.cfg.Keys(row.DID)})
	if err != nil {
		return web.Reply[*Document]{}, err
	}
	otherwise := form{media: mediaDIDJSON, document: true}
	f, ok := negotiate(in.Accept, otherwise)
	if !ok || !f.document {
		f = otherwise // there is nothing else to be had here
	}
	return web.Reply[*Document]{Raw: res.DIDDocument.Value, Media: f.media, ETag: etag(res.DIDDocument.Value)}, nil
}

func (s *Service) serveResolve(ctx context.Context, in *resolveIn) (web.Reply[*Result], error) {
	res, err := s.Resolve(ctx, in.DID, in.wanted())
	if err != nil {
		return web.Reply[*Result]{}, err
	}
	text, err := web.Encode(res)
	if err != nil {
		return web.Reply[*Result]{}, err
	}
	return web.Reply[*Result]{Raw: text, ETag: etag(text)}, nil
}

func (s *Service) serveOwn(ctx context.Context, _ *nothing) (web.Reply[*Document], error) {
	return s.webReply(ctx, s.self)
}

func (s *Service) serveWeb(ctx context.Context, in *webIn) (web.Reply[*Document], error) {
	return s.webReply(ctx, did.DID(s.self.String()+":"+entitiesFolder+":"+in.ID))
}

func (s *Service) webReply(ctx context.Context, id did.DID) (web.Reply[*Document], error) {
	if s.self == "" {
		return web.Reply[*Document]{}, noName(fault.NotFound, codeNotFound)
	}
	if s.ownWeb(id) == "" {
		return web.Reply[*Document]{}, notFound()
	}
	res, err := s.resolveOwnWeb(ctx, id, Version{})
	if err != nil {
		return web.Reply[*Document]{}, err
	}
	p := web.Reply[*Document]{Raw: res.DIDDocument.Value, Media: mediaDIDJSON, Cache: publicCache}
	if p.Status = res.status(); p.Status == http.StatusOK {
		p.ETag = etag(p.Raw)
	}
	return p, nil
}

// status is 410 for a DID that is deactivated.
func (r *Result) status() int {
	if r.DocumentMetadata.Deactivated {
		return http.StatusGone
	}
	return http.StatusOK
}

// etag hashes the bytes: a document also changes with our keys and name.
func etag(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// servePublic answers as universal resolvers do: a refusal is a result too.
func (s *Service) servePublic(w http.ResponseWriter, r *http.Request) error {
	f, ok := negotiate(r.Header.Get("Accept"), form{media: mediaJSON})
	if !ok {
		return send(w, r, form{media: mediaJSON}, http.StatusNotAcceptable, refusal("representationNotSupported", "No media type of the Accept header is known here."))
	}
	q := r.URL.Query()
	res, err := s.ResolvePublic(r.Context(), r.PathValue("did"), Version{ID: q.Get("versionId"), Time: q.Get("versionTime")})
	if err == nil {
		return send(w, r, f, res.status(), res)
	}
	word, known := words[fault.CodeOf(err)]
	if !known {
		return err
	}
	e := fault.As(err)
	return send(w, r, form{media: f.resultMedia()}, web.Status(e.Kind), refusal(word, e.Message))
}

// words maps our codes to those of DID Resolution.
var words = map[string]string{
	codeInvalid: "invalidDid", codeNotFound: "notFound", codeMethod: "methodNotSupported", codeOptions: "invalidOptions",
}

func refusal(word, message string) *Result {
	return &Result{Context: contextResolution, ResolutionMetadata: ResolutionMetadata{Error: word, Message: message}}
}

// resultMedia is the media type of a result for clients that asked for a
// document.
func (f form) resultMedia() string {
	if f.document {
		return mediaJSON
	}
	return f.media
}

// send writes a result or the document in it.
func send(w http.ResponseWriter, r *http.Request, f form, status int, res *Result) error {
	body := []byte(res.DIDDocument.Value)
	if !f.document {
		var err error
		if body, err = web.Encode(res); err != nil {
			return err
		}
	}
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Add("Vary", "Accept")
	if status == http.StatusOK || status == http.StatusGone {
		h.Set("Cache-Control", publicCache)
	}
	if status == http.StatusOK {
		tag := etag(body)
		h.Set("ETag", tag)
		if web.NotModified(r, tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone when this fails
	return nil
}
